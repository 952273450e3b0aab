#pragma once

#include <gsub/core/format.hpp>
#include <gsub/passes/impl/argument_list.hpp>
#include <gsub/passes/layout/convert_layout.hpp>
#include <gsub/passes/layout/impl/dimension_order.ipp>

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace gsub::passes {

namespace detail {

GSUB_LAZY [[noreturn]] void no_layout_named(std::string_view name) {
    throw error{problem{errors::layout_request,
                        {},
                        {},
                        format_text("no layout: {}", quoted{name}),
                        "name dimensions and one that is cut into blocks, such as NCHW16c, or row-major"}};
}

// Whether channels stand behind the pixels, of a name that is an order of dimensions; else nothing.
GSUB_LAZY [[nodiscard]] std::optional<bool> order_named(std::string_view name) {
    for (auto const* pixels : {"W", "HW", "DHW"}) {
        if (name == format_text("NC{}", pixels)) return false;
        if (name == format_text("N{}C", pixels)) return true;
    }
    return std::nullopt;
}

// Whether a name is a layout of weights: each of O, I and the pixels once, then numbered blocks of output and input
// channels, each at most once: OIHW, HWIO, OIHW16i16o.
GSUB_LAZY [[nodiscard]] bool names_weights(std::string_view name) noexcept {
    auto const is_digit = [](char c) { return c >= '0' && c <= '9'; };
    auto const whole = std::min(name.find_first_of("0123456789"), name.size());
    std::string order{name.substr(0, whole)};
    std::sort(order.begin(), order.end());
    if (order != "IOW" && order != "HIOW" && order != "DHIOW") return false;
    std::string cut;
    for (auto rest = name.substr(whole); !rest.empty();) {
        std::size_t digits = 0;
        while (digits < rest.size() && is_digit(rest[digits])) ++digits;
        if (digits == 0 || digits > 4 || rest[0] == '0' || digits == rest.size()) return false;
        auto const c = rest[digits];
        if ((c != 'i' && c != 'o') || cut.find(c) != cut.npos) return false;
        cut += c;
        rest.remove_prefix(digits + 1);
    }
    return true;
}
GSUB_LAZY [[noreturn]] void no_weights_named(std::string_view name) {
    throw error{problem{errors::layout_request,
                        {},
                        {},
                        format_text("no layout of weights: {}", quoted{name}),
                        "name O, I and pixels, with or without blocks, such as OIHW, HWIO, OIHW16i16o, or default"}};
}

} // namespace detail

GSUB_LAZY_BODY std::vector<convert_layout::desired> convert_layout::in_nchw() {
    return {{"Conv", "NCHW"}};
}

GSUB_LAZY_BODY result<convert_layout> convert_layout::from_text(std::string_view text) {
    return capture([&] {
        convert_layout out;
        if (!text.empty()) out.desired_layouts.clear();
        while (!text.empty()) {
            auto const part = detail::next_item(text);
            auto const sign = part.find('=');
            auto stored = sign == part.npos ? part : part.substr(sign + 1);
            std::string_view weights;
            if (auto const colon = stored.find(':'); colon != stored.npos) {
                weights = stored.substr(colon + 1);
                stored = stored.substr(0, colon);
                if (weights == "default")
                    weights = {};
                else if (!detail::names_weights(weights))
                    detail::no_weights_named(weights);
            }
            if (stored != "row-major" && !parse_layout(stored) && !detail::order_named(stored))
                detail::no_layout_named(stored);
            out.desired_layouts.push_back({std::string{sign == part.npos ? "Conv" : part.substr(0, sign)},
                                           std::string{stored == "row-major" ? std::string_view{} : stored},
                                           std::string{weights}});
        }
        return out;
    });
}

GSUB_LAZY_BODY result<pass_outcome> convert_layout::operator()(any_graph& g, pass_context& cx) const {
    return capture([&] {
        pass_outcome nothing;
        if (desired_layouts.empty()) {
            nothing.skip("no layout is asked for");
            return nothing;
        }
        auto const& rows = g.operators().ops;
        std::unordered_map<std::uint64_t, layout> wanted;
        std::unordered_map<std::uint64_t, bool> ordered; // channels behind the pixels
        for (auto const& w : desired_layouts) {
            auto const order = detail::order_named(w.stored);
            if (!w.stored.empty() && !order && !parse_layout(w.stored)) detail::no_layout_named(w.stored);
            if (!w.weights.empty() && !detail::names_weights(w.weights)) detail::no_weights_named(w.weights);
            auto const row = std::find_if(rows.begin(), rows.end(), [&](op_info const& r) { return r.name == w.op; });
            if (row == rows.end() && order == std::optional{false} && w.op == op_traits<ops::conv>::name)
                continue; // a set without convolutions, of which none is to be turned
            if (row == rows.end())
                throw error{problem{error_code::usage, {}, {}, format_text("no operator: {}", quoted{w.op}), {}}};
            if (order)
                ordered[static_cast<std::uint64_t>(row->id)] = *order;
            else
                wanted[static_cast<std::uint64_t>(row->id)] = layout{w.stored};
        }
        auto const left_alone = [&](any_graph const& of, node_id n) {
            return !row_major.empty() &&
                   std::find(row_major.begin(), row_major.end(), of.display_name(n)) != row_major.end();
        };
        // Said of each layout of weights that is not the one that kernels are given.
        auto const tell_of_weights = [&](pass_outcome& of) {
            for (auto const& w : desired_layouts)
                if (!w.weights.empty() && w.weights != "OIW" && w.weights != "OIHW" && w.weights != "OIDHW")
                    of.skip(format_text("no kernel reads weights in {}: they stay as they are", w.weights));
        };
        pass_outcome outcome;
        if (!ordered.empty() || wanted.empty()) {
            outcome = detail::reorder_dimensions(g, [&](node_id n) {
                auto const found = ordered.find(static_cast<std::uint64_t>(g.op(n).id));
                return found != ordered.end() && found->second && !left_alone(g, n);
            });
            if (wanted.empty()) {
                tell_of_weights(outcome);
                return outcome;
            }
        }
        auto const as_asked = [&](layout_query const& q) -> std::optional<desired_layout> {
            auto const found = wanted.find(static_cast<std::uint64_t>(q.op.id));
            if (found == wanted.end() || !incompatibility(found->second, *q.result).empty()) return std::nullopt;
            return left_alone(q.graph, q.node) ? layout{} : found->second;
        };
        auto const blocks = detail::alter_layouts(g, cx, as_asked, traffic_of_conversions{});
        outcome.changed |= blocks.changed, outcome.matches += blocks.matches;
        for (auto const& s : blocks.skipped) outcome.skip(s.reason, s.count);
        tell_of_weights(outcome);
        return outcome;
    });
}

} // namespace gsub::passes
