#include "catch.hpp"
#include "io/scratch_folder.hpp"
#include <gsub/core/random.hpp>
#include <gsub/io/file.hpp>

#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

using namespace gsub;
namespace fs = std::filesystem;

std::string random_text(random_stream& r, std::size_t size) {
    std::string out(size, '\0');
    for (auto& c : out) c = static_cast<char>(r());
    return out;
}

std::string contents(std::string const& path) {
    return io::read_file(path).value();
}

// The number of the error that `f` throws, or "none".
template <class F>
std::string thrown(F&& f) {
    try {
        f();
    } catch (error const& e) { return to_string(e.id()); }
    return "none";
}
std::string const ends = to_string(errors::file_ends);

// While it lives, this process cannot write files beyond some size: a disk that is full.
class full_disk {
public:
    explicit full_disk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        rlimit const limited{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limited);
    }
    full_disk(full_disk const&) = delete;
    full_disk& operator=(full_disk const&) = delete;
    ~full_disk() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }

private:
    rlimit before_{};
    void (*handler_)(int);
};

} // namespace

TEST_CASE("an input file gives every range of its bytes, read or mapped, and none beyond its end") {
    scratch_folder const scratch;
    random_stream r{1};
    auto const text = random_text(r, 5000);
    auto const file = io::input_file::open(scratch.file("a", text)).value();
    CHECK(file.size() == text.size());
    auto const mapped = file.map();
    REQUIRE(mapped->size() == text.size());
    for (int i = 0; i < 200; ++i) {
        auto const begin = r.below(text.size() + 1), length = r.below(text.size() + 1 - begin);
        std::string got(length, '\0');
        file.read(begin, std::as_writable_bytes(std::span{got}));
        CHECK(got == text.substr(begin, length));
        CHECK(got == std::string(reinterpret_cast<char const*>(mapped->data()) + begin, length));
        auto const part = file.map(begin, length);
        CHECK(std::equal(part->begin(), part->end(), mapped->begin() + static_cast<std::ptrdiff_t>(begin),
                         mapped->begin() + static_cast<std::ptrdiff_t>(begin + length)));
    }
    std::byte one[1];
    for (std::uint64_t at : {std::uint64_t{5000}, std::uint64_t{5001}, ~std::uint64_t{0}}) {
        CHECK(thrown([&] { file.read(at, one); }) == ends);
        CHECK(thrown([&] { static_cast<void>(file.map(at, 1)); }) == ends);
    }
    CHECK(io::input_file::open(scratch.file("empty", "")).value().map()->empty());
}

TEST_CASE("a file that is shortened while it is read is an error, not an endless loop") {
    scratch_folder const scratch;
    auto const path = scratch.file("a", std::string(1000, 'x'));
    auto const file = io::input_file::open(path).value();
    fs::resize_file(path, 10);
    std::byte some[100];
    CHECK(thrown([&] { file.read(0, some); }) == ends);
}

TEST_CASE("only regular files are opened, and a fifo is not waited for") {
    scratch_folder const scratch;
    REQUIRE(::mkfifo((scratch / "fifo").c_str(), 0600) == 0);
    for (auto const& path : {scratch / "fifo", scratch.path().string(), std::string{"/dev/zero"}}) {
        INFO(path);
        auto const f = io::input_file::open(path);
        REQUIRE_FALSE(f);
        CHECK(f.error().id() == errors::not_a_file);
        CHECK(f.error().message().find(path) != std::string::npos);
    }
    CHECK(io::input_file::open(scratch / "absent").error().id() == errors::file_access);
}

TEST_CASE("a model's folder opens files below it by plain relative names") {
    scratch_folder const scratch;
    scratch.file("data.bin", "one");
    scratch.file("a/b/data.bin", "two");
    auto const folder = io::folder::of(scratch / "model.onnx").value();
    for (auto const* name : {"data.bin", "./data.bin", ".//data.bin"}) CHECK(folder.open(name).value().size() == 3);
    for (auto const* name : {"a/b/data.bin", "a//b/./data.bin"}) CHECK(folder.open(name).value().size() == 3);
    CHECK(io::folder::of((scratch / "nowhere") + "/model.onnx").error().id() == errors::file_access);
    CHECK(io::folder::of("model.onnx"));
    CHECK(io::folder::of("/model.onnx"));
}

TEST_CASE("no name leads out of a model's folder or to anything but a regular file of its own") {
    scratch_folder const scratch;
    auto const canary = scratch.file("canary", "secret");
    scratch.file("m/data.bin", "data");
    scratch.file("m/twice", "data");
    fs::create_directories(scratch / "m/sub");
    fs::create_symlink(canary, scratch / "m/link");
    fs::create_symlink("data.bin", scratch / "m/inner_link");
    fs::create_directory_symlink(scratch.path(), scratch / "m/up");
    fs::create_directory_symlink("sub", scratch / "m/inner_up");
    scratch.file("m/sub/data.bin", "data");
    fs::create_hard_link(canary, scratch / "m/hard");
    REQUIRE(::mkfifo((scratch / "m/fifo").c_str(), 0600) == 0);
    auto const folder = io::folder::of(scratch / "m/model.onnx").value();
    std::vector<std::string> const names{"..",
                                         "../canary",
                                         "sub/../../canary",
                                         "sub/../data.bin",
                                         "./../m/data.bin",
                                         canary,
                                         "/",
                                         "link",
                                         "inner_link",
                                         "up/canary",
                                         "inner_up/data.bin",
                                         "hard",
                                         "fifo",
                                         "sub",
                                         "sub/",
                                         ".",
                                         "./",
                                         "",
                                         "data.bin/",
                                         "data.bin/x",
                                         "absent",
                                         std::string("data.bin\0.txt", 13),
                                         std::string(5000, 'a'),
                                         std::string(300, 'a')};
    for (auto const& name : names) {
        INFO(name);
        auto const f = folder.open(name);
        REQUIRE_FALSE(f);
        CHECK(f.error().id() == errors::external_data);
    }
    fs::create_hard_link(scratch / "m/twice", scratch / "m/thrice");
    CHECK_FALSE(folder.open("twice"));
}

TEST_CASE("an output file appears as a whole, and only when it is committed") {
    scratch_folder const scratch;
    auto const path = scratch.file("target", "old");
    random_stream r{2};
    std::string expected;
    {
        io::output_file out{path};
        for (int i = 0; i < 40; ++i) {
            auto const piece = random_text(r, i % 8 == 0 ? 100'000 : r.below(30'000));
            out.write(piece), expected += piece;
        }
        CHECK(out.written() == expected.size());
        CHECK(contents(path) == "old");
        out.commit();
        CHECK(contents(path) == expected);
    }
    CHECK(contents(path) == expected);
    CHECK(scratch.names() == std::vector<std::string>{"target"});
}

TEST_CASE("an output file that is not committed leaves nothing behind") {
    scratch_folder const scratch;
    auto const path = scratch.file("target", "old");
    { io::output_file{path}.write(std::string(200'000, 'x')); }
    { io::output_file{scratch / "other"}; }
    CHECK(scratch.names() == std::vector<std::string>{"target"});
    CHECK(contents(path) == "old");
}

TEST_CASE("wherever the disk is full, the old file stays as it was and nothing else is left") {
    scratch_folder const scratch;
    auto const path = scratch.file("target", "old");
    auto const text = std::string(300'000, 'x');
    for (rlim_t limit : {0u, 1u, 65'535u, 65'536u, 200'000u, 299'999u}) {
        result<void> done;
        {
            full_disk const full{limit};
            done = io::write_file(path, text);
        }
        INFO(limit);
        REQUIRE_FALSE(done);
        CHECK(done.error().id() == errors::file_access);
        CHECK(contents(path) == "old");
        CHECK(scratch.names() == std::vector<std::string>{"target"});
    }
    full_disk const full{300'000};
    CHECK(io::write_file(path, text));
}

TEST_CASE("a process that dies amid writing leaves the old file") {
    scratch_folder const scratch;
    auto const path = scratch.file("target", "old");
    auto const child = ::fork();
    if (child == 0) {
        io::output_file out{path};
        out.write(std::string(200'000, 'x'));
        ::_exit(0);
    }
    REQUIRE(child > 0);
    ::waitpid(child, nullptr, 0);
    CHECK(contents(path) == "old");
    CHECK(io::write_file(path, "new"));
    CHECK(contents(path) == "new");
}

TEST_CASE("a target that cannot be replaced is an error, and nothing is left") {
    scratch_folder const scratch;
    fs::create_directories(scratch / "folder/inner");
    for (auto const& path : {scratch / "folder", scratch / "nowhere/file"}) {
        auto const done = io::write_file(path, "text");
        REQUIRE_FALSE(done);
        CHECK(done.error().id() == errors::file_access);
        CHECK(done.error().message().find(path) != std::string::npos);
    }
    CHECK(scratch.names() == std::vector<std::string>{"folder"});
}

TEST_CASE("a link at the target is replaced, not followed") {
    scratch_folder const scratch;
    auto const canary = scratch.file("canary", "untouched");
    fs::create_symlink(canary, scratch / "target");
    CHECK(io::write_file(scratch / "target", "new"));
    CHECK(contents(canary) == "untouched");
    CHECK(contents(scratch / "target") == "new");
    CHECK_FALSE(fs::is_symlink(scratch / "target"));
}

TEST_CASE("of many writers at once, one file is there as a whole at any time") {
    scratch_folder const scratch;
    auto const path = scratch.file("target", std::string(100'000, 'a'));
    std::vector<std::thread> writers;
    for (char c : {'b', 'c', 'd'})
        writers.emplace_back([&path, c] {
            for (int i = 0; i < 20; ++i) io::write_file(path, std::string(100'000, c)).value();
        });
    bool whole = true;
    for (int i = 0; i < 100; ++i) {
        auto const text = contents(path);
        whole = whole && text == std::string(100'000, text[0]);
    }
    for (auto& w : writers) w.join();
    CHECK(whole);
    CHECK(scratch.names() == std::vector<std::string>{"target"});
}

TEST_CASE("reading a whole file is bounded") {
    scratch_folder const scratch;
    auto const path = scratch.file("a", "12345");
    CHECK(io::read_file(path, 5).value() == "12345");
    auto const refused = io::read_file(path, 4);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().id() == errors::file_limit);
    CHECK(refused.error().message().find("the limit is 4") != std::string::npos);
}
