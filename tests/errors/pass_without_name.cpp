// expect: a pass has a name and says how exact it is
#include <gsub/passes/pass.hpp>

struct nameless {
    gsub::result<gsub::pass_outcome> operator()(gsub::any_graph&, gsub::pass_context&) const {
        return gsub::pass_outcome{};
    }
};

auto ran(gsub::module& m) {
    return gsub::run_pass(nameless{}, m);
}
