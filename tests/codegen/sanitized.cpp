#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include "codegen/kernel_program.hpp"

#include <cstdlib>
#include <string>

namespace sanitized_test {

using namespace gsub;

TEST_CASE("kernels of every kind and tail do nothing that address and undefined-behaviour sanitizers object to") {
    auto const with = runtime::find_compiler();
    if (!with) {
        WARN("no compiler here");
        return;
    }
    auto const sanitizers = kernel_program::quoted(with->path) + " -w -fsanitize=address,undefined ";
    scratch_folder const folder;
    auto const empty = folder.file("empty.cpp", "int main() {}");
    if (std::system((sanitizers + kernel_program::quoted(empty) + " -o " + kernel_program::quoted(folder / "empty") +
                     " > /dev/null 2>&1")
                        .c_str()) != 0) {
        WARN("no sanitizers here");
        return;
    }
    for (auto const* isa : compiled_kernel::sets()) {
        CAPTURE(isa->name);
        CHECK(kernel_program::fault(kernel_program::grid(*isa),
                                    sanitizers + "-std=c++17 -O1 -fno-sanitize-recover=all " + std::string{isa->flags},
                                    "") == "");
    }
}

} // namespace sanitized_test
