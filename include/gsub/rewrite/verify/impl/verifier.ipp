#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/ir/text.hpp>
#include <gsub/rewrite/engine/rewrite.hpp>
#include <gsub/rewrite/verify/verifier.hpp>

#include <algorithm>

namespace gsub {

namespace detail {

// Random elements of the field for floating inputs, 0 or 1 for others.
GSUB_INLINE std::vector<tensor> field_inputs(any_graph const& g, random_stream stream) {
    std::vector<tensor> inputs;
    for (auto n : g.inputs()) {
        auto const& type = g.type({n, 0});
        ints dims;
        for (auto d : type.dims) dims.push_back(d.fixed() ? d.size() : 1);
        auto const floating = is_floating(type.element) || type.element == dtype::undefined;
        auto t = tensor::uninitialized(floating ? dtype::field61 : type.element, dims);
        auto draws = stream.split(inputs.size());
        if (floating)
            for (auto& x : t.mutable_data<field61>()) x = field61::from_bits(draws());
        else
            fill_random(t, draws);
        inputs.push_back(std::move(t));
    }
    return inputs;
}

/// Checks one rule on one instance after the other.
template <class = void>
class rule_checker {
public:
    rule_checker(rule_program const& rule, instance_source const& from, eval_table evaluators,
                 verify_options const& options)
        : rule_(rule), from_(from), evaluators_(evaluators), options_(options) {}

    verification run() {
        for (chooser box; !refuted() && box.sequences() <= options_.box;) {
            result_.box_instances += check(box);
            if (!box.next()) {
                result_.box_exhausted = true;
                break;
            }
        }
        random_stream const root{options_.seed};
        for (std::uint64_t i = 0;
             !refuted() && i < options_.samples * options_.attempts && result_.sampled_instances < options_.samples;
             ++i) {
            chooser draw{root.split(i)};
            result_.sampled_instances += check(draw);
        }
        // Instances without a well-typed replacement prove nothing.
        if (!refuted() && result_.box_instances + result_.sampled_instances > result_.untyped_instances)
            result_.outcome = result_.untyped_instances > 0 ? verdict::proved_where_typed : verdict::proved;
        for (auto const& sentence : broken_)
            if (result_.outcome == verdict::proved_where_typed)
                result_.condition += format_text("{}{}", result_.condition.empty() ? "" : " and ", sentence);
        return std::move(result_);
    }

private:
    [[nodiscard]] bool refuted() const noexcept { return result_.outcome == verdict::refuted; }

    void refute(any_graph const& instance, std::string_view why) {
        result_.outcome = verdict::refuted;
        result_.counterexample = format_text("{}\n{}", why, to_text(instance));
    }

    // Whether the decisions led to a legal instance.
    bool check(chooser& choose) {
        auto const instance = from_.draw(choose);
        if (!instance) return false;
        if (work(instance->graph) > options_.work) return false;
        auto const& m = instance->bindings;
        for (std::size_t i = 0; i < rule_.where.size(); ++i)
            if (options_.without != i && !rule_.where[i].holds(m)) return false;
        auto const patch = prepare(m);
        auto replaced = instance->graph;
        if (patch.failed() && from_.broken) return note_untyped(m, patch.reason()), true;
        if (patch.failed())
            return refute(instance->graph, format_text("the replacement cannot be built: {}", patch.reason())), true;
        if (auto const applied = patch.apply_to(replaced); !applied)
            return refute(instance->graph, applied.error().message()), true;
        for (std::size_t i = 0; i < replaced.output_count(); ++i)
            if (!(replaced.type(replaced.output(i)) == instance->graph.type(instance->graph.output(i))))
                return refute(instance->graph,
                              format_text("result {} becomes {}", i, to_string(replaced.type(replaced.output(i))))),
                       true;
        if (work(replaced) > options_.work) return false;
        auto const compared = compare_in_field(instance->graph, replaced, evaluators_, options_.seed + checked_++);
        if (!compared) return refute(instance->graph, compared.error().message()), true;
        if (!compared->equal) {
            refute(instance->graph, compared->difference);
            result_.replacement = to_text(replaced);
        }
        return true;
    }

    // About how many multiplications a graph takes, at least one an element.
    static std::uint64_t work(any_graph const& g) {
        std::uint64_t sum = 0;
        for (auto const n : g.order()) {
            std::uint64_t terms = 1; // of each element
            if (g.is<ops::conv>(n)) terms = elements(g.type(g.operand(n, 1)), 1);
            if (g.is<ops::mat_mul>(n)) terms = elements(g.type(g.operand(n, 0)), g.type(g.operand(n, 0)).rank() - 1);
            for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
                auto const of_result = elements(g.type({n, port}), 0);
                if (of_result > most / terms || sum > most) return most;
                sum += of_result * terms;
            }
        }
        return sum;
    }
    static constexpr std::uint64_t most = std::uint64_t{1} << 62;
    // Product of the sizes from a dimension on.
    static std::uint64_t elements(tensor_type const& t, std::size_t from) {
        std::uint64_t product = 1;
        for (auto d = from; d < t.dims.size(); ++d) {
            auto const size = t.dims[d].fixed() ? static_cast<std::uint64_t>(t.dims[d].size()) : 1;
            if (size > most / product) return most;
            product *= std::max<std::uint64_t>(size, 1);
        }
        return product;
    }

    // Keeps the sentences that are not true there, or the reason where there is none.
    void note_untyped(match const& m, std::string const& reason) {
        ++result_.untyped_instances;
        auto sentences = (*from_.broken)(m);
        if (sentences.empty()) sentences.push_back(reason);
        for (auto& s : sentences)
            if (!any_of(broken_, [&](std::string const& known) { return known == s; })) broken_.push_back(std::move(s));
    }

    rule_program const& rule_;
    instance_source const& from_;
    eval_table evaluators_;
    verify_options const& options_;
    verification result_;
    std::vector<std::string> broken_;
    std::uint64_t checked_ = 0;
};

} // namespace detail

GSUB_LAZY_BODY verification verify(rule_program const& rule, dialect const& d, eval_table evaluators,
                                   std::span<sample_row const> sampling, verify_options const& options) {
    auto const draw = [&](chooser& choose) { return draw_instance(d, sampling, rule, choose); };
    return verify(rule, instance_source{draw}, evaluators, options);
}

GSUB_LAZY_BODY verification verify(rule_program const& rule, instance_source const& from, eval_table evaluators,
                                   verify_options const& options) {
    return detail::rule_checker<>{rule, from, evaluators, options}.run();
}

GSUB_INLINE result<field_comparison> compare_in_field(any_graph const& a, any_graph const& b, eval_table evaluators,
                                                      std::uint64_t seed, executor* threads) {
    if (a.inputs().size() != b.inputs().size() || a.output_count() != b.output_count())
        return error{error_code::usage,
                     format_text("graphs of {} inputs and {} outputs, and of {} and {}", a.inputs().size(),
                                 a.output_count(), b.inputs().size(), b.output_count())};
    auto const inputs = detail::field_inputs(a, random_stream{seed});
    evaluate_options const options{.compute = precision::field, .threads = threads};
    auto const before = evaluate_graph(a, evaluators, as_span(inputs), options);
    if (!before) return before.error();
    auto const after = evaluate_graph(b, evaluators, as_span(inputs), options);
    if (!after) return after.error();
    for (std::size_t i = 0; i < before->size(); ++i) {
        auto const &x = (*before)[i], &y = (*after)[i];
        if (!(x.type() == y.type()))
            return field_comparison{false, format_text("output {} has shape {} before and {} after", i,
                                                       to_string(x.type()), to_string(y.type()))};
        auto const [p, q] = std::mismatch(x.raw().begin(), x.raw().end(), y.raw().begin());
        static_cast<void>(q);
        if (p != x.raw().end())
            return field_comparison{
                false, format_text("output {} differs at element {}", i,
                                   static_cast<std::size_t>(p - x.raw().begin()) / byte_size(x.element()))};
    }
    return field_comparison{true, {}};
}

} // namespace gsub
