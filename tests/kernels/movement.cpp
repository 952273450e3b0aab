#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/core/random.hpp>
#include <gsub/ir/types/tensor.hpp>
#include <gsub/kernels/movement.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace movement_test {

using namespace gsub;
using namespace gsub::kernels;
using bytes = std::vector<std::byte>;

// What a movement leaves in its result, element by element; elements that nothing is stored in keep their bits.
void expected(movement_shape const& s, std::vector<bytes> const& arrays, std::vector<std::int64_t> const& chosen,
              bytes& result) {
    auto const size = byte_size(s.element);
    for (auto const& box : s.boxes) {
        std::vector<std::int64_t> at(s.dims.size(), 0);
        while (true) {
            auto to = s.target.offset, from = box.offset, integer = s.chosen ? s.chosen->at.offset : 0;
            for (std::size_t d = 0; d < at.size(); ++d) {
                to += (box.first[d] + at[d]) * s.target.strides[d];
                from += at[d] * box.strides[d];
                if (s.chosen) integer += (box.first[d] + at[d]) * s.chosen->at.strides[d];
            }
            if (s.chosen) {
                auto const k = chosen.at(static_cast<std::size_t>(integer));
                from += (k < 0 ? k + s.chosen->entries : k) * s.chosen->stride;
            }
            auto* const place = result.data() + static_cast<std::size_t>(to) * size;
            if (box.array < 0)
                std::memcpy(place, &box.fill, size);
            else
                std::memcpy(place,
                            &arrays.at(static_cast<std::size_t>(box.array)).at(static_cast<std::size_t>(from) * size),
                            size);
            auto d = at.size();
            while (d > 0 && ++at[d - 1] == box.extent[d - 1]) at[--d] = 0;
            if (d == 0) break;
        }
    }
}

struct job {
    std::size_t kernel;
    movement_shape what;
};

// Movements of one instruction set, checked together.
struct movements {
    explicit movements(gsub::isa const& s) : isa(&s), kernels(s) {}
    gsub::isa const* isa;
    compiled_kernel::batch kernels;
    std::vector<job> jobs;

    void add(movement_shape s) {
        auto k = codegen::lower(movement_nest(s, *isa), "movement").value();
        jobs.push_back({kernels.add(std::move(k)), std::move(s)});
    }
    // What differs; every buffer ends, or begins, at memory that cannot be touched.
    std::string difference(job const& j, std::uint64_t seed) const {
        using compiled_kernel::guarded;
        random_stream r{seed};
        auto const& s = j.what;
        auto const size = byte_size(s.element);
        for (auto const flush : {guarded::side::end, guarded::side::begin}) {
            std::vector<guarded> memory;
            std::vector<bytes> arrays;
            for (auto n : s.arrays) {
                auto& a = arrays.emplace_back(static_cast<std::size_t>(n) * size);
                for (auto& b : a) b = static_cast<std::byte>(r.below(256));
                memory.emplace_back(static_cast<std::size_t>(n), flush, size);
                if (!a.empty()) std::memcpy(memory.back().data(), a.data(), a.size());
            }
            std::vector<std::int64_t> chosen;
            if (s.chosen) {
                auto const width = byte_size(s.chosen->integers);
                memory.emplace_back(static_cast<std::size_t>(s.chosen->at.elements), flush, width);
                for (std::int64_t i = 0; i < s.chosen->at.elements; ++i) {
                    chosen.push_back(
                        static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(2 * s.chosen->entries))) -
                        s.chosen->entries);
                    std::memcpy(reinterpret_cast<char*>(memory.back().data()) + static_cast<std::size_t>(i) * width,
                                &chosen.back(), width);
                }
            }
            auto const count = static_cast<std::size_t>(s.target.elements);
            bytes want(count * size, std::byte{0xff});
            memory.emplace_back(count, flush, size);
            auto const result = memory.size() - 1;
            std::int32_t status = 0;
            std::vector<void*> at;
            for (auto const& m : memory) at.push_back(m.data());
            at.push_back(&status);
            expected(s, arrays, chosen, want);
            auto const last = kernels[j.kernel].parallel_extent;
            auto const f = kernels.function(j.kernel);
            f(at.data(), 0, last / 3), f(at.data(), last / 3, last / 3), f(at.data(), last / 3, last);
            if (status != 0) return "a choice is out of range";
            if (!memory[result].intact()) return "something is stored beside the result";
            if (std::memcmp(memory[result].data(), want.data(), want.size()) != 0) return "an element differs";
        }
        return {};
    }
    void check() {
        kernels.compile();
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            auto const& s = jobs[i].what;
            std::string dims;
            for (auto d : s.dims) dims.append(" ").append(std::to_string(d));
            CAPTURE(isa->name, to_string(s.kind), to_string(s.element), dims, i);
            CHECK(difference(jobs[i], i) == "");
        }
    }
};

std::int64_t below(random_stream& r, std::int64_t n) {
    return static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(n)));
}
ints random_dims(random_stream& r) {
    ints dims;
    for (auto d = 1 + r.below(4); d-- > 0;) dims.push_back(1 + below(r, r.below(3) == 0 ? 40 : 5));
    return dims;
}
dtype any_type(random_stream& r) {
    return stored_dtypes[r.below(std::size(stored_dtypes))];
}
// A view of an array by a permutation, steps of either sign, and repetition.
array_view random_view(random_stream& r, std::span<std::int64_t const> dims) {
    std::vector<std::size_t> order;
    for (std::size_t d = 0; d < dims.size(); ++d) order.push_back(d);
    for (auto i = order.size(); i-- > 1;) std::swap(order[i], order[r.below(i + 1)]);
    array_view v;
    v.strides.resize(dims.size(), 0);
    std::int64_t elements = 1;
    for (auto d : order) {
        if (r.below(6) == 0) continue;
        auto const step = r.below(5) == 0 ? 2 : 1;
        v.strides[d] = elements * step;
        elements *= dims[d] * step;
        if (r.below(6) == 0) {
            v.offset += (dims[d] - 1) * v.strides[d];
            v.strides[d] = -v.strides[d];
        }
    }
    auto const before = below(r, 3);
    v.offset += before;
    v.elements = elements + before + below(r, 2);
    return v;
}

movement_shape random_movement(random_stream& r) {
    auto const dims = random_dims(r);
    auto const type = any_type(r);
    switch (r.below(5)) {
    case 0:
        return copied_view(type, dims, random_view(r, dims));
    case 1: {
        auto const axis = r.below(dims.size());
        auto whole = dims;
        ints sizes;
        std::vector<array_view> parts;
        whole[axis] = 0;
        for (auto count = 1 + r.below(3); count-- > 0;) {
            auto part = dims;
            part[axis] = below(r, 20) + (count == 0);
            parts.push_back(random_view(r, part));
            sizes.push_back(part[axis]);
            whole[axis] += part[axis];
        }
        return concatenated_views(type, whole, axis, sizes, parts);
    }
    case 2: {
        auto const axis = r.below(dims.size());
        if (r.below(3) == 0) {
            ints chosen;
            for (std::size_t d = 0; d < dims.size(); ++d)
                chosen.push_back(1 + below(r, d == axis ? 9 : dims[d])); // no larger but along the axis
            return gathered_elements(type, dims, chosen, axis, r.below(2) ? dtype::i32 : dtype::i64);
        }
        return gathered_entries(type, dims, axis, 1 + below(r, 30), r.below(2) ? dtype::i32 : dtype::i64);
    }
    case 3: {
        ints blocked{1 + below(r, 2), 1 + below(r, 40), 1 + below(r, 6), 1 + below(r, 9)};
        if (r.below(3) == 0) blocked.push_back(1 + below(r, 5)); // images that have depth
        auto const lanes = std::int64_t{1} << (2 + r.below(3));
        return r.below(2) ? to_blocked_layout(type, blocked, lanes) : from_blocked_layout(type, blocked, lanes);
    }
    default: {
        ints before, after;
        auto const kind = static_cast<padding_mode>(r.below(3));
        for (auto d : dims) {
            auto const padded = r.below(2) == 0;
            before.push_back(padded ? below(r, std::min<std::int64_t>(d, 5)) : 0);
            after.push_back(padded ? below(r, std::min<std::int64_t>(d, 4)) - (d > 2 ? 1 : 0) : 0);
        }
        std::optional<array_view> filling;
        if (r.below(3) == 0) {
            filling = array_view{1, 0, {}};
            filling->strides.resize(dims.size(), 0);
        }
        return padded_view(type, dims, random_view(r, dims), before, after, kind, r(), filling);
    }
    }
}

} // namespace movement_test

TEST_CASE("movements are those of single elements, bit for bit, for every type and instruction set") {
    using namespace movement_test;
    for (auto const* isa : compiled_kernel::sets()) {
        random_stream r{11};
        movements all{*isa};
        for (int i = 0; i < 120; ++i) all.add(random_movement(r));
        // Elements that stand several times one behind the other, in rows of any length.
        for (auto const t : {dtype::f32, dtype::i32, dtype::f64, dtype::u8})
            for (std::int64_t const times : {2, 3, 4})
                for (std::int64_t const row : {1, 5, 8, 20, 33})
                    all.add(copied_view(t, ints{3, 2, times, row, times}, {3 * 2 * row, 0, {2 * row, row, 0, 1, 0}}));
        for (std::int64_t const row : {9, 70}) all.add(copied_view(dtype::f32, ints{row, 2}, {row, 0, {1, 0}}));
        for (auto const t : stored_dtypes) all.add(copied_view(t, ints{3, 37, 41}, {3 * 37 * 41, 0, {37 * 41, 1, 37}}));
        all.check();
    }
}

TEST_CASE("a gather tells of an entry that is not there, and reads the first one") {
    using namespace movement_test;
    for (auto const* isa : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*isa};
        for (std::int64_t const inner : {1, 5})
            kernels.add(
                codegen::lower(movement_nest(gathered_entries(dtype::f32, ints{5, inner}, 0, 3, dtype::i64), *isa),
                               "gather")
                    .value());
        kernels.compile();
        for (std::size_t k = 0; k < 2; ++k)
            for (std::int64_t const wrong : {std::int64_t{5}, std::int64_t{-6}, std::int64_t{1} << 40}) {
                std::vector<float> x(25), y(15, -1.0f);
                for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
                std::int64_t const chosen[] = {-1, wrong, 4};
                std::int32_t status = 0;
                void* const at[] = {x.data(), const_cast<std::int64_t*>(chosen), y.data(), &status};
                kernels.function(k)(at, 0, kernels[k].parallel_extent);
                CHECK(status == 1);
                auto const inner = k == 0 ? std::size_t{1} : std::size_t{5};
                CHECK(y[0] == static_cast<float>(4 * inner));
                CHECK(y[inner] == 0.0f);
            }
    }
}

TEST_CASE("movements of types of one size have one text") {
    using namespace movement_test;
    auto const text = [](dtype t) {
        return codegen::emit_cpp(
            codegen::lower(movement_nest(copied_view(t, ints{7, 9}, {63, 0, {1, 7}}), isa::avx2), "copy").value(), "k");
    };
    CHECK(text(dtype::f32) == text(dtype::i32));
    CHECK(text(dtype::f16) == text(dtype::u16));
    CHECK(text(dtype::f32) != text(dtype::f64));
}
