// scatter plot: pairs of times on logarithmic axes, the same on both, with the line where they are equal.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/report/escape.hpp>
#include <gsub/report/impl/html_chart.ipp>
#include <gsub/report/svg.hpp>
#include <gsub/report/units.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::report::detail {

/// Marks of pairs of numbers, in groups that differ by colour and shape.
struct scatter_plot {
    struct mark {
        double x = 0, y = 0; ///< above zero and finite
        std::size_t group = 0;
        bool best = false; ///< drawn with a rim, above the others
        std::string note{};
    };
    std::vector<mark> marks; ///< at least one
    std::vector<std::string> groups;
    std::string_view unit, x_label, y_label, best_label;
};

// A mark of a group's colour and shape: eight colours by four shapes, such that 32 groups differ.
GSUB_LAZY std::string mark_at(double x, double y, std::size_t group, bool best, std::string_view note) {
    auto const kind = format_text("class=\"k k{}{}\"", group % 8, best ? " best" : "");
    auto const title = note.empty() ? std::string{} : format_text("<title>{}</title>", xml_lines(note));
    switch ((group + group / 8) % 4) {
    case 0:
        return format_text("<circle {} cx=\"{}\" cy=\"{}\" r=\"4\">{}</circle>\n", kind, coordinate(x), coordinate(y),
                           title);
    case 1:
        return format_text("<path {} d=\"M{} {}h7v7h-7z\">{}</path>\n", kind, coordinate(x - 3.5), coordinate(y - 3.5),
                           title);
    case 2:
        return format_text("<path {} d=\"M{} {}l4.5 8h-9z\">{}</path>\n", kind, coordinate(x), coordinate(y - 5),
                           title);
    default:
        return format_text("<path {} d=\"M{} {}l5 5l-5 5l-5-5z\">{}</path>\n", kind, coordinate(x), coordinate(y - 5),
                           title);
    }
}

// A round number with its unit, without zeros behind the point: `50 us`.
GSUB_LAZY std::string tick_label(double v, std::string_view unit) {
    auto text = human(v, unit);
    auto const end = std::min(text.find(' '), text.size());
    if (text.find('.') > end) return text;
    auto begin = text.find_last_not_of('0', end - 1) + 1;
    if (text[begin - 1] == '.') --begin;
    return text.erase(begin, end - begin);
}

// Draws a scatter plot; `alone`: as a file of its own.
GSUB_LAZY std::string draw(scatter_plot const& p, bool alone = false) {
    constexpr double width = 680, height = 540, left = 78, right = 150, top = 24, bottom = 48;
    auto low = p.marks[0].x, high = low;
    for (auto const& m : p.marks) low = std::min({low, m.x, m.y}), high = std::max({high, m.x, m.y});
    low /= 1.25, high *= 1.25;
    axis const x{low, high, left, width - right, true}, y{low, high, height - bottom, top, true};
    auto out = format_text("<svg class=\"gsub chart\"{} viewBox=\"0 0 {} {}\">\n",
                           alone ? " xmlns=\"http://www.w3.org/2000/svg\"" : "", width, height);
    if (alone)
        out += format_text("<style>{}{}</style>\n<rect width=\"100%\" height=\"100%\" style=\"fill:var(--paper)\"/>\n",
                           picture_style(), chart_style());
    for (auto const v : ticks_of(x, 6)) {
        auto const label = tick_label(v, p.unit);
        out += row_line(y, v, left, width - right, label) + column_label(x, v, height - bottom + 17, label) +
               format_text("<path class=\"g\" d=\"M{} {}V{}\"/>\n", place_text(x, v), top, height - bottom);
    }
    out += axis_name(x, height - 8, p.x_label);
    out += format_text("<text class=\"n l\" x=\"{}\" y=\"{}\">{}</text>\n", left - 60, top - 10, xml_text(p.y_label));
    // Where both are equal, and where one is twice the other.
    out += format_text("<path class=\"even\" d=\"M{} {}L{} {}\"/>\n", place_text(x, low), place_text(y, low),
                       place_text(x, high), place_text(y, high));
    if (high > 2 * low)
        out += format_text("<path class=\"even off\" d=\"M{} {}L{} {}M{} {}L{} {}\"/>\n", place_text(x, low),
                           place_text(y, 2 * low), place_text(x, high / 2), place_text(y, high), place_text(x, 2 * low),
                           place_text(y, low), place_text(x, high), place_text(y, high / 2));
    for (bool const best : {false, true})
        for (auto const& m : p.marks)
            if (m.best == best) out += mark_at(place(x, m.x), place(y, m.y), m.group, best, m.note);
    auto below = top + 8;
    auto const entry = [&](std::size_t group, bool best, std::string_view text) {
        out += mark_at(width - right + 18, below, group, best, {});
        out += format_text("<text x=\"{}\" y=\"{}\">{}</text>\n", width - right + 30, below + 4, xml_text(text, 20));
        below += 19;
    };
    for (std::size_t i = 0; i < p.groups.size(); ++i) entry(i, false, p.groups[i]);
    entry(0, true, p.best_label);
    return out + "</svg>\n";
}

} // namespace gsub::report::detail
