#include "catch.hpp"
#include <gsub/core/thread_workspace.hpp>

#include <cstdint>
#include <cstring>
#include <new>
#include <thread>

namespace thread_scratch_test {

using gsub::thread_workspace;

TEST_CASE("memory of a thread grows with what is asked for, is aligned, and stays where it suffices") {
    auto* const first = thread_workspace(1000);
    REQUIRE(first != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(first) % 64 == 0);
    CHECK(thread_workspace(10) == first);
    auto* const grown = thread_workspace(std::size_t{1} << 20);
    std::memset(grown, 1, std::size_t{1} << 20);
    CHECK(thread_workspace(1000) == grown);
    CHECK_THROWS_AS(static_cast<void>(thread_workspace(static_cast<std::size_t>(-1))), std::bad_alloc);
    CHECK(thread_workspace(1000) == grown);
}

TEST_CASE("each thread has memory of its own") {
    auto* const here = thread_workspace(100);
    void* there = nullptr;
    std::thread{[&] { there = thread_workspace(100); }}.join();
    CHECK(there != here);
}

} // namespace thread_scratch_test
