#pragma once

#include <gsub/core/format.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/lower/schedule_table.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace gsub {

namespace detail {

GSUB_LAZY [[nodiscard]] std::string_view without_blanks(std::string_view text) {
    constexpr std::string_view blank = " \t\r";
    auto const first = text.find_first_not_of(blank);
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(blank) - first + 1);
}
} // namespace detail

GSUB_LAZY_BODY result<schedule_table> schedule_table::parse(std::string_view text, isa const& isa,
                                                            kernels::winograd_options const& winograd) {
    schedule_table out{winograd};
    std::vector<problem> problems;
    std::size_t number = 0;
    auto named = false;
    auto const wrong = [&](std::string reason) {
        problems.push_back({errors::kernel_graph_text, {}, {}, format_text("line {}: {}", number, reason), {}});
    };
    while (!text.empty()) {
        auto const end = std::min(text.find('\n'), text.size());
        auto line = detail::without_blanks(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        ++number;
        if (line.empty() || line.front() == '#') continue;
        if (!std::exchange(named, true)) {
            if (!line.starts_with("target ")) {
                wrong("schedules begin with `target` and an instruction set, such as target avx512");
            } else if (auto const name = detail::without_blanks(line.substr(7)); name != isa.name) {
                wrong(format_text("schedules for {}, not for {}", quoted{name}, isa.name));
            } else {
                continue;
            }
            return error{std::move(problems)}; // of another machine nothing else is right
        }
        auto rest = line;
        auto const d = kernels::read_descriptor(rest);
        if (!d) {
            wrong(d.error().message());
            continue;
        }
        rest = detail::without_blanks(rest);
        if (!rest.starts_with('=')) {
            wrong("behind the kernel stands `=` and a value for each of its knobs");
            continue;
        }
        try {
            auto const space = kernels::space_of(*d, isa);
            auto const point = space.parse(detail::without_blanks(rest.substr(1)));
            if (!space.allows(point))
                wrong(format_text("no kernel has all of these together: {}", loop::to_string(point)));
            else if (!out.points_.emplace(kernels::hash_of(*d), loop::to_string(point)).second)
                wrong("the kernel stands twice");
            else
                out.algorithms_.insert(kernels::hash_without_layouts(*d));
        } catch (error const& e) { wrong(e.message()); }
    }
    if (!problems.empty()) return error{std::move(problems)};
    return out;
}

GSUB_LAZY_BODY std::string schedule_table::to_text(std::span<kernel_task const> tasks, isa const& isa) {
    auto text = format_text("target {}\n", isa.name);
    for (auto const& t : tasks)
        if (t.schedule && t.space && !t.space->knobs().empty())
            text += format_text("{} = {}\n", kernels::to_string(t.what), loop::to_string(*t.schedule));
    return text;
}

GSUB_LAZY_BODY loop::configuration schedule_table::choose(kernels::descriptor const& d, isa const& isa,
                                                          loop::config_space const& space) const {
    auto const found = points_.find(kernels::hash_of(d));
    return found == points_.end() ? counted_.choose(d, isa, space) : space.parse(found->second);
}
GSUB_LAZY_BODY std::size_t schedule_table::choose(std::span<kernels::descriptor const> alternatives,
                                                  isa const& isa) const {
    for (std::size_t i = 0; i < alternatives.size(); ++i)
        if (algorithms_.contains(kernels::hash_without_layouts(alternatives[i]))) return i;
    return counted_algorithm{counted_.winograd}.choose(alternatives, isa);
}

} // namespace gsub
