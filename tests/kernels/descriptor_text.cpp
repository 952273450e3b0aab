#include "catch.hpp"
#include "random_record.hpp"
#include <gsub/kernels/descriptor_fields.hpp>
#include <gsub/kernels/descriptor_text.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace descriptor_text_test {

using namespace gsub::kernels;
using gsub::dtype;
using gsub::loop::scalar_op;

/// A convolution with nothing left as it is by default.
conv2d_shape full_conv() {
    conv2d_shape s;
    s.batch = 2, s.in_channels = 32, s.out_channels = 64, s.groups = 4;
    s.in = {56, 28}, s.kernel = {3, 5}, s.stride = {2, 1}, s.dilation = {1, 2}, s.pads = {1, 2, 1, 2};
    s.input = image_layout::planar, s.result = image_layout::channels_last;
    s.bias = true, s.residual = true, s.low = 0, s.high = 6;
    s.epilogue = {{.op = scalar_op::sigmoid, .left = 0}, {.op = scalar_op::multiply, .left = 1, .right = 2}};
    s.arrays = 1;
    return s;
}

array_view view(std::vector<std::int64_t> const& dims, std::int64_t offset = 0, dtype element = dtype::f32) {
    auto v = array_view::contiguous(dims);
    v.offset = offset, v.element = element;
    return v;
}

/// What plans of real networks hold, and at least one example of each template with all of its fields in use.
std::vector<descriptor> examples() {
    std::vector<descriptor> out;
    conv2d_shape stem;
    stem.in_channels = 3, stem.out_channels = 64, stem.in = {224, 224}, stem.kernel = {7, 7}, stem.stride = {2, 2};
    stem.pads = {3, 3, 3, 3}, stem.input = image_layout::planar, stem.bias = true, stem.low = 0;
    auto deep = full_conv();
    deep.depth = {16, 3, 2, 2, {1, 2}};
    out.insert(out.end(), {conv2d_shape{}, stem, full_conv(), deep});
    out.push_back(winograd_shape{full_conv(), 2});
    out.push_back(separable_shape{full_conv(), stem});

    std::vector<elementwise_op> const scaled = {
        {.op = scalar_op::multiply, .left = 0, .value = 0.125},
        {.op = scalar_op::select, .left = 1, .right = 2, .third = 0},
        {.op = scalar_op::cast, .left = 2, .type = dtype::f16},
        {.op = scalar_op::add, .left = 3, .type = dtype::i64, .integer = std::numeric_limits<std::int64_t>::min()}};
    matmul_shape product{.m = 128, .n = 768, .k = 64};
    product.batch = {12, 2}, product.a = view({12, 2, 128, 64}), product.b = view({12, 2, 64, 768}, 5);
    product.y = view({12, 2, 128, 768}, 0, dtype::f64), product.constant = false, product.bias = true;
    product.arrays = {view({12, 2, 128, 768}), {}}, product.epilogue = scaled;
    out.insert(out.end(), {matmul_shape{}, product});
    attention_shape attention{.m = 128, .k = 64, .s = 129, .n = 65};
    attention.batch = {1, 12}, attention.q = view({1, 12, 128, 64}), attention.keys = view({1, 12, 64, 129}, 1);
    attention.values = view({1, 12, 129, 65}, 2), attention.y = view({1, 12, 128, 65}, 3);
    attention.arrays = {view({1, 1, 128, 129})}, attention.epilogue = scaled;
    attention.exponential = scalar_op::fast_exponential;
    out.push_back(attention);
    pool2d_shape pool{.batch = 2, .channels = 3};
    pool.in = {7, 8}, pool.kernel = {3, 2}, pool.stride = {2, 3}, pool.dilation = {2, 1}, pool.out = {4, 5};
    pool.pads = {1, 0}, pool.pads_end = {0, 1}, pool.average = pool.count_pads = true;
    pool.input = pool.result = image_layout::channels_last;
    out.push_back(pool);
    out.push_back(elementwise_shape{1 << 20, 3, scaled});

    row_reduction_shape softmax;
    softmax.dims = {96, 128}, softmax.arrays = {view(softmax.dims, 0, dtype::f16)};
    softmax.ops = {{reduction_step::maximum, {.left = 0}},
                   {reduction_step::elementwise, {.op = scalar_op::subtract, .left = 0, .right = 1}},
                   {reduction_step::elementwise, {.op = scalar_op::exponential, .left = 2}},
                   {reduction_step::sum, {.left = 3}},
                   {reduction_step::elementwise, {.op = scalar_op::divide, .left = 3, .right = 4}}};
    softmax.results = {{5, true}, {4, false}};
    out.push_back(softmax);
    softmax.chosen = {{0, {dtype::i32, view({96, 1}), 7, 128}}};
    out.push_back(softmax);
    out.push_back(reduction_shape{view({4, 5, 6}, 7, dtype::bf16), {4, 5, 6}, {0, 1, 1}, reduction_step::maximum, 30});
    out.push_back(local_response_norm_shape{2, 96, 55 * 55, 5, 2e-4, 0.5, 2, dtype::f64});

    std::vector<std::int64_t> const dims = {1, 20, 7, 7}, sizes = {8, 12}, before = {0, 0, 1, 2}, after = {0, 0, 3, 1};
    out.push_back(copied_view(dtype::i64, dims, view(dims, 3, dtype::i64)));
    out.push_back(to_blocked_layout(dtype::f32, dims, 16));
    out.push_back(from_blocked_layout(dtype::f32, dims, 16));
    std::vector<array_view> const parts = {view({1, 8, 7, 7}), view({1, 12, 7, 7}, 4)};
    out.push_back(concatenated_views(dtype::u8, dims, 1, sizes, parts));
    for (auto const kind : {padding_mode::constant, padding_mode::edge, padding_mode::reflect})
        out.push_back(padded_view(dtype::f32, dims, view(dims), before, after, kind, 0xff800000u));
    array_view filling{.elements = 1};
    filling.strides.resize(dims.size(), 0);
    out.push_back(padded_view(dtype::f32, dims, view(dims), before, after, padding_mode::constant, 0, filling));
    out.push_back(gathered_entries(dtype::f32, dims, 1, 5, dtype::i32));
    auto in_place = scattered_entries(dtype::f16, dims, 5, dtype::i32, scalar_op::maximum);
    in_place.in_place = true;
    out.push_back(in_place);
    out.push_back(scattered_elements(dtype::f32, dims, dims, 2, dtype::i64));
    pool2d_shape halves{.batch = 2, .channels = 48, .average = true};
    halves.element = dtype::f16;
    halves.depth = {9, 3, 2, 1, {0, 1}}, halves.out_depth = 4;
    out.push_back(halves);
    return out;
}

} // namespace descriptor_text_test

TEST_CASE("descriptors read like what they describe") {
    using namespace descriptor_text_test;
    CHECK(to_string(descriptor{}) == "conv2d{}");
    CHECK(to_string(full_conv()) ==
          "conv2d{batch=2 in_channels=32 out_channels=64 groups=4 in=[56,28] kernel=[3,5] stride=[2,1] dilation=[1,2] "
          "pads=[1,2,1,2] input=planar result=channels_last bias=true residual=true low=0 high=6 "
          "epilogue=[{op=sigmoid},{op=multiply left=1 right=2}] arrays=1}");
    CHECK(to_string(gathered_entries(gsub::dtype::f32, std::vector<std::int64_t>{5, 3}, 0, 2, gsub::dtype::i32)) ==
          "movement{kind=gather dims=[1,2,3] target={elements=6 strides=[6,3,1]} arrays=[15] "
          "boxes=[{first=[0,0,0] extent=[1,2,3] array=0 strides=[15,0,1]}] "
          "chosen={integers=i32 at={elements=2 strides=[0,1,0]} entries=5 stride=3}}");
    std::vector<std::string_view> words;
    for (auto const& d : examples()) {
        auto const text = to_string(d);
        CHECK(text.find('\n') == std::string::npos);
        if (words.size() == d.index()) words.push_back(detail::alternatives<descriptor>[d.index()]);
        CHECK(text.starts_with(std::string{words.at(d.index())} + "{"));
    }
    CHECK(words == std::vector<std::string_view>{"conv2d", "winograd", "separable", "matmul", "attention", "pool2d",
                                                 "elementwise", "row_reduction", "reduction", "local_response_norm",
                                                 "movement", "scatter"});
}

TEST_CASE("each template has an example in which every field has its place") {
    using namespace descriptor_text_test;
    std::vector<std::string> texts(std::variant_size_v<descriptor>);
    for (auto const& d : examples()) texts[d.index()] += to_string(d);
    for (auto const& d : examples())
        std::visit(
            [&]<class S>(S const&) {
                for (auto const name : field_names<S>) {
                    auto const& text = texts[d.index()];
                    auto const stands = text.find("{" + std::string{name} + "=") != std::string::npos ||
                                        text.find(" " + std::string{name} + "=") != std::string::npos;
                    if (!stands) FAIL_CHECK(name << " is missing in " << text);
                }
            },
            d);
}

TEST_CASE("what a kernel computes reads back from its text") {
    using namespace descriptor_text_test;
    auto all = examples();
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        gsub::random_stream r{seed};
        random_record::fill(r, all.emplace_back());
    }
    for (auto const& d : all) {
        auto const text = to_string(d);
        CAPTURE(text);
        auto const read = parse_descriptor(text);
        REQUIRE(read.has_value());
        CHECK(equal(*read, d));
        CHECK(to_string(*read) == text);
        CHECK(hash_of(*read) == hash_of(d));
    }
}

TEST_CASE("descriptors are equal where their texts are, and where their hashes are") {
    using namespace descriptor_text_test;
    auto all = examples();
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        gsub::random_stream r{seed};
        random_record::fill(r, all.emplace_back());
        all.push_back(all.back());
    }
    std::size_t wrong = 0;
    for (auto const& a : all)
        for (auto const& b : all) {
            auto const same = to_string(a) == to_string(b);
            wrong += equal(a, b) != same || (hash_of(a) == hash_of(b)) != same;
        }
    CHECK(wrong == 0);
}

TEST_CASE("a change of any one field shows in the text, in the hash and to equality") {
    using namespace descriptor_text_test;
    auto all = examples();
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        gsub::random_stream r{seed};
        random_record::fill(r, all.emplace_back());
    }
    for (auto& d : all) {
        auto const before = d;
        auto const text = to_string(d);
        auto const hash = hash_of(d);
        CAPTURE(text);
        std::size_t changes = 0, seen = 0;
        random_record::each_change(d, [&] {
            ++changes;
            seen += !equal(d, before) && to_string(d) != text && hash_of(d) != hash;
        });
        CHECK(changes >= 4);
        CHECK(seen == changes);
        CHECK(equal(d, before));
    }
}

TEST_CASE("two templates of like fields differ") {
    using namespace descriptor_text_test;
    CHECK(!equal(winograd_shape{}, separable_shape{}));
    CHECK(hash_of(winograd_shape{}) != hash_of(separable_shape{}));
}

TEST_CASE("a hash stays what it is from version to version") {
    using namespace descriptor_text_test;
    CHECK(to_string(hash_of(conv2d_shape{})) == "849f9f46c36cb41f0f9a1c094c32b9f1");
    CHECK(to_string(hash_of(full_conv())) == "b176c3eb134772a995a8380f3863ca1c");
}

TEST_CASE("a descriptor is read at the beginning of a longer text") {
    using namespace descriptor_text_test;
    std::string_view text = " matmul{m=3 batch=[2]} in %1, %2\nconv2d{}";
    auto const first = read_descriptor(text);
    REQUIRE(first.has_value());
    CHECK(to_string(*first) == "matmul{m=3 batch=[2]}");
    CHECK(text == " in %1, %2\nconv2d{}");
    CHECK(!read_descriptor(text));
    CHECK(text == " in %1, %2\nconv2d{}");
    text.remove_prefix(text.find('\n') + 1);
    CHECK(read_descriptor(text).has_value());
    CHECK(text.empty());

    record_reader in{"%3 = matmul{m=3} %1"};
    CHECK(in.accept('%'));
    CHECK(in.integer(0, 9) == 3);
    in.expect('=');
    CHECK(to_string(read_descriptor(in)) == "matmul{m=3}");
    CHECK(in.offset() == 16);
    CHECK(in.accept('%'));
    CHECK(in.integer(0, 9) == 1);
    CHECK(in.at_end());
    record_reader wrong{"%3 = matmul{o=3}"};
    CHECK((wrong.accept('%') && wrong.integer(0, 9) == 3 && wrong.accept('=')));
    try {
        static_cast<void>(read_descriptor(wrong));
        FAIL("a matmul has no o");
    } catch (gsub::error const& e) {
        CHECK(e.message() == "invalid input: column 13: expected a field (m, n, k, batch, a, b, y, constant, bias, "
                             "arrays, epilogue), found \"o\"");
    }
}

TEST_CASE("what is wrong with the text of a descriptor is told with its column") {
    using namespace descriptor_text_test;
    std::pair<std::string_view, std::string_view> const cases[] = {
        {"", "column 1: expected a kind (conv2d, winograd, separable, matmul, attention, pool2d, elementwise, "
             "row_reduction, "
             "reduction, local_response_norm, movement, scatter), found the end"},
        {"{}", "column 1: expected a kind"},
        {"conv3d{}", "column 1: expected a kind"},
        {"conv2d", "column 7: expected \"{\", found the end"},
        {"conv2d{", "column 8: expected a field"},
        {"conv2d{batch=1", "column 15: expected a space or \"}\", found the end"},
        {"conv2d{} {}", "column 10: expected the end, found \"{\""},
        {"conv2d{batch=x}", "column 14: expected an integer from -9223372036854775808 to 9223372036854775807, "
                            "found \"x\""},
        {"conv2d{arrays=2147483648}", "column 15: expected an integer from -2147483648 to 2147483647"},
        {"conv2d{bias=1}", "column 13: expected a truth value (false, true), found \"1\""},
        {"conv2d{low=zero}", "column 12: expected a real number, found \"zero\""},
        {"conv2d{kernel=[3]}", "column 17: the list ends after 1 of 2 elements"},
        {"conv2d{pads=[0,0,0,0,0]}", "column 22: the list has more than 4 elements"},
        {"conv2d{epilogue=[{op=relu}]}", "column 22: expected a word (constant, load, reduced, cast"},
        {"winograd{m=4 m=4}", "column 14: field \"m\" stands there twice"},
        {"winograd{m=4", "column 13: expected a space or \"}\", found the end"},
        {"matmul{a={element=f31}}", "column 19: expected a word (?, f64, f32"},
        {"reduction{step=mean}", "column 16: expected a word (elementwise, sum, maximum), found \"mean\""},
        {"movement{kind=to blocked}",
         "column 15: expected a word (copy, concat, pad, gather, to_blocked, from_blocked), "
         "found \"to\""},
        {"movement{boxes=[{fill=-1}]}", "column 23: expected an integer from 0 to 18446744073709551615, found \"-1\""},
        {"movement{chosen={at={at={}}}}", "column 22: expected a field (elements, offset, strides, element)"},
    };
    for (auto const& [text, message] : cases) {
        CAPTURE(text);
        auto const read = parse_descriptor(text);
        REQUIRE(!read.has_value());
        CHECK(read.error().code() == gsub::error_code::invalid_input);
        CHECK(read.error().problems().front().reason.substr(0, message.size()) == message);
    }
    std::string numbers(2 * (max_list_elements + 1), '1');
    for (std::size_t i = 1; i < numbers.size(); i += 2) numbers[i] = ',';
    auto const many = parse_descriptor("row_reduction{dims=[" + numbers + "1]}");
    REQUIRE(!many.has_value());
    CHECK(many.error().problems().front().reason == "column 131093: the list has more than 65536 elements");
}

TEST_CASE("each text cut short is an error, at its end") {
    using namespace descriptor_text_test;
    for (auto const& d : examples()) {
        auto const text = to_string(d);
        for (std::size_t size = 0; size < text.size(); ++size) {
            auto const read = parse_descriptor(std::string_view{text}.substr(0, size));
            if (read) FAIL_CHECK(text.substr(0, size) << " is read");
        }
    }
}

TEST_CASE("a text that is changed at random is an error or another descriptor, and no more") {
    using namespace descriptor_text_test;
    auto const all = examples();
    constexpr std::string_view odd[] = {"{",          "}",     "[",   "]",    "=",    ",",    " ",  "\n",   "-",
                                        "9999999999", "1e308", "nan", "\xff", "[[[[", "{{{{", "op", "true", "conv2d"};
    std::size_t read = 0;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        CAPTURE(seed);
        gsub::random_stream r{seed};
        auto text = to_string(all[r.below(all.size())]);
        for (auto left = 1 + r.below(4); left > 0; --left) {
            auto const at = r.below(text.size() + 1), size = r.below(6);
            if (auto const kind = r.below(4); kind == 0)
                text.erase(at, size);
            else if (kind == 1)
                text.insert(at, odd[r.below(std::size(odd))]);
            else if (kind == 2)
                text.insert(at, text.substr(r.below(text.size() + 1), size));
            else if (at < text.size())
                text[at] = static_cast<char>(kind == 3 && r.below(2) ? r.below(256) : '0' + r.below(10));
        }
        auto const result = parse_descriptor(text);
        if (!result) {
            CHECK(result.error().code() == gsub::error_code::invalid_input);
            CHECK(result.error().problems().front().reason.starts_with("column "));
            continue;
        }
        ++read;
        auto const again = parse_descriptor(to_string(*result));
        REQUIRE(again.has_value());
        CHECK(equal(*again, *result));
    }
    CHECK(read > 50); // of these texts some are in order, with other numbers
}
