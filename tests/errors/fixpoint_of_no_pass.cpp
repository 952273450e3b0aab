// expect: what a fixpoint repeats is a pass
#include <gsub/passes/pipeline.hpp>

struct nameless {
    gsub::result<gsub::pass_outcome> operator()(gsub::any_graph&, gsub::pass_context&) const {
        return gsub::pass_outcome{};
    }
};

auto made() {
    return gsub::fixpoint{nameless{}, {.max_iterations = 3}};
}
