#include "catch.hpp"
#include "codegen/kernel_program.hpp"

#include <cstdlib>

namespace neon_test {

using namespace gsub;

TEST_CASE("kernels of every kind and tail for NEON compute what they say, on an emulated processor") {
    for (auto const* tool : {"aarch64-linux-gnu-g++", "qemu-aarch64"})
        if (std::system((std::string{tool} + " --version > /dev/null 2>&1").c_str()) != 0) {
            WARN(tool << " is not here");
            return;
        }
    CHECK(kernel_program::fault(kernel_program::grid(isa::neon),
                                "aarch64-linux-gnu-g++ -std=c++20 -O3 -w -static -ffp-contract=fast -fno-math-errno "
                                "-fno-trapping-math",
                                "qemu-aarch64") == "");
}

} // namespace neon_test
