// Configuration: version, build mode and the one hook for broken contracts. Every other header includes this first.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#define GSUB_VERSION_MAJOR 0
#define GSUB_VERSION_MINOR 1
#define GSUB_VERSION_PATCH 0

// `gsub::compiled` defines GSUB_COMPILED: engine functions are then declared here and live in that static library.
// Without it the library is header-only and the same definitions are inline (docs/decisions/0001-two-build-modes.md).
#ifdef GSUB_COMPILED
#define GSUB_INLINE
#else
#define GSUB_INLINE inline
#endif

// Engines that only some programs call (code generation and what lies below it) are templates in the header-only mode:
// one that is not called costs its includers no instantiation. GSUB_LAZY stands before the first declaration of such a
// function, GSUB_LAZY_BODY before its definition elsewhere.
#ifdef GSUB_COMPILED
#define GSUB_LAZY
#define GSUB_LAZY_BODY
#else
#define GSUB_LAZY template <class = void>
#define GSUB_LAZY_BODY template <class>
#endif

// What a broken contract does: 0 terminates with a sentence on stderr (default), 1 throws std::logic_error.
#ifndef GSUB_ASSERT_POLICY
#define GSUB_ASSERT_POLICY 0
#endif

namespace gsub {

/// Version of the library as one number, `major * 10000 + minor * 100 + patch`.
inline constexpr int version = GSUB_VERSION_MAJOR * 10000 + GSUB_VERSION_MINOR * 100 + GSUB_VERSION_PATCH;

/// Assertion policy: what happens when a caller breaks a contract.
enum class assert_policy { terminate, throw_exception };

/// The policy that this program was compiled with.
inline constexpr assert_policy active_assert_policy =
    GSUB_ASSERT_POLICY == 1 ? assert_policy::throw_exception : assert_policy::terminate;

/// Reports a broken contract. Called by `GSUB_ASSERT`; never returns.
[[noreturn]] inline void assertion_failed(char const* sentence, char const* file, int line) {
    if constexpr (active_assert_policy == assert_policy::throw_exception) throw std::logic_error(sentence);
    std::fprintf(stderr, "gsub: %s:%d: contract broken: %s\n", file, line, sentence);
    std::abort();
}

} // namespace gsub

/// Checks a contract that the caller must keep; `sentence` says which.
#define GSUB_ASSERT(condition, sentence)                                                                               \
    ((condition) ? static_cast<void>(0) : ::gsub::assertion_failed(sentence, __FILE__, __LINE__))
