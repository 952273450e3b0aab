// Arbitrary bytes as a .npy file: refused with an error, in memory as from a file, or a tensor that is itself again
// after it was written.
#include <gsub/core/format.hpp>
#include <gsub/io/file.hpp>
#include <gsub/io/npy.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace {

// Ends the process, so that the fuzzer keeps the input.
void require(bool holds, char const* sentence, std::string const& detail = {}) {
    if (holds) return;
    std::fprintf(stderr, "gsub: not so: %s\n%s\n", sentence, detail.c_str());
    std::abort();
}

bool same(gsub::tensor const& a, gsub::tensor const& b) {
    return a.type() == b.type() && std::ranges::equal(a.raw(), b.raw());
}

// A file of this process, which goes with it; where there is such a folder, one that is flushed at no cost.
struct scratch_file {
    std::string path =
        gsub::format_text("{}/gsub_fuzz_npy_{}", ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", ::getpid());
    ~scratch_file() { static_cast<void>(std::remove(path.c_str())); }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    static scratch_file const file;
    auto const read = gsub::io::parse_npy(std::as_bytes(std::span{data, size}));
    gsub::io::write_file(file.path, {reinterpret_cast<char const*>(data), size}).value();
    auto const loaded = gsub::io::load_npy(file.path);
    if (read && !loaded) require(false, "what is read in memory is read on disk", loaded.error().message());
    if (loaded && !read) require(false, "what is read on disk is read in memory", read.error().message());
    if (!read) return 0;
    require(same(*loaded, *read), "a file has the same elements in memory and on disk");
    require(read->element() != gsub::dtype::boolean ||
                std::ranges::all_of(read->raw(), [](std::byte b) { return b <= std::byte{1}; }),
            "a boolean is 0 or 1");
    gsub::io::save_npy(file.path, *read).value();
    auto const again = gsub::io::load_npy(file.path);
    if (!again) require(false, "a tensor that was written can be read", again.error().message());
    require(same(*again, *read), "a tensor is itself again", to_string(*read));
    return 0;
}
