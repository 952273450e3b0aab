#include "catch.hpp"
#include <gsub/core/format.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/eliminate/dead_code_elimination.hpp>
#include <gsub/passes/fold/fold_constant.hpp>
#include <gsub/passes/select/network_class.hpp>
#include <gsub/passes/simplify/simplify_expr.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace network_class_test {

using namespace gsub;

struct products {
    static constexpr std::string_view name = "products";
    class_score score(architecture_features const& f) const {
        return {static_cast<double>(f.products) / 4, fmt::format("{} products", f.products)};
    }
    auto passes() const { return pipeline{passes::fold_constant{.max_elements = 8}, passes::simplify_expr{}}; }
};
struct convolutions {
    static constexpr std::string_view name = "convolutions";
    class_score score(architecture_features const& f) const {
        return {static_cast<double>(f.convolutions) / 2, fmt::format("{} convolutions", f.convolutions)};
    }
    auto passes() const {
        return pipeline{pipeline{passes::dead_code_elimination{}, pipeline{passes::simplify_expr{}}},
                        fixpoint{passes::fold_constant{}}};
    }
};
struct without_passes {
    static constexpr std::string_view name = "without passes";
    class_score score(architecture_features const&) const { return {}; }
};
struct list_of_names : without_passes {
    std::string_view passes() const { return "fold-constant, fuse-ops"; }
};

static_assert(network_class<products> && network_class<convolutions>);
static_assert(!network_class<without_passes> && !network_class<list_of_names> && !network_class<int>);

TEST_CASE("the first class that fits is taken, and all say why") {
    using all = network_classes<products, convolutions>;
    architecture_features f;
    CHECK(all::classify(f).name.empty());
    f.products = 1;
    CHECK(all::classify(f).score == 0.25);
    CHECK(all::classify(f).reasons ==
          std::vector<std::string>{"not products: 1 products", "not convolutions: 0 convolutions"});
    f.convolutions = 2;
    CHECK(all::classify(f).name == "convolutions");
    CHECK(all::classify(f).score == 1);
    CHECK(all::classify(f).reasons ==
          std::vector<std::string>{"convolutions: 2 convolutions", "not products: 1 products"});
    f.products = 2;
    CHECK(all::classify(f).name == "products");
    CHECK(all::classify(f).reasons ==
          std::vector<std::string>{"products: 2 products", "also convolutions: 2 convolutions"});
    CHECK(network_classes<products>::with<convolutions>::classify(f).name == "convolutions");
}

TEST_CASE("a selection has the stages of the class's pipeline one by one, and is a list") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2, 2}, "x");
    b.outputs({b.add<ops::mat_mul>(b.add<ops::mat_mul>(x, x), x)});
    module m;
    m.add("main", std::move(g));
    auto const s = select_passes<convolutions, products>(m);
    CHECK(s.of.name == "products");
    CHECK(s.text() == "fold-constant(8), simplify-expr");
    CHECK(passes::standard_passes().parse(s.text()).value().size() == 2);
    CHECK(select_passes<convolutions>(m).passes.empty());
    CHECK(select_passes<convolutions>(m).of.name.empty());
    CHECK(select_passes<products>(module{}).passes.empty());

    auto const all = network_classes<products, convolutions>::all();
    REQUIRE(all.size() == 2);
    CHECK(all[0].text() == "fold-constant(8), simplify-expr");
    CHECK(all[1].of.name == "convolutions");
    auto const& stages = all[1].passes;
    REQUIRE(stages.size() == 3);
    CHECK(stages[0].name() == "dead-code-elimination");
    CHECK(stages[1].name() == "simplify-expr");
    CHECK(stages[2].name() == "fixpoint");
}

} // namespace network_class_test
