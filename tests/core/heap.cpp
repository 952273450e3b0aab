#include "catch.hpp"
#include <gsub/core/heap.hpp>

#include <limits>
#include <memory>
#include <vector>

namespace heap_test {

TEST_CASE("the allocator takes the settings where it has them, and serves as before") {
    auto const taken =
        gsub::keep_freed_memory(); // by glibc; allocators in its place, such as a sanitizer's, may refuse
    CHECK(gsub::keep_freed_memory(std::numeric_limits<std::size_t>::max()) == taken);
    CHECK(gsub::keep_freed_memory(0) == taken);
    std::vector<std::unique_ptr<char[]>> pieces;
    for (std::size_t i = 0; i < 100; ++i) {
        pieces.push_back(std::make_unique<char[]>(i * 1000 + 1));
        pieces.back()[i * 1000] = static_cast<char>(i);
    }
    for (std::size_t i = 0; i < 100; ++i) CHECK(pieces[i][i * 1000] == static_cast<char>(i));
}

} // namespace heap_test
