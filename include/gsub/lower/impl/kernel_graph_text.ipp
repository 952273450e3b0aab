#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/ir/text.hpp>
#include <gsub/kernels/descriptor_fields.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/lower/impl/kernel_graph_fields.ipp>
#include <gsub/lower/impl/kernel_graph_reader.ipp>
#include <gsub/lower/kernel_graph_text.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace gsub {

namespace detail {

// ---- printing

template <class = void>
class kernel_graph_printer {
public:
    kernel_graph_printer(kernel_graph const& g, kernel_text_options const& options) : g_(g), options_(options) {}

    std::string run() {
        add("kernel graph ", to_string(g_.stage));
        for (std::size_t i = 0; i < g_.inputs.size(); ++i) {
            add("\ninput ", to_string(g_.inputs[i]));
            name(i < g_.input_names.size() ? g_.input_names[i] : std::string{});
        }
        for (std::size_t v = 0; v < g_.values.size(); ++v) print_value(v);
        for (auto const& op : g_.ops) print_op(op);
        for (std::size_t i = 0; i < std::max(g_.results.size(), g_.outputs.size()); ++i) {
            add("\nresult");
            if (i < g_.results.size()) add(" ", to_string(g_.results[i]));
            name(i < g_.output_names.size() ? g_.output_names[i] : std::string{});
            if (i < g_.outputs.size()) add(" ", number(g_.outputs[i]));
        }
        add("\n");
        return std::move(out_);
    }

private:
    template <class... Pieces>
    void add(Pieces const&... pieces) {
        static_cast<void>((out_ += ... += std::string_view{pieces}));
    }
    static std::string number(kernel_value_id v) { return format_text("%{}", v); }
    void name(std::string_view text) {
        if (options_.names && !text.empty()) add(" ", in_quotes(text));
    }
    void print_value(std::size_t v) {
        auto const& value = g_.values[v];
        using role = runtime::memory_role;
        add("\n%", format_text("{}", v));
        name(value.name);
        add(": ", to_string(value.type), " ");
        kernels::print_value(out_, value.role);
        if (value.role == role::input || value.role == role::output) add(format_text(" {}", value.position));
        if (value.role == role::constant) print_elements(value);
        if (value.block != 0) add(format_text(" block={}", value.block));
        if (value.bytes != 0) add(format_text(" bytes={}", value.bytes));
        if (value.part_of >= 0) add(" part_of=", number(value.part_of));
        if (value.offset != 0) add(format_text(" offset={}", value.offset));
    }
    void print_elements(kernel_value const& value) {
        auto const known = value.data.element() != dtype::undefined;
        if (known && static_cast<std::size_t>(value.data.elements()) <= options_.max_constant_elements) {
            add(" 0x");
            for (auto const b : value.data.raw()) out_ += format_text("{:02x}", std::to_integer<unsigned>(b));
        } else if (known || value.left_out != hash128{}) {
            add(" @", to_string(known ? value.data.hash() : value.left_out));
        }
    }
    void print_op(kernel_op const& op) {
        for (std::size_t i = 0; i < op.results.size(); ++i) add(i == 0 ? "\n" : ", ", number(op.results[i]));
        add(op.results.empty() ? "\n= " : " = ");
        std::visit([&](auto const& c) { print_computation(c); }, op.computes);
        for (std::size_t i = 0; i < op.operands.size(); ++i) {
            add(i == 0 ? " " : ", ", number(op.operands[i].value));
            if (!op.operands[i].access.empty()) kernels::print_value(out_, op.operands[i].access);
            if (!op.operands[i].packing) continue;
            add(" packed");
            kernels::print_value(out_, *op.operands[i].packing);
        }
        for (std::size_t i = 0; options_.names && i < op.covers.size(); ++i)
            add(i == 0 ? "\n  covers " : ", ", in_quotes(op.covers[i].op), " ", in_quotes(op.covers[i].name));
        line("boundary", op.boundary);
        line("moves", op.moves);
        if (!op.frame.empty()) {
            add("\n  frame ");
            kernels::print_value(out_, op.frame);
        }
        if (op.schedule) {
            add("\n  schedule");
            if (auto const text = loop::to_string(*op.schedule); !text.empty()) add(" ", text);
        }
        if (auto const* const call = std::get_if<runtime::reference_call>(&op.computes); call && options_.names)
            print_graph(call->graph);
    }
    void line(std::string_view word, std::string const& text) {
        if (options_.names && !text.empty()) add("\n  ", word, " ", in_quotes(text));
    }
    void print_graph(any_graph const& g) {
        auto const text = gsub::to_text(g, {.max_constant_elements = options_.max_constant_elements});
        for (std::size_t at = 0; at < text.size();) {
            auto const end = text.find('\n', at);
            add("\n  | ", std::string_view{text}.substr(at, end - at));
            at = end + 1;
        }
    }
    void print_computation(kernels::descriptor const& d) { kernels::print_value(out_, d); }
    void print_computation(view_shape const& v) { record("view", v); }
    void print_computation(concat_shape const& c) { record("concat", c); }
    void print_computation(pad_shape const& p) { record("pad", p); }
    void print_computation(runtime::copy_call const& c) { record("copy", c); }
    void print_computation(custom_kernel const& c) {
        add("custom ", in_quotes(c.name));
        if (c.operations == 0) return;
        add(" operations=");
        kernels::print_value(out_, c.operations);
    }
    void print_computation(runtime::external_call const& c) { add("extern ", in_quotes(c.op)); }
    void print_computation(runtime::reference_call const& c) {
        add("reference");
        if (options_.names) return; // a text has no branches
        add(" @", to_string(c.graph.hash()));
        if (c.branches)
            for (auto const& [name, body] : *c.branches) add(" ", in_quotes(name), "@", to_string(body.hash()));
    }
    template <class Record>
    void record(std::string_view word, Record const& r) {
        add(word);
        kernels::print_value(out_, r);
    }

    kernel_graph const& g_;
    kernel_text_options const& options_;
    std::string out_;
};

// ---- summaries

// Without what the layout pass decides: of an array, only what its elements are.
template <class = void>
struct without_layout {
    static void strip(kernels::array_view& v) { v = {.elements = 0, .element = v.element}; }
    static void strip(std::vector<kernels::array_view>& all) {
        for (auto& v : all) strip(v);
    }
    static void of(kernels::matmul_shape& s) { strip(s.a), strip(s.b), strip(s.y), strip(s.arrays); }
    static void of(kernels::attention_shape& s) {
        strip(s.q), strip(s.keys), strip(s.values), strip(s.y), strip(s.arrays);
    }
    static void of(kernels::row_reduction_shape& p) { strip(p.arrays); }
    static void of(kernels::reduction_shape& s) { strip(s.x); }
    static void of(auto&) {}
};

} // namespace detail

GSUB_LAZY_BODY std::string to_text(kernel_graph const& g, kernel_text_options const& options) {
    return detail::kernel_graph_printer{g, options}.run();
}

GSUB_LAZY_BODY result<kernel_graph> parse_kernel_graph(std::string_view text, kernel_reading const& how) {
    return capture([&] { return detail::kernel_graph_reader{text, how}.run(); });
}

GSUB_LAZY_BODY hash128 hash_of(kernel_graph const& g) {
    auto const text = to_text(g, {.max_constant_elements = 0, .names = false});
    return hash_bytes(std::as_bytes(std::span{text}));
}

GSUB_LAZY_BODY std::string summary(kernel_graph const& g) {
    std::map<std::string, std::size_t> counts;
    for (auto const& op : g.ops) {
        auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
        auto line = kind_of(op);
        if (d) {
            auto plain = *d;
            std::visit([](auto& s) { detail::without_layout<>::of(s); }, plain);
            line = kernels::to_string(plain);
        }
        for (std::size_t i = 0; i < op.covers.size(); ++i) line += (i == 0 ? ": " : ", ") + op.covers[i].op;
        ++counts[printable(line)];
    }
    std::string out;
    for (auto const& [line, count] : counts) out += format_text("{} x {}\n", count, line);
    return out;
}

} // namespace gsub
