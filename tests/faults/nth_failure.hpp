// The loop of SQLite: something runs with its first allocation failing, then with its second, until a run succeeds.
#pragma once

#include "catch.hpp"
#include "faults/failing_new.hpp"
#include <gsub/core/result.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace nth_failure {

using failing_new::extent;

/// Whether every allocation fails in turn: GSUB_FAULTS_EVERY=1. Otherwise the first 64 do, then steps grow to 1/32 of
/// the number of allocations before.
inline bool every() {
    static auto const* const asked = std::getenv("GSUB_FAULTS_EVERY");
    return asked && std::string_view{asked} == "1";
}
inline std::uint64_t after(std::uint64_t n) {
    return every() || n < 64 ? n + 1 : n + n / 32;
}

template <class T>
struct is_result : std::false_type {};
template <class T>
struct is_result<gsub::result<T>> : std::true_type {};

/// What is wrong with a run in which an allocation failed, or nothing. Until the memory is counted nothing allocates.
struct verdict {
    bool any_failed = false, succeeded = false;
    char fault[400] = "";
};

template <class Stage, class Answer>
verdict attempt(std::uint64_t n, extent which, Stage const& stage, Answer const& answer, std::string const& expected) {
    using made = decltype(stage());
    verdict out;
    auto const say = [&](char const* text, char const* more = "") {
        std::snprintf(out.fault, sizeof out.fault, "%s%s", text, more);
    };
    auto const before = failing_new::alive();
    try {
        std::optional<made> got;
        failing_new::arm(n, which);
        try {
            got.emplace(stage());
        } catch (...) {
            out.any_failed = failing_new::disarm();
            throw;
        }
        out.any_failed = failing_new::disarm();
        if constexpr (is_result<made>::value) {
            if (*got) {
                out.succeeded = true;
                if (answer(got->value()) != expected) say("a wrong answer");
            } else if (!out.any_failed || got->error().code() != gsub::error_code::environment) {
                say("a refusal: ", got->error().what());
            }
        } else {
            out.succeeded = true;
            if (answer(*got) != expected) say("a wrong answer");
        }
    } catch (std::bad_alloc const&) {
        if (!out.any_failed) say("std::bad_alloc where nothing failed");
    } catch (std::exception const& e) { say("an exception: ", e.what()); } catch (...) {
        say("an exception without a text");
    }
    if (auto const left = failing_new::alive() - before; left != 0 && !out.fault[0])
        std::snprintf(out.fault, sizeof out.fault, "%lld blocks more than before", static_cast<long long>(left));
    return out;
}

/// Fails allocation after allocation of `stage` until none is left. A run ends by `std::bad_alloc`, by an error
/// (`environment`), or with the answer that is expected; it leaves nothing behind, and the next run is right. `answer`
/// tells what a run has made as a text.
template <class Stage, class Answer>
void each_allocation(std::string_view what, Stage const& stage, Answer const& answer) {
    INFO(what);
    auto const make = [&] {
        auto got = stage();
        if constexpr (is_result<decltype(got)>::value)
            return answer(got.value());
        else
            return answer(got);
    };
    auto const expected = make();
    REQUIRE(make() == expected); // and what is kept for all runs is there now
    for (auto const which : {extent::once, extent::from_then_on}) {
        std::uint64_t runs = 0, survived = 0;
        for (std::uint64_t n = 1;; n = after(n)) {
            auto const v = attempt(n, which, stage, answer, expected);
            if (v.fault[0]) {
                INFO("allocation " << n << (which == extent::once ? " fails" : " and all after it fail"));
                FAIL_CHECK(v.fault);
                if (!v.any_failed) break;
                continue;
            }
            if (!v.any_failed) {
                if (std::getenv("GSUB_FAULTS_TELL"))
                    std::printf("%.*s: %llu allocations, %llu runs, %llu of them went on\n",
                                static_cast<int>(what.size()), what.data(),
                                static_cast<unsigned long long>(failing_new::counted()),
                                static_cast<unsigned long long>(runs), static_cast<unsigned long long>(survived));
                break;
            }
            ++runs;
            survived += v.succeeded;
            if (runs % 16 == 0 && make() != expected) FAIL("a later run is wrong, after allocation " << n);
        }
        CHECK(make() == expected);
    }
}

} // namespace nth_failure
