#include "built_graph.hpp"
#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace movement_steps_test {

using namespace gsub;
using namespace built_graph;

auto const evaluators = table_of<eval_row, standard_ops>();

// Any bits, for truth values 0 or 1.
tensor any_elements(dtype t, ints const& dims, random_stream& r) {
    auto out = tensor::uninitialized(t, dims);
    for (auto& byte : out.mutable_raw()) byte = static_cast<std::byte>(r.below(t == dtype::boolean ? 2 : 256));
    return out;
}

// Chains of operators that move elements, with inputs.
struct random_moves {
    graph g;
    graph_builder b{g};
    std::vector<tensor> inputs;
    random_stream r;

    explicit random_moves(std::uint64_t seed) : r(seed) {}
    std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(r.below(static_cast<std::uint64_t>(n))); }
    value_id input(tensor t) {
        auto const v = b.input(t.element(), t.type().dims, "x" + std::to_string(inputs.size()));
        inputs.push_back(std::move(t));
        return v;
    }
    ints sizes_of(value_id v) const { return g.type(v).sizes(); }

    value_id moved(value_id x) {
        auto const dims = sizes_of(x);
        auto const rank = dims.size();
        if (rank == 0) return b.add<ops::reshape>({.shape = {1}}, {x});
        auto const axis = r.below(rank);
        auto const a = static_cast<std::int64_t>(axis);
        switch (r.below(9)) {
        case 0: {
            ints perm;
            for (std::size_t i = 0; i < rank; ++i) perm.push_back(static_cast<std::int64_t>(i));
            for (auto i = rank; i-- > 1;) std::swap(perm[i], perm[r.below(i + 1)]);
            return b.add<ops::transpose>({.perm = perm}, {x});
        }
        case 1: {
            ints starts, ends, axes, steps;
            for (std::size_t i = 0; i < rank; ++i) {
                auto const forward = r.below(3) != 0;
                starts.push_back(forward ? below(dims[i] + 1) / 2 : dims[i] - 1 - below(dims[i] + 1) / 3);
                ends.push_back(forward ? dims[i] : -99999);
                axes.push_back(static_cast<std::int64_t>(i));
                steps.push_back((1 + below(2)) * (forward ? 1 : -1));
            }
            return b.add<ops::slice>({starts, ends, axes, steps}, {x});
        }
        case 2: {
            ints pads;
            char const* const modes[] = {"constant", "edge", "reflect"};
            auto const mode = r.below(3);
            for (int side = 0; side < 2; ++side)
                for (auto d : dims)
                    pads.push_back(product(dims) > 20000 ? 0 : below(std::min<std::int64_t>(d, 4)) - (d > 8 ? 1 : 0));
            if (mode > 0 && product(dims) == 0) return x;
            return b.add<ops::pad>({.mode = modes[mode], .pads = pads, .value = 1.75}, {x});
        }
        case 3: {
            auto const first = below(dims[axis] + 1);
            auto const y = b.add<ops::split>({a, {first, dims[axis] - first}}, {x}, 2);
            return {y.node, static_cast<std::uint32_t>(r.below(2))};
        }
        case 4: {
            auto other = dims;
            other[axis] = below(5);
            return b.add<ops::concat>({.axis = a}, {x, input(any_elements(g.type(x).element, other, r)), x});
        }
        case 5: {
            if (dims[axis] == 0) return x;
            ints const count{1 + below(6)};
            auto chosen = tensor::zeros(dtype::i64, r.below(3) ? count : ints{});
            for (auto& i : chosen.mutable_data<std::int64_t>()) i = below(2 * dims[axis]) - dims[axis];
            return b.add<ops::gather>({.axis = a},
                                      {x, input(chosen.converted_to(r.below(2) ? dtype::i32 : dtype::i64))});
        }
        case 6: {
            auto shape = dims;
            for (auto& d : shape)
                if (d == 1) d = 1 + below(4);
            if (rank < 5 && r.below(2)) shape.insert(0, 2);
            return product(dims) < 20000 ? b.add<ops::expand>({.shape = shape}, {x}) : x;
        }
        case 7:
            return b.add<ops::flatten>({.axis = below(static_cast<std::int64_t>(rank) + 1)}, {x});
        default:
            return rank < 5 ? b.add<ops::unsqueeze>({.axes = {below(static_cast<std::int64_t>(rank) + 1)}}, {x}) : x;
        }
    }
    void chains(int count) {
        std::vector<value_id> results;
        for (int c = 0; c < count; ++c) {
            auto const type = stored_dtypes[r.below(std::size(stored_dtypes))];
            ints dims;
            for (auto rank = 1 + r.below(4); rank > 0; --rank) dims.push_back(1 + below(r.below(4) ? 5 : 40));
            auto v = input(any_elements(type, dims, r));
            for (auto length = 1 + r.below(4); length > 0; --length) v = moved(v);
            results.push_back(v);
            if (c % 8 == 0) results.push_back(b.add<ops::shape>({.start = -below(3)}, {v}));
            if (c % 8 == 1)
                results.push_back(b.add<ops::fill>({sizes_of(v), type, -1.5, 1}, std::span<value_id const>{}));
        }
        g.set_outputs(results);
    }
};

} // namespace movement_steps_test

TEST_CASE("operators that move elements of any type are kernels that do so bit for bit, on any number of threads") {
    using namespace movement_steps_test;
    random_moves all{29};
    all.chains(160);
    auto const want = evaluate_graph(all.g, evaluators, all.inputs).value();
    auto const machine = host();
    for (auto const* isa : {&isa::baseline, &isa::sse42, &isa::avx2, &isa::avx512}) {
        if (isa != &isa::baseline && !machine.has(*isa)) continue;
        auto p = plan(all.g, evaluators, *isa).value();
        for (auto const& s : p.steps) {
            INFO(s.name << ": " << kind_of(s));
            CHECK_FALSE(std::holds_alternative<runtime::reference_call>(s.what));
        }
        runtime::jit_options options;
        options.use_cache = false;
        options.flags = {"-O1"};
        auto kernels =
            runtime::load_kernels(runtime::sources_of(as_span(p.kernels)), runtime::find_compiler().value(), options)
                .value();
        runtime::executable const e{std::move(p), std::move(kernels)};
        runtime::thread_pool threads{{.threads = 3}};
        for (auto* on : {static_cast<executor*>(nullptr), static_cast<executor*>(&threads)}) {
            auto const got = e.run(all.inputs, on).value();
            REQUIRE(got.size() == want.size());
            for (std::size_t i = 0; i < want.size(); ++i) {
                INFO(isa->name << ", output " << i << ", " << all.g.op(all.g.output(i).node).name << " "
                               << to_string(want[i].type()));
                CHECK(got[i].type() == want[i].type());
                CHECK(std::ranges::equal(got[i].raw(), want[i].raw()));
            }
        }
    }
}

TEST_CASE("a large movement is shared by threads") {
    using namespace movement_steps_test;
    graph g;
    graph_builder b{g};
    b.outputs({b.add<ops::transpose>({.perm = {0, 2, 1}}, {b.input(dtype::i16, {3, 700, 301}, "x")})});
    auto const e = built(g);
    CHECK(count(e, "copy") == 1);
    runtime::thread_pool threads{{.threads = 4}};
    auto const inputs = random_inputs(g, 3);
    CHECK(std::ranges::equal(e.run(inputs, &threads).value()[0].raw(),
                             evaluate_graph(g, evaluators, inputs).value()[0].raw()));
}

TEST_CASE("an index of a gather that is out of range is an error of the run, which names it") {
    using namespace movement_steps_test;
    for (auto const integers : {dtype::i32, dtype::i64}) {
        graph g;
        graph_builder b{g};
        b.outputs({b.add<ops::gather>({.axis = 0}, {b.input(dtype::f16, {5, 3}, "x"), b.input(integers, {4}, "i")})});
        auto const e = built(g);
        CHECK(count(e, "gather") == 1);
        auto inputs = random_inputs(g, 3);
        std::vector<std::int64_t> chosen{0, -5, 7, 4};
        ints const dims{4};
        auto const given = [&] {
            return tensor::from(std::span<std::int64_t const>{dims}, std::span<std::int64_t const>{chosen})
                .converted_to(integers);
        };
        inputs[1] = given();
        auto const failed = e.run(inputs);
        REQUIRE_FALSE(failed);
        CHECK(failed.error().id() == errors::index_out_of_range);
        CHECK(std::string{failed.error().what()}.find("index 7 of a gather is out of range for 5 entries") !=
              std::string::npos);
        chosen[2] = 4;
        inputs[1] = given();
        CHECK(e.run(inputs).has_value());
    }
}
