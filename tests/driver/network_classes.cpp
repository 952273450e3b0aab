#include "catch.hpp"
#include <gsub/driver/network_classes.hpp>
#include <gsub/driver/run_passes.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/models/bert.hpp>
#include <gsub/models/catalogue.hpp>
#include <gsub/models/mobilenet.hpp>
#include <gsub/models/resnet.hpp>
#include <gsub/models/ssd.hpp>
#include <gsub/passes/manager/order.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace network_classes_test {

using namespace gsub;

module as_module(any_graph g) {
    module m;
    m.add("main", std::move(g));
    return m;
}
module model(char const* name) {
    return as_module(models::find_model(name)->build(1));
}

TEST_CASE("networks of every width and depth are of their class, with reasons") {
    auto const is = [](any_graph const& g, std::string_view kind, std::string const& what) {
        CAPTURE(what);
        auto const c = classify(g);
        CHECK(c.name == kind);
        CHECK(c.score >= 0.5);
        CHECK(c.reasons.size() == 5);
        CHECK(c.reasons[0].starts_with(kind));
    };
    for (auto const& plan : {models::resnet_plan{{1, 1, 1, 1}, false}, models::resnet_plan{{3, 4, 6, 3}, false},
                             models::resnet_plan{{1, 2, 1, 1}, true}, models::resnet_plan{{3, 8, 36, 3}, true}})
        for (std::int64_t const image : {32, 224})
            is(models::resnet(plan, {.image = image, .classes = 10}), "RN",
               "blocks " + std::to_string(plan.blocks[1]) + ", image " + std::to_string(image));
    for (std::int64_t const batch : {1, 3})
        is(models::mobilenet_v2({.batch = batch, .image = 96}), "MN", "MobileNetV2");
    for (std::int64_t const image : {300, 512})
        is(models::ssd_resnet50({.image = image}), "SSD", "SSD " + std::to_string(image));
    for (std::int64_t const layers : {1, 3})
        for (std::int64_t const hidden : {24, 48})
            is(models::bert_base({.sequence = 16,
                                  .layers = layers,
                                  .hidden = hidden,
                                  .heads = 2,
                                  .intermediate = 2 * hidden,
                                  .vocabulary = 30}),
               "BR", "BERT " + std::to_string(layers));
    for (auto const* name : {"squeezenet1_1", "t2", "t6", "t9", "t12"})
        is(models::find_model(name)->build(1), "other", name);
}

template <class Class>
void is_well_formed(pass_manager const& known) {
    CAPTURE(Class::name);
    static_assert(network_class<Class>);
    auto const selected = passes_of<Class>();
    std::vector<std::string_view> names;
    for (auto const& p : selected.passes) {
        CAPTURE(p.text());
        names.push_back(p.name());
        CHECK(p.info().preserves_semantics);
        CHECK(p.info().exact <= exactness::reassociating);
        auto const listed = known.parse(p.text());
        REQUIRE(listed);
        CHECK(listed->size() == 1);
    }
    CHECK(names.back() == "fuse-ops");
    for (auto const& b : check_order(names)) CHECK(b.rule->kind != order_kind::hard);
}

TEST_CASE("the passes of each class are passes of the library and break no hard order") {
    auto const known = compiler_passes();
    is_well_formed<networks::resnet>(known);
    is_well_formed<networks::mobilenet>(known);
    is_well_formed<networks::ssd>(known);
    is_well_formed<networks::bert>(known);
    is_well_formed<networks::other>(known);
}

TEST_CASE("a selection is a list that can be read again, passes without effect there are passed over") {
    auto const known = compiler_passes();
    auto squeezenet = model("squeezenet1_1");
    auto const s = select_passes(squeezenet);
    CHECK(s.of.name == "other");
    pass_context cx;
    auto const run = known.run(s.passes, squeezenet, cx).value();
    auto const simplified = std::find_if(run.records.begin(), run.records.end(),
                                         [](pass_record const& p) { return p.pass == "simplify-inference"; });
    REQUIRE(simplified != run.records.end());
    CHECK(simplified->not_run != ""); // there is no normalisation
    auto const r = select_passes(model("resnet18"));
    CHECK(r.of.name == "RN");
    CHECK(r.text().find("simplify-inference") != std::string::npos);
    CHECK(known.parse(r.text()).value().size() == r.passes.size());
    auto const b = select_passes(as_module(models::bert_base(
        {.sequence = 16, .layers = 1, .hidden = 24, .heads = 2, .intermediate = 48, .vocabulary = 30})));
    CHECK(b.of.name == "BR");
    CHECK(b.text().find("fold-constant(65536)") != std::string::npos);
}

// A class of a user's: networks of nothing but one product.
struct single_product {
    static constexpr std::string_view name = "single product";
    class_score score(architecture_features const& f) const {
        return {f.products == 1 && f.nodes == 1 ? 1.0 : 0.0, ""};
    }
    auto passes() const { return pipeline{passes::fold_constant{}, networks::for_kernels()}; }
};

TEST_CASE("the list `auto` asks a user's class where options say so") {
    auto const known = compiler_passes();
    pass_context cx;
    auto const class_of = [&](module m) {
        run_passes_options options;
        options.select = &standard_classes::with<single_product>::select;
        return run_passes(m, known, "auto", cx, options).value().notes.back();
    };
    graph g;
    graph_builder b{g};
    b.outputs({b.add<ops::mat_mul>(b.input(dtype::f32, {2, 3}, "x"), b.input(dtype::f32, {3, 2}, "y"))});
    CHECK(class_of(as_module(std::move(g))).starts_with("class single product, passes: fold-constant, "));
    CHECK(class_of(model("resnet18")).starts_with("class RN, passes: to-graph-normal-form, "));
}

} // namespace network_classes_test
