#include "catch.hpp"
#include "io/scratch_folder.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/io/file.hpp>
#include <gsub/io/npy.hpp>

namespace {

using namespace gsub;

tensor random_bits(dtype element, ints const& dims, random_stream& r) {
    auto t = tensor::uninitialized(element, dims);
    for (auto& b : t.mutable_raw()) b = static_cast<std::byte>(element == dtype::boolean ? r() & 1 : r());
    return t;
}

bool same(tensor const& a, tensor const& b) {
    return a.element() == b.element() && std::ranges::equal(a.dims(), b.dims()) && std::ranges::equal(a.raw(), b.raw());
}

result<tensor> npy_in(std::string const& file) {
    return io::parse_npy(std::as_bytes(std::span{file.data(), file.size()}));
}

// A file with this dictionary and these elements.
std::string npy(std::string header, std::string const& elements, int format = 1) {
    header += '\n';
    std::string out = "\x93NUMPY";
    out += static_cast<char>(format), out += '\0';
    for (int i = 0; i < (format == 1 ? 2 : 4); ++i) out += static_cast<char>(header.size() >> (8 * i) & 255);
    return out + header + elements;
}
std::string dictionary(std::string const& descr, std::string const& shape, std::string const& fortran = "False") {
    return fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}", descr, fortran, shape);
}
std::string eight_floats() {
    return std::string(32, '\1');
}

} // namespace

TEST_CASE("a .npy file gives back the tensor that was saved, for every element type and rank") {
    scratch_folder const scratch;
    random_stream r{1};
    for (auto element : stored_dtypes)
        for (ints const& dims : {ints{}, ints{1}, ints{7}, ints{0}, ints{3, 5}, ints{2, 0, 3}, ints{2, 1, 3, 4}}) {
            if (element == dtype::bf16) continue;
            INFO(to_string(element) << " of rank " << dims.size());
            auto const t = random_bits(element, dims, r);
            io::save_npy(scratch / "t.npy", t).value();
            CHECK(same(io::load_npy(scratch / "t.npy").value(), t));
            auto const file = io::read_file(scratch / "t.npy").value();
            CHECK(same(npy_in(file).value(), t));
            CHECK((file.size() - t.size_bytes()) % 64 == 0);
        }
    CHECK(scratch.names() == std::vector<std::string>{"t.npy"});
}

TEST_CASE("bf16, which NumPy lacks, is saved as f32") {
    scratch_folder const scratch;
    auto const t = tensor::from<float>({2}, {1.5f, -3.0f}).converted_to(dtype::bf16);
    io::save_npy(scratch / "t.npy", t).value();
    CHECK(same(io::load_npy(scratch / "t.npy").value(), t.converted_to(dtype::f32)));
}

TEST_CASE("what NumPy writes is read: formats 1 to 3, one-element tuples, old long sizes") {
    for (int format : {1, 2, 3})
        for (auto const* shape : {"(8,)", "(2, 4)", "(8L,)", "(2, 2, 2)", "(1, 8, 1)"}) {
            auto const t = npy_in(npy(dictionary("'<f4'", shape), eight_floats(), format));
            REQUIRE(t);
            CHECK(t->elements() == 8);
        }
    CHECK(npy_in(npy(dictionary("'<f4'", "()"), std::string(4, '\0'))).value().rank() == 0);
}

TEST_CASE("a boolean is 0 or 1 in memory whatever the file has") {
    auto const t = npy_in(npy(dictionary("'|b1'", "(4,)"), std::string("\x00\x01\x02\xff", 4))).value();
    CHECK(std::ranges::equal(t.raw(), std::vector{std::byte{0}, std::byte{1}, std::byte{1}, std::byte{1}}));
}

TEST_CASE("hostile headers are refused with the right code") {
    struct hostile {
        std::string file;
        error_id id;
    };
    auto const wrong = [](std::string const& descr, std::string const& shape, std::string const& fortran = "False") {
        return npy(dictionary(descr, shape, fortran), eight_floats());
    };
    auto const bad = errors::malformed_array, beyond = errors::array_form;
    hostile const cases[] = {
        {wrong("'<f4'", "(9,)"), bad},
        {wrong("'<f4'", "(-1,)"), bad},
        {wrong("'<f4'", "(9223372036854775807,)"), bad},
        {wrong("'<f4'", "(9223372036854775808,)"), bad},
        {wrong("'<f4'", "(4294967296, 4294967296)"), bad},
        {wrong("'<f4'", "(4611686018427387904, 4)"), bad},
        {wrong("'<f4'", "(2, 4"), bad},
        {wrong("'<f4'", "(2 x 4)"), bad},
        {wrong("'<f4'", "(2.5,)"), bad},
        {wrong("'<f4'", "[2, 4]"), bad},
        {wrong("'<f4'", ""), bad},
        {wrong("'<f4'", "((((8))))"), bad},
        {wrong("'>f4'", "(8,)"), beyond},
        {wrong("'|O'", "(8,)"), beyond},
        {wrong("'<U4'", "(8,)"), beyond},
        {wrong("'<c8'", "(4,)"), beyond},
        {wrong("[('a', '<f4')]", "(8,)"), beyond},
        {wrong("", "(8,)"), beyond},
        {wrong("'<f4'", "(2, 4)", "True"), beyond},
        {npy("{}", eight_floats()), bad},
        {npy("", eight_floats()), bad},
        {npy("'shape'", eight_floats()), bad},
        {npy(dictionary("'<f4'", "(8,)"), eight_floats(), 4), beyond},
        {std::string("\x93NUMPY\x01\x00\xff\xff{", 11), bad},
        {std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{", 13), bad},
        {"", bad},
        {"text", bad},
        {std::string(1000, '\0'), bad},
    };
    for (auto const& c : cases) {
        auto const t = npy_in(c.file);
        INFO(c.file.substr(0, 100));
        REQUIRE_FALSE(t);
        CHECK(to_string(t.error().id()) == to_string(c.id));
    }
}

TEST_CASE("a shape of very many dimensions is refused") {
    std::string shape = "(";
    for (int i = 0; i < 1000; ++i) shape += "1, ";
    CHECK_FALSE(npy_in(npy(dictionary("'<f4'", shape + ")"), eight_floats())));
}

TEST_CASE("a .npy file cut off at any byte is refused, from memory and from the disk") {
    scratch_folder const scratch;
    io::save_npy(scratch / "t.npy", tensor::from<float>({2, 2}, {1, 2, 3, 4})).value();
    auto const whole = io::read_file(scratch / "t.npy").value();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        auto const cut = whole.substr(0, size);
        CHECK_FALSE(npy_in(cut));
        if (size % 7 == 0) CHECK_FALSE(io::load_npy(scratch.file("cut.npy", cut)));
    }
}

TEST_CASE("a mutated header is refused, or describes a tensor that the file holds") {
    random_stream r{5};
    auto const whole = npy(dictionary("'<f4'", "(2, 4)"), eight_floats());
    for (int i = 0; i < 3000; ++i) {
        auto file = whole;
        for (auto n = 1 + r.below(4); n-- > 0;) file[r.below(file.size())] = static_cast<char>(r());
        if (auto const t = npy_in(file)) CHECK(t->size_bytes() <= file.size());
    }
}

TEST_CASE("errors of a file name it, and a limit is kept") {
    scratch_folder const scratch;
    auto const path = scratch / "t.npy";
    CHECK(io::load_npy(path).error().id() == errors::file_access);
    io::save_npy(path, tensor::zeros(dtype::f32, ints{100})).value();
    auto const refused = io::load_npy(path, 100);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().id() == errors::array_form);
    CHECK(refused.error().message().find(path) != std::string::npos);
}
