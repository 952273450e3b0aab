// Parser of kernel graphs.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/ir/text.hpp>
#include <gsub/kernels/descriptor_fields.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/lower/impl/kernel_graph_fields.ipp>
#include <gsub/lower/impl/kernel_graph_tokens.ipp>
#include <gsub/lower/kernel_graph_text.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace gsub::detail {

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
            note({errors::kernel_graph_text,
                  format_text("a text of {} bytes; the limit is {}", text_.size(), how_.max_bytes)});
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

    problem told(std::string_view reason) const {
        return {errors::kernel_graph_text, {}, {}, format_text("line {}: {}", line_, reason), {}};
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
            static_cast<void>(read_value_id(ahead = in));
            if (ahead.accept(',') || ahead.accept('=')) return read_op(in);
            return read_value(in);
        }
        if (ahead.accept('=')) return read_op(in);
        static constexpr std::string_view words[] = {"input", "result", "covers",  "boundary",
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
            op.boundary = in.quoted();
        } else if (word == 4) {
            op.moves = in.quoted();
        } else if (word == 5) {
            kernels::read_value(in, op.frame);
        } else {
            return read_schedule(in, line, op);
        }
        expect_line_end(in);
    }
    void read_stage(reader& in) {
        begun_ = true; // even where it is not: what is missing is told once
        expect_word(in, "kernel");
        expect_word(in, "graph");
        kernels::read_value(in, g_.stage);
        expect_line_end(in);
    }
    void read_input(reader& in) {
        g_.inputs.push_back(read_type(in, false)); // the caller knows its sizes
        g_.input_names.push_back(read_name(in));
        expect_line_end(in);
    }
    void read_result(reader& in) {
        if (!in.at_end() && !next_is(in, '"') && !next_is(in, '%')) g_.results.push_back(read_type(in));
        g_.output_names.push_back(read_name(in));
        if (next_is(in, '%')) g_.outputs.push_back(read_value_id(in));
        expect_line_end(in);
    }

    void read_value(reader& in) {
        if (g_.values.size() == how_.max_values)
            in.fail(0, format_text("there are more than {} values", how_.max_values));
        g_.values.emplace_back(); // before anything fails, so that those behind it keep their numbers
        auto const at = in.offset();
        auto const number = static_cast<std::size_t>(read_value_id(in));
        if (number + 1 != g_.values.size()) in.fail(at, format_text("expected value %{}", g_.values.size() - 1));
        auto& v = g_.values.back();
        v.name = read_name(in);
        in.expect(':');
        v.type = read_type(in);
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
                v.bytes = in.natural(most_value_bytes);
            else if (word == 2)
                v.part_of = read_value_id(in);
            else
                v.offset = in.natural(most_value_bytes);
        }
    }
    void end_op() {
        if (std::exchange(awaits_graph_, false))
            throw error{errors::kernel_graph_text, "the graph of the reference call above is missing"};
    }
    void read_op(reader& in) {
        attempt([&] { end_op(); });
        if (g_.ops.size() == how_.max_values)
            in.fail(0, format_text("there are more than {} kernels", how_.max_values));
        g_.ops.emplace_back(); // before anything fails: the lines below are of it
        given_ = {};
        auto& op = g_.ops.back();
        while (!in.accept('=')) {
            if (!op.results.empty()) in.expect(',');
            op.results.push_back(read_value_id(in));
        }
        read_computation(in, op);
        if (in.at_end()) return;
        do {
            kernel_operand o{read_value_id(in), {}, {}};
            if (next_is(in, '[')) kernels::read_value(in, o.access);
            if (!in.at_end() && !next_is(in, ',')) {
                expect_word(in, "packed");
                kernels::read_value(in, o.packing);
            }
            op.operands.push_back(std::move(o));
        } while (in.accept(','));
        expect_line_end(in);
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
                expect_word(in, "operations");
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
            if (!space) space = std::make_shared<loop::config_space const>(kernels::space_of(*d, *how_.isa));
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
        if (!awaits_graph_) throw error{errors::kernel_graph_text, "there is no reference call above"};
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
            throw error{errors::kernel_graph_text, format_text("the graph from line {} on: {}", graph_line_,
                                                               graph.error().problems().front().reason)};
        g_.ops.back().computes = runtime::reference_call{
            std::move(*graph), how_.operators ? how_.evaluators : table_of<eval_row, standard_ops>()};
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

} // namespace gsub::detail
