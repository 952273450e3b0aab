#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/report/escape.hpp>
#include <gsub/report/layered_layout.hpp>
#include <gsub/report/svg.hpp>
#include <gsub/report/units.hpp>

#include <algorithm>
#include <map>

namespace gsub::report {

namespace detail {

// ---- texts of a box ----------------------------------------------------------------------------------------------

GSUB_LAZY attribute_value const* attribute_named(any_graph const& g, node_id n, std::string_view name) {
    auto const infos = g.op(n).attributes();
    auto const values = g.attributes(n).values();
    for (std::size_t i = 0; i < values.size(); ++i)
        if (infos[i].name == name) return &values[i];
    return nullptr;
}

// `3×3`
GSUB_LAZY std::string times(ints const& sizes) {
    std::string out;
    for (auto s : sizes) out += format_text("{}{}", out.empty() ? "" : "\xc3\x97", s);
    return out;
}
// `64×56×56`, with its element type unless that is f32
GSUB_LAZY std::string short_type(tensor_type const& t) {
    std::string out = t.element == dtype::f32 ? "" : format_text("{} ", to_string(t.element));
    if (!t.ranked) return out + "any shape";
    if (t.rank() == 0) return out + "scalar";
    for (std::size_t i = 0; i < t.rank(); ++i) out += format_text("{}{}", i ? "\xc3\x97" : "", to_string(t.dims[i]));
    return out;
}

// What the tooltip says: name, types, attributes that are not the defaults, sources.
GSUB_LAZY std::string tooltip(any_graph const& g, node_id n) {
    auto out = format_text("{}  {}", g.op(n).name, g.display_name(n));
    for (std::uint32_t port = 0; port < g.result_count(n); ++port)
        out += format_text("\n\xe2\x86\x92 {}", to_string(g.type({n, port})));
    for (auto v : g.operands(n))
        if (v.valid()) out += format_text("\n\xe2\x86\x90 {}{}", g.constant(v) ? "weight " : "", to_string(g.type(v)));
    auto const infos = g.op(n).attributes();
    auto const values = g.attributes(n).values();
    auto const defaults = g.op(n).layout.defaults();
    for (std::size_t i = 0; i < values.size(); ++i)
        if (auto const told = to_string(values[i]); told != to_string(defaults[i]))
            out += format_text("\n{} = {}", infos[i].name, told);
    auto const sources = g.sources(n);
    for (std::size_t i = 0; i < sources.size() && i < 20; ++i)
        out += format_text("{}{}", i ? ", " : "\nfrom ", sources[i]);
    return sources.size() > 20 ? format_text("{} and {} more", out, sources.size() - 20) : out;
}

GSUB_LAZY std::string_view style_class(any_graph const& g, node_id n) {
    switch (g.op(n).category) {
    case op_category::structural:
        return "end";
    case op_category::contraction:
        return "sum";
    case op_category::reduction:
        return "red";
    case op_category::injective:
        return "mov";
    case op_category::opaque:
        return "opq";
    default:
        return "elt";
    }
}

// A number for a coordinate: two decimals at most.
GSUB_LAZY std::string coordinate(double v) {
    auto text = fixed(v, 2);
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
    return text == "-0" ? "0" : text;
}

// A text of several lines as the content of a tooltip, cut after `most` bytes: `xml_text` takes ends of lines for
// hidden characters.
GSUB_LAZY std::string xml_lines(std::string_view text, std::size_t most = 2000) {
    std::string out;
    for (std::string_view separator = ""; !text.empty() && most > 0; separator = "\n") {
        auto const line = text.substr(0, text.find('\n'));
        out.append(separator).append(xml_text(line, most));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        most -= std::min(most, line.size() + 1);
    }
    return out;
}

// ---- the picture -------------------------------------------------------------------------------------------------

/// What is drawn of a graph: boxes with their texts, and lines.
struct sketch {
    struct box {
        node_id node;
        std::string_view style;
        std::string title, shape, name, tip;
    };
    std::vector<box> boxes;
    std::vector<layout_line> lines;
};

inline constexpr double box_height = 50, character = 6.7, title_character = 7.6, margin = 10;
inline constexpr std::size_t longest_text = 26;

GSUB_LAZY sketch sketch_of(any_graph const& g) {
    sketch out;
    std::vector<std::uint32_t> number(g.capacity(), 0);
    auto const add_lines = [&](std::span<value_id const> operands) {
        auto const to = static_cast<std::uint32_t>(out.boxes.size());
        for (auto v : operands)
            if (v.valid() && !g.constant(v)) out.lines.push_back({number[v.node.index], to, v.port});
    };
    for (auto n : g.order()) {
        if (n == g.return_node() || g.constant(n)) continue;
        add_lines(g.operands(n));
        number[n.index] = static_cast<std::uint32_t>(out.boxes.size());
        auto const shape = g.result_count(n) == 0
                               ? std::string{}
                               : format_text("{}{}", short_type(g.type({n, 0})),
                                             g.result_count(n) > 1 ? format_text(" and {} more", g.result_count(n) - 1)
                                                                   : std::string{});
        out.boxes.push_back({n, style_class(g, n), caption(g, n), shape, g.display_name(n), tooltip(g, n)});
    }
    for (std::size_t i = 0; i < g.output_count(); ++i) {
        auto const v = g.output(i);
        auto const name = i < g.info().output_names.size() ? g.info().output_names[i] : format_text("output {}", i);
        auto const type = v.valid() ? g.type(v) : tensor_type{};
        add_lines(std::span{&v, 1});
        out.boxes.push_back(
            {{}, "end", "Output", short_type(type), name, format_text("Output  {}\n{}", name, to_string(type))});
    }
    return out;
}

// Characters of UTF-8 text: those bytes that begin one.
GSUB_LAZY std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
}

// The end of a text, for names, whose ends differ.
GSUB_LAZY std::string_view tail_of(std::string_view text, std::size_t most) {
    auto const is_start = [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; };
    std::size_t at = text.size();
    for (std::size_t seen = 0; at > 0 && seen < most; seen += is_start(text[at])) --at;
    return text.substr(at);
}

GSUB_LAZY layout_box size_of(sketch::box const& b, bool with_share) {
    auto const cut = [](std::string const& s) {
        return static_cast<double>(std::min(characters(s), longest_text + 1));
    };
    auto const wide = std::max({cut(b.title) * title_character, (cut(b.shape) + (with_share ? 7 : 0)) * character,
                                cut(b.name) * character * 0.86});
    return {std::max(96.0, wide + 20), b.node.valid() ? box_height : box_height - 4};
}

GSUB_LAZY std::string path_of(layered_layout::way const& w) {
    auto const at = [](layout_point p) {
        return format_text("{} {}", coordinate(p.x + margin), coordinate(p.y + margin));
    };
    auto out = "M" + at(w.points.front());
    for (std::size_t i = 1; i < w.points.size(); ++i) {
        auto const from = w.points[i - 1], to = w.points[i];
        if (from.x == to.x) {
            out += format_text("V{}", coordinate(to.y + margin));
            continue;
        }
        auto const middle = (from.y + to.y) / 2;
        out += format_text("C{} {} {}", at({from.x, middle}), at({to.x, middle}), at(to));
    }
    return out;
}

GSUB_LAZY std::string box_text(sketch::box const& b, layered_layout::place const& p, layout_box size,
                               picture_options const& o, double largest) {
    auto const id = b.node.index;
    auto const marked = b.node.valid() && id < o.marked.size() && o.marked[id];
    auto const shown = b.node.valid() && id < o.share.size() && b.style != "end";
    auto const share = shown ? std::clamp(o.share[id], 0.0, 1.0) : 0;
    auto const x = [&](double dx) { return coordinate(p.x + margin + dx); };
    auto const y = [&](double dy) { return coordinate(p.y + margin + dy); };
    auto out = format_text("<g class=\"b {}{}\"><title>{}{}{}</title>", b.style, marked ? " new" : "", xml_lines(b.tip),
                           shown ? format_text("\n{} of the cost", percent(share)) : std::string{},
                           marked && !o.mark.empty() ? format_text("\n{}", xml_text(o.mark)) : std::string{});
    auto const round = b.style == "end" ? size.height / 2 : 6;
    out += format_text("<rect class=\"f\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\"/>", x(0), y(0),
                       coordinate(size.width), coordinate(size.height), coordinate(round));
    if (share > 0)
        out += format_text("<rect class=\"s\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"3\" rx=\"1.5\"/>", x(6),
                           y(size.height - 6), coordinate(std::max(1.0, (size.width - 12) * share / largest)));
    auto const centre = b.style == "end";
    auto const left = centre ? size.width / 2 : 10;
    auto const anchor = centre ? " text-anchor=\"middle\"" : "";
    out +=
        format_text("<text class=\"t\" x=\"{}\" y=\"{}\"{}>{}</text><text class=\"m\" x=\"{}\" "
                    "y=\"{}\"{}>{}</text><text class=\"n\" x=\"{}\" y=\"{}\"{}>{}{}</text>",
                    x(left), y(16), anchor, xml_text(b.title, longest_text), x(left), y(29), anchor,
                    xml_text(b.shape, longest_text), x(left), y(40.5), anchor,
                    characters(b.name) > longest_text ? "\xe2\x80\xa6" : "", xml_text(tail_of(b.name, longest_text)));
    if (share >= 0.0005)
        out += format_text("<text class=\"p\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", x(size.width - 8),
                           y(29), percent(share));
    return out + "</g>\n";
}

} // namespace detail

GSUB_LAZY_BODY std::string_view picture_style() {
    return R"(
.gsub{--ink:#1c2430;--soft:#5b6675;--line:#8b97a6;--paper:#fff;--sum:#dcebff;--sum-e:#5b93d8;--red:#d9f2ea;--red-e:#47a58a;
--mov:#fdeecf;--mov-e:#cf9a33;--elt:#eef1f5;--elt-e:#a3aebb;--end:#fff;--end-e:#a3aebb;--opq:#f7dff0;--opq-e:#b763a0;--hot:#e4572e;--new:#7a3ff2}
@media (prefers-color-scheme:dark){.gsub{--ink:#e8edf4;--soft:#a2aebd;--line:#67748a;--paper:#12161d;--sum:#17304f;--sum-e:#4c87cf;
--red:#123a30;--red-e:#3d9379;--mov:#413313;--mov-e:#b98a2f;--elt:#232a35;--elt-e:#566273;--end:#12161d;--end-e:#566273;--opq:#41203a;--opq-e:#b763a0;
--hot:#ff7a52;--new:#b08bff}}
svg.gsub{background:var(--paper)}
.gsub .f{fill:var(--elt);stroke:var(--elt-e);stroke-width:1}
.gsub .sum .f{fill:var(--sum);stroke:var(--sum-e)}.gsub .red .f{fill:var(--red);stroke:var(--red-e)}
.gsub .mov .f{fill:var(--mov);stroke:var(--mov-e)}.gsub .end .f{fill:var(--end);stroke:var(--end-e)}
.gsub .opq .f{fill:var(--opq);stroke:var(--opq-e)}
.gsub .new .f{stroke:var(--new);stroke-width:2.6}
.gsub .s{fill:var(--hot)}
.gsub .w{fill:none;stroke:var(--line);stroke-width:1.4}.gsub .a{fill:var(--line)}
.gsub text{fill:var(--ink);font-family:ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;font-size:11px}
.gsub .t{font-family:system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;font-size:12.5px;font-weight:600}
.gsub .n{font-size:9.3px;fill:var(--soft)}.gsub .p{fill:var(--hot);font-weight:600;font-size:10.5px}
)";
}

GSUB_LAZY_BODY std::string caption(any_graph const& g, node_id n) {
    auto out = g.is<ops::opaque>(n)  ? g.attributes<ops::opaque>(n).op_type
               : g.is<ops::input>(n) ? std::string{"Input"}
                                     : std::string{g.op(n).name};
    auto const* strides = detail::attribute_named(g, n, "strides");
    if (auto const* kernel = detail::attribute_named(g, n, "kernel_shape")) {
        out += format_text(" {}", detail::times(kernel->integer_list()));
    } else if (strides && g.operand(n, 1).valid() && g.type(g.operand(n, 1)).is_static()) {
        auto const weight = g.type(g.operand(n, 1)).sizes(); // [out, in, window]
        if (weight.size() > 2) out += format_text(" {}", detail::times(ints(weight.begin() + 2, weight.end())));
    }
    if (strides && any_of(strides->integer_list(), [](auto s) { return s != 1; }))
        out += format_text("/{}", strides->integer_list()[0]);
    if (auto const* groups = detail::attribute_named(g, n, "group"); groups && groups->integer() != 1)
        out += format_text(" g{}", groups->integer());
    if (auto const* act = detail::attribute_named(g, n, "activation"); act && act->text() != "none")
        out += format_text(" + {}", act->text());
    return out;
}

GSUB_LAZY_BODY std::vector<bool> nodes_without_counterpart(any_graph const& g, any_graph const& other) {
    auto const told = [](any_graph const& from, node_id n) {
        auto text = format_text("{}.{} {}", from.op(n).domain, from.op(n).name, to_string(from.attributes(n).hash()));
        for (auto const& s : from.sources(n)) text += format_text(" {}", quoted{s});
        for (auto v : from.operands(n)) text += v.valid() ? format_text(" {}", to_string(from.type(v))) : " -";
        for (std::uint32_t port = 0; port < from.result_count(n); ++port)
            text += format_text(" > {}", to_string(from.type({n, port})));
        return text;
    };
    std::map<std::string, std::size_t> there;
    for (auto n : other.order()) ++there[told(other, n)];
    std::vector<bool> out(g.capacity(), false);
    for (auto n : g.order()) {
        auto const found = there.find(told(g, n));
        out[n.index] = found == there.end() || found->second == 0;
        if (!out[n.index]) --found->second;
    }
    return out;
}

GSUB_LAZY_BODY result<std::string> to_svg(any_graph const& g, picture_options const& o) {
    return capture([&] {
        auto const sketch = detail::sketch_of(g);
        if (sketch.boxes.size() > o.max_boxes)
            throw error{problem{
                error_code::unsupported,
                {},
                {},
                format_text("the picture would have {} boxes; at most {} are drawn", sketch.boxes.size(), o.max_boxes),
                "--dot, or a part of the graph"}};
        std::vector<layout_box> sizes;
        for (auto const& b : sketch.boxes) sizes.push_back(detail::size_of(b, !o.share.empty()));
        auto const drawn = lay_out(sizes, sketch.lines).value();
        auto const width = detail::coordinate(drawn.width + 2 * detail::margin),
                   height = detail::coordinate(drawn.height + 2 * detail::margin);
        auto out = format_text("<svg class=\"gsub\"{} width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\">\n",
                               o.alone ? " xmlns=\"http://www.w3.org/2000/svg\"" : "", width, height, width, height);
        if (o.alone) out += format_text("<style>{}</style>\n", picture_style());
        double largest = 0; // share
        for (auto const s : o.share) largest = std::max(largest, std::min(s, 1.0));
        std::string arrows;
        for (auto const& w : drawn.ways) {
            out += format_text("<path class=\"w\" d=\"{}\"/>\n", detail::path_of(w));
            auto const tip = w.points.back();
            arrows += format_text("M{} {}l-3.5-7h7z", detail::coordinate(tip.x + detail::margin),
                                  detail::coordinate(tip.y + detail::margin));
        }
        if (!arrows.empty()) out += format_text("<path class=\"a\" d=\"{}\"/>\n", arrows);
        for (std::size_t i = 0; i < sketch.boxes.size(); ++i)
            out += detail::box_text(sketch.boxes[i], drawn.boxes[i], sizes[i], o, largest);
        return out + "</svg>\n";
    });
}

} // namespace gsub::report
