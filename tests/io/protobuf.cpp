#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/io/protobuf.hpp>

#include <protozero/pbf_writer.hpp>

#include <limits>
#include <vector>

namespace {

using namespace gsub;
using io::wire_reader;
using io::wire_writer;

std::string varint(std::uint64_t v) {
    std::string out;
    for (; v >= 128; v >>= 7) out += static_cast<char>(v | 128);
    return out + static_cast<char>(v);
}
std::string key(std::uint64_t field, unsigned wire_type) {
    return varint(field << 3 | wire_type);
}

// A message of random fields, and what is in it.
struct random_message {
    std::string text;
    std::vector<std::pair<std::uint32_t, std::int64_t>> integers;
    std::vector<std::pair<std::uint32_t, float>> reals;
    std::vector<std::pair<std::uint32_t, std::string>> strings;

    explicit random_message(random_stream r) {
        wire_writer w{text};
        for (auto n = r.below(12); n-- > 0;) {
            auto const field = static_cast<std::uint32_t>(1 + (r() >> 2 & (r.below(2) ? 15 : 8191)));
            switch (r.below(3)) {
            case 0:
                integers.emplace_back(field, static_cast<std::int64_t>(r() >> r.below(64)));
                w.integer(field, integers.back().second);
                break;
            case 1:
                reals.emplace_back(field, static_cast<float>(r.normal()));
                w.real(field, reals.back().second);
                break;
            default:
                strings.emplace_back(field, std::string(r.below(300), static_cast<char>(r())));
                w.bytes(field, strings.back().second);
            }
        }
    }
};

// Number of fields of a message, or -1 where it is malformed.
int fields(std::string_view text) {
    try {
        int n = 0;
        for (wire_reader r{text}; r.next();) ++n;
        return n;
    } catch (error const& e) {
        CHECK(e.code() == error_code::invalid_input);
        return -1;
    }
}

} // namespace

TEST_CASE("a message is read as it was written") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        random_message const m{random_stream{seed}};
        random_message got{random_stream{0}};
        got.integers.clear(), got.reals.clear(), got.strings.clear();
        for (wire_reader r{m.text}; r.next();) {
            auto const field = r.field(); // reading the contents forgets it
            if (r.is_varint())
                got.integers.emplace_back(field, r.integer());
            else if (r.is_fixed32())
                got.reals.emplace_back(field, r.real());
            else if (r.is_bytes())
                got.strings.emplace_back(field, r.bytes());
        }
        INFO(seed);
        CHECK(got.integers == m.integers);
        CHECK(got.reals == m.reals);
        CHECK(got.strings == m.strings);
    }
}

TEST_CASE("a message cut off at any byte has fewer fields or is malformed") {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        random_message const m{random_stream{seed}};
        auto const all = fields(m.text);
        REQUIRE(all >= 0);
        for (std::size_t size = 0; size < m.text.size(); ++size) CHECK(fields(m.text.substr(0, size)) < all);
    }
}

TEST_CASE("fields that are not read are skipped, whatever their wire type") {
    auto const text = key(1, 0) + varint(~0ull) + key(2, 1) + std::string(8, 'x') + key(3, 2) + varint(3) + "abc" +
                      key(4, 5) + std::string(4, 'y') + key(5, 0) + varint(7);
    CHECK(fields(text) == 5);
    std::int64_t found = 0;
    for (wire_reader r{text}; r.next();) {
        if (r.field() == 5) found = r.integer();
        if (r.field() == 1 || r.field() == 4) r.each_integer([](std::int64_t) {});
        if (r.field() == 2) r.each_float([](float) { FAIL_CHECK("a double is no float"); });
        if (r.field() == 4) r.each_double([](double) { FAIL_CHECK("a float is no double"); });
    }
    CHECK(found == 7);
}

TEST_CASE("groups, unknown wire types, field 0 and lengths beyond the message are malformed") {
    for (unsigned wire_type : {3u, 4u, 6u, 7u}) CHECK(fields(key(1, wire_type) + std::string(20, '\0')) == -1);
    CHECK(fields(key(0, 0) + varint(1)) == -1);
    for (std::uint64_t length :
         {std::uint64_t{4}, std::uint64_t{1} << 31, std::uint64_t{1} << 32, std::uint64_t{1} << 62, ~std::uint64_t{0}})
        CHECK(fields(key(1, 2) + varint(length) + "abc") == -1);
}

TEST_CASE("a number is read at any length up to ten bytes, and none is longer") {
    for (std::uint64_t v : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{127}, std::uint64_t{128},
                            std::uint64_t{1} << 35, ~std::uint64_t{0}}) {
        auto text = varint(v);
        for (auto size = text.size(); size <= 10; ++size) {
            std::uint64_t got = 1;
            CHECK(wire_reader::read_varint(text.data(), text.size(), got) == text.size());
            CHECK(got == v);
            CHECK(wire_reader::read_varint(text.data(), text.size() - 1, got) == 0);
            CHECK(fields(key(1, 0) + text) == 1);
            text.back() = static_cast<char>(text.back() | 128), text += '\0'; // the same number, one byte longer
        }
    }
    std::string const eleven(10, '\x80');
    std::uint64_t ignored = 0;
    CHECK(wire_reader::read_varint((eleven + '\0').data(), 11, ignored) == 0);
    CHECK(fields(key(1, 0) + eleven + '\0') == -1);
}

TEST_CASE("repeated numbers read the same packed and one by one") {
    std::vector<std::int64_t> const integers{0, -1, 300, std::numeric_limits<std::int64_t>::min()};
    std::vector<float> const reals{0, -1.5f, 1e30f};
    std::string packed, single;
    protozero::pbf_writer p{packed};
    p.add_packed_int64(1, integers.begin(), integers.end());
    p.add_packed_float(2, reals.begin(), reals.end());
    wire_writer w{single};
    w.integers(1, integers);
    for (auto v : reals) w.real(2, v);
    for (auto const& text : {packed, single}) {
        std::vector<std::int64_t> i;
        std::vector<float> f;
        for (wire_reader r{text}; r.next();)
            if (r.field() == 1)
                r.each_integer([&](std::int64_t v) { i.push_back(v); });
            else
                r.each_float([&](float v) { f.push_back(v); });
        CHECK(i == integers);
        CHECK(f == reals);
    }
}

TEST_CASE("packed numbers that are cut off are malformed") {
    auto const each = [](std::string const& packed, auto&& read) {
        auto const text = key(1, 2) + varint(packed.size()) + packed;
        wire_reader r{text};
        REQUIRE(r.next());
        CHECK_THROWS_AS(read(r), error);
    };
    each("\x80", [](wire_reader& r) { r.each_integer([](std::int64_t) {}); });
    each(std::string(11, '\x80'), [](wire_reader& r) { r.each_integer([](std::int64_t) {}); });
    each("12345", [](wire_reader& r) { r.each_float([](float) {}); });
    each("123456789", [](wire_reader& r) { r.each_double([](double) {}); });
}

TEST_CASE("a header is what stands before the contents of a field, and its size is known beforehand") {
    for (std::uint32_t field : {1u, 15u, 16u, 5000u})
        for (std::size_t length : {0u, 1u, 127u, 128u, 20'000u}) {
            std::string const contents(length, 'x');
            std::string whole;
            wire_writer{whole}.bytes(field, contents);
            auto const header = wire_writer::header(field, length);
            CHECK(header + contents == whole);
            CHECK(wire_writer::header_size(field, length) == header.size());
        }
    std::uint64_t length = 0;
    auto const large = wire_writer::header(7, std::uint64_t{5} << 32);
    CHECK(wire_reader::read_varint(large.data() + 1, large.size() - 1, length) == large.size() - 1);
    CHECK(length == std::uint64_t{5} << 32);
}

TEST_CASE("arbitrary bytes are read or malformed") {
    random_stream r{3};
    for (int i = 0; i < 5000; ++i) {
        std::string text(r.below(40), '\0');
        for (auto& c : text) c = static_cast<char>(r());
        CHECK(fields(text) >= -1);
    }
}
