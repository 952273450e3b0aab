#include "exported_model.hpp"
#include "runtime/copied_values.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/models/bert.hpp>

namespace export_steps_test {

using namespace gsub;
using namespace gsub::aot;
using namespace exported_model;

constexpr auto types = stored_dtypes;

// Any bits, for truth values 0 or 1.
tensor any_elements(dtype t, ints const& dims, random_stream& r) {
    auto out = tensor::uninitialized(t, dims);
    for (auto& byte : out.mutable_raw()) byte = static_cast<std::byte>(r.below(t == dtype::boolean ? 2 : 256));
    return out;
}
// Small numbers, those near powers of two, and with a fraction of the steps between 16-bit floats: ties and what is
// near to them.
double telling_number(random_stream& r) {
    auto const small = static_cast<double>(r.below(4096)) / 8;
    auto const power = std::ldexp(1.0, static_cast<int>(r.below(96)) - 30);
    double const fractions[] = {0, 0x1p-11, 0x1p-8, 0x1p-9, 0x1p-30, 0x1p-8 + 0x1p-9, -0x1p-40};
    auto const x = r.below(2) ? small : power * (1 + fractions[r.below(7)] + fractions[r.below(7)]);
    return r.below(2) ? x : -x;
}

// A graph of many single operators, with inputs for it.
struct operators_alone {
    graph g;
    graph_builder b{g};
    std::vector<tensor> inputs;
    std::vector<value_id> results;
    random_stream r{5};

    value_id input(tensor t) {
        auto const v = b.input(t.element(), t.type().dims, fmt::format("{}{}", hostile, inputs.size()));
        inputs.push_back(std::move(t));
        return v;
    }
    dtype type() { return types[r.below(std::size(types))]; }
    ints sizes(std::size_t least = 1) {
        ints out;
        for (auto rank = least + r.below(3); rank > 0; --rank) out.push_back(1 + static_cast<std::int64_t>(r.below(5)));
        return out;
    }
    std::int64_t below(std::int64_t bound) {
        return static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(bound)));
    }

    value_id list(ints const& v) {
        ints const dims{static_cast<std::int64_t>(v.size())};
        return b.constant(tensor::from(std::span<std::int64_t const>{dims}, std::span<std::int64_t const>{v}));
    }

    void cast(dtype from, dtype to) {
        auto t = any_elements(from, {5000}, r);
        auto numbers = tensor::zeros(dtype::f64, ints{2000});
        for (auto& x : numbers.mutable_data<double>()) x = telling_number(r);
        auto const told = numbers.converted_to(from);
        std::memcpy(t.mutable_raw().data(), told.raw().data(), told.size_bytes());
        results.push_back(b.add<ops::cast>({.to = to}, {input(std::move(t))}));
    }
    void transpose() {
        auto const dims = sizes();
        ints perm;
        for (std::size_t i = 0; i < dims.size(); ++i) perm.push_back(static_cast<std::int64_t>(i));
        for (auto i = perm.size(); i-- > 1;) std::swap(perm[i], perm[r.below(i + 1)]);
        results.push_back(b.add<ops::transpose>({.perm = perm}, {input(any_elements(type(), dims, r))}));
    }
    void slice() {
        auto const dims = sizes();
        ints starts, ends, axes, steps;
        for (std::size_t i = 0; i < dims.size(); ++i) {
            auto const forward = r.below(2) == 0;
            starts.push_back(below(dims[i]) - (r.below(2) ? dims[i] : 0));
            ends.push_back(forward ? dims[i] + below(3) : -99);
            axes.push_back(static_cast<std::int64_t>(i));
            steps.push_back((1 + below(3)) * (forward ? 1 : -1));
        }
        auto const x = input(any_elements(type(), dims, r));
        if (r.below(2))
            results.push_back(b.add<ops::slice>({starts, ends, axes, steps}, {x}));
        else
            results.push_back(b.add<ops::slice>(x, list(starts), list(ends), list(axes), list(steps)));
    }
    void pad() {
        auto const dims = sizes();
        ints begins, ends;
        for (auto d : dims) {
            begins.push_back(below(d));
            ends.push_back(d > 1 ? below(d + 1) - 1 : 0);
        }
        begins.append(ends);
        auto const t = type();
        char const* const modes[] = {"constant", "edge", "reflect", "constant"};
        auto const mode = r.below(4);
        auto const x = input(any_elements(t, dims, r));
        if (mode < 3)
            results.push_back(b.add<ops::pad>({.mode = modes[mode], .pads = begins, .value = -2.75}, {x}));
        else
            results.push_back(b.add<ops::pad>(x, list(begins), input(any_elements(t, {}, r))));
    }
    void split() {
        auto const dims = sizes();
        auto const axis = r.below(dims.size());
        auto const first = below(dims[axis] + 1), second = below(dims[axis] - first + 1);
        auto const y =
            b.add<ops::split>({static_cast<std::int64_t>(axis), {first, second, dims[axis] - first - second}},
                              {input(any_elements(type(), dims, r))}, 3);
        results.push_back({y.node, 2});
        results.push_back({y.node, 0});
    }
    void concat() {
        auto const dims = sizes();
        auto const axis = r.below(dims.size());
        auto const t = type();
        auto other = dims;
        other[axis] = below(4);
        auto const x = input(any_elements(t, dims, r)), y = input(any_elements(t, other, r));
        results.push_back(b.add<ops::concat>({.axis = static_cast<std::int64_t>(axis)}, {x, y, x}));
    }
    void gather() {
        auto const dims = sizes();
        auto const axis = r.below(dims.size());
        auto chosen = tensor::zeros(dtype::i64, sizes(0));
        for (auto& i : chosen.mutable_data<std::int64_t>()) i = below(2 * dims[axis]) - dims[axis];
        results.push_back(b.add<ops::gather>(
            {.axis = static_cast<std::int64_t>(axis) - static_cast<std::int64_t>(dims.size())},
            {input(any_elements(type(), dims, r)), input(chosen.converted_to(r.below(2) ? dtype::i32 : dtype::i64))}));
    }
    void scatter() {
        auto const dims = sizes();
        auto const axis = r.below(dims.size());
        auto updates = dims;
        updates[axis] = 1 + below(5);
        auto chosen = tensor::zeros(dtype::i64, updates);
        for (auto& i : chosen.mutable_data<std::int64_t>()) i = below(2 * dims[axis]) - dims[axis];
        results.push_back(
            b.add<ops::scatter_elements>({.axis = static_cast<std::int64_t>(axis)},
                                         {input(any_elements(dtype::f32, dims, r)), input(std::move(chosen)),
                                          input(any_elements(dtype::f32, updates, r))}));
    }
    void view() {
        auto const dims = sizes(2);
        auto const x = input(any_elements(type(), dims, r));
        results.push_back(b.add<ops::flatten>({.axis = below(2)}, {x}));
        results.push_back(b.add<ops::shape>({.start = -below(3)}, {x}));
    }
    // Few different numbers, NaN among them: ties.
    tensor of_few(dtype t, ints const& dims) {
        auto out = tensor::zeros(dtype::f64, dims);
        double const specials[] = {std::nan(""), HUGE_VAL, -HUGE_VAL, -0.0};
        for (auto& x : out.mutable_data<double>()) {
            auto const i = is_floating(t) ? r.below(24) : 4;
            x = i < 4 ? specials[i] : static_cast<double>(r.below(9)) - (info(t).is_signed ? 4 : 0);
        }
        return out.converted_to(t);
    }
    // `dims` without the axis are rows of their own; one result or both are read.
    void top_k(dtype t, ints const& dims, std::int64_t axis, std::int64_t k) {
        auto const y =
            b.add<ops::top_k>({.axis = axis, .largest = r.below(2) > 0}, {input(of_few(t, dims)), list({k})}, 2);
        if (r.below(3)) results.push_back({y.node, 0});
        results.push_back({y.node, 1});
    }
    void max_pool(dtype t, std::size_t rank) {
        op_traits<ops::max_pool>::attributes a;
        a.column_major_indices = r.below(2) > 0;
        ints dims{2, 1 + below(3)};
        for (std::size_t d = 0; d < rank; ++d) {
            a.kernel_shape.push_back(1 + below(3)), a.strides.push_back(1 + below(3));
            a.dilations.push_back(1 + below(2)), dims.push_back(7 + below(5));
        }
        for (std::size_t d = 0; d < 2 * rank; ++d) a.pads.push_back(below(a.kernel_shape[d % rank]));
        auto const y = b.add<ops::max_pool>(a, {input(of_few(t, dims))}, 2);
        results.push_back({y.node, 1});
        if (r.below(2)) results.push_back({y.node, 0});
    }
    void fill() { results.push_back(b.add<ops::fill>({sizes(), type(), -1.1, -3}, std::span<value_id const>{})); }
};

// What an exported model computes, on one thread and on several.
void same_as_reference(any_graph const& g, runtime::program const& p, std::vector<tensor> const& inputs,
                       double tolerance) {
    auto const want = evaluate_graph(g, evaluators, inputs).value();
    temporary_folder const folder;
    written(p, folder.path.string(), {"net", true});
    auto const api = loaded(folder.path.string(), "net");
    auto const weights = folder.at("weights.bin");
    for (std::size_t const threads : {1u, 3u}) {
        c_options o;
        o.weights_path = weights.c_str();
        o.threads = threads;
        void* context = nullptr;
        REQUIRE(api.create(&o, &context) == ok);
        auto const got = outputs_of(api, context, p, inputs);
        api.destroy(context);
        REQUIRE(got.size() == want.size());
        for (std::size_t i = 0; i < want.size(); ++i) {
            INFO("output " << i << ", " << g.op(g.output(i).node).name);
            if (tolerance == 0)
                CHECK(same_bits({got[i]}, {want[i]}));
            else
                CHECK(compare(got[i], want[i]).value().max_relative <= tolerance);
        }
    }
}

} // namespace export_steps_test

TEST_CASE("operators that move elements do so without gsub as in the reference, bit for bit") {
    using namespace export_steps_test;
    if (!has_cmake()) return;
    operators_alone all;
    for (int i = 0; i < 5; ++i) {
        all.transpose(), all.slice(), all.pad(), all.split(), all.concat(), all.gather(), all.view(), all.fill();
        all.pad(), all.scatter();
    }
    all.g.set_outputs(all.results);
    for (auto const* isa : {&isa::baseline, &isa_of(host())})
        same_as_reference(all.g, plan(all.g, evaluators, *isa).value(), all.inputs, 0);
    build_options options;
    options.generate = false;
    auto const executable = build(all.g, evaluators, host(), options).value();
    CHECK(same_bits(executable.run(all.inputs).value(), evaluate_graph(all.g, evaluators, all.inputs).value()));
}

TEST_CASE("casts between any two element types are those of the reference, bit for bit") {
    using namespace export_steps_test;
    if (!has_cmake()) return;
    operators_alone all;
    for (auto from : types)
        for (auto to : types) all.cast(from, to);
    all.g.set_outputs(all.results);
    same_as_reference(all.g, plan(all.g, evaluators, isa::baseline).value(), all.inputs, 0);
}

TEST_CASE("what goes by the values of its elements does so without gsub as in the reference, bit for bit") {
    using namespace export_steps_test;
    if (!has_cmake()) return;
    operators_alone all;
    for (auto const t : types) {
        if (t == dtype::boolean) continue;
        all.top_k(t, {3, 40}, -1, 5), all.top_k(t, {4, 6, 5}, 1, 6), all.top_k(t, {700, 2}, 0, 1 + all.below(300));
        for (std::size_t rank = 1; rank <= 3; ++rank) all.max_pool(t, rank);
    }
    all.top_k(dtype::f32, {64, 1024}, -1, 40); // threads share its rows
    all.g.set_outputs(all.results);
    same_as_reference(all.g, plan(all.g, evaluators, isa_of(host())).value(), all.inputs, 0);
}

TEST_CASE("a text encoder does without gsub, and refuses words that it does not know") {
    using namespace export_steps_test;
    if (!has_cmake()) return;
    models::bert_options small;
    small.batch = 2, small.sequence = 12, small.layers = 2, small.hidden = 48, small.heads = 3;
    small.intermediate = 80, small.vocabulary = 50, small.positions = 16;
    auto const g = models::bert_base(small);
    auto inputs = random_inputs(g, 3);
    random_stream r{9};
    for (auto& word : inputs[0].mutable_data<std::int64_t>()) word = static_cast<std::int64_t>(r.below(50));
    auto const p = plan(g, evaluators, isa_of(host())).value();
    same_as_reference(g, p, inputs, 1e-5);

    temporary_folder const folder;
    written(p, folder.path.string(), {"net", false});
    auto const api = loaded(folder.path.string(), "net");
    auto const weights = folder.at("weights.bin");
    c_options o;
    o.weights_path = weights.c_str();
    void* context = nullptr;
    REQUIRE(api.create(&o, &context) == ok);
    auto const before = outputs_of(api, context, p, inputs);
    build_options options;
    options.jit.use_cache = false;
    CHECK(same_bits(before, build(g, evaluators, host(), options).value().run(inputs).value()));
    for (std::int64_t const unknown : {std::int64_t{50}, std::int64_t{-51}, std::int64_t{1} << 40}) {
        auto bad = inputs;
        bad[0].mutable_data<std::int64_t>()[r.below(24)] = unknown;
        auto outputs = before;
        CHECK(run(api, context, bad, outputs) == bad_input);
        CHECK(same_bits(outputs_of(api, context, p, inputs), before));
    }
    api.destroy(context);
    CHECK(std::string{api.status_text(bad_input)}.find("range") != std::string::npos);
}

TEST_CASE("a copy moves without gsub what it moves with it, bit for bit") {
    using namespace export_steps_test;
    if (!has_cmake()) return;
    random_stream r{23};
    for (int i = 0; i < 3; ++i) {
        auto const p = copied_values::any_copy(r, i > 0);
        auto const inputs = copied_values::inputs_of(p, r);
        auto const want = runtime::executable{p, {}}.run(inputs).value();
        temporary_folder const folder;
        CHECK(written(p, folder.path.string(), {"net", true}).steps == p.steps.size());
        auto const api = loaded(folder.path.string(), "net");
        auto const weights = folder.at("weights.bin");
        for (std::size_t const threads : {1u, 3u}) {
            c_options o;
            o.weights_path = weights.c_str();
            o.threads = threads;
            void* context = nullptr;
            REQUIRE(api.create(&o, &context) == ok);
            CHECK(same_bits(outputs_of(api, context, p, inputs), want));
            api.destroy(context);
        }
    }
}
