// expect: a pass is called with a gsub::module& or a gsub::any_graph&
#include <gsub/passes/pass.hpp>

struct silent_pass {
    static constexpr gsub::pass_facts facts{"silent-pass", gsub::exactness::bit_exact};
    bool operator()(gsub::any_graph&, gsub::pass_context&) const { return true; }
};

auto ran(gsub::module& m) {
    return gsub::run_pass(silent_pass{}, m);
}
