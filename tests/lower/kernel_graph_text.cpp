#include "catch.hpp"
#include "kernel_graphs.hpp"
#include <gsub/core/random.hpp>
#include <gsub/lower/kernel_graph_text.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace kernel_graph_text_test {

using namespace kernel_graphs;

// A graph of every kind of kernel that has a text, which computes nothing useful.
std::string_view constexpr everything = R"(kernel graph fused
input f32[1,4,2,2] "x"
%0 "x": f32[1,4,2,2] input 0
%1 "w": f32[4,4,1,1] constant @00112233445566778899aabbccddeeff
%2 "b": f32[2] constant 0x0000803f000000c0
%3 "a \"name\" \\ \x0a\x07": f32[1,4,2,2] temporary
%4: f32[4,4] temporary
%5: f32[1,8,2,2] temporary
%6 "y": f32[1,8,3,2] output 0
%3 = conv2d{in_channels=4 out_channels=4 in=[2,2]} %0, %1 packed{scale=[1,0.10000000149011612,-0,4]}
  covers "Conv" "c", "Re\"lu" "r\x0a"
  boundary "s: it leads a kernel of its own"
%4 = view{reshape=true} %3
  covers "Reshape" "v"
%4 = row_reduction{dims=[4,4] arrays=[{elements=16 strides=[4,1]}] ops=[{what={op=exp}}] results=[{value=1}]} %4[0,-1,1]
  frame [2,2,4]
%5 = concat{axis=1} %3, %3
%5 = extern "app.Swish" %5
%5 = custom "mine" operations=12.5 %5
%5 = copy{times=2 moves=[{to=1 size=4}]} %5
%5 = reference %5
  covers "Relu" "q"
  | graph "" {
  |   %0 "x": f32[1,8,2,2] = input
  |   %1: f32[1,8,2,2] = Relu(%0)
  |   return %1
  | }
%6 = pad{before=[0,0,1,0] after=[0,0,0,0] kind=edge fill=7} %5, %2
result f32[1,8,3,2] "y" %6
)";

} // namespace kernel_graph_text_test

TEST_CASE("kernel graphs of every stage read back as they are printed") {
    using namespace kernel_graph_text_test;
    for (auto const* isa : {&isa::avx512, &isa::baseline})
        for (auto const& g : graphs())
            for (auto const& k : stages(g, *isa)) {
                auto const text = to_text(k);
                INFO(text);
                auto const back = parsed(text, *isa);
                CHECK(to_text(back) == text);
                CHECK(hash_of(back) == hash_of(k));
                CHECK(check(back).empty());
                CHECK(summary(back) == summary(k));
                CHECK(whole_text(parsed(whole_text(k), *isa)) == whole_text(k));
            }
}

TEST_CASE("every kind of kernel has a text") {
    using namespace kernel_graph_text_test;
    auto const k = parsed(everything);
    CHECK(to_text(k) == everything);
    REQUIRE(k.ops.size() == 9);
    CHECK(k.values[3].name == "a \"name\" \\ \n\a");
    CHECK(k.ops[0].covers[1] == covered_node{"Re\"lu", "r\n"});
    CHECK(k.ops[0].operands[1].packing->scale == std::vector<float>{1, 0.1f, -0.0f, 4});
    CHECK(k.values[2].data.data<float>()[1] == -2);
    CHECK(k.values[1].data.element() == dtype::undefined);
    CHECK(k.ops[2].operands[0].access == small_vector<std::int8_t, 6>{0, -1, 1});
    CHECK(std::get<pad_shape>(k.ops[8].computes).kind == kernels::padding_mode::edge);
    CHECK(std::get<runtime::reference_call>(k.ops[7].computes).graph.size() > 0);
    CHECK(to_text(parsed(" kernel  graph fused \n\n  input f32[ 1 , 2 ]\n")) == "kernel graph fused\ninput f32[1,2]\n");
}

TEST_CASE("a kernel graph that is read goes on like the one that was printed") {
    using namespace kernel_graph_text_test;
    auto const& isa = isa::avx512;
    for (auto const& g : graphs()) {
        auto const all = stages(g, isa);
        for (std::size_t from = 0; from < all.size(); ++from) {
            auto k = parsed(whole_text(all[from]), isa);
            if (from < 1) k = select(std::move(k), isa);
            if (from < 2) k = layout_values(std::move(k), isa).value();
            if (from < 3) k = schedule(std::move(k), isa, counting_heuristic{}).value();
            CHECK(whole_text(k) == whole_text(all[3]));
            auto const here = emit(std::move(k), isa).value(), there = emit(all[3], isa).value();
            REQUIRE(here.kernels.size() == there.kernels.size());
            for (std::size_t i = 0; i < here.kernels.size(); ++i)
                CHECK(here.kernels[i].source.text == there.kernels[i].source.text);
            REQUIRE(here.values.size() == there.values.size());
            for (std::size_t i = 0; i < here.values.size(); ++i)
                CHECK(here.values[i].data.hash() == there.values[i].data.hash());
        }
    }
}

TEST_CASE("sizes that data decide have a text, and belong to calls of the evaluator alone") {
    using namespace kernel_graph_text_test;
    auto const g = kernel_graphs::graph_of(R"(
        %0 "x": f32[2,3] = input
        %1 "r": f32[2,3] = Relu(%0)
        %2 "at": i64[2,?] = NonZero(%1)
        %3 "n": i64[2,?] = Neg(%2)
        return %2, %3, %2
    )");
    for (auto const& k : stages(g, isa::avx512)) {
        CHECK(check(k).empty());
        auto const text = whole_text(k);
        CHECK(text.find("i64[2,?]") != std::string::npos);
        auto const back = parsed(text, isa::avx512);
        CHECK(whole_text(back) == text);
        CHECK(hash_of(back) == hash_of(k));
        auto changed = k;
        for (auto& v : changed.values)
            if (v.role == runtime::memory_role::input) v.type = tensor_type{dtype::f32, shape{2, dim{}}};
        CHECK_FALSE(check(changed).empty());
        changed = k;
        for (auto& v : changed.values)
            if (v.type == tensor_type{dtype::f32, {2, 3}} && v.role != runtime::memory_role::input)
                v.type = tensor_type{dtype::f32, shape{2, dim{}}};
        CHECK_FALSE(check(changed).empty()); // a kernel makes it
    }
    CHECK(to_text(parsed("kernel graph fused\n%0: f32[*] temporary\n")).find("f32[*]") != std::string::npos);
}

TEST_CASE("every change of a kernel graph changes its hash but those of what reports alone read") {
    using namespace kernel_graph_text_test;
    auto const plain = parsed(everything);
    auto const hash_with = [&](std::function<void(kernel_graph&)> const& change) {
        auto k = plain;
        change(k);
        return hash_of(k);
    };
    std::vector<std::function<void(kernel_graph&)>> const matters{
        [](auto& k) { k.stage = lowering_stage::selected; },
        [](auto& k) {
            k.values[0].type = tensor_type{dtype::f64, k.values[0].type.dims};
        },
        [](auto& k) { k.values[0].position = 1; },
        [](auto& k) { k.values[3].role = runtime::memory_role::output; },
        [](auto& k) {
            k.values[2].data = tensor::from<float>({2}, {1, -2.5f});
        },
        [](auto& k) { k.values[1].left_out.low ^= 1; },
        [](auto& k) { k.values[3].block = 16; },
        [](auto& k) { k.values[3].bytes = 16; },
        [](auto& k) { k.values[3].part_of = 5; },
        [](auto& k) { k.values[3].offset = 4; },
        [](auto& k) { std::swap(k.ops[3], k.ops[4]); },
        [](auto& k) { k.ops.pop_back(); },
        [](auto& k) { std::get<kernels::conv2d_shape>(std::get<kernels::descriptor>(k.ops[0].computes)).bias = true; },
        [](auto& k) { k.ops[0].operands[0].value = 2; },
        [](auto& k) { k.ops[0].operands[1].packing->alpha = 2; },
        [](auto& k) { k.ops[0].operands[1].packing->transposed = true; },
        [](auto& k) { k.ops[0].operands[1].packing->scale[2] = 0; }, // of another sign
        [](auto& k) { k.ops[0].operands[1].packing.reset(); },
        [](auto& k) { k.ops[0].results = {4}; },
        [](auto& k) {
            std::get<view_shape>(k.ops[1].computes) = {.from = {0, 1}, .start = {0, 0}, .step = {1, 1}};
        },
        [](auto& k) { k.ops[2].operands[0].access[1] = 0; },
        [](auto& k) { k.ops[2].frame[0] = 4; },
        [](auto& k) { std::get<concat_shape>(k.ops[3].computes).axis = 0; },
        [](auto& k) { std::get<runtime::external_call>(k.ops[4].computes).op = "app.Relu"; },
        [](auto& k) { std::get<custom_kernel>(k.ops[5].computes).operations = 0; },
        [](auto& k) { std::get<runtime::copy_call>(k.ops[6].computes).moves[0].size = 8; },
        [](auto& k) { std::get<runtime::reference_call>(k.ops[7].computes).graph = any_graph{graph{}}; },
        [](auto& k) { std::get<pad_shape>(k.ops[8].computes).fill = 0; },
        [](auto& k) { k.outputs[0] = 5; },
        [](auto& k) { k.inputs.clear(); },
        [](auto& k) { k.results[0].element = dtype::i32; },
    };
    std::vector<hash128> all{hash_of(plain)};
    for (auto const& change : matters) all.push_back(hash_with(change));
    std::sort(all.begin(), all.end());
    CHECK(std::unique(all.begin(), all.end()) == all.end());
    CHECK(hash_with([](auto& k) {
              k.values[0].name = "z", k.input_names = {"z"}, k.output_names.clear();
              k.ops[0].covers.clear(), k.ops[0].boundary.clear(), k.ops[0].moves = "m";
          }) == hash_of(plain));

    auto const of = [](std::string_view schedule) {
        return hash_of(
            parsed("kernel graph scheduled\n= matmul{m=20 n=32 k=8}\n  schedule " + std::string{schedule} + "\n"));
    };
    CHECK(of("tile_m=2 tile_n=1 unroll_k=1 tile_k=0") == of("unroll_k=1  tile_n=1 tile_k=0 tile_m=2"));
    CHECK(of("tile_m=2 tile_n=1 unroll_k=1 tile_k=0") != of("tile_m=3 tile_n=1 unroll_k=1 tile_k=0"));
}

TEST_CASE("what is no kernel graph is refused by its line") {
    using namespace kernel_graph_text_test;
    struct wrong {
        std::string_view piece, by, said;
    };
    wrong const table[] = {
        {"kernel graph fused", "kernel graphs fused", "line 1: column 8: expected a word (graph), found \"graphs\""},
        {"graph fused", "graph mixed", "line 1: column 14: expected a word (fused, selected, laid-out, scheduled)"},
        {"graph fused", "graph fused x", "line 1: column 20: expected the end of the line, found \"x\""},
        {"input f32[1,4,2,2]", "inputs f32[1,4,2,2]", "line 2: column 1: expected a line (input, result, covers"},
        {"f32[1,4,2,2] \"x\"", "f31[1,4,2,2] \"x\"", "line 2: column 7: expected a word (?, f64, f32"},
        {"f32[1,4,2,2] \"x\"", "f32[1,?] \"x\"", "line 2: column 13: expected an integer from 0"},
        {"f32[1,4,2,2] \"x\"", "f32[1,-4] \"x\"", "line 2: column 13: expected an integer from 0"},
        {"f32[1,4,2,2] \"x\"", "f32[4611686018427387904]", "line 2: column 7: the type has too many elements"},
        {"%1 \"w\"", "%7 \"w\"", "line 4: column 1: expected value %1"},
        {"%1 \"w\":", "%1 \"w\"", "line 4: column 8: expected \":\", found \"f32\""},
        {"%1 \"w\":", "%1 \"w:", "line 4: column 6"},
        {"%1 \"w\":", "%1 \"\\xgg\":", "line 4: column 7: expected a hexadecimal digit, found \"gg\""},
        {"constant @0011", "constant @", "line 4: column 32: expected 32 hexadecimal digits"},
        {"0x0000803f", "0x00803f", "line 5: column 26: expected 0x and the 16 digits of the constant"},
        {"0x0000803f", "0x0000803g", "line 5: column 26: expected 0x"},
        {"%4: f32[4,4] temporary", "%4: f32[4,4] temporary bytes=-1", "line 7: column 30: expected an integer from 0"},
        {"%4: f32[4,4] temporary", "%4: f32[4,4] temporary size=1",
         "line 7: column 24: expected a field (block, bytes"},
        {"%4: f32[4,4] temporary", "%4: f32[4,4] temporary bytes=1 bytes=1", "the field stands there twice"},
        {"%4: f32[4,4] temporary", "%4: f32[4,4] local", "line 7: column 14: expected a word (temporary, constant"},
        {"conv2d{in", "conv3d{in", "line 10: column 6: expected a kind (conv2d, winograd"},
        {"in=[2,2]}", "in=[2]}", "line 10: column 47: the list ends after 1 of 2 elements"},
        {"%1 packed{", "%1 packs{", "line 10: column 59: expected a word (packed)"},
        {"0.10000000149011612", "1e39", "the number is out of range"},
        {"%0, %1 packed", "%0 %1 packed", "line 10: column 55: expected a word (packed), found \"%\""},
        {"  boundary", "  covers \"Relu\" \"r\"\n  boundary", "line 12: column 3: the kernel has such a line already"},
        {"covers \"Conv\" \"c\"", "covers \"Conv\"", "line 11: column 16: expected \"\\\"\""},
        {"%3 = conv2d", "  frame [1]\n%3 = conv2d", "line 10: column 3: there is no kernel above"},
        {"frame [2,2,4]", "schedule", "line 17: column 11: what is no"},
        {"= reference", "= reference @00", "line 21: column 15: a reference call without its graph does not read back"},
        {"Relu(%0)", "Relux(%0)", "the graph from line 23 on: no operator of that name"},
        {"  | }\n", "", "line 27: the graph from line 23 on: line 5: expected"},
        {"%6 = pad", "  | }\n%6 = pad", "line 29: the graph from line 23 on: line 6: expected the end"},
        {"  frame", "  | }\n  frame", "line 16: there is no reference call above"},
        {"\"y\" %6", "\"y\" 6", "line 29: column 25: expected the end of the line, found \"6\""},
    };
    for (auto const& w : table) {
        auto const text = w.piece == "frame [2,2,4]"
                              ? with(std::string{everything}, "  frame [2,2,4]\n%5 = concat{axis=1} %3, %3",
                                     "%5 = concat{axis=1} %3, %3\n  schedule")
                              : with(std::string{everything}, w.piece, w.by);
        auto const said = complaint(text);
        INFO(w.by);
        CHECK_THAT(said, Catch::Matchers::Contains(std::string{w.said}));
    }
    CHECK_THAT(complaint(""), Catch::Matchers::Contains("expected \"kernel graph\""));
    auto missing = std::string{everything};
    missing.erase(missing.find("  | graph"), missing.find("%6 = pad") - missing.find("  | graph"));
    CHECK_THAT(complaint(missing),
               Catch::Matchers::Contains("line 23: the graph of the reference call above is missing"));
    // All that is wrong, up to 20 things.
    auto const two = parse_kernel_graph(with(with(std::string{everything}, "[4,4,1,1]", "[x]"), "axis=1", "axes=1"));
    REQUIRE_FALSE(two);
    CHECK(two.error().problems().size() == 2);
    CHECK(two.error().id() == errors::kernel_graph_text);
    std::string many = "kernel graph fused\n";
    for (int i = 0; i < 100; ++i) many += "nonsense\n";
    CHECK(parse_kernel_graph(many).error().problems().size() == 20);
    CHECK_THAT(parse_kernel_graph(everything, {.max_values = 5}).error().message(),
               Catch::Matchers::Contains("line 8: column 1: there are more than 5 values"));
    CHECK_THAT(parse_kernel_graph(everything, {.max_bytes = 5}).error().message(),
               Catch::Matchers::Contains("the limit is 5"));
}

TEST_CASE("schedules are read into the spaces of their kernels, and refused where these lack them") {
    using namespace kernel_graph_text_test;
    auto const k = parsed(
        "kernel graph scheduled\n= matmul{m=20 n=32 k=8}\n  schedule tile_m=4 tile_n=2 unroll_k=2 tile_k=0\n"
        "= matmul{m=20 n=32 k=8}\n  schedule tile_m=1 tile_n=1 unroll_k=1 tile_k=0\n= custom \"mine\"\n  schedule\n");
    REQUIRE(k.ops.size() == 3);
    CHECK(k.ops[0].space == k.ops[1].space);
    CHECK(kernels::matmul_knobs(*k.ops[0].schedule).tile_m == 4);
    CHECK(k.ops[2].schedule.has_value());
    auto const said = [](std::string const& op, std::string const& schedule) {
        return complaint("kernel graph scheduled\n= " + op + "\n  schedule" + schedule + "\n");
    };
    using Catch::Matchers::Contains;
    CHECK_THAT(said("matmul{m=20}", " tile_m=1"), Contains("line 3: knob \"tile_n\": has no value"));
    CHECK_THAT(said("matmul{m=20}", " tile_q=1"), Contains("line 3") && Contains("tile_q"));
    CHECK_THAT(said("matmul{m=20}", " tile_k=1"), Contains("tile_k"));
    CHECK_THAT(said("matmul{m=99 n=999}", " tile_m=28 tile_n=8 unroll_k=1 tile_k=0"),
               Contains("the space does not allow the point"));
    CHECK_THAT(said("view{}", ""), Contains("line 3: column 11: what is no kernel has no schedule"));
    CHECK_THAT(said("custom \"mine\"", " a=1"), Contains("is a function, and has no text"));
    // Descriptions of which there is no kernel, or one that takes for ever to describe.
    for (auto const* shape :
         {"conv2d{}", "conv2d{in=[3,3] stride=[0,1]}", "conv2d{in=[3,3] groups=0}", "conv2d{in=[3,3] groups=2}",
          "conv2d{in=[9223372036854775807,3]}", "conv2d{in=[3,3] pads=[-9,-9,-9,-9]}", "conv2d{in=[3,3] kernel=[0,0]}",
          "winograd{conv={in=[3,3]} m=0}", "matmul{m=0}", "matmul{m=9223372036854775807}", "matmul{batch=[0]}",
          "attention{s=0}", "separable{depthwise={in=[1,1]}}"})
        CHECK_THAT(said(shape, " tile_m=1"),
                   Contains("line 3: column 11: there is no kernel of the description above"));
}

TEST_CASE("texts with errors anywhere are refused, or read and print again") {
    using namespace kernel_graph_text_test;
    std::vector<std::string> texts{std::string{everything}};
    for (auto const& g : graphs())
        for (auto const& k : stages(g, isa::avx512)) texts.push_back(to_text(k));
    random_stream random{7};
    std::string_view constexpr alphabet = "%=[]{}\",.-+0123456789abx@|: \n\\";
    std::size_t read = 0;
    for (int round = 0; round < 4000; ++round) {
        auto text = texts[random.below(texts.size())];
        for (auto edits = 1 + random.below(3); edits > 0; --edits) {
            auto const at = random.below(text.size()), size = random.below(random.below(2) ? 2 : 40);
            std::string by;
            for (auto n = random.below(4); n > 0; --n) by += alphabet[random.below(alphabet.size())];
            text.replace(at, size, by);
        }
        auto const k = parse_kernel_graph(text, {.isa = &isa::avx512});
        if (!k) {
            CHECK(k.error().message().find("line ") != std::string::npos);
            continue;
        }
        ++read;
        static_cast<void>(check(*k));
        static_cast<void>(summary(*k));
        auto const printed = to_text(*k);
        CHECK(to_text(parse_kernel_graph(printed, {.isa = &isa::avx512}).value()) == printed);
    }
    CHECK(read > 50);
}

TEST_CASE("constants are printed up to a size, and emission misses those that were not") {
    using namespace kernel_graph_text_test;
    auto const all = stages(small_net(), isa::avx512);
    auto const text = to_text(all.back());
    CHECK_THAT(text, Catch::Matchers::Contains("constant @" + to_string(all.back().values[0].data.hash())) ||
                         Catch::Matchers::Contains("constant @"));
    auto const made = emit(parsed(text), isa::avx512);
    REQUIRE_FALSE(made);
    CHECK(made.error().code() == error_code::usage);
    CHECK_THAT(made.error().message(), Catch::Matchers::Contains("have no elements"));
    static_cast<void>(emit(parsed(whole_text(all.back())), isa::avx512).value());
    // Functions of the application have no text either.
    for (auto const* what : {"extern \"app.Swish\"", "custom \"mine\""}) {
        auto const line = std::string{"kernel graph scheduled\ninput f32[2]\n%0: f32[2] input 0 bytes=8\n%1: f32[2] "
                                      "output 0 bytes=8\n%1 = "} +
                          what + " %0\n  schedule\nresult f32[2] %1\n";
        auto const own =
            emit(parsed(line.find("extern") != line.npos ? with(line, "  schedule\n", "") : line), isa::avx512);
        REQUIRE_FALSE(own);
        CHECK_THAT(own.error().message(), Catch::Matchers::Contains("has no function"));
    }
}

TEST_CASE("a summary counts kernels by what they compute and cover") {
    using namespace kernel_graph_text_test;
    graph g;
    network_builder net{g, weight_source{1}};
    auto const x = net.input(dtype::f32, {1, 16, 6, 6}, "x");
    auto const conv = [&](std::string const& name, value_id v) {
        return net.relu(name + "r", net.conv(name, v, {16, {1, 1}}));
    };
    net.output(net.add<ops::softmax>({.axis = 1}, {conv("c", conv("b", conv("a", x)))}), "y");
    auto const all = stages(g, isa::avx512);
    CHECK(summary(all[1]) ==
          "3 x conv2d{in_channels=16 out_channels=16 in=[6,6] low=0}: Conv, Relu\n"
          "1 x row_reduction{dims=[1,6,6,16] arrays=[{}] ops=[{step=maximum},{what={op=subtract right=1}},"
          "{what={op=exp left=2}},{step=sum what={left=3}},{what={op=divide left=-1 right=4 value=1}},"
          "{what={op=multiply left=3 right=5}}] "
          "results=[{value=6 strides=[576,6,1,36]}]}: Softmax\n"
          "2 x view: LayoutTransform\n");
    // Schedules count for nothing.
    CHECK(summary(all[2]) == summary(all[3]));
}
