#pragma once

#include <gsub/ir/ops.hpp>
#include <gsub/ir/text.hpp>
#include <gsub/kernels/descriptor_fields.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/lower/kernel_graph_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace gsub {

// ---- the listing of what is no descriptor

namespace kernels {

template <>
struct word_traits<border> {
    static constexpr std::string_view words[] = {"constant", "edge", "reflect"};
};
template <>
struct word_traits<lowering_stage> {
    static constexpr std::string_view words[] = {"fused", "selected", "laid-out", "scheduled"};
};
template <>
struct word_traits<runtime::memory_role> {
    static constexpr std::string_view words[] = {"temporary", "constant", "input", "output"};
};
template <>
struct record_traits<weight_packing> {
    using s = weight_packing;
    static constexpr void each_field(auto&& field) {
        field("transposed", &s::transposed);
        field("alpha", &s::alpha);
        field("scale", &s::scale);
    }
};
template <>
struct record_traits<view_shape> {
    using s = view_shape;
    static constexpr void each_field(auto&& field) {
        field("reshape", &s::reshape);
        field("from", &s::from);
        field("start", &s::start);
        field("step", &s::step);
        field("in_blocks", &s::in_blocks);
    }
};
template <>
struct record_traits<concat_shape> {
    using s = concat_shape;
    static constexpr void each_field(auto&& field) { field("axis", &s::axis); }
};
template <>
struct record_traits<pad_shape> {
    using s = pad_shape;
    static constexpr void each_field(auto&& field) {
        field("before", &s::before);
        field("after", &s::after);
        field("kind", &s::kind);
        field("fill", &s::fill);
    }
};
template <>
struct record_traits<runtime::strided_move> {
    using s = runtime::strided_move;
    static constexpr void each_field(auto&& field) {
        field("from", &s::from);
        field("from_at", &s::from_at);
        field("from_step", &s::from_step);
        field("to", &s::to);
        field("to_at", &s::to_at);
        field("to_step", &s::to_step);
        field("size", &s::size);
    }
};
template <>
struct record_traits<runtime::copy_call> {
    using s = runtime::copy_call;
    static constexpr void each_field(auto&& field) {
        field("times", &s::times);
        field("moves", &s::moves);
    }
};

} // namespace kernels

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
    static std::string number(kernel_value_id v) { return fmt::format("%{}", v); }
    void name(std::string_view text) {
        if (options_.names && !text.empty()) add(" ", in_quotes(text));
    }
    void print_value(std::size_t v) {
        auto const& value = g_.values[v];
        using role = runtime::memory_role;
        add("\n%", fmt::to_string(v));
        name(value.name);
        add(": ", to_string(value.type), " ");
        kernels::print_value(out_, value.role);
        if (value.role == role::input || value.role == role::output) add(fmt::format(" {}", value.position));
        if (value.role == role::constant) print_elements(value);
        if (value.block != 0) add(fmt::format(" block={}", value.block));
        if (value.bytes != 0) add(fmt::format(" bytes={}", value.bytes));
        if (value.part_of >= 0) add(" part_of=", number(value.part_of));
        if (value.offset != 0) add(fmt::format(" offset={}", value.offset));
    }
    void print_elements(kernel_value const& value) {
        auto const known = value.data.element() != dtype::undefined;
        if (known && static_cast<std::size_t>(value.data.elements()) <= options_.max_constant_elements) {
            add(" 0x");
            for (auto const b : value.data.raw()) out_ += fmt::format("{:02x}", std::to_integer<unsigned>(b));
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
        line("border", op.border);
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
        if (!options_.names) add(" @", to_string(c.graph.hash()));
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

// ---- reading

// Whether a descriptor is one whose knobs may be asked for: numbers that a text gets wrong are none of a space's.
template <class = void>
struct has_knobs {
    static constexpr std::int64_t most = std::int64_t{1} << 24;

    static bool fits(std::initializer_list<std::int64_t> extents) {
        return std::all_of(extents.begin(), extents.end(), [](auto e) { return e >= 1 && e <= most; }) &&
               checked_product(std::span{extents.begin(), extents.size()}).value_or(most << 26) < most << 26;
    }
    static bool of(kernels::conv2d_shape const& s) {
        auto const small = [](auto const& list) {
            return std::all_of(list.begin(), list.end(), [](auto e) { return e >= -most && e <= most; });
        };
        return small(s.in) && small(s.pads) &&
               fits({s.batch, s.in_channels, s.out_channels, s.kernel[0], s.kernel[1]}) &&
               fits({s.stride[0], s.stride[1], s.dilation[0], s.dilation[1], s.groups}) &&
               fits({s.batch, s.out_channels, s.in[0], s.in[1]}) &&
               fits({s.batch, s.out_channels, s.out(0), s.out(1)}) && s.in_channels % s.groups == 0 &&
               s.out_channels % s.groups == 0 && s.arrays >= 0;
    }
    static bool of(kernels::winograd_shape const& s) { return (s.m == 2 || s.m == 4) && of(s.conv); }
    static bool of(kernels::separable_shape const& s) { return of(s.depthwise) && of(s.pointwise); }
    static bool of(kernels::matmul_shape const& s) { return fits({s.m, s.n, s.k}) && batches(s.batch); }
    static bool of(kernels::attention_shape const& s) {
        return fits({s.m, s.k, s.s, s.n}) && batches(s.batch) && s.m * product(as_span(s.batch)) <= most;
    }
    static bool batches(std::vector<std::int64_t> const& sizes) {
        return std::all_of(sizes.begin(), sizes.end(), [](auto e) { return e >= 1; }) &&
               checked_product(as_span(sizes)).value_or(most + 1) <= most;
    }
    template <class Other>
    static bool of(Other const&) {
        return true;
    }
};

template <class = void>
class kernel_graph_reader {
public:
    kernel_graph_reader(std::string_view text, kernel_reading const& how) : text_(text), how_(how) {}

    kernel_graph run() {
        if (text_.size() > how_.max_bytes) {
            line_ = 1;
            note({error_code::invalid_input,
                  fmt::format("a text of {} bytes; the limit is {}", text_.size(), how_.max_bytes)});
            throw error{std::move(found_)};
        }
        for (std::size_t at = 0; at < text_.size() && found_.size() < 20;) {
            auto const end = std::min(text_.find('\n', at), text_.size());
            ++line_;
            attempt([&] { read_line(text_.substr(at, end - at)); });
            at = end + 1;
        }
        attempt([&] { end_graph(); });
        attempt([&] { end_op(); });
        if (!begun_ && found_.empty()) found_.push_back(told("expected \"kernel graph\", found the end"));
        if (!found_.empty()) throw error{std::move(found_)};
        return std::move(g_);
    }

private:
    using reader = kernels::record_reader;
    static constexpr std::int64_t most_bytes = std::int64_t{1} << 60;

    problem told(std::string_view reason) const {
        return {error_code::invalid_input, {}, {}, fmt::format("line {}: {}", line_, reason), {}};
    }
    void note(error const& e) { found_.push_back(told(e.problems().front().reason)); }
    template <class F>
    void attempt(F&& read) {
        try {
            read();
        } catch (error const& e) { note(e); }
    }

    void read_line(std::string_view line) {
        reader in{line};
        if (in.at_end()) return;
        if (!begun_) return read_stage(in);
        if (in.accept('|')) return add_graph_line(line.substr(in.offset()));
        attempt([&] { end_graph(); });
        auto ahead = in;
        if (ahead.accept('%')) {
            static_cast<void>(id(ahead = in));
            if (ahead.accept(',') || ahead.accept('=')) return read_op(in);
            return read_value(in);
        }
        if (ahead.accept('=')) return read_op(in);
        static constexpr std::string_view words[] = {"input", "result", "covers",  "border",
                                                     "moves", "frame",  "schedule"};
        auto const at = in.offset();
        auto const word = in.word("line", words);
        if (word == 0) return read_input(in);
        if (word == 1) return read_result(in);
        if (g_.ops.empty()) in.fail(at, "there is no kernel above");
        if (std::exchange(given_[word - 2], true)) in.fail(at, "the kernel has such a line already");
        auto& op = g_.ops.back();
        if (word == 2) {
            do {
                auto name = in.quoted();
                op.covers.push_back({std::move(name), in.quoted()});
            } while (in.accept(','));
        } else if (word == 3) {
            op.border = in.quoted();
        } else if (word == 4) {
            op.moves = in.quoted();
        } else if (word == 5) {
            kernels::read_value(in, op.frame);
        } else {
            return read_schedule(in, line, op);
        }
        end(in);
    }
    static void end(reader& in) {
        if (!in.at_end()) in.fail_expected(in.offset(), "the end of the line");
    }
    static void literal(reader& in, std::string_view word) {
        std::string_view const words[] = {word};
        static_cast<void>(in.word("word", words));
    }
    static kernel_value_id id(reader& in) {
        in.expect('%');
        return static_cast<kernel_value_id>(in.natural(std::numeric_limits<kernel_value_id>::max()));
    }
    static bool next_is(reader in, char c) { return in.accept(c); }
    static std::string name(reader& in) { return next_is(in, '"') ? in.quoted() : std::string{}; }
    static hash128 hash(reader& in) {
        in.skip_space();
        auto const at = in.offset();
        auto const digits = in.token();
        hash128 h;
        auto ok = digits.size() == 32;
        for (std::size_t i = 0; ok && i < 32; ++i) {
            auto const d = digit(digits[i]);
            ok = d >= 0;
            auto& half = i < 16 ? h.high : h.low;
            half = half << 4 | static_cast<std::uint64_t>(d & 15);
        }
        if (!ok) in.fail_expected(at, "32 hexadecimal digits");
        return h;
    }
    static int digit(char c) noexcept {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    }
    static tensor_type type(reader& in) {
        in.skip_space();
        auto const at = in.offset();
        tensor_type t;
        t.ranked = true;
        kernels::read_value(in, t.element);
        if (t.element == dtype::undefined || t.element == dtype::field61) in.fail(at, "no element type of a tensor");
        in.expect('[');
        for (bool first = true; !in.accept(']'); first = false) {
            if (!first) in.expect(',');
            if (t.dims.size() == 64) in.fail(at, "a type has at most 64 dimensions");
            t.dims.push_back(dim{in.integer(0, std::numeric_limits<std::int64_t>::max())});
        }
        auto const elements = t.elements();
        if (!elements || *elements > most_bytes / static_cast<std::int64_t>(byte_size(t.element)))
            in.fail(at, "the type has too many elements");
        if (in.accept(':')) t.arrangement = layout{in.token()};
        return t;
    }

    void read_stage(reader& in) {
        begun_ = true; // even where it is not: what is missing is told once
        literal(in, "kernel");
        literal(in, "graph");
        kernels::read_value(in, g_.stage);
        end(in);
    }
    void read_input(reader& in) {
        g_.inputs.push_back(type(in));
        g_.input_names.push_back(name(in));
        end(in);
    }
    void read_result(reader& in) {
        if (!in.at_end() && !next_is(in, '"') && !next_is(in, '%')) g_.results.push_back(type(in));
        g_.output_names.push_back(name(in));
        if (next_is(in, '%')) g_.outputs.push_back(id(in));
        end(in);
    }

    void read_value(reader& in) {
        if (g_.values.size() == how_.max_values)
            in.fail(0, fmt::format("there are more than {} values", how_.max_values));
        g_.values.emplace_back(); // before anything fails, so that those behind it keep their numbers
        auto const at = in.offset();
        auto const number = static_cast<std::size_t>(id(in));
        if (number + 1 != g_.values.size()) in.fail(at, fmt::format("expected value %{}", g_.values.size() - 1));
        auto& v = g_.values.back();
        v.name = name(in);
        in.expect(':');
        v.type = type(in);
        if (!in.skip_space()) in.fail_expected(in.offset(), "a space");
        kernels::read_value(in, v.role);
        using role = runtime::memory_role;
        if (v.role == role::input || v.role == role::output) v.position = in.natural(how_.max_values);
        if (v.role == role::constant) read_elements(in, v);
        std::array<bool, 4> given{};
        while (!in.at_end()) {
            static constexpr std::string_view words[] = {"block", "bytes", "part_of", "offset"};
            auto const begin = in.offset();
            auto const word = in.word("field", words);
            if (std::exchange(given[word], true)) in.fail(begin, "the field stands there twice");
            in.expect('=');
            if (word == 0)
                v.block = in.integer(0, 1 << 16);
            else if (word == 1)
                v.bytes = in.natural(most_bytes);
            else if (word == 2)
                v.part_of = id(in);
            else
                v.offset = in.natural(most_bytes);
        }
    }
    static void read_elements(reader& in, kernel_value& v) {
        if (in.accept('@')) {
            v.left_out = hash(in);
            return;
        }
        if (!next_is(in, '0')) return;
        auto const at = in.offset() + 1;
        auto const digits = in.token();
        auto const bytes = static_cast<std::size_t>(*v.type.elements()) * byte_size(v.type.element);
        auto const ok = digits.starts_with("0x") && digits.size() == 2 + 2 * bytes &&
                        std::all_of(digits.begin() + 2, digits.end(), [](char c) { return digit(c) >= 0; });
        if (!ok) in.fail(at, fmt::format("expected 0x and the {} digits of the constant", 2 * bytes));
        v.data = tensor::uninitialized(v.type.element, v.type.sizes());
        auto const to = v.data.mutable_raw();
        for (std::size_t i = 0; i < bytes; ++i)
            to[i] = static_cast<std::byte>(digit(digits[2 + 2 * i]) << 4 | digit(digits[3 + 2 * i]));
    }

    void end_op() {
        if (std::exchange(awaits_graph_, false))
            throw error{error_code::invalid_input, "the graph of the reference call above is missing"};
    }
    void read_op(reader& in) {
        attempt([&] { end_op(); });
        if (g_.ops.size() == how_.max_values)
            in.fail(0, fmt::format("there are more than {} kernels", how_.max_values));
        g_.ops.emplace_back(); // before anything fails: the lines below are of it
        given_ = {};
        auto& op = g_.ops.back();
        while (!in.accept('=')) {
            if (!op.results.empty()) in.expect(',');
            op.results.push_back(id(in));
        }
        read_computation(in, op);
        if (in.at_end()) return;
        do {
            kernel_operand o{id(in), {}, {}};
            if (next_is(in, '[')) kernels::read_value(in, o.access);
            if (!in.at_end() && !next_is(in, ',')) {
                literal(in, "packed");
                kernels::read_value(in, o.packing);
            }
            op.operands.push_back(std::move(o));
        } while (in.accept(','));
        end(in);
    }
    void read_computation(reader& in, kernel_op& op) {
        auto ahead = in;
        auto const word = ahead.token();
        auto const begins = [&](std::string_view w) { return word == w && (in = ahead, true); };
        auto const record = [&](auto made) {
            kernels::read_value(in, made);
            op.computes = std::move(made);
        };
        if (begins("view")) return record(view_shape{});
        if (begins("concat")) return record(concat_shape{});
        if (begins("pad")) return record(pad_shape{});
        if (begins("copy")) return record(runtime::copy_call{});
        if (begins("extern")) {
            op.computes = runtime::external_call{in.quoted(), nullptr};
        } else if (begins("custom")) {
            custom_kernel c{.name = in.quoted()};
            if (!in.at_end() && !next_is(in, '%')) {
                literal(in, "operations");
                in.expect('=');
                c.operations = in.real();
            }
            op.computes = std::move(c);
        } else if (begins("reference")) {
            if (next_is(in, '@')) in.fail(in.offset(), "a reference call without its graph does not read back");
            awaits_graph_ = true;
        } else {
            op.computes = kernels::read_descriptor(in);
        }
    }
    void read_schedule(reader& in, std::string_view line, kernel_op& op) {
        auto const from = in.offset();
        auto const knobs = line.substr(from);
        if (auto const* const d = std::get_if<kernels::descriptor>(&op.computes)) {
            if (!std::visit([](auto const& s) { return has_knobs<>::of(s); }, *d))
                in.fail(from, "there is no kernel of the description above");
            auto& space = spaces_[kernels::hash_of(*d)];
            if (!space) space = std::make_shared<loop::config_space const>(kernels::space_of(*d, *how_.set));
            op.space = space;
        } else if (std::holds_alternative<custom_kernel>(op.computes)) {
            if (!in.at_end()) in.fail(from, "the space of a kernel of the application is a function, and has no text");
            op.space = std::make_shared<loop::config_space const>();
        } else {
            in.fail(from, "what is no kernel has no schedule");
        }
        auto point = op.space->parse(knobs);
        if (!op.space->allows(point)) in.fail(from, "the space does not allow the point");
        op.schedule = std::move(point);
    }

    void add_graph_line(std::string_view line) {
        if (!awaits_graph_) throw error{error_code::invalid_input, "there is no reference call above"};
        if (graph_.empty()) graph_line_ = line_;
        if (line.starts_with(' ')) line.remove_prefix(1);
        (graph_ += line) += '\n';
    }
    // The graph of a reference call ends with the first line that is none of it.
    void end_graph() {
        if (graph_.empty()) return; // other lines of the kernel may stand before it
        auto const text = std::exchange(graph_, {});
        awaits_graph_ = false;
        auto graph = parse_graph(text, how_.operators ? *how_.operators : dialect::of<standard_ops>());
        if (!graph)
            throw error{error_code::invalid_input, fmt::format("the graph from line {} on: {}", graph_line_,
                                                               graph.error().problems().front().reason)};
        g_.ops.back().computes = runtime::reference_call{
            std::move(*graph), how_.operators ? how_.meaning : table_of<eval_row, standard_ops>()};
    }

    std::string_view text_;
    kernel_reading const& how_;
    kernel_graph g_;
    std::size_t line_ = 0, graph_line_ = 0;
    bool begun_ = false, awaits_graph_ = false; // of the last kernel, which has none as yet
    std::string graph_;                         // its text so far
    std::array<bool, 5> given_{};               // lines of the last kernel
    std::map<hash128, std::shared_ptr<loop::config_space const>> spaces_;
    std::vector<problem> found_;
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
    static void of(kernels::row_program& p) { strip(p.arrays); }
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
    for (auto const& [line, count] : counts) out += fmt::format("{} x {}\n", count, line);
    return out;
}

} // namespace gsub
