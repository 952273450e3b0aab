// Runs the units whose names are given; all must give the same numbers, up to rounding. Exits with 77 where the
// processor cannot run one of them.
#include <cmath>
#include <cstdio>
#include <string_view>
#include <vector>

std::vector<float> plain();
std::vector<float> avx512();

namespace {
std::vector<float> numbers_of(std::string_view unit) {
    return unit == "avx512" ? avx512() : plain();
}
bool runs_here(std::string_view unit) {
    return unit != "avx512" || (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"));
}
} // namespace

int main(int count, char** names) {
    for (int i = 1; i < count; ++i)
        if (!runs_here(names[i])) return std::printf("this processor has no %s\n", names[i]), 77;
    constexpr std::size_t outputs = 11, ways = 5;
    std::vector<float> first;
    for (int i = 1; i < count; ++i) {
        auto const got = numbers_of(names[i]);
        if (got.size() != ways * outputs) return std::printf("%s: %zu numbers\n", names[i], got.size()), 1;
        if (first.empty()) first.assign(got.begin(), got.begin() + outputs);
        for (std::size_t e = 0; e < got.size(); ++e) {
            auto const want = first[e % outputs];
            if (!(std::abs(got[e] - want) <= 1e-4f * (1 + std::abs(want))))
                return std::printf("%s: number %zu is %g, not %g\n", names[i], e, double{got[e]}, double{want}), 1;
        }
    }
}
