// Runs the units whose names are given; all must give the same numbers, up to rounding.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

std::vector<float> plain();
std::vector<float> avx2();
std::vector<float> avx512();

int main(int count, char** names) {
    constexpr std::size_t outputs = 11;
    std::vector<float> first;
    for (int i = 1; i < count; ++i) {
        auto const* const name = names[i];
        auto const got = std::strcmp(name, "avx512") == 0 ? avx512() : std::strcmp(name, "avx2") == 0 ? avx2() : plain();
        if (i == 1) first.assign(got.begin(), got.begin() + outputs);
        if (got.size() != 3 * outputs) return std::printf("%s: %zu numbers\n", name, got.size()), 1;
        for (std::size_t e = 0; e < got.size(); ++e)
            if (!(std::abs(got[e] - first[e % outputs]) <= 1e-4f * (1 + std::abs(first[e % outputs]))))
                return std::printf("%s: number %zu is %g, not %g\n", name, e, static_cast<double>(got[e]),
                                   static_cast<double>(first[e % outputs])),
                       1;
    }
}
