// expect: gsub::further_facts
#include <gsub/passes/pass.hpp>

struct misspelt {
    static constexpr auto facts = gsub::pass_facts("misspelt", gsub::exactness::bit_exact, "does nothing", {.levl = 3});
    gsub::result<gsub::pass_outcome> operator()(gsub::any_graph&, gsub::pass_context&) const {
        return gsub::pass_outcome{};
    }
};
