#pragma once

#include <gsub/codegen/x86/impl/placed_function.hpp>
#include <gsub/codegen/x86/impl/sse_stream_writer.hpp>
#include <gsub/codegen/x86/instruction_stream.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace gsub::codegen {

namespace detail {

GSUB_LAZY std::optional<std::int64_t> fixed_turns(statement const& s, kernel const& k) {
    auto const fixed = [](std::vector<limit> const& l) {
        return l.size() == 1 && l[0].divisor == 1 && l[0].value.is_constant();
    };
    if (s.kind != statement_kind::loop || s.var == k.parallel || !fixed(s.begin) || !fixed(s.end)) return std::nullopt;
    return std::max<std::int64_t>(0, s.end[0].value.constant() - s.begin[0].value.constant());
}

// Regions with the one around each. `at`: places in the stream of the machine instructions up to the return.
GSUB_LAZY std::vector<stream_region> regions_of(placed_function const& p, std::vector<std::size_t> const& at) {
    std::vector<stream_region> out;
    out.push_back({nullptr, false, -1, true, 0, at.back(), std::nullopt});
    std::vector<machine_region> found;
    for (auto const& r : p.made.regions)
        if (r.last < at.size()) found.push_back(r);
    std::reverse(found.begin(), found.end()); // outer ones before those within
    std::stable_sort(found.begin(), found.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
    std::vector<std::pair<std::int32_t, std::size_t>> open{{0, at.size()}}; // and where in the machine code they end
    for (auto const& r : found) {
        while (r.first >= open.back().second) open.pop_back();
        stream_region made{r.of, r.otherwise, open.back().first, true, at[r.first], at[r.last], std::nullopt};
        made.turns = fixed_turns(*r.of, p.merged);
        if (made.is_loop())
            for (auto a = made.within; a >= 0; a = out[static_cast<std::size_t>(a)].within)
                out[static_cast<std::size_t>(a)].inner = false;
        open.emplace_back(static_cast<std::int32_t>(out.size()), r.last);
        out.push_back(made);
    }
    return out;
}

} // namespace detail

GSUB_LAZY_BODY result<instruction_stream> instructions_of(kernel const& k, isa const& isa) {
    return capture([&] {
        auto p = detail::place_function(k, isa);
        instruction_stream out;
        out.code.reserve(p.made.code.size());
        detail::stream_writer<> wide{p, out.code};
        detail::sse_stream_writer<> legacy{p, out.code};
        std::vector<std::size_t> at{0};
        for (auto const& i : p.made.code) {
            p.legacy ? legacy.write(i) : wide.write(i);
            at.push_back(out.code.size());
            if (i.op == detail::machine_op::leave) break; // the fallback stands behind
        }
        out.regions = detail::regions_of(p, at);
        for (std::size_t r = 0; r < out.regions.size(); ++r)
            if (auto const& of = out.regions[r]; of.is_loop())
                for (auto n = of.first; n < of.last; ++n) out.code[n].loop = static_cast<std::int32_t>(r);
        out.lowered = std::make_shared<kernel const>(std::move(p.merged));
        return out;
    });
}

} // namespace gsub::codegen
