#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/ir/ops/impl/tensor_inference.hpp>
#include <gsub/ir/ops/ops_tensor.hpp>

#include <algorithm>

namespace gsub {

namespace detail {

GSUB_INLINE element_knowledge knowledge_of(dim d) {
    return d.fixed() ? element_knowledge{true, d.size(), {}} : element_knowledge{false, 0, d};
}

} // namespace detail

GSUB_INLINE std::optional<shape> reshaped_dims(tensor_type const& x, std::span<std::int64_t const> target,
                                               bool allow_zero) {
    shape dims;
    std::optional<std::size_t> left_over;
    for (std::size_t i = 0; i < target.size(); ++i) {
        auto const t = target[i];
        if (t < -1 || (t == -1 && left_over)) return std::nullopt;
        if (t == -1) left_over = i;
        if (t == 0 && !allow_zero) {
            if (x.ranked && i >= x.rank()) return std::nullopt;
            dims.push_back(x.ranked ? x.dims[i] : dim{});
        } else {
            dims.push_back(t == -1 ? dim{} : dim{t});
        }
    }
    auto const total = x.elements();
    if (!left_over) {
        tensor_type const y{dtype::u8, dims};
        if (total && y.is_static() && total != y.elements()) return std::nullopt; // or its product is beyond 2^62
        return dims;
    }
    // The left-over size: dimensions that both sides share may cancel even where they are unknown.
    shape numerator = x.ranked ? x.dims : shape{}, denominator;
    for (std::size_t i = 0; i < dims.size(); ++i)
        if (i != *left_over) denominator.push_back(dims[i]);
    if (!x.ranked) return dims;
    for (std::size_t i = 0; i < denominator.size();) {
        auto const* const same =
            denominator[i].fixed() ? numerator.end() : std::find(numerator.begin(), numerator.end(), denominator[i]);
        if (same == numerator.end() || denominator[i].unknown()) {
            ++i;
            continue;
        }
        numerator.erase(static_cast<std::size_t>(same - numerator.begin()));
        denominator.erase(i);
    }
    auto const above = tensor_type{dtype::u8, numerator}.elements(),
               below = tensor_type{dtype::u8, denominator}.elements();
    if (!above || !below) {
        // One unknown on top, where the fixed sizes cancel, keeps its name.
        auto const* const open = std::find_if(numerator.begin(), numerator.end(), [](dim d) { return !d.fixed(); });
        if (open == numerator.end()) return dims;
        auto const unknown = *open;
        numerator.erase(static_cast<std::size_t>(open - numerator.begin()));
        auto const rest = tensor_type{dtype::u8, numerator}.elements();
        if (below && rest == below && *below != 0) dims[*left_over] = unknown;
        return dims;
    }
    if (*below == 0 || *above % *below != 0) return std::nullopt;
    dims[*left_over] = dim{*above / *below};
    return dims;
}

GSUB_INLINE void infer_shape<ops::reshape>::infer(infer_context& cx) {
    auto const& a = cx.attributes<ops::reshape>();
    auto const& x = cx.type(0);
    auto const given = detail::setting(cx, 1, a.shape);
    if (!given) {
        // Named sizes may still be known one by one.
        if (auto const* k = cx.known(1)) {
            shape dims;
            for (auto const& e : *k) dims.push_back(e.fixed && e.value > 0 ? dim{e.value} : e.fixed ? dim{} : e.size);
            return cx.result(0, {x.element, dims});
        }
        auto const& s = cx.type(1);
        if (s.ranked && s.rank() == 1 && s.dims[0].fixed() && s.dims[0].size() <= 64)
            return cx.result(0, detail::of_rank(x.element, static_cast<std::size_t>(s.dims[0].size())));
        return cx.result(0, detail::unranked(x.element));
    }
    auto dims = reshaped_dims(x, *given, a.allow_zero);
    if (!dims) return cx.fail(format_text("{} cannot become {}", to_string(x), to_string(attribute_value{*given})));
    cx.result(0, {x.element, std::move(*dims)});
    detail::follow_in_order(cx);
}

GSUB_INLINE void infer_shape<ops::flatten>::infer(infer_context& cx) {
    auto const& x = cx.type(0);
    auto const given = cx.attributes<ops::flatten>().axis;
    if (!x.ranked) return cx.result(0, detail::of_rank(x.element, 2));
    auto const rank = static_cast<std::int64_t>(x.rank());
    if (given < -rank || given > rank) return cx.fail(format_text("axis {} for operand {}", given, to_string(x)));
    auto const axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
    auto const product = [&](std::size_t from, std::size_t to) -> dim {
        if (to == from + 1) return x.dims[from];
        auto const n = tensor_type{dtype::u8, shape(x.dims.begin() + from, x.dims.begin() + to)}.elements();
        return n ? dim{*n} : dim{};
    };
    cx.result(0, {x.element, shape{product(0, axis), product(axis, x.rank())}});
    detail::follow_in_order(cx);
}

GSUB_INLINE void infer_shape<ops::transpose>::infer(infer_context& cx) {
    auto const& x = cx.type(0);
    auto const& perm = cx.attributes<ops::transpose>().perm;
    auto const rank = x.ranked ? x.rank() : perm.size();
    auto const axes = detail::sorted_axes(cx, perm, rank);
    if (!axes) return;
    if (axes->size() != rank || any_of(perm, [](auto p) { return p < 0; }))
        return cx.fail(format_text("permutation {} for operand {}", to_string(attribute_value{perm}), to_string(x)));
    if (!x.ranked) return cx.result(0, detail::of_rank(x.element, rank));
    auto out = x;
    for (std::size_t i = 0; i < perm.size(); ++i) out.dims[i] = x.dims[static_cast<std::size_t>(perm[i])];
    cx.result(0, out);
    if (!cx.known_elements(0)) return;
    ints steps, strides = detail::row_major_strides(x);
    for (auto const p : perm) steps.push_back(strides[static_cast<std::size_t>(p)]);
    detail::follow_elements(cx, 0, steps);
}

GSUB_INLINE void infer_shape<ops::squeeze>::infer(infer_context& cx) {
    auto const& x = cx.type(0);
    auto const given = detail::setting(cx, 1, cx.attributes<ops::squeeze>().axes);
    if (!x.ranked || !given) return cx.result(0, detail::unranked(x.element));
    auto const axes = detail::sorted_axes(cx, *given, x.rank());
    if (!axes) return;
    tensor_type out{x.element, shape{}};
    for (std::size_t i = 0; i < x.rank(); ++i) {
        auto const listed = contains(*axes, i);
        if (listed && x.dims[i].fixed() && x.dims[i].size() != 1)
            return cx.fail(format_text("axis {} of {} has not size 1", i, to_string(x)));
        // Without axes every dimension of size one goes; an unknown one makes the rank unknown.
        if (given->empty() && !x.dims[i].fixed()) return cx.result(0, detail::unranked(x.element));
        if (!listed && !(given->empty() && x.dims[i] == dim{1})) out.dims.push_back(x.dims[i]);
    }
    cx.result(0, out);
    detail::follow_in_order(cx);
}

GSUB_INLINE void infer_shape<ops::unsqueeze>::infer(infer_context& cx) {
    auto const& x = cx.type(0);
    auto const given = detail::setting(cx, 1, cx.attributes<ops::unsqueeze>().axes);
    if (!x.ranked || !given) return cx.result(0, detail::unranked(x.element));
    auto const axes = detail::sorted_axes(cx, *given, x.rank() + given->size());
    if (!axes) return;
    tensor_type out{x.element, x.dims};
    for (auto axis : *axes) out.dims.insert(axis, dim{1});
    cx.result(0, out);
    detail::follow_in_order(cx);
}

GSUB_INLINE void infer_shape<ops::shape>::infer(infer_context& cx) {
    auto const& a = cx.attributes<ops::shape>();
    auto const& x = cx.type(0);
    if (!x.ranked) return cx.result(0, detail::of_rank(dtype::i64, 1));
    auto const rank = static_cast<std::int64_t>(x.rank());
    auto const bound = [&](std::int64_t v) { return std::clamp<std::int64_t>(v < 0 ? v + rank : v, 0, rank); };
    auto const start = bound(a.start), end = std::max(bound(a.end), start);
    cx.result(0, {dtype::i64, shape{dim{end - start}}});
    tensor_knowledge sizes;
    for (auto i = start; i < end; ++i) sizes.push_back(detail::knowledge_of(x.dims[static_cast<std::size_t>(i)]));
    if (sizes.size() <= max_known_elements) cx.result_knowledge(std::move(sizes));
}

GSUB_INLINE void infer_shape<ops::expand>::infer(infer_context& cx) {
    auto const& a = cx.attributes<ops::expand>();
    auto const& x = cx.type(0);
    std::optional<shape> target;
    if (auto const sizes = detail::setting(cx, 1, a.shape)) {
        if (!checked_product(*sizes))
            return cx.fail(format_text("shape {}; sizes must be >= 0 with a product of at most 2^62",
                                       to_string(attribute_value{*sizes})));
        target = shape{};
        for (auto s : *sizes) target->push_back(dim{s});
    } else if (auto const* k = cx.known(1)) {
        target = shape{};
        for (auto const& e : *k) {
            if (e.fixed && e.value < 0) return cx.fail(format_text("size {}; sizes must be >= 0", e.value));
            target->push_back(e.fixed ? dim{e.value} : e.size);
        }
    } else if (auto const& s = cx.type(1); s.ranked && s.rank() == 1 && s.dims[0].fixed() && s.dims[0].size() <= 64) {
        target = shape(static_cast<std::size_t>(s.dims[0].size()));
    }
    if (!x.ranked || !target) return cx.result(0, detail::unranked(x.element));
    auto dims = broadcast(x.dims, *target);
    if (!dims)
        return cx.fail(
            format_text("{} does not broadcast to {}", to_string(x), to_string(tensor_type{x.element, *target})));
    tensor_type out{x.element, std::move(*dims)};
    if (out.is_static() && !out.elements()) return cx.fail(format_text("a result of more than 2^62 elements"));
    if (auto const* k = cx.known(0);
        k && out.rank() <= 1 && out.is_static() && *out.elements() <= static_cast<std::int64_t>(max_known_elements))
        cx.result_knowledge(k->size() == 1 ? tensor_knowledge(static_cast<std::size_t>(*out.elements()), (*k)[0]) : *k);
    cx.result(0, std::move(out));
}

} // namespace gsub
