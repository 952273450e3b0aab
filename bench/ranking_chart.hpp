// A bar chart as SVG: panels of bars in groups, shares of 1, each panel with the line of its goal.
#pragma once

#include <gsub/core/format.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace bench {

/// Bar chart of shares: a panel for each figure, a group of bars for each thing, a colour for each series.
struct bar_chart {
    struct panel {
        std::string title;
        double goal = 0;                         ///< a dashed line; 0: none
        std::vector<std::vector<double>> shares; ///< by group, then by series; below zero: no bar
    };
    std::vector<std::string> groups, series;
    std::vector<panel> panels;

    [[nodiscard]] std::string svg() const {
        constexpr double left = 60, right = 20, head = 34, height = 170, foot = 30, thick = 13;
        auto const group_width = thick * static_cast<double>(series.size()) + 34;
        auto const width = std::max(left + right + group_width * static_cast<double>(groups.size()), 520.0);
        auto const whole = (head + height + foot) * static_cast<double>(panels.size()) + 30;
        auto out = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
                               "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
                               "fill=\"white\"/>\n",
                               width, whole);
        double top = head;
        for (auto const& p : panels) {
            auto const y = [&](double share) { return top + height * (1 - std::clamp(share, 0.0, 1.05) / 1.05); };
            out += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" font-weight=\"bold\">{}</text>\n", left, top - 12,
                               p.title);
            for (int tick = 0; tick <= 5; ++tick)
                out += fmt::format("<path d=\"M{0:.0f} {1:.1f}H{2:.0f}\" stroke=\"#ddd\"/><text x=\"{3:.0f}\" "
                                   "y=\"{4:.1f}\" text-anchor=\"end\">{5:.1f}</text>\n",
                                   left, y(tick / 5.0), width - right, left - 6, y(tick / 5.0) + 4, tick / 5.0);
            auto x = left + 17;
            for (std::size_t g = 0; g < groups.size(); ++g, x += group_width) {
                for (std::size_t s = 0; s < series.size(); ++s)
                    if (auto const share = p.shares[g][s]; share >= 0)
                        out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
                                           "fill=\"{}\"><title>{}, {}: {:.3f}</title></rect>\n",
                                           x + thick * static_cast<double>(s), y(share), thick - 2, y(0) - y(share),
                                           colour(s), groups[g], series[s], share);
                out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                                   x + thick * static_cast<double>(series.size()) / 2, y(0) + 16, groups[g]);
            }
            if (p.goal > 0)
                out += fmt::format("<path d=\"M{0:.0f} {1:.1f}H{2:.0f}\" stroke=\"#000\" stroke-dasharray=\"4 3\"/>\n",
                                   left, y(p.goal), width - right);
            top += head + height + foot;
        }
        auto x = left;
        for (std::size_t s = 0; s < series.size(); ++s, x += 110)
            out += fmt::format("<rect x=\"{0:.0f}\" y=\"{1:.0f}\" width=\"10\" height=\"10\" fill=\"{2}\"/><text "
                               "x=\"{3:.0f}\" y=\"{4:.0f}\">{5}</text>\n",
                               x, top - head + 6, colour(s), x + 14, top - head + 15, series[s]);
        return out + "</svg>\n";
    }

private:
    [[nodiscard]] static char const* colour(std::size_t i) {
        constexpr char const* all[] = {"#3b6ea8", "#9dbbdb", "#c0504d", "#e3a9a7"};
        return all[i % 4];
    }
};

} // namespace bench
