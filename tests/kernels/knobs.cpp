#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include "oracles/interpreted_kernel.hpp"
#include <gsub/codegen/cpp/emit_cpp.hpp>
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/codegen/x86/instruction_stream.hpp>
#include <gsub/core/meta.hpp>
#include <gsub/core/result.hpp>
#include <gsub/kernels/knobs.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace knobs_test {

using namespace gsub;
using namespace gsub::kernels;
using gsub::isa;
using loop::scalar_op;

isa const* const sets[] = {&isa::baseline, &isa::sse42, &isa::avx2, &isa::avx512, &isa::neon};

conv2d_shape image(std::int64_t in, std::int64_t out, std::int64_t height, std::int64_t width, std::int64_t kernel) {
    conv2d_shape s;
    s.in_channels = in, s.out_channels = out, s.in = {height, width}, s.kernel = {kernel, kernel};
    s.pads = {kernel / 2, kernel / 2, kernel / 2, kernel / 2}, s.bias = true, s.low = 0;
    return s;
}
conv2d_shape depthwise(std::int64_t channels, std::int64_t height, std::int64_t width, std::int64_t stride) {
    auto s = image(channels, channels, height, width, 3);
    s.groups = channels, s.stride = {stride, stride};
    return s;
}
separable_shape separable(std::int64_t channels, std::int64_t out, std::int64_t height, std::int64_t width) {
    separable_shape s{depthwise(channels, height, width, 1), image(channels, out, height, width, 1)};
    s.pointwise.residual = true;
    return s;
}
matmul_shape matmul(std::int64_t m, std::int64_t n, std::int64_t k, bool constant) {
    matmul_shape s;
    s.m = m, s.n = n, s.k = k, s.constant = s.bias = constant;
    if (!constant) s.batch = {3};
    return s;
}
attention_shape attention(std::int64_t m, std::int64_t k, std::int64_t keys, std::int64_t n) {
    attention_shape s;
    s.m = m, s.k = k, s.s = keys, s.n = n, s.batch = {2};
    s.epilogue = {{scalar_op::multiply, 0, -1, 0.5}};
    return s;
}

// Kernels with knobs, small enough to run.
std::vector<descriptor> small(isa const& isa) {
    std::int64_t const l = isa.lanes();
    auto stem = image(3, 2 * l, 9, 21, 7);
    stem.input = kernels::image_layout::planar, stem.stride = {2, 2};
    auto point = image(l + 1, 4 * l, 7, 7, 1);
    point.residual = true, point.batch = 2;
    auto down = point;
    down.stride = {2, 2};
    auto wide = image(17, 24, 6, 11, 5);
    wide.dilation = {2, 2}, wide.pads = {3, 4, 2, 1};
    auto grouped = image(2 * l, 2 * l, 7, 7, 3);
    grouped.groups = 2;
    auto narrow = image(2 * l, 2 * l, 5, 9, 3);
    narrow.groups = l / 2;
    auto flat = narrow; // of groups that are no whole blocks
    flat.kernel = {1, 1}, flat.pads = {};
    auto const square = image(l, 3 * l, 10, 22, 3);
    auto strided = depthwise(24, 13, 27, 2);
    strided.kernel = {5, 5};
    return {stem,
            square,
            image(2 * l, l, 1, 1, 1),
            point,
            down,
            wide,
            grouped,
            narrow,
            flat,
            depthwise(24, 9, 19, 1),
            strided,
            winograd_shape{square, 2},
            winograd_shape{square, 4},
            winograd_shape{image(3, 2 * l + 1, 7, 7, 3), 4},
            separable(24, 2 * l, 28, 9),
            separable(17, 40, 3, 5),
            matmul(7, 5 * l + 3, 12, true),
            matmul(33, 2 * l, 7, false),
            matmul(1, l, 30, false),
            attention(20, 6, 37, 9),
            attention(1, 4, 3, 2)};
}
// Kernels as networks have them.
std::vector<descriptor> large() {
    std::vector<descriptor> all;
    for (auto const& [size, channels] : {std::pair{56, 64}, {28, 128}, {14, 256}, {7, 512}, {35, 48}, {112, 32}}) {
        all.emplace_back(image(channels, channels, size, size, 3));
        for (std::int32_t const m : {2, 4})
            all.emplace_back(winograd_shape{image(channels, channels, size, size, 3), m});
        all.emplace_back(image(channels, 4 * channels, size, size, 1));
        all.emplace_back(image(4 * channels, channels, size, size, 1));
        all.emplace_back(separable(channels, channels, size, size));
        all.emplace_back(depthwise(channels, size, size, 2));
        auto grouped = image(channels, channels, size, size, 3);
        grouped.groups = 4;
        all.emplace_back(grouped);
    }
    for (auto const& [m, n, k] : {std::tuple{1, 1000, 2048}, {128, 768, 768}, {384, 30, 64}, {5, 3, 1}})
        for (bool const constant : {true, false}) all.emplace_back(matmul(m, n, k, constant));
    all.emplace_back(attention(128, 64, 128, 64));
    all.emplace_back(attention(1024, 64, 1024, 64));
    return all;
}
// Kernels without knobs.
std::vector<descriptor> plain() {
    std::vector<std::int64_t> const dims{3, 5, 7};
    pool2d_shape pool;
    pool.channels = 9, pool.in = {6, 8}, pool.kernel = {2, 3}, pool.stride = {2, 1}, pool.out = {3, 6};
    row_reduction_shape rows;
    rows.dims = dims, rows.arrays = {array_view::contiguous(dims)};
    rows.ops = {{reduction_step::maximum, {scalar_op::maximum, 0}},
                {reduction_step::elementwise, {scalar_op::subtract, 0, 1}}};
    rows.results = {{2, true}};
    reduction_shape sums;
    sums.x = array_view::contiguous(dims), sums.dims = dims, sums.reduced = {0, 1, 0};
    local_response_norm_shape norm;
    norm.channels = 6, norm.area = 20, norm.size = 3;
    return {pool,
            elementwise_shape{100, 1, {{scalar_op::multiply, 0, 0}, {scalar_op::exponential, 1}}},
            rows,
            sums,
            norm,
            copied_view(dtype::f32, dims, array_view::contiguous(dims)),
            scattered_entries(dtype::f32, dims, 4, dtype::i32, scalar_op::add)};
}
std::vector<descriptor> joined(std::vector<descriptor> a, std::vector<descriptor> const& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

// The nest as the template itself gives it, with the knobs that it counts.
loop::fused_nest direct(descriptor const& d, isa const& isa, winograd_options const& options) {
    return std::visit(
        overloaded{
            [&](conv2d_shape const& s) -> loop::fused_nest { return conv2d_nest(s, default_config(s, isa), isa); },
            [&](winograd_shape const& s) {
                return winograd_nest(s.conv, default_winograd(s.conv, isa, s.m, options), isa);
            },
            [&](separable_shape const& s) {
                auto const chosen = choose_separable(s, isa);
                return separable_nest(s, chosen ? *chosen : default_config(s, isa), isa);
            },
            [&](matmul_shape const& s) { return matmul_nest(s, default_config(s, isa), isa); },
            [&](attention_shape const& s) { return attention_nest(s, default_config(s, isa), isa); },
            [&](pool2d_shape const& s) -> loop::fused_nest { return pool2d_nest(s, isa); },
            [&](elementwise_shape const& s) -> loop::fused_nest {
                return elementwise_nest(s.elements, s.arrays, s.ops, isa);
            },
            [&](row_reduction_shape const& p) { return row_reduction_nest(p, isa); },
            [&](reduction_shape const& s) -> loop::fused_nest { return reduction_nest(s, isa); },
            [&](local_response_norm_shape const& s) -> loop::fused_nest { return local_response_norm_nest(s, isa); },
            [&](movement_shape const& s) { return movement_nest(s, isa); },
            [&](scatter_shape const& s) { return scatter_nest(s, isa); },
        },
        d);
}
std::string text_of(loop::fused_nest const& nest) {
    return codegen::emit_cpp(codegen::lower(nest, "kernel").value(), "kernel");
}

TEST_CASE("the counted point is allowed and gives the kernel that its template chooses") {
    for (auto const* isa : sets)
        for (auto const& d : joined(joined(small(*isa), large()), plain())) {
            auto const space = space_of(d, *isa);
            auto const c = counted(d, *isa, space);
            CAPTURE(isa->name, kind_of(d), to_string(c));
            CHECK(space.allows(c));
            CHECK(to_string(nest_of(d, c, *isa)) == to_string(direct(d, *isa, {})));
        }
    for (auto const* isa : sets)
        for (auto const& d : joined(small(*isa), plain())) {
            auto const space = space_of(d, *isa);
            CAPTURE(isa->name, kind_of(d));
            CHECK(text_of(nest_of(d, counted(d, *isa, space), *isa)) == text_of(direct(d, *isa, {})));
        }
}

TEST_CASE("a Winograd space has what counting prefers on any machine") {
    for (auto const* isa : sets)
        for (auto const& d : joined(small(*isa), large())) {
            auto const* const s = std::get_if<winograd_shape>(&d);
            if (!s) continue;
            auto const space = space_of(d, *isa);
            for (std::uint32_t const threads : {1u, 2u, 6u, 64u})
                for (std::uint64_t const l2 : {std::uint64_t{1} << 18, std::uint64_t{1} << 21}) {
                    winograd_options options;
                    options.threads = threads, options.l2_bytes = l2;
                    auto const c = counted(d, *isa, space, options);
                    CAPTURE(isa->name, threads, l2, s->conv.out_channels, to_string(c));
                    CHECK(space.allows(c));
                    CHECK(to_string(nest_of(d, c, *isa)) == to_string(direct(d, *isa, options)));
                }
        }
}

// Points of a space: the first allowed ones of a stream.
std::vector<loop::configuration> points(loop::config_space const& space, std::uint64_t seed, std::size_t count) {
    random_stream r{seed};
    std::vector<loop::configuration> all;
    while (all.size() < count) all.push_back(space.at(space.draw(r).value()));
    return all;
}

// Of the buffers of a kernel: whole numbers, weights of Winograd kernels transformed.
interpret::arrays operands(descriptor const& d, loop::configuration const& c, codegen::kernel const& k,
                           isa const& isa) {
    random_stream r{5};
    interpret::arrays all;
    for (auto const& b : k.buffers) {
        auto& v = all.emplace_back(static_cast<std::size_t>(b.elements()), interpret::untouched);
        if (auto const* const s = std::get_if<winograd_shape>(&d); s && all.size() == 2) {
            std::vector<float> weights;
            for (auto n = s->conv.out_channels * s->conv.in_channels * 9; n > 0; --n)
                weights.push_back(static_cast<float>(r.below(9)) - 4);
            auto const packed = pack_winograd_weights(s->conv, winograd_knobs(c, s->m), weights, isa);
            v.assign(packed.begin(), packed.end());
        } else if (!b.written) {
            for (auto& x : v) x = static_cast<double>(r.below(9)) - 4;
        }
    }
    return all;
}
// What a kernel stores, channels that fill blocks up left out.
std::vector<double> stored(descriptor const& d, codegen::kernel const& k, interpret::arrays const& data,
                           isa const& isa) {
    std::size_t y = 0;
    while (!k.buffers[y].written || k.buffers[y].workspace) ++y;
    auto out = data[y];
    auto const* const s = std::get_if<winograd_shape>(&d);
    if (!s) return out;
    auto const l = static_cast<std::size_t>(isa.lanes()), channels = static_cast<std::size_t>(s->conv.out_channels);
    auto const area = static_cast<std::size_t>(s->conv.out(0) * s->conv.out(1));
    for (std::size_t i = 0; i < out.size(); ++i)
        if (i / l / area * l + i % l >= channels) out[i] = 0;
    return out;
}
double worst(std::vector<double> const& a, std::vector<double> const& b) {
    if (a.size() != b.size()) return 1e9;
    double gap = 0, largest = 1e-9;
    for (std::size_t i = 0; i < a.size(); ++i) {
        gap = std::max(gap, std::isfinite(a[i]) ? std::abs(a[i] - b[i]) : 1e9);
        largest = std::max(largest, std::abs(b[i]));
    }
    return gap / largest;
}
std::vector<double> interpreted(descriptor const& d, loop::configuration const& c, isa const& isa) {
    auto const k = codegen::lower(nest_of(d, c, isa), "kernel").value();
    auto data = operands(d, c, k, isa);
    interpreted_kernel::machine m{k, data};
    m.run(0, k.parallel_extent);
    return stored(d, k, data, isa);
}

TEST_CASE("every allowed point gives a kernel that computes the same") {
    for (auto const* isa : sets)
        for (auto const& d : small(*isa)) {
            auto const space = space_of(d, *isa);
            auto const expected = interpreted(d, counted(d, *isa, space), *isa);
            for (auto const& c : points(space, 11, 8)) {
                CAPTURE(isa->name, kind_of(d), to_string(c));
                CHECK(worst(interpreted(d, c, *isa), expected) <= 1e-5);
            }
        }
}

TEST_CASE("compiled kernels of random points stay within their buffers and compute the same") {
    for (auto const* isa : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*isa};
        std::vector<descriptor> all; // compilers take long for all of them
        for (auto i = isa->extends ? std::size_t{0} : std::size_t{1}; auto& d : small(*isa))
            if (i++ % 3 == 0) all.push_back(std::move(d));
        std::vector<loop::config_space> spaces;
        for (auto const& d : all) spaces.push_back(space_of(d, *isa));
        std::vector<loop::configuration> chosen;
        for (std::size_t i = 0; i < all.size(); ++i) {
            chosen.push_back(points(spaces[i], 21, 1).front());
            kernels.add(codegen::lower(nest_of(all[i], chosen[i], *isa), "kernel").value());
        }
        kernels.compile();
        for (std::size_t i = 0; i < all.size(); ++i) {
            CAPTURE(isa->name, kind_of(all[i]), to_string(chosen[i]));
            auto data = operands(all[i], chosen[i], kernels[i], *isa);
            auto const last = kernels[i].parallel_extent;
            kernels.run(i, data, compiled_kernel::guarded::side::end, {0, last / 2, last});
            auto const expected = interpreted(all[i], counted(all[i], *isa, spaces[i]), *isa);
            CHECK(worst(stored(all[i], kernels[i], data, *isa), expected) <= 1e-4);
        }
    }
}

TEST_CASE("points of large kernels give nests that can be lowered, and their text is read again") {
    for (auto const* isa : sets)
        for (auto const& d : joined(small(*isa), large())) {
            auto const space = space_of(d, *isa);
            for (auto const& c : points(space, 31, 3)) {
                CAPTURE(isa->name, kind_of(d), to_string(c));
                CHECK(codegen::lower(nest_of(d, c, *isa), "kernel").has_value());
                CHECK(space.parse(to_string(c)) == c);
            }
        }
}

TEST_CASE("configurations and points are the same thing") {
    auto const round = [](descriptor const& d, isa const& isa, auto&& read) {
        auto const space = space_of(d, isa);
        for (auto const& c : points(space, 41, 5)) {
            auto other = space.at(0);
            set_knobs(other, read(c));
            CHECK(other == c);
        }
    };
    for (auto const* isa : sets)
        for (auto const& d : small(*isa))
            std::visit(overloaded{
                           [&](conv2d_shape const&) { round(d, *isa, [](auto& c) { return conv2d_knobs(c); }); },
                           [&](winograd_shape const& s) {
                               round(d, *isa, [&](auto& c) { return winograd_knobs(c, s.m); });
                               auto const space = space_of(d, *isa);
                               CHECK(winograd_knobs(space.at(0), s.m).m == s.m);
                           },
                           [&](separable_shape const&) { round(d, *isa, [](auto& c) { return separable_knobs(c); }); },
                           [&](matmul_shape const&) { round(d, *isa, [](auto& c) { return matmul_knobs(c); }); },
                           [&](attention_shape const&) { round(d, *isa, [](auto& c) { return attention_knobs(c); }); },
                           [](auto const&) {},
                       },
                       d);
    auto const space = space_of(matmul(4, 9, 6, true), isa::avx2);
    auto const c = space.parse("unroll_k=3 tile_m=2 tile_n=1 tile_k=0");
    auto const read = matmul_knobs(c);
    CHECK((read.tile_m == 2 && read.tile_n == 1 && read.unroll_k == 3));
}

TEST_CASE("each value of a knob is that of an allowed point") {
    for (auto const* isa : sets)
        for (auto const& d : small(*isa)) {
            auto const space = space_of(d, *isa);
            if (space.size() > 20'000) continue;
            std::vector<std::set<std::uint32_t>> seen(space.knobs().size());
            for (std::uint64_t i = 0; i < space.size(); ++i)
                if (auto const c = space.at(i); space.allows(c))
                    for (std::size_t k = 0; k < seen.size(); ++k) seen[k].insert(c.digits()[k]);
            for (std::size_t k = 0; k < seen.size(); ++k) {
                CAPTURE(isa->name, kind_of(d), space.knobs()[k].name);
                CHECK(seen[k].size() == space.knobs()[k].size());
            }
        }
}

// Loads of a kernel's IR, and vectors that its machine code reads for them.
std::ptrdiff_t loads_of(std::vector<codegen::statement> const& body) {
    std::ptrdiff_t out = 0;
    for (auto const& s : body) {
        out += std::count_if(s.code.begin(), s.code.end(), [](auto const& i) { return i.op == codegen::opcode::load; });
        out += loads_of(s.body) + loads_of(s.otherwise);
    }
    return out;
}
double reads_for_a_load(descriptor const& d, loop::configuration const& c, isa const& isa) {
    auto const k = codegen::lower(nest_of(d, c, isa), "kernel").value();
    auto const code = codegen::instructions_of(k, isa).value().code;
    auto const reads = std::count_if(code.begin(), code.end(), [&](auto const& i) {
        return i.memory.bytes == isa.vector_bytes && i.what != instruction_class::store;
    });
    return static_cast<double>(reads) / static_cast<double>(loads_of(k.body));
}

TEST_CASE("with rows of taps unrolled, sums and the weights that stay alive fit registers, and what does not reloads") {
    for (auto const* isa : {&isa::avx2, &isa::avx512}) {
        descriptor const d = depthwise(64, 112, 112, 1); // tiles in a loop of their own
        auto const space = space_of(d, *isa);
        auto allowed = 0, refused = 0;
        for (std::uint64_t i = 0; i < space.size(); ++i) {
            auto const at = space.at(i);
            auto const c = conv2d_knobs(at);
            if (!c.unroll_kh || c.oc_inner || c.tile_oh == 1) continue;
            // A row of the image meets as many rows of taps as there are rows of pixels in the tile, of three at most.
            auto const needed = c.tile_oh * c.tile_ow + 3 * std::min(c.tile_oh, 3) + 1;
            CAPTURE(isa->name, to_string(at), needed);
            CHECK(space.allows(at) == (needed <= isa->registers));
            if (needed <= isa->registers) {
                ++allowed;
                CHECK(reads_for_a_load(d, at, *isa) < 1.2);
            } else if (needed > isa->registers + 4 && c.tile_oh * c.tile_ow + 2 <= isa->registers) {
                ++refused; // the sums alone would fit
                CHECK(reads_for_a_load(d, at, *isa) > 1.5);
            }
        }
        CHECK(allowed > 5);
        CHECK(refused > 2);
    }
}

TEST_CASE("rows of taps that meet no common row of the image need no registers beside each other") {
    auto s = depthwise(64, 28, 28, 1);
    auto const allows = [&](std::string_view knobs) {
        descriptor const d = s;
        return space_of(d, isa::avx2).allows(space_of(d, isa::avx2).parse(knobs));
    };
    auto constexpr knobs = "tile_ow=6 tile_oh=2 tile_oc=1 unroll_ic=1 chunk=1 unroll_kh=true oc_inner=false tile_ic=0";
    CHECK_FALSE(allows(knobs)); // 12 sums, two rows of three weights, a vector of the image
    s.dilation = {2, 1}, s.pads = {2, 1, 2, 1};
    CHECK(allows(knobs)); // neighbouring rows of pixels share no row
    s.stride = {2, 1}, s.in[0] = 56;
    CHECK_FALSE(allows(knobs)); // each row of pixels begins a row of taps further
    s.dilation = {1, 1}, s.stride = {3, 1};
    CHECK(allows(knobs));
}

TEST_CASE("the depthwise tile of a separable kernel fits beside its weights") {
    descriptor const d = separable(24, 16, 28, 27);
    auto const space = space_of(d, isa::avx2);
    auto unrolled = 0;
    for (auto const& at : points(space, 51, 300)) {
        auto const c = separable_knobs(at).depthwise;
        CAPTURE(to_string(at));
        if (c.unroll_kh) CHECK(c.tile_oh * c.tile_ow + 3 * std::min(c.tile_oh, 3) + 1 <= isa::avx2.registers);
        unrolled += c.unroll_kh;
    }
    CHECK(unrolled > 30);
}

TEST_CASE("knobs of a product may be named in a text") {
    kernels::descriptor const what = kernels::matmul_shape{.m = 128, .n = 768, .k = 768};
    auto const space = kernels::space_of(what, isa::avx512);
    auto const knobs = kernels::counted(what, isa::avx512, space); // tile_m=13 tile_n=2 unroll_k=4 tile_k=0
    auto const other = space.parse("tile_m=14 tile_n=2 unroll_k=2 tile_k=0");
    auto const nest = kernels::nest_of(what, other, isa::avx512);
    CHECK(to_string(knobs) == "tile_m=13 tile_n=2 unroll_k=4 tile_k=0");
    CHECK(space.allows(other));
    CHECK(to_string(nest) ==
          to_string(matmul_nest(matmul_shape{.m = 128, .n = 768, .k = 768}, {14, 2, 2}, isa::avx512)));
}

TEST_CASE("kernels without knobs have one point") {
    for (auto const& d : plain()) {
        auto const space = space_of(d, isa::avx2);
        CAPTURE(kind_of(d));
        CHECK(space.size() == 1);
        CHECK(space.knobs().empty());
        CHECK(to_string(counted(d, isa::avx2, space)) == "");
    }
}

TEST_CASE("operations are those of the direct algorithm") {
    auto const s = image(16, 32, 14, 14, 3);
    CHECK(operations_of(s) == s.operations());
    CHECK(operations_of(winograd_shape{s, 4}) == s.operations());
    auto const both = separable(16, 8, 28, 28);
    CHECK(operations_of(both) == both.depthwise.operations() + both.pointwise.operations());
    CHECK(operations_of(matmul(2, 3, 5, true)) == 2.0 * 2 * 3 * 5);
    CHECK(operations_of(attention(2, 3, 4, 5)) == attention(2, 3, 4, 5).operations());
    auto const others = plain();
    CHECK(operations_of(others[0]) == 9.0 * 3 * 6 * 2 * 3);
    auto deep = std::get<pool2d_shape>(others[0]);
    deep.depth.in = 5, deep.depth.kernel = 2, deep.out_depth = 4;
    CHECK(operations_of(deep) == 9.0 * 4 * 3 * 6 * 2 * 2 * 3);
    CHECK(operations_of(others[1]) == 100.0 * (info(scalar_op::multiply).cost + info(scalar_op::exponential).cost));
    CHECK(operations_of(others[2]) == 3.0 * 5 * 7 * (info(scalar_op::maximum).cost + info(scalar_op::subtract).cost));
    CHECK(operations_of(others[3]) == 3.0 * 5 * 7);
    CHECK(operations_of(others[4]) == std::get<local_response_norm_shape>(others[4]).operations());
    CHECK(operations_of(others[5]) == 0);
    CHECK(operations_of(others[6]) == 4.0 * 5 * 7);
}

TEST_CASE("a point of another kernel's space is refused by the name of a knob") {
    descriptor const product = matmul(4, 9, 6, true), conv = image(16, 32, 14, 14, 3);
    auto const space = space_of(product, isa::avx2);
    CHECK_THROWS_WITH(nest_of(conv, space.at(0), isa::avx2), Catch::Matchers::Contains("tile_ow"));
    CHECK_THROWS_WITH(counted(conv, isa::avx2, space), Catch::Matchers::Contains("tile_ow"));
    CHECK_THROWS_AS(counted(matmul(4, 9, 8, true), isa::avx2, space), error); // no unroll_k of 4
}

} // namespace knobs_test
