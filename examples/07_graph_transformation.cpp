// A transformation of one's own, made of patches: a mean over the whole image is a global mean.
#include "require.hpp"
#include <gsub/gsub.hpp>

#include <algorithm>
#include <iostream>
#include <utility>
#include <vector>

namespace app {

/// Whether a pooling covers its whole input, without border: then it gives one number a channel.
bool covers_image(gsub::any_graph const& g, gsub::node_id n) {
    if (!g.is<gsub::ops::average_pool>(n)) return false;
    auto const& a = g.attributes<gsub::ops::average_pool>(n);
    auto const& x = g.type(g.operand(n, 0));
    if (!x.is_static() || x.rank() != a.kernel_shape.size() + 2) return false;
    for (std::size_t i = 0; i < a.kernel_shape.size(); ++i)
        if (x.dims[i + 2].size() != a.kernel_shape[i] || a.dilations[i] != 1) return false;
    return std::all_of(a.pads.begin(), a.pads.end(), [](auto p) { return p == 0; });
}

/// Replaces such poolings. Gives the number of patches applied; 0 means that the graph has not changed.
gsub::result<std::size_t> use_global_pools(gsub::graph& g) {
    std::vector<gsub::node_id> sites;
    for (auto n : g.order())
        if (covers_image(g, n)) sites.push_back(n);
    for (auto n : sites) { // ids stay valid while nodes come and go
        gsub::graph_patch patch{g, "use_global_pools", n};
        patch.replace({n, 0}, patch.add<gsub::ops::global_average_pool>(g.operand(n, 0)));
        patch.covers(n);
        auto changed = g; // a patch that fails leaves its graph half changed, so it gets a copy
        if (auto done = patch.apply_to(changed); !done) return done.error();
        g = std::move(changed);
    }
    return sites.size();
}

} // namespace app

namespace {

gsub::graph pooled() {
    gsub::graph g;
    gsub::models::network_builder b{g, gsub::models::weight_source{1}};
    auto const x = b.input(gsub::dtype::f32, {1, 4, 6, 6}, "x");
    auto const half = b.average_pool("half", x, {.kernel = {2, 2}, .stride = {2, 2}});
    auto const whole = b.average_pool("head", half, {.kernel = {3, 3}});
    b.output(b.relu("relu", whole), "y");
    return g;
}

} // namespace

int main() {
    auto const before = pooled();
    auto after = before;
    require(app::use_global_pools(after).value() == 1, "one of the two poolings covers its input");
    require(app::use_global_pools(after).value() == 0, "a second run finds nothing");
    std::cout << to_text(after);

    require(check(after, gsub::stage::imported).empty(), "the graph is legal");
    require(after.display_name(after.operand(after.output(0).node, 0).node) == "head", "the new node has the old name");
    auto const evaluators = gsub::table_of<gsub::eval_row, gsub::standard_ops>();
    require(verify_equal(before, after, evaluators).equal, "both graphs compute the same");
}
