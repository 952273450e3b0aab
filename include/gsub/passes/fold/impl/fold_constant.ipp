#pragma once

#include <gsub/core/format.hpp>
#include <gsub/eval/fold.hpp>
#include <gsub/passes/evaluators_of.hpp>
#include <gsub/passes/fold/fold_constant.hpp>

#include <algorithm>
#include <charconv>
#include <vector>

namespace gsub::passes {

namespace detail {

// Folds one body, as far as it goes without looking into branches.
template <class = void>
class constant_folder {
public:
    constant_folder(any_graph& g, pass_context const& cx, fold_constant const& limits, pass_outcome& outcome)
        : g_(g), cx_(cx), table_(evaluators_of(cx, g)), limits_(limits), outcome_(outcome) {}

    void run() {
        fold_shapes();
        find_kinds();
        auto const values = frontier();
        if (values.empty()) return;
        options_.threads = cx_.threads;
        compute(values);
        if (computed_.empty()) return;
        outcome_.matches += replace_by_constants(g_, computed_, std::move(elements_));
    }

private:
    // What happens to a node: it is there at run time, or is computed here, or could be but is shorter as it stands.
    enum class kind : std::uint8_t { runtime, folded, kept };

    void fold_shapes() {
        std::vector<value_id> known;
        std::vector<tensor> dims;
        for (auto n : g_.order()) {
            if (!g_.is<ops::shape>(n) || g_.constant(n) || !g_.used(n)) continue;
            auto const& t = g_.type(g_.operand(n, 0));
            auto const& a = g_.attributes<ops::shape>(n);
            ints sizes;
            bool fixed = t.ranked;
            if (fixed) {
                auto const range = clamped_slice(a.start, a.end, 1, static_cast<std::int64_t>(t.rank()));
                for (std::int64_t i = 0; i < range.count; ++i) {
                    auto const d = t.dims[static_cast<std::size_t>(range.start + i)];
                    fixed = fixed && d.fixed();
                    sizes.push_back(d.fixed() ? d.size() : 0);
                }
            }
            if (!fixed) {
                outcome_.skip("unknown dimension");
                continue;
            }
            known.push_back({n, 0});
            dims.push_back(tensor::from<std::int64_t>(ints{static_cast<std::int64_t>(sizes.size())}, sizes));
        }
        if (known.empty()) return;
        outcome_.matches += known.size();
        replace_by_constants(g_, known, std::move(dims));
    }

    [[nodiscard]] bool computable(node_id n) const {
        auto const row = g_.row(n);
        return table_[row].move || table_[row].run || g_.operators().infer[row].build;
    }

    void find_kinds() {
        kinds_.assign(g_.capacity(), kind::runtime);
        std::vector<std::uint64_t> stored(g_.capacity(), 0); // elements of the largest constant that a node is made of
        for (auto n : g_.order()) {
            if (!g_.constant(n)) continue;
            auto& most = stored[n.index];
            if (g_.is<ops::constant>(n)) {
                kinds_[n.index] = kind::kept;
                most = static_cast<std::uint64_t>(g_.constant_data(n).elements());
                continue;
            }
            bool computed = computable(n);
            for (auto v : g_.operands(n)) {
                if (!v.valid()) continue;
                computed = computed && kinds_[v.node.index] != kind::runtime;
                most = std::max(most, stored[v.node.index]);
            }
            if (!computed) {
                outcome_.skip("no evaluation is known");
                continue;
            }
            std::uint64_t elements = 0;
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
                elements += static_cast<std::uint64_t>(g_.type({n, port}).elements().value_or(0));
            auto const creates = g_.op(n).category == op_category::source && g_.operand_count(n) == 0;
            auto const stored_anew = g_.is<ops::layout_transform>(n) && g_.is<ops::constant>(g_.operand(n, 0).node);
            auto const grows = elements > limits_.max_created && elements / 16 > most;
            auto const few_bits = g_.is<ops::dequantize>(n);
            auto const large = elements > limits_.max_elements;
            kinds_[n.index] = creates || stored_anew || grows || few_bits || large ? kind::kept : kind::folded;
            if (grows && !creates && g_.used(n)) outcome_.skip("large and made out of little");
            if (few_bits && g_.used(n)) outcome_.skip("stored in few bits");
            if (large && g_.used(n)) outcome_.skip("larger than asked for");
        }
    }

    // Folded values that are read by what is still there afterwards.
    std::vector<value_id> frontier() {
        std::vector<bool> stays(g_.capacity(), false);
        std::vector<value_id> values;
        for (auto at = g_.order().size(); at-- > 0;) {
            auto const n = g_.order()[at];
            auto const k = kinds_[n.index];
            stays[n.index] = k == kind::runtime;
            for (std::uint32_t port = 0; port < g_.result_count(n) && k != kind::runtime; ++port) {
                bool read = false;
                g_.for_each_use({n, port}, [&](use u) { return !(read = stays[u.user.index]); });
                if (!read) continue;
                if (k == kind::folded)
                    values.push_back({n, port});
                else
                    stays[n.index] = true;
            }
        }
        std::reverse(values.begin(), values.end());
        return values;
    }

    // Values of which one cannot be computed are halved until it stands alone.
    void compute(std::span<value_id const> values) {
        cx_.check_stop();
        auto elements = compute_constants(g_, table_, values, options_);
        if (elements) {
            for (std::size_t i = 0; i < values.size(); ++i) {
                if (!compatible((*elements)[i].type(), type_of(values[i]))) {
                    outcome_.skip("cannot be computed");
                    continue;
                }
                computed_.push_back(values[i]);
                elements_.push_back(std::move((*elements)[i]));
            }
        } else if (values.size() == 1) {
            outcome_.skip("cannot be computed");
        } else {
            compute(values.first(values.size() / 2));
            compute(values.subspan(values.size() / 2));
        }
    }
    [[nodiscard]] tensor_type type_of(value_id v) const {
        auto type = g_.type(v);
        type.layout = {};
        return type;
    }

    any_graph& g_;
    pass_context const& cx_;
    eval_table table_;
    fold_constant const& limits_;
    pass_outcome& outcome_;
    evaluate_options options_;
    std::vector<kind> kinds_;
    std::vector<value_id> computed_;
    std::vector<tensor> elements_;
};

// Whether a body has an `If` of known condition.
GSUB_LAZY bool knows_branch(any_graph const& g) {
    return std::any_of(g.order().begin(), g.order().end(),
                       [&](node_id n) { return g.is<ops::if_else>(n) && g.is<ops::constant>(g.operand(n, 0).node); });
}

} // namespace detail

GSUB_LAZY_BODY result<fold_constant> fold_constant::from_text(std::string_view text) {
    fold_constant p;
    auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), p.max_elements);
    if (code != std::errc{} || end != text.data() + text.size())
        return error{errors::pass_arguments,
                     format_text("{} takes a number of elements, not {}", facts.name, quoted{text})};
    return p;
}

GSUB_LAZY_BODY result<pass_outcome> fold_constant::operator()(module& m, pass_context& cx) const {
    return capture([&] {
        constexpr auto info = pass_info::of<fold_constant>();
        pass_outcome outcome;
        for (bool again = true; again;) {
            again = false;
            outcome.skipped.clear(); // what stays in the end counts
            for (auto const& each : m.functions()) {
                if (opaque_to(info, each)) continue;
                auto& f = *m.find(each.name);
                cx.check_stop();
                detail::constant_folder<>{f.body, cx, *this, outcome}.run();
                again = again || detail::knows_branch(f.body);
            }
            if (again) {
                auto const replaced = inline_known_branches(m);
                outcome.matches += replaced;
                again = replaced > 0;
            }
        }
        outcome.changed = outcome.matches > 0;
        return outcome;
    });
}

} // namespace gsub::passes
