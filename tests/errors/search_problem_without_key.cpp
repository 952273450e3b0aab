// expect: p.key
#include <gsub/search/backtracking.hpp>

struct keyless {
    using state = int;
    double cost(int s) const { return s; }
    std::string label(int) const { return {}; }
    template <class Emit>
    void expand(int s, Emit&& emit) const {
        emit(s - 1);
    }
};

auto searched(keyless& p) {
    return gsub::search::backtracking(p, 3, {});
}
