#include "catch.hpp"
#include <gsub/core/format.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/passes/eliminate/dead_code_elimination.hpp>
#include <gsub/passes/fuse/fuse_ops.hpp>
#include <gsub/passes/manager/manager.hpp>
#include <gsub/passes/pipeline.hpp>

#include <string>
#include <vector>

// A pass for somebody else's type: an equal of the library's.
namespace app {
struct drop_dropout {
    bool training = false;
};
} // namespace app

template <>
struct gsub::pass_traits<app::drop_dropout> {
    static constexpr auto facts =
        pass_facts("drop-dropout", gsub::exactness::bit_exact,
                   "removes dropout, which does nothing outside of training", {.aliases = {"RemoveDropout"}});
    static bool may_apply(gsub::op_histogram const& ops) { return ops.any_of<gsub::ops::dropout>(); }
    static gsub::result<gsub::pass_outcome> run(app::drop_dropout const& p, gsub::any_graph& g, gsub::pass_context&) {
        gsub::pass_outcome outcome;
        auto const order = std::vector<gsub::node_id>(g.order().begin(), g.order().end());
        for (auto n : order) {
            if (!g.is<gsub::ops::dropout>(n)) continue;
            if (p.training) {
                outcome.skip("training");
                continue;
            }
            g.replace_uses({n, 0}, g.operand(n, 0));
            g.erase_unused(n);
            outcome.changed = true, ++outcome.matches;
        }
        return outcome;
    }
};

namespace manager_test {

using namespace gsub;
using texts = std::vector<std::string>;

static_assert(pass<app::drop_dropout> && pass<pipeline<app::drop_dropout, passes::fuse_ops>>);

// Passes that tell when they run. `a` requires `b` and `c`, `b` requires `c`; `c` leaves what `b` did valid.
inline std::string ran;
constexpr std::string_view letters[] = {"a", "b", "c", "d"};

template <char Name>
struct step {
    static constexpr auto facts = pass_facts(letters[Name - 'a'], exactness::bit_exact, {},
                                             {.required = Name == 'a'   ? name_list{"b", "c"}
                                                          : Name == 'b' ? name_list{"c"}
                                                                        : name_list{},
                                              .preserved = Name == 'c' ? name_list{"b"} : name_list{}});
    bool changes = false;
    static result<step> from_text(std::string_view text) {
        if (text != "changes" && !text.empty()) return error{error_code::usage, "only `changes` is known"};
        return step{!text.empty()};
    }
    result<pass_outcome> operator()(any_graph& g, pass_context&) const {
        ran += Name;
        if (changes) g.set_outputs(std::vector<value_id>{g.add<ops::relu>(g.output(0))});
        return pass_outcome{.changed = changes};
    }
};

struct failing {
    static constexpr pass_facts facts{"failing", exactness::bit_exact};
    result<pass_outcome> operator()(any_graph&, pass_context&) const {
        return error{error_code::unsupported, "not today"};
    }
};

template <char Name, char Needs>
struct circular {
    static constexpr auto facts =
        pass_facts(letters[Name - 'a'], exactness::bit_exact, {}, {.required = {letters[Needs - 'a']}});
    result<pass_outcome> operator()(any_graph&, pass_context&) const { return pass_outcome{}; }
};

gsub::module dropout_module() {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {2}, "x");
    b.outputs({b.add<ops::relu>(b.add<ops::dropout>(x))}, {"y"});
    gsub::module m;
    m.add("main", std::move(g));
    return m;
}

pass_manager letters_known() {
    pass_manager m;
    m.add(step<'a'>{}).add(step<'b'>{}).add(step<'c'>{}).add(step<'d'>{}).add(failing{});
    m.add_list({"both", "a, d(changes)", ""}).add_list({"nested", "both, both", ""});
    return m;
}

std::string trace_of(std::string_view list) {
    ran.clear();
    auto m = dropout_module();
    pass_context cx;
    REQUIRE(letters_known().run(list, m, cx));
    return ran;
}

texts names_of(std::vector<any_pass> const& list) {
    texts out;
    for (auto const& p : list) out.emplace_back(p.name());
    return out;
}

TEST_CASE("names count without case, dashes and blanks, aliases too") {
    auto const known = passes::standard_passes().add(app::drop_dropout{});
    for (auto name : {"dead-code-elimination", "DeadCodeElimination", " dead_code_elimination", "DCE"})
        CHECK(known.find(name).value().name() == "dead-code-elimination");
    CHECK(known.find("removeDropout").value().name() == "drop-dropout");
    CHECK(names_of(known.parse(" FuseOps ,DefuseOps,, fuse-ops").value()) ==
          texts{"fuse-ops", "defuse-ops", "fuse-ops"});
    CHECK(known.parse("none").value().empty());
    CHECK(known.parse("").value().empty());
}

TEST_CASE("every registered pass has a canonical name and is found by it, lists do not hide passes") {
    auto const known = passes::standard_passes();
    for (auto const& p : known.passes()) {
        CHECK(p.name().find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos);
        CHECK(known.find(p.name()).value().name() == p.name());
        CHECK_FALSE(p.info().effect.empty());
        for (auto alias : p.info().aliases) CHECK(known.find(alias).value().name() == p.name());
    }
    for (auto const& l : known.lists()) CHECK_FALSE(known.find(l.name));
}

TEST_CASE("unknown names are errors, all at once, each with the nearest name") {
    auto const r = passes::standard_passes().parse("FuseOp, fuse-ops, DeedCodeElimination, qqqqqqqqqqqqqqqqqq");
    REQUIRE_FALSE(r);
    REQUIRE(r.error().problems().size() == 3);
    CHECK(r.error().id() == errors::unknown_pass);
    CHECK(r.error().problems()[0].hint == "fuse-ops");
    CHECK(r.error().problems()[1].hint == "dead-code-elimination");
    CHECK(r.error().problems()[2].hint == "`gsub passes` lists them");
}

TEST_CASE("arguments go to the passes that take them, anything else in a list is an error") {
    auto const known = letters_known();
    for (auto bad : {"a(", "a)", "a(changes", "a(changes)b", "failing(1)", "a(what)", "both(changes)", "a)(", "(a)"}) {
        auto const r = known.parse(bad);
        REQUIRE_FALSE(r);
        CHECK(r.error().code() == error_code::usage);
    }
    for (auto bad : {"a(", "a)", "a(changes)b", "a)("}) CHECK(known.parse(bad).error().id() == errors::pass_list);
    CHECK(known.parse("failing(1)").error().id() == errors::pass_arguments);
    auto m = dropout_module();
    pass_context cx;
    auto const done = known.run("c(changes), c, d( changes)", m, cx);
    CHECK_FALSE(done); // blanks inside of parentheses are the pass's business
    CHECK(known.run("c(changes), c", m, cx).value().outcome.changed);
}

TEST_CASE("lists may name lists, and not themselves") {
    CHECK(names_of(letters_known().parse("nested, c").value()) == texts{"a", "d", "a", "d", "c"});
    auto known = letters_known();
    known.add_list({"round", "a, round", ""});
    auto const round = known.parse("round");
    REQUIRE_FALSE(round);
    CHECK(round.error().id() == errors::pass_list);
}

TEST_CASE("a list runs what it names, in its order, as often as it says") {
    CHECK(trace_of("c, d, c, c, d") == "cdccd");
    CHECK(trace_of(" ,").empty());
}

TEST_CASE("what a pass requires runs before it, once while it is valid") {
    CHECK(trace_of("a") == "cba");
    CHECK(trace_of("c, b, a") == "cba");
    CHECK(trace_of("a, a, b") == "cbaab");
    CHECK(trace_of("a, d, a") == "cbada");
    CHECK(trace_of("a, d(changes), a") == "cbadcba");
    CHECK(trace_of("b, c(changes), a") == "cbca"); // c preserves b
}

TEST_CASE("records say which pass asked for a pass") {
    ran.clear();
    auto m = dropout_module();
    pass_context cx;
    texts told;
    auto const done = letters_known().run("a", m, cx).value();
    for (auto const& r : done.records) told.push_back(fmt::format("{} for {}", r.pass, r.required_by));
    CHECK(told == texts{"c for b", "b for a", "a for "});
}

TEST_CASE("requirements that are not registered or go round are errors before anything runs") {
    pass_manager known;
    known.add(circular<'a', 'b'>{}).add(circular<'b', 'c'>{});
    auto m = dropout_module();
    pass_context cx;
    CHECK(known.run("a", m, cx).error().message() ==
          "pass b requires another: usage: there is no pass \"c\"; try: `gsub passes` lists them");
    known.add(circular<'c', 'a'>{});
    CHECK(known.run("a", m, cx).error().message() == "usage: passes require each other in a circle: a -> b -> c -> a");
    CHECK(known.run("a", m, cx).error().id() == errors::pass_list);
}

TEST_CASE("where a pass of a list fails, the module is as before the list") {
    auto m = dropout_module();
    auto const before = fingerprint(m);
    pass_context cx;
    auto const r = letters_known().run("d(changes), failing, d", m, cx);
    REQUIRE_FALSE(r);
    CHECK(r.error().message() == "pass failing: function \"main\": not supported: not today");
    CHECK(fingerprint(m) == before);
}

TEST_CASE("a hard order that a list breaks is refused, a soft one noted, unless the caller says otherwise") {
    auto known = passes::standard_passes();
    auto m = dropout_module();
    pass_context cx;
    auto const refused = known.run("defuse-ops, fuse-ops", m, cx);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().id() == errors::pass_list);
    CHECK(refused.error().message().find("must come before") != std::string::npos);
    CHECK(known.run("defuse-ops, fuse-ops", m, cx, {.order = order_policy::note}).value().notes.size() == 1);
    auto again = dropout_module();
    CHECK(known.run("defuse-ops, fuse-ops", again, cx, {.order = order_policy::ignore}).value().notes.empty());
    auto soft = dropout_module();
    CHECK(known.run("fuse-ops, alter-op-layout", soft, cx).value().notes.size() == 1);
}

TEST_CASE("a user's pass is listed, run, pruned and verified as the library's are") {
    auto known = passes::standard_passes();
    known.add(app::drop_dropout{}).add({pipeline{app::drop_dropout{}, passes::fuse_ops{}}, "lean"});
    auto m = dropout_module();
    pass_context cx;
    numeric_verifier numbers{cx};
    auto const r = known.run("remove-dropout, drop-dropout, lean", m, cx, {.instrument = {.verify = numbers}}).value();
    REQUIRE(r.records.size() == 5);
    CHECK(r.records[0].outcome.matches == 1);
    CHECK((r.records[0].verdict.compared && r.records[0].verdict.equal));
    CHECK_FALSE(r.records[1].not_run.empty());
    CHECK(r.records[2].pass == "lean");
    CHECK(m.functions().size() == 2);
    auto kept = dropout_module();
    CHECK(known.add(app::drop_dropout{.training = true})
              .run("drop-dropout", kept, cx)
              .value()
              .outcome.skips("training") == 1);
}

TEST_CASE("the lists of the literature have as many passes as their tables, and name lists of none") {
    std::vector<std::pair<std::string, std::ptrdiff_t>> const expected{
        {"none", 0},    {"default", 7}, {"BL", 6},   {"tvm_o0", 2}, {"tvm_o1", 4}, {"tvm_o2", 6}, {"tvm_o3", 14},
        {"tvm_o4", 18}, {"AS-0", 8},    {"AS-1", 8}, {"PO-0", 6},   {"PO-1", 6},   {"PO-2", 8},   {"PO-3", 6}};
    auto const lists = passes::standard_lists();
    REQUIRE(lists.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(lists[i].name == expected[i].first);
        auto const& text = lists[i].passes;
        CHECK((text.empty() ? 0 : std::count(text.begin(), text.end(), ',') + 1) == expected[i].second);
    }
}

TEST_CASE("what TVM runs at a level, it runs at the next one too") {
    auto const known = passes::standard_passes();
    std::vector<std::string> before;
    for (auto const* name : {"tvm_o0", "tvm_o1", "tvm_o2", "tvm_o3", "tvm_o4"}) {
        auto const list = known.parse(name).value();
        std::vector<std::string> names;
        for (auto const& p : list) names.emplace_back(p.name());
        for (auto const& p : before) CHECK(std::find(names.begin(), names.end(), p) != names.end());
        before = names;
    }
}

TEST_CASE("lists take TVM's spelling of every pass that TVM has too") {
    auto const known = passes::standard_passes();
    std::size_t of_tvm = 0;
    for (auto const& p : known.passes()) {
        auto const& name = p.info().tvm_name;
        if (name.empty()) continue;
        CAPTURE(p.name());
        CHECK(known.find(name).value().name() == p.name());
        ++of_tvm;
    }
    CHECK(of_tvm >= 28);
    CHECK(known.find("FuseOps").value().info().tvm_name == "FuseOps");
}

} // namespace manager_test
