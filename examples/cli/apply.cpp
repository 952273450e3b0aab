// gsub optimize --apply: named rewrites, without a search.
#include "commands.hpp"
#include "cost_choice.hpp"
#include "rule_files.hpp"
#include <gsub/core/format.hpp>
#include <gsub/io.hpp>
#include <gsub/optimize/apply_rule.hpp>
#include <gsub/optimize/explain.hpp>
#include <gsub/report.hpp>
#include <gsub/report/json.hpp>
#include <gsub/report/svg.hpp>
#include <gsub/rewrite.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace cli {

namespace {

using gsub::error;
using gsub::error_code;

// `RULE@NODE`; a node's name may have further signs of the kind.
gsub::rule_at parsed(std::string const& text, std::span<gsub::rule_program const> rules) {
    auto const at = text.find('@');
    if (at == std::string::npos || at == 0 || at + 1 == text.size())
        throw error{error_code::usage, gsub::format_text("--apply {} is no RULE@NODE", gsub::quoted{text})};
    return {gsub::find_rule(rules, std::string_view{text}.substr(0, at)).value(), text.substr(at + 1)};
}

} // namespace

answer apply_rules(optimize_request const& r, session const& s) {
    rule_files const files{r.taso, r.rules_file};
    auto const loaded = files.given() ? prove_rules(files, r.seed, s) : usable_rules{};
    std::vector<gsub::rule_program> known(gsub::standard_rules().begin(), gsub::standard_rules().end());
    for (auto const& rule : loaded.rules) known.push_back(rule.program());
    std::vector<gsub::rule_at> wanted;
    for (auto const& text : r.apply) wanted.push_back(parsed(text, known));

    s.observe->on_progress({"load", 0, 0, r.model});
    auto const graph = gsub::io::load_onnx(r.model, loading(r.given, s)).value();
    std::string costed_by;
    auto const [made, report] =
        with_cost(r, s, graph, [&](auto const& model, std::string text) {
            costed_by = std::move(text);
            return gsub::apply_rules(graph, gsub::cost::erase(model),
                                     gsub::table_of<gsub::eval_row, gsub::standard_ops>(), wanted,
                                     {.verify = r.verify, .seed = r.seed, .threads = s.threads});
        }).value();
    answer a{gsub::format_text("{}costs    {}\n{}", loaded.text, costed_by, gsub::report::to_text(report)),
             gsub::report::to_json(report)};
    a.data["cost_model"] = costed_by;
    if (files.given()) a.data["loaded_rules"] = loaded.data;
    if (r.verify && !report.verification.equal) {
        a.positive = false;
        a.text += "nothing is written\n";
        return a;
    }
    if (!r.output.empty()) {
        s.observe->on_progress({"save", 0, 0, r.output});
        gsub::io::save_onnx(gsub::graph{gsub::any_graph{made}}, r.output).value();
        a.text += gsub::format_text("written  {}\n", r.output);
        a.data["output"] = r.output;
    }
    if (!r.dot.empty()) gsub::io::write_file(r.dot, gsub::report::to_dot(made)).value();
    if (!r.svg.empty()) gsub::io::write_file(r.svg, gsub::report::to_svg(made).value()).value();
    return a;
}

} // namespace cli
