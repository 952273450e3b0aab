// Verification of a whole graph: on random inputs, and in the prime field.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/optimize/impl/rewrite_check.ipp>
#include <gsub/optimize/optimize.hpp>
#include <gsub/rewrite/verify/verifier.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gsub {

namespace detail {

// Both graphs at the largest of a few spatial sizes at which field arithmetic is affordable.
GSUB_LAZY std::optional<std::pair<any_graph, any_graph>> reduced(any_graph const& a, any_graph const& b,
                                                                 std::string& inputs_text) {
    for (std::int64_t const side : {128, 96, 80, 64, 48, 32, 16, 8}) {
        std::vector<tensor_type> inputs;
        bool smaller = false;
        for (auto n : a.inputs()) {
            auto t = a.type({n, 0});
            for (auto& d : t.dims)
                if (!d.fixed()) d = dim{1};
            for (std::size_t i = 2; i < t.rank() && t.rank() >= 4; ++i)
                if (t.dims[i].size() > side) t.dims[i] = dim{side}, smaller = true;
            if (t.rank() > 0 && t.dims[0].size() > 2)
                t.dims[0] = dim{2}, smaller = true; // a batch shows nothing beyond two
            inputs.push_back(t);
        }
        if (!smaller) continue;
        auto p = retyped(a, as_span(inputs)), q = retyped(b, as_span(inputs));
        if (!p || !q || operations(*p) > max_field_operations || operations(*q) > max_field_operations) continue;
        inputs_text.clear();
        for (auto const& t : inputs) inputs_text += format_text("{}{}", inputs_text.empty() ? "" : ", ", to_string(t));
        return std::pair{std::move(*p), std::move(*q)};
    }
    return std::nullopt;
}

GSUB_LAZY void check_in_field(verification_report& report, any_graph const& original, any_graph const& rewritten,
                              eval_table evaluators, std::uint64_t seed, executor* threads) {
    std::optional<std::pair<any_graph, any_graph>> small;
    auto const fixed = std::all_of(original.inputs().begin(), original.inputs().end(), [&](node_id n) {
        return original.type({n, 0}).is_static();
    });
    auto const *a = &original, *b = &rewritten;
    if (!fixed || std::max(operations(original), operations(rewritten)) > max_field_operations) {
        small = reduced(original, rewritten, report.reduced_to);
        if (!small) {
            report.notes.push_back("the whole graph is too large to be compared in the field, at reduced sizes too");
            return;
        }
        a = &small->first, b = &small->second;
    }
    auto const compared = compare_in_field(*a, *b, evaluators, seed, threads);
    if (!compared) {
        report.notes.push_back(format_text("field: {}", compared.error().message()));
        return;
    }
    report.whole_in_field = true;
    if (compared->equal) return;
    refute(report);
    report.notes.push_back(format_text("field: {}", compared->difference));
}

GSUB_LAZY void check_on_numbers(verification_report& report, any_graph const& original, any_graph const& rewritten,
                                eval_table evaluators, std::uint64_t seed, executor* threads) {
    auto const inputs = random_inputs(original, seed);
    auto const exact =
        evaluate_graph(original, evaluators, as_span(inputs), {.compute = precision::f64, .threads = threads});
    auto const actual = evaluate_graph(rewritten, evaluators, as_span(inputs), {.threads = threads});
    if (!exact || !actual) {
        report.notes.push_back(format_text("numbers: {}", (exact ? actual : exact).error().message()));
        return;
    }
    report.on_numbers = true;
    for (std::size_t i = 0; i < exact->size(); ++i) {
        auto const d = compare((*actual)[i], (*exact)[i]);
        auto const bad = !d || !d->same_specials || d->max_relative > 1e-3;
        if (d) report.max_relative_error = std::max(report.max_relative_error, d->max_relative);
        if (!bad) continue;
        refute(report);
        report.notes.push_back(d ? format_text("numbers: output {} differs by {}", i, d->max_relative)
                                 : d.error().message());
    }
}

} // namespace detail

GSUB_LAZY_BODY verification_report verify_equal(any_graph const& original, any_graph const& rewritten,
                                                eval_table evaluators, std::uint64_t seed, executor* threads) {
    verification_report report;
    report.attempted = report.equal = true;
    auto const types = [](any_graph const& g, bool inputs) {
        std::vector<type_id> out;
        for (std::size_t i = 0; i < (inputs ? g.inputs().size() : g.output_count()); ++i)
            out.push_back(g.type_of(inputs ? value_id{g.inputs()[i], 0} : g.output(i)));
        return out;
    };
    if (types(original, true) != types(rewritten, true) || types(original, false) != types(rewritten, false)) {
        detail::refute(report);
        report.notes.push_back("the graphs have different signatures");
        return report;
    }
    if (auto const missing = not_computable(original, evaluators); !missing.empty()) {
        report.notes.push_back(
            format_text("{} nodes cannot be computed, so the whole graph cannot be compared; the first is {}",
                        missing.size(), to_string(missing.front())));
    } else {
        detail::check_in_field(report, original, rewritten, evaluators, seed, threads);
        detail::check_on_numbers(report, original, rewritten, evaluators, seed, threads);
    }
    report.equal = report.equal && (report.whole_in_field || report.on_numbers);
    return report;
}

} // namespace gsub
