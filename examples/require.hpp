// What the numbered examples state about themselves, checked whenever they run.
#pragma once

#include <cstdio>
#include <cstdlib>

inline void require(bool holds, char const* sentence) {
    if (holds) return;
    std::fprintf(stderr, "this does not hold: %s\n", sentence);
    std::exit(1);
}
