#pragma once

#include <gsub/codegen/cpp/typed_functions.hpp>
#include <gsub/codegen/impl/statement_writer.ipp>
#include <gsub/codegen/simt/impl/lane_barriers.hpp>
#include <gsub/codegen/simt/impl/lane_functions.hpp>
#include <gsub/codegen/simt/impl/uniform_registers.hpp>
#include <gsub/codegen/simt/impl/wide_broadcasts.hpp>
#include <gsub/codegen/simt/thread_group.hpp>
#include <gsub/core/format.hpp>
#include <gsub/loop/scalar_op.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::codegen::detail {

// Writes the text of a kernel whose lanes are threads. `Language` has what CUDA C++ and OpenCL C do not share:
//     function, global, shared    qualifiers of functions, and of pointers to memory of the device and of a group
//     table                       qualifiers of constants of a file
//     barrier(lanes)              statement by which the lanes of a position wait for each other
//     exchange_parameter(lanes)   of functions in which so many lanes combine, behind `lane`; may be empty
//     exchange_argument(lanes)    what is given for it
//     prelude()                   what `lane_functions` rely on
//     combination(type, name, combined, lanes)   function that combines a value of all lanes
//     entry(writer, symbol)       the head of the kernel, which declares lane, first, last, step and buffers
template <class Language>
class lane_writer : statement_writer<lane_writer<Language>> {
    using base = statement_writer<lane_writer<Language>>;
    friend base;
    using base::integer_, base::write, base::write_scope;

public:
    using base::k_, base::text_;

    lane_writer(kernel const& k, thread_group group)
        : base(k, integer_of(k)),
          group_(group),
          functions_(Language::function),
          barriers_(k),
          uniform_(k),
          types_(static_cast<std::size_t>(k.registers), dtype::f32) {}

    std::string run(std::string const& symbol) {
        symbol_ = symbol;
        if (!k_.fallback.empty()) write_fallback();
        Language::entry(*this, symbol);
        text_.indent();
        if (k_.parallel < 0) text_.line("if (first != 0) return;");
        write(k_.body);
        text_.dedent();
        text_.line("}");
        return std::string{Language::prelude()} + functions_.text() + tables_ + text_.take();
    }

    // ---- for the head of a kernel

    [[nodiscard]] thread_group group() const noexcept { return group_; }
    [[nodiscard]] c_integer const& integer() const noexcept { return integer_; }
    [[nodiscard]] std::string type_of(std::size_t buffer) const {
        auto const& b = k_.buffers[buffer];
        auto const shared = b.workspace && group_.shared_workspace;
        return format_text("{}{}{}*", shared ? Language::shared : Language::global,
                           b.written || b.workspace ? "" : "const ", c_type(b.element));
    }
    /// Declares the workspace buffers, which lie behind `own`.
    void declare_workspace() {
        for (std::size_t i = 0; i < k_.buffers.size(); ++i)
            if (k_.buffers[i].workspace)
                text_.line(format_text("{0} const b{1} = ({0})(own + {2});", type_of(i), i, workspace_offset(k_, i)));
    }
    /// Whether lanes combine values in some block.
    [[nodiscard]] bool combines() const { return combines(k_.body) || combines(k_.fallback); }

private:
    struct pointer {
        std::int32_t buffer;
        affine offset;
        int id;
    };

    // Variables are 32 bits wide where all buffers are small: so are the registers of a thread.
    static c_integer const& integer_of(kernel const& k) {
        constexpr std::int64_t small = std::int64_t{1} << 28;
        auto const all_small = k.parallel_extent < small && std::all_of(k.buffers.begin(), k.buffers.end(),
                                                                        [](auto& b) { return b.elements() < small; });
        return all_small ? c_int : c_long;
    }
    static bool combines(std::vector<statement> const& statements) {
        return std::any_of(statements.begin(), statements.end(), [](statement const& n) {
            return std::any_of(n.code.begin(), n.code.end(), [](auto& i) { return i.op == opcode::reduce; }) ||
                   combines(n.body) || combines(n.otherwise);
        });
    }

    void write_fallback() {
        std::string parameters;
        for (std::size_t i = 0; i < k_.buffers.size(); ++i) parameters += format_text("{} b{}, ", type_of(i), i);
        for (auto v : k_.fallback_parameters) parameters += format_text("{} {}, ", integer_.type, name_of_variable(v));
        text_.line(format_text("{}void {}_fallback({}int lane{}) {{", Language::function, symbol_, parameters,
                               Language::exchange_parameter(k_.lanes)));
        write_scope(k_.fallback);
        text_.line("}");
    }

    own_range range() const noexcept { return {"first", "last", "step"}; }

    void wait() { text_.line(Language::barrier(k_.lanes)); }

    void write_guard(statement const& n) {
        std::string arguments;
        for (std::size_t i = 0; i < k_.buffers.size(); ++i) arguments += format_text("b{}, ", i);
        for (auto const& a : n.arguments) arguments += text_of(a, integer_) + ", ";
        auto const guarded = name_of_register(n.guarded);
        text_.line(format_text("if (!({} - {} == 0.0f)) {{", guarded, guarded));
        text_.indent();
        if (barriers_.around_fallback()) wait();
        text_.line(format_text("{}_fallback({}lane{});", symbol_, arguments, Language::exchange_argument(k_.lanes)));
        if (barriers_.around_fallback()) wait();
        text_.dedent();
        text_.line("}");
    }

    void write_choice(statement const& n) {
        pointers_.clear();
        auto const& i = n.code[0];
        text_.line(format_text("const {} {} = ({}){};", integer_.type, name_of_variable(n.var), integer_.type,
                               functions_.entry(format_text("{}[{}]", pointer_of(i), constant_of(i)), n.extent,
                                                format_text("b{}", n.status), Language::global)));
    }

    // ---- blocks

    void write_block(statement const& n) {
        pointers_.clear();
        auto const parts = wide_broadcasts(k_, as_span(n.code));
        wide_.assign(n.code.size(), -1);
        for (std::size_t at = 0; at < n.code.size(); ++at) {
            auto const& i = n.code[at];
            if (barriers_.before(i)) wait();
            if (parts[at].width > 1)
                write_part(i, parts[at]);
            else
                write(i);
            if (i.result >= 0)
                types_[static_cast<std::size_t>(i.result)] = i.op == opcode::choose ? dtype::i64 : i.type;
        }
    }
    // One of several numbers that one load reads, which stands in front of the first of them.
    void write_part(instruction const& i, wide_part const& of) {
        auto& load = wide_[static_cast<std::size_t>(of.first)];
        if (load < 0) {
            load = next_wide_++;
            auto const from = pointer_of(i);
            text_.line(format_text("const float{0} q{1} = *({2}const float{0}*)({3} + {4}{5});", of.width, load,
                                   Language::global, from, i.offset.constant() - of.part, integer_.suffix));
        }
        define(i, format_text("q{}.{}", load, "xyzw"[of.part]));
    }
    void before_loop(statement const& n) {
        if (barriers_.before(n)) wait();
    }

    void write(instruction const& i) {
        switch (i.op) {
        case opcode::splat:
            return define(i, lane_literal(i.value, i.integer, i.type));
        case opcode::load:
            return define(i, guarded(i, in_lanes(i, pointer_of(i), lane_place(i))));
        case opcode::broadcast:
            return define(i, guarded(i, format_text("{}[{}]", pointer_of(i), scalar_place(i))));
        case opcode::gather: {
            auto const place = format_text("{} + {} * {}L + {}", constant_of(i), operand(i, 0), i.entry, strided(i));
            return define(i, guarded(i, in_lanes(i, pointer_of(i), place)));
        }
        case opcode::store:
            return write_store(i);
        case opcode::choose:
            return write_choose(i);
        case opcode::copy:
            return text_.line(format_text("{} {} = {};", c_type(i.type), name_of_register(i.result), operand(i, 0)));
        case opcode::compute:
            return define(i, computed(i));
        case opcode::multiply_add: {
            std::string const factors[] = {operand(i, 0), operand(i, 1)};
            auto const product = functions_.call(loop::scalar_op::multiply, i.type, factors);
            return step(i, product, loop::scalar_op::add);
        }
        case opcode::accumulate:
            return step(i, operand(i, 0), i.function);
        case opcode::reduce:
            return define(
                i, format_text("{}({}, lane{})", combination(i), operand(i, 0), Language::exchange_argument(k_.lanes)));
        }
    }

    void define(instruction const& i, std::string const& value) {
        text_.line(format_text("const {} {} = {};", c_type(i.type), name_of_register(i.result), value));
    }
    // One step of an accumulator; lanes beyond those of the step stay.
    void step(instruction const& i, std::string const& value, loop::scalar_op op) {
        auto const r = name_of_register(i.result);
        auto const where = i.lanes == k_.lanes ? std::string{} : format_text("if (lane < {}) ", i.lanes);
        text_.line(format_text("{}{} = {};", where, r, functions_.combine(op, i.type, r, value)));
    }
    std::string computed(instruction const& i) {
        auto const type = [&](int o) { return types_[static_cast<std::size_t>(i.operands[o])]; };
        if (i.function == loop::scalar_op::cast) return functions_.cast(type(0), i.type, operand(i, 0));
        std::string operands[3];
        auto const count = static_cast<std::size_t>(info(i.function).operands);
        for (std::size_t o = 0; o < count; ++o) operands[o] = operand(i, static_cast<int>(o));
        return functions_.call(i.function, type(i.function == loop::scalar_op::select ? 1 : 0), {operands, count});
    }
    // The function that combines a value of all lanes.
    std::string combination(instruction const& i) {
        auto const sums = i.function == loop::scalar_op::add;
        auto name = format_text("{}_of_{}", sums ? "sum" : "maximum", c_element_of(i.type).name);
        auto const combined = functions_.combine(i.function, i.type, "x", "y");
        functions_.define(name, Language::combination(c_type(i.type), name, combined, k_.lanes));
        return name;
    }

    // ---- memory

    void write_store(instruction const& i) {
        // All lanes store a scalar, to one place.
        auto const scalar = i.lanes == 1 && uniform_[i.operands[0]];
        auto where = i.lanes == k_.lanes || scalar ? std::string{} : format_text("lane < {}", i.lanes);
        if (!i.predicate.empty())
            where += format_text("{}{}", where.empty() ? "" : " && ", text_of(i.predicate, integer_));
        auto const place = format_text("{}[{}{}]", pointer_of(i), constant_of(i), scalar ? "" : " + lane");
        text_.line(
            format_text("{}{} = {};", where.empty() ? where : format_text("if ({}) ", where), place, operand(i, 0)));
    }
    void write_choose(instruction const& i) {
        auto const chosen = functions_.entry(operand(i, 0), i.integer, format_text("b{}", i.buffer), Language::global);
        text_.line(format_text("const long {} = {};", name_of_register(i.result),
                               i.lanes == k_.lanes ? chosen : format_text("lane < {} ? {} : 0L", i.lanes, chosen)));
    }

    // A value that is read where a condition holds, else a number.
    std::string guarded(instruction const& i, std::string const& value) {
        if (i.predicate.empty()) return value;
        return format_text("{} ? {} : {}", text_of(i.predicate, integer_), value,
                           lane_literal(i.value, i.integer, i.type));
    }
    std::string in_lanes(instruction const& i, std::string const& from, std::string const& place) const {
        return i.lanes == k_.lanes ? format_text("{}[{}]", from, place)
                                   : format_text("(lane < {} ? {}[{}] : ({})0)", i.lanes, from, place, c_type(i.type));
    }
    std::string strided(instruction const& i) const {
        return i.stride == 1 ? std::string{"lane"} : format_text("lane * {}{}", i.stride, integer_.suffix);
    }
    // Place of the element of a lane behind the pointer of its block.
    std::string lane_place(instruction const& i) {
        auto const entry = i.operands[0] >= 0 ? format_text(" + {} * {}L", operand(i, 0), i.entry) : std::string{};
        return format_text("{} + {}{}", constant_of(i), i.order.empty() ? strided(i) : ordered(i.order), entry);
    }
    std::string scalar_place(instruction const& i) const {
        return i.operands[0] < 0 ? constant_of(i)
                                 : format_text("{} + {} * {}L", constant_of(i), operand(i, 0), i.entry);
    }
    std::string constant_of(instruction const& i) const {
        return format_text("{}{}", i.offset.constant(), integer_.suffix);
    }
    // What a lane adds where lanes read in any order: two strides, or a table.
    std::string ordered(std::vector<std::int64_t> const& order) {
        auto const lanes = static_cast<std::int64_t>(order.size());
        auto const at = [&](std::int64_t l) { return order[static_cast<std::size_t>(l)]; };
        for (std::int64_t row = 1; row < lanes; row *= 2) {
            auto const outer = at(row) - at(0), inner = row > 1 ? at(1) - at(0) : 0;
            auto fits = true;
            for (std::int64_t l = 0; l < lanes && fits; ++l) fits = at(l) == at(0) + l / row * outer + l % row * inner;
            if (fits)
                return format_text("{3}{2} + lane / {4} * {0}{2} + lane % {4} * {1}{2}", outer, inner, integer_.suffix,
                                   at(0), row);
        }
        auto const name = format_text("{}_order{}", symbol_, next_table_++);
        std::string numbers;
        for (auto o : order) numbers += format_text("{}{}", numbers.empty() ? "" : ", ", o);
        tables_ += format_text("{}{} {}[{}] = {{{}}};\n", Language::table, integer_.type, name, lanes, numbers);
        return format_text("{}[lane]", name);
    }
    // The part of a place that varies, as a pointer that a block declares once.
    std::string pointer_of(instruction const& i) {
        auto const varying = i.offset - affine{i.offset.constant()};
        if (varying.is_constant()) return format_text("b{}", i.buffer);
        for (auto const& p : pointers_)
            if (p.buffer == i.buffer && p.offset == varying) return format_text("p{}", p.id);
        text_.line(format_text("{} const p{} = b{} + ({});", type_of(static_cast<std::size_t>(i.buffer)), next_pointer_,
                               i.buffer, text_of(varying, integer_)));
        pointers_.push_back({i.buffer, varying, next_pointer_});
        return format_text("p{}", next_pointer_++);
    }

    thread_group group_;
    lane_functions functions_;
    lane_barriers<> barriers_;
    uniform_registers<> uniform_;
    std::vector<dtype> types_;      // of registers
    std::vector<pointer> pointers_; // of the block
    std::string symbol_, tables_;
    std::vector<int> wide_; // of the block, by the instruction that stands first: the number of a wide load
    int next_pointer_ = 0, next_table_ = 0, next_wide_ = 0;
};

} // namespace gsub::codegen::detail
