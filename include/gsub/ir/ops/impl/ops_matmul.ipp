#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops_matmul.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gsub {

namespace detail {
GSUB_INLINE void infer_product(infer_context& cx, tensor_type a, tensor_type b, dtype element) {
    auto const type_a = a, type_b = b;
    if (!a.ranked || !b.ranked) {
        tensor_type out;
        out.element = element;
        return cx.result(0, out);
    }
    if (a.rank() == 0 || b.rank() == 0)
        return cx.fail("a scalar operand; it takes vectors, matrices and stacks of them");
    auto const vector_a = a.rank() == 1, vector_b = b.rank() == 1;
    if (vector_a) a.dims.insert(0, dim{1});
    if (vector_b) b.dims.push_back(dim{1});
    auto const inner_a = a.dims[a.rank() - 1], inner_b = b.dims[b.rank() - 2];
    if (provably_different(inner_a, inner_b))
        return cx.fail(format_text("inner dimensions {} and {} of {} and {} differ", to_string(inner_a),
                                   to_string(inner_b), to_string(type_a), to_string(type_b)));
    auto batch = broadcast(shape(a.dims.begin(), a.dims.end() - 2), shape(b.dims.begin(), b.dims.end() - 2));
    if (!batch)
        return cx.fail(
            format_text("batch dimensions of {} and {} do not broadcast", to_string(type_a), to_string(type_b)));
    auto dims = std::move(*batch);
    if (!vector_a) dims.push_back(a.dims[a.rank() - 2]);
    if (!vector_b) dims.push_back(b.dims[b.rank() - 1]);
    cx.result(0, {element, dims});
}
} // namespace detail

GSUB_INLINE void infer_shape<ops::mat_mul>::infer(infer_context& cx) {
    auto const &a = cx.type(0), &b = cx.type(1);
    if (a.element != b.element && a.element != dtype::undefined && b.element != dtype::undefined)
        return cx.fail(format_text("operands {} and {}; element types must be equal", to_string(a), to_string(b)));
    detail::infer_product(cx, a, b, a.element != dtype::undefined ? a.element : b.element);
}

GSUB_INLINE void infer_shape<ops::gemm>::infer(infer_context& cx) {
    auto const& attributes = cx.attributes<ops::gemm>();
    auto const &a = cx.type(0), &b = cx.type(1);
    if ((a.ranked && a.rank() != 2) || (b.ranked && b.rank() != 2))
        return cx.fail(format_text("operands {} and {}; both must be matrices", to_string(a), to_string(b)));
    if (a.element != b.element && a.element != dtype::undefined && b.element != dtype::undefined)
        return cx.fail(format_text("operands {} and {}; element types must be equal", to_string(a), to_string(b)));
    auto const rows = [](tensor_type const& t, bool flip) { return t.ranked ? t.dims[flip ? 1 : 0] : dim{}; };
    auto const inner_a = rows(a, !attributes.transpose_a), inner_b = rows(b, attributes.transpose_b);
    if (provably_different(inner_a, inner_b))
        return cx.fail(format_text("inner dimensions {} and {} differ", to_string(inner_a), to_string(inner_b)));
    shape const dims{rows(a, attributes.transpose_a), rows(b, !attributes.transpose_b)};
    auto const element = a.element != dtype::undefined ? a.element : b.element;
    if (cx.has(2) && cx.type(2).element != element && cx.type(2).element != dtype::undefined &&
        element != dtype::undefined)
        return cx.fail(format_text("addend {} of operands {} and {}; element types must be equal",
                                   to_string(cx.type(2)), to_string(a), to_string(b)));
    if (cx.has(2) && cx.type(2).ranked) {
        auto const both = broadcast(cx.type(2).dims, dims);
        auto fits = both && both->size() == 2;
        for (std::size_t i = 0; fits && i < 2; ++i) fits = !provably_different((*both)[i], dims[i]);
        if (!fits)
            return cx.fail(format_text("addend {} does not broadcast to [{},{}]", to_string(cx.type(2)),
                                       to_string(dims[0]), to_string(dims[1])));
    }
    cx.result(0, {element, dims});
}

namespace detail {

// In the terms of an equation one dot stands for all dimensions of an ellipsis.
constexpr char ellipsis = '.';

// The letters of a term, and a dot for its ellipsis; nothing where it has others.
GSUB_INLINE std::optional<std::string> einsum_term(std::string_view term) {
    auto const is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    std::string letters;
    for (std::size_t i = 0; i < term.size(); ++i) {
        if (is_letter(term[i])) {
            letters += term[i];
        } else if (term.substr(i, 3) == "..." && letters.find(ellipsis) == letters.npos) {
            letters += ellipsis;
            i += 2;
        } else {
            return std::nullopt;
        }
    }
    return letters;
}

GSUB_INLINE std::optional<std::vector<std::string>> einsum_operand_terms(std::string_view left) {
    std::vector<std::string> terms;
    for (std::size_t from = 0; from <= left.size();) {
        auto const to = std::min(left.find(',', from), left.size());
        auto term = einsum_term(left.substr(from, to - from));
        if (!term) return std::nullopt;
        terms.push_back(std::move(*term));
        from = to + 1;
    }
    return terms;
}

// Labels of the letters of an equation, in the order of their first use; those of the longest ellipsis come before.
struct einsum_letters {
    std::size_t widest = 0; // dimensions of that ellipsis
    std::int32_t count = 0; // of labels
    std::array<std::int32_t, 128> label{}, uses{};

    void use(std::string_view term) {
        for (auto const c : term)
            if (auto const at = static_cast<std::size_t>(c); c != ellipsis && uses[at]++ == 0) label[at] = count++;
    }
    // An ellipsis of `width` dimensions stands for the last ones of the longest.
    [[nodiscard]] einsum_terms::labels labels_of(std::string_view term, std::size_t width) const {
        einsum_terms::labels out;
        for (auto const c : term) {
            if (c == ellipsis)
                for (auto i = widest - width; i < widest; ++i) out.push_back(static_cast<std::int32_t>(i));
            else
                out.push_back(label[static_cast<std::size_t>(c)]);
        }
        return out;
    }
    // The result of an equation that gives none: letters that stand once, in their order.
    [[nodiscard]] std::string implied_result() const {
        std::string result(widest > 0, ellipsis);
        for (char c = 'A'; c <= 'z'; ++c)
            if (uses[static_cast<std::size_t>(c)] == 1) result += c;
        return result;
    }
    // What is wrong with a result, or nothing.
    [[nodiscard]] std::string_view fault_of(std::string_view result) const {
        if (widest > 0 && result.find(ellipsis) == result.npos) return "the result has no ellipsis";
        for (std::size_t i = 0; i < result.size(); ++i) {
            auto const c = result[i];
            if (c != ellipsis && uses[static_cast<std::size_t>(c)] == 0) return "the result has a letter of its own";
            if (result.find(c, i + 1) != result.npos) return "the result has a letter twice";
        }
        return {};
    }
};

} // namespace detail

GSUB_INLINE einsum_terms read_einsum(std::string_view equation, std::span<std::size_t const> ranks) {
    einsum_terms out;
    auto const fail = [&](std::string_view reason) {
        out.wrong = format_text("equation {}: {}", quoted{equation}, reason);
        return out;
    };
    std::string text{equation};
    std::erase(text, ' ');
    auto const arrow = text.find("->");
    auto const terms = detail::einsum_operand_terms(std::string_view{text}.substr(0, arrow));
    if (!terms) return fail("terms are of letters and one ellipsis");
    if (terms->size() != ranks.size()) return fail(format_text("{} terms of {} operands", terms->size(), ranks.size()));
    detail::einsum_letters letters;
    std::vector<std::size_t> widths; // of the ellipses: the dimensions that the letters leave
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        auto const has_rest = (*terms)[i].find(detail::ellipsis) != std::string::npos;
        auto const named = (*terms)[i].size() - has_rest;
        if (has_rest ? ranks[i] < named : ranks[i] != named)
            return fail(format_text("{} letters for operand {} of {} dimensions", named, i, ranks[i]));
        widths.push_back(ranks[i] - named);
        letters.widest = std::max(letters.widest, widths.back());
    }
    letters.count = static_cast<std::int32_t>(letters.widest);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        letters.use((*terms)[i]);
        out.operands.push_back(letters.labels_of((*terms)[i], widths[i]));
    }
    out.count = letters.count;
    auto const implied = arrow == std::string::npos;
    auto const result =
        implied ? letters.implied_result() : detail::einsum_term(std::string_view{text}.substr(arrow + 2));
    if (!result) return fail("terms are of letters and one ellipsis");
    if (auto const fault = letters.fault_of(*result); !implied && !fault.empty()) return fail(fault);
    out.result = letters.labels_of(*result, letters.widest);
    return out;
}

GSUB_INLINE void infer_shape<ops::einsum>::infer(infer_context& cx) {
    tensor_type out;
    auto ranked = true;
    std::vector<std::size_t> ranks;
    for (std::size_t i = 0; i < cx.operands(); ++i) {
        auto const& t = cx.type(i);
        if (out.element == dtype::undefined) out.element = t.element;
        if (t.element != out.element && t.element != dtype::undefined)
            return cx.fail(
                format_text("operand {} beside {}; element types must be equal", to_string(t), to_string(out.element)));
        ranked = ranked && t.ranked;
        ranks.push_back(t.ranked ? t.rank() : 0);
    }
    if (!ranked) return cx.result(0, out);
    auto const terms = read_einsum(cx.attributes<ops::einsum>().equation, ranks);
    if (!terms.wrong.empty()) return cx.fail(terms.wrong);
    std::vector<shape> sizes(static_cast<std::size_t>(terms.count), shape{dim{1}});
    for (std::size_t i = 0; i < cx.operands(); ++i)
        for (std::size_t d = 0; d < ranks[i]; ++d) {
            auto& size = sizes[static_cast<std::size_t>(terms.operands[i][d])];
            auto both = broadcast(size, shape{cx.type(i).dims[d]});
            if (!both)
                return cx.fail(format_text("dimension {} of operand {} is {} elsewhere in {}", d, to_string(cx.type(i)),
                                           to_string(size[0]), quoted{cx.attributes<ops::einsum>().equation}));
            size = std::move(*both);
        }
    out.ranked = true;
    for (auto const l : terms.result) out.dims.push_back(sizes[static_cast<std::size_t>(l)][0]);
    cx.result(0, std::move(out));
}

} // namespace gsub
