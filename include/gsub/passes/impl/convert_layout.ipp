#pragma once

#include <gsub/core/message.hpp>
#include <gsub/passes/convert_layout.hpp>

#include <algorithm>
#include <unordered_map>

namespace gsub::passes {

namespace detail {

GSUB_LAZY [[noreturn]] void no_layout_named(std::string_view name) {
    throw error{problem{error_code::usage,
                        {},
                        {},
                        message({"no layout: ", in_quotes(name)}),
                        "name dimensions and one that is cut into blocks, such as NCHW16c, or row-major"}};
}

} // namespace detail

GSUB_LAZY_BODY result<convert_layout> convert_layout::from_text(std::string_view text) {
    return capture([&] {
        convert_layout out;
        while (!text.empty()) {
            auto const end = std::min(text.find(','), text.size());
            auto part = text.substr(0, end);
            text.remove_prefix(std::min(end + 1, text.size()));
            while (part.starts_with(' ')) part.remove_prefix(1);
            while (part.ends_with(' ')) part.remove_suffix(1);
            auto const sign = part.find('=');
            auto const stored = sign == part.npos ? part : part.substr(sign + 1);
            if (stored != "row-major" && !parse_layout(stored)) detail::no_layout_named(stored);
            out.wishes.push_back({std::string{sign == part.npos ? "Conv" : part.substr(0, sign)},
                                  std::string{stored == "row-major" ? std::string_view{} : stored}});
        }
        return out;
    });
}

GSUB_LAZY_BODY result<pass_outcome> convert_layout::operator()(any_graph& g, pass_context& cx) const {
    return capture([&] {
        pass_outcome nothing;
        if (wishes.empty()) {
            nothing.skip("no layout is asked for");
            return nothing;
        }
        auto const& rows = g.operators().ops;
        std::unordered_map<std::uint64_t, layout> wanted;
        for (auto const& w : wishes) {
            if (!w.stored.empty() && !parse_layout(w.stored)) detail::no_layout_named(w.stored);
            auto const row = std::find_if(rows.begin(), rows.end(), [&](op_info const& r) { return r.name == w.op; });
            if (row == rows.end())
                throw error{problem{error_code::usage, {}, {}, message({"no operator: ", in_quotes(w.op)}), {}}};
            wanted[static_cast<std::uint64_t>(row->id)] = layout{w.stored};
        }
        return detail::alter_layouts(g, cx, [&](layout_question const& q) -> std::optional<layout> {
            auto const found = wanted.find(static_cast<std::uint64_t>(q.op.id));
            if (found == wanted.end() || !misfit(found->second, *q.result).empty()) return std::nullopt;
            if (!row_major.empty() &&
                std::find(row_major.begin(), row_major.end(), q.graph.display_name(q.node)) != row_major.end())
                return layout{};
            return found->second;
        });
    });
}

} // namespace gsub::passes
