// chart: a line through points, as SVG within a page.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/report/escape.hpp>
#include <gsub/report/impl/svg.ipp>
#include <gsub/report/units.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::report::detail {

// A step of 1, 2 or 5 times a power of ten, so that about `count` of them make up the span.
GSUB_LAZY double tick_step(double span, int count) {
    auto const raw = span / count;
    auto const power = std::pow(10.0, std::floor(std::log10(raw)));
    for (double const factor : {1.0, 2.0, 5.0})
        if (raw <= factor * power * 1.0000001) return factor * power;
    return 10 * power;
}

/// A line through points with increasing x, in a frame with axes.
struct chart {
    struct point {
        double x, y;
        std::string note{}; ///< of the dot that marks it
    };
    std::vector<point> points;
    double last_x = 0;  ///< where the axis ends
    bool steps = false; ///< the line keeps its height until the next point
    std::string_view unit;
    std::string x_label;
};

GSUB_LAZY std::string draw(chart const& c) {
    constexpr double width = 560, height = 250, left = 78, right = 16, top = 14, bottom = 40;
    auto low = c.points[0].y, high = low;
    for (auto const& p : c.points) low = std::min(low, p.y), high = std::max(high, p.y);
    if (high == low) high += high > 0 ? high * 0.1 : 1, low -= low > 0 ? low * 0.1 : 0;
    auto const step_y = tick_step(high - low, 4);
    low = std::floor(low / step_y) * step_y, high = std::ceil(high / step_y) * step_y;
    auto const last = std::max(c.last_x, 1.0);
    auto const x = [&](double v) { return coordinate(left + v / last * (width - left - right)); };
    auto const y = [&](double v) { return coordinate(top + (high - v) / (high - low) * (height - top - bottom)); };
    auto out = format_text("<svg class=\"gsub chart\" viewBox=\"0 0 {} {}\">\n", width, height);
    for (int i = 0; low + i * step_y <= high + step_y / 2; ++i) {
        auto const v = low + i * step_y;
        out += format_text("<path class=\"g\" d=\"M{} {}H{}\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                           left, y(v), width - right, left - 8,
                           coordinate(top + (high - v) / (high - low) * (height - top - bottom) + 4),
                           xml_text(human(v, c.unit)));
    }
    auto const step_x = std::max(1.0, tick_step(last, 6));
    for (int i = 0; i * step_x <= last; ++i)
        out += format_text("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x(i * step_x), height - 22,
                           coordinate(i * step_x));
    out += format_text("<text class=\"n l\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                       (left + width - right) / 2, height - 5, xml_text(c.x_label));
    auto const at = [&](chart::point const& p) { return format_text("{} {}", x(p.x), y(p.y)); };
    if (c.steps) {
        auto line = "M" + at(c.points[0]);
        for (std::size_t i = 1; i < c.points.size(); ++i)
            line += format_text("H{}V{}", x(c.points[i].x), y(c.points[i].y));
        line += format_text("H{}", x(last));
        out += format_text("<path class=\"area\" d=\"{}V{}H{}z\"/><path class=\"c\" d=\"{}\"/>\n", line, y(low),
                           x(c.points[0].x), line);
    } else {
        std::string down, up;
        for (std::size_t i = 1; i < c.points.size(); ++i)
            (c.points[i].y > c.points[i - 1].y ? up : down) +=
                format_text("M{}L{}", at(c.points[i - 1]), at(c.points[i]));
        if (!down.empty()) out += format_text("<path class=\"c\" d=\"{}\"/>\n", down);
        if (!up.empty()) out += format_text("<path class=\"c up\" d=\"{}\"/>\n", up);
    }
    for (auto const& p : c.points)
        out +=
            format_text("<circle class=\"d\" cx=\"{}\" cy=\"{}\" r=\"{}\"><title>{}</title></circle>\n", x(p.x), y(p.y),
                        c.points.size() > 60 ? 2 : 3.5, xml_text(p.note.empty() ? human(p.y, c.unit) : p.note));
    return out + "</svg>\n";
}

} // namespace gsub::report::detail
