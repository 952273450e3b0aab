// chart: lines through points between axes, as SVG within a page.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/report/escape.hpp>
#include <gsub/report/impl/svg.ipp>
#include <gsub/report/units.hpp>

#include <algorithm>
#include <cmath>
#include <span>
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

/// Axis of a chart: the numbers at its ends, and where these lie. *Requires* low < high, and 0 < low of a logarithmic
/// one.
struct axis {
    double low = 0, high = 1;
    double from = 0, to = 1; ///< coordinates
    bool logarithmic = false;
};
// The coordinate of a number.
GSUB_LAZY double place(axis const& a, double v) {
    auto const share = a.logarithmic ? std::log(v / a.low) / std::log(a.high / a.low) : (v - a.low) / (a.high - a.low);
    return a.from + share * (a.to - a.from);
}
GSUB_LAZY std::string place_text(axis const& a, double v) {
    return coordinate(place(a, v));
}
// Numbers to be written along an axis: some `count` of a linear one, `least` apart at least; 1, 2 and 5 times the
// powers of ten of a logarithmic one, the powers alone where it spans more than three.
GSUB_LAZY std::vector<double> ticks_of(axis const& a, int count, double least = 0) {
    std::vector<double> out;
    if (!a.logarithmic) {
        auto const step = std::max(least, tick_step(a.high - a.low, count));
        auto const first = std::ceil(a.low / step - 1e-6) * step;
        for (int i = 0; first + i * step <= a.high + step * 1e-6; ++i) out.push_back(first + i * step);
        return out;
    }
    auto const alone = a.high / a.low > 1e3;
    auto const last = static_cast<int>(std::floor(std::log10(a.high) + 1e-9));
    for (auto power = static_cast<int>(std::floor(std::log10(a.low))); power <= last; ++power)
        for (double const factor : {1.0, 2.0, 5.0}) {
            auto const v = factor * std::pow(10.0, power);
            if ((factor == 1 || !alone) && v >= a.low * (1 - 1e-9) && v <= a.high * (1 + 1e-9)) out.push_back(v);
        }
    return out;
}
// A line across at a number of the upright axis, with its label at the left.
GSUB_LAZY std::string row_line(axis const& y, double v, double left, double right, std::string_view label) {
    return format_text("<path class=\"g\" d=\"M{} {}H{}\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                       coordinate(left), place_text(y, v), coordinate(right), coordinate(left - 8),
                       coordinate(place(y, v) + 4), xml_text(label));
}
// The label of a number of the axis across.
GSUB_LAZY std::string column_label(axis const& x, double v, double below, std::string_view label) {
    return format_text("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", place_text(x, v),
                       coordinate(below), xml_text(label));
}
// What the axis across is of.
GSUB_LAZY std::string axis_name(axis const& x, double below, std::string_view name) {
    return format_text("<text class=\"n l\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                       coordinate((x.from + x.to) / 2), coordinate(below), xml_text(name));
}

/// Place of everything in a chart with a line.
struct chart_frame {
    double width = 560, height = 250, left = 78, right = 16, top = 14, bottom = 40;
};

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

// A line that keeps its height until the next point.
GSUB_LAZY std::string steps_through(std::span<chart::point const> points, axis const& x, axis const& y, double last) {
    auto line = format_text("M{} {}", place_text(x, points[0].x), place_text(y, points[0].y));
    for (auto const& p : points.subspan(1)) line += format_text("H{}V{}", place_text(x, p.x), place_text(y, p.y));
    return line + format_text("H{}", place_text(x, last));
}

GSUB_LAZY std::string draw(chart const& c) {
    constexpr chart_frame f;
    auto low = c.points[0].y, high = low;
    for (auto const& p : c.points) low = std::min(low, p.y), high = std::max(high, p.y);
    if (high == low) high += high > 0 ? high * 0.1 : 1, low -= low > 0 ? low * 0.1 : 0;
    auto const step_y = tick_step(high - low, 4);
    low = std::floor(low / step_y) * step_y, high = std::ceil(high / step_y) * step_y;
    auto const last = std::max(c.last_x, 1.0);
    axis const x{0, last, f.left, f.width - f.right}, y{low, high, f.height - f.bottom, f.top};
    auto out = format_text("<svg class=\"gsub chart\" viewBox=\"0 0 {} {}\">\n", f.width, f.height);
    for (int i = 0; low + i * step_y <= high + step_y / 2; ++i)
        out += row_line(y, low + i * step_y, f.left, f.width - f.right, human(low + i * step_y, c.unit));
    for (auto const v : ticks_of(x, 6, 1)) out += column_label(x, v, f.height - 22, coordinate(v));
    out += axis_name(x, f.height - 5, c.x_label);
    auto const at = [&](chart::point const& p) { return format_text("{} {}", place_text(x, p.x), place_text(y, p.y)); };
    if (c.steps) {
        auto const line = steps_through(c.points, x, y, last);
        out += format_text("<path class=\"area\" d=\"{}V{}H{}z\"/><path class=\"c\" d=\"{}\"/>\n", line,
                           place_text(y, low), place_text(x, c.points[0].x), line);
    } else {
        std::string down, up;
        for (std::size_t i = 1; i < c.points.size(); ++i)
            (c.points[i].y > c.points[i - 1].y ? up : down) +=
                format_text("M{}L{}", at(c.points[i - 1]), at(c.points[i]));
        if (!down.empty()) out += format_text("<path class=\"c\" d=\"{}\"/>\n", down);
        if (!up.empty()) out += format_text("<path class=\"c up\" d=\"{}\"/>\n", up);
    }
    for (auto const& p : c.points)
        out += format_text("<circle class=\"d\" cx=\"{}\" cy=\"{}\" r=\"{}\"><title>{}</title></circle>\n",
                           place_text(x, p.x), place_text(y, p.y), c.points.size() > 60 ? 2 : 3.5,
                           xml_lines(p.note.empty() ? human(p.y, c.unit) : p.note));
    return out + "</svg>\n";
}

/// Falling lines of shares over a count, side by side: how searches come down from what they began with.
struct descents {
    struct line {
        std::vector<chart::point> points; ///< x from 1, increasing; y from 0 to 1
        double last = 1;                  ///< x at which it ends
        std::string note;
        bool main = false; ///< drawn broad, above the others
    };
    std::vector<line> lines;
    std::string_view x_label;
};

GSUB_LAZY std::string draw(descents const& d) {
    constexpr chart_frame f;
    double last = 2, low = 0.95;
    for (auto const& l : d.lines) {
        last = std::max(last, l.last);
        for (auto const& p : l.points) low = std::min(low, p.y);
    }
    auto const step = tick_step(1 - low, 4);
    low = std::max(0.0, 1 - std::ceil((1 - low) / step) * step);
    axis const x{1, last, f.left, f.width - f.right, true}, y{low, 1, f.height - f.bottom, f.top};
    auto out = format_text("<svg class=\"gsub chart\" viewBox=\"0 0 {} {}\">\n", f.width, f.height);
    for (auto v = 1.0; v > low - step / 2; v -= step) out += row_line(y, v, f.left, f.width - f.right, percent(v));
    for (auto const v : ticks_of(x, 6)) out += column_label(x, v, f.height - 22, coordinate(v));
    out += axis_name(x, f.height - 5, d.x_label);
    for (bool const main : {false, true})
        for (auto const& l : d.lines)
            if (l.main == main && !l.points.empty())
                out += format_text("<path class=\"c{}\" d=\"{}\"><title>{}</title></path>\n", main ? "" : " thin",
                                   steps_through(l.points, x, y, l.last), xml_lines(l.note));
    return out + "</svg>\n";
}

// The style sheet of charts, for pages and pictures that hold some. It stands behind `picture_style`.
GSUB_LAZY std::string_view chart_style() {
    return R"(
.gsub{--back:#f4f6f9;--card:#fff;--rim:#dde3ea;--good:#137a4c;--bad:#c62f2f;--accent:#2f6fd6;
--k0:#2f6fd6;--k1:#d9731a;--k2:#178a5e;--k3:#b0399b;--k4:#8a6d00;--k5:#0e8fa8;--k6:#c0392b;--k7:#6b5bd0}
@media (prefers-color-scheme:dark){.gsub{--back:#0b0e13;--card:#151a22;--rim:#2a3340;--good:#4fd397;--bad:#ff7676;--accent:#6aa5ff;
--k0:#6aa5ff;--k1:#ffa14d;--k2:#4fd397;--k3:#e985d6;--k4:#d9bd4a;--k5:#4cc9e0;--k6:#ff7676;--k7:#a99bff}}
.chart{width:100%;height:auto;background:none!important}.chart .g{stroke:var(--rim);stroke-width:1}
.chart .c{fill:none;stroke:var(--accent);stroke-width:2.2;stroke-linejoin:round;stroke-linecap:round}.chart .up{stroke:var(--hot)}
.chart .thin{stroke:var(--line);stroke-width:1.2;opacity:.55}.chart .thin:hover{stroke:var(--hot);stroke-width:2.2;opacity:1}
.chart .area{fill:var(--accent);opacity:.12}.chart .d{fill:var(--accent);stroke:var(--card);stroke-width:1}
.chart .k{stroke:var(--card);stroke-width:.6;opacity:.85}.chart .k.best{stroke:var(--ink);stroke-width:1.6;opacity:1}
.chart .k0{fill:var(--k0)}.chart .k1{fill:var(--k1)}.chart .k2{fill:var(--k2)}.chart .k3{fill:var(--k3)}
.chart .k4{fill:var(--k4)}.chart .k5{fill:var(--k5)}.chart .k6{fill:var(--k6)}.chart .k7{fill:var(--k7)}
.chart .even{fill:none;stroke:var(--line);stroke-width:1.4}.chart .off{stroke-dasharray:3 4;stroke-width:1}
.chart text{fill:var(--soft)}.chart .l{font-size:11px}
)";
}

} // namespace gsub::report::detail
