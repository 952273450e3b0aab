// machine_lowering: kernel IR to machine instructions on values without registers.
#pragma once

#include <gsub/codegen/x86/impl/address_values.hpp>
#include <gsub/codegen/x86/impl/machine_ir.hpp>
#include <gsub/core/result.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gsub::codegen::detail {

[[noreturn]] void not_in_machine_code(std::string_view what);

/// Lowers the statements of a kernel, its fallback behind them.
template <class = void>
class machine_lowering {
public:
    /// `masks`: whether there are mask registers, and arithmetic that takes one element of memory for all lanes.
    machine_lowering(kernel const& k, bool masks) : k_(k), masks_(masks), at_(k, made_) {}

    machine_function run() {
        auto const table = at_.new_integer(true);
        at_.add({.op = machine_op::argument, .result = table, .immediate = 0});
        for (auto* const to : {&first_, &last_}) {
            *to = at_.new_integer();
            at_.add({.op = machine_op::argument, .result = *to, .immediate = to == &first_ ? 1 : 2});
        }
        fallback_ = made_.labels++;
        for (std::size_t i = 0; i < k_.fallback_parameters.size(); ++i) parameters_.push_back(at_.new_integer(true));
        body(k_.body, table);
        at_.add({.op = machine_op::leave});
        if (!k_.fallback.empty()) {
            at_.add({.op = machine_op::enter_fallback, .label = fallback_});
            body(k_.fallback, table);
            at_.add({.op = machine_op::leave_fallback});
            // Parameters live from the calls to the end of the fallback, which stands behind all.
        }
        return std::move(made_);
    }

private:
    using code_list = std::vector<instruction>;

    void body(std::vector<statement> const& statements, std::int32_t table) {
        std::vector<std::int32_t> bases;
        std::int64_t given = 0;
        std::int64_t const workspace =
            std::count_if(k_.buffers.begin(), k_.buffers.end(), [](auto const& b) { return !b.workspace; });
        for (std::size_t i = 0; i < k_.buffers.size(); ++i) {
            auto const scratch = k_.buffers[i].workspace;
            bases.push_back(at_.new_integer());
            at_.add({.op = machine_op::load_pointer,
                     .result = bases.back(),
                     .operands = {table, -1, -1},
                     .immediate = scratch ? workspace : given++});
            if (scratch) at_.add_to(bases.back(), static_cast<std::int64_t>(workspace_offset(k_, i)));
        }
        at_.begin(std::move(bases));
        if (&statements == &k_.fallback)
            for (std::size_t i = 0; i < parameters_.size(); ++i) {
                at_.define(k_.fallback_parameters[i], parameters_[i]);
                at_.make_pointers(k_.fallback_parameters[i], statements.data(), statements.data() + statements.size());
            }
        lower(statements);
    }

    void lower(std::vector<statement> const& statements) {
        auto const known = at_.enter();
        for (auto const& s : statements) switch (s.kind) {
            case statement_kind::block:
                block(s.code);
                break;
            case statement_kind::fused_index:
                fused_index(s, &s + 1, statements.data() + statements.size());
                break;
            case statement_kind::branch:
                branch(s);
                break;
            case statement_kind::guard:
                guard(s);
                break;
            case statement_kind::loop:
                loop(s);
                break;
            }
        at_.leave(known);
    }

    // ---- control

    std::int32_t new_label() { return made_.labels++; }
    void place_label(std::int32_t label) { at_.add({.op = machine_op::label, .label = label}); }

    void fused_index(statement const& s, statement const* next, statement const* end) {
        auto value = at_.known_value(s.of);
        auto const apply = [&](machine_op op, std::int64_t number) {
            if (op == machine_op::divide && number == 1) return;
            auto const made = at_.new_integer();
            at_.add({.op = op, .result = made, .operands = {value, -1, -1}, .immediate = number});
            value = made;
        };
        apply(machine_op::divide, s.divisor);
        apply(machine_op::remainder, s.extent);
        at_.define(s.var, value);
        at_.make_pointers(s.var, next, end);
    }

    // Goes to `label` where a bound does not hold.
    void unless(std::vector<loop::bound> const& bounds, std::int32_t label) {
        for (auto const& b : bounds) {
            auto const value = at_.value_of(b.value);
            at_.add({.op = machine_op::jump_if_outside,
                     .operands = {value, -1, -1},
                     .label = label,
                     .immediate = b.extent});
        }
    }
    void branch(statement const& s) {
        auto const otherwise = new_label(), end = new_label();
        unless(s.conditions, otherwise);
        lower(s.body);
        if (!s.otherwise.empty()) at_.add({.op = machine_op::jump, .label = end});
        place_label(otherwise);
        lower(s.otherwise);
        place_label(end);
    }
    void guard(statement const& s) {
        std::vector<std::int32_t> values;
        for (auto const& a : s.arguments) values.push_back(at_.value_of(a));
        for (std::size_t i = 0; i < values.size(); ++i) at_.move(parameters_[i], values[i]);
        at_.add({.op = machine_op::call_unless_finite,
                 .operands = {vector_of(s.guarded), -1, -1},
                 .temporaries = {new_vector(), -1},
                 .label = fallback_});
    }

    // A limit as a number, or nothing.
    static std::optional<std::int64_t> number(std::vector<limit> const& limits) {
        if (limits.size() == 1 && limits[0].divisor == 1 && limits[0].value.is_constant())
            return limits[0].value.constant();
        return std::nullopt;
    }
    std::int32_t value_of(std::vector<limit> const& limits, machine_op combine) {
        std::int32_t found = -1;
        for (auto const& l : limits) {
            auto value = at_.value_of(l.value);
            if (l.divisor != 1) {
                auto const quotient = at_.new_integer();
                at_.add({.op = machine_op::ceil_divide,
                         .result = quotient,
                         .operands = {value, -1, -1},
                         .immediate = l.divisor});
                value = quotient;
            }
            if (found < 0)
                found = value;
            else
                at_.add({.op = combine, .operands = {found, value, -1}});
        }
        return found;
    }
    void loop(statement const& s) {
        auto const own = s.var == k_.parallel;
        auto const from = own ? std::optional<std::int64_t>{} : number(s.begin);
        auto const to = own ? std::optional<std::int64_t>{} : number(s.end);
        auto const known_turns = from && to;
        auto const turns = to.value_or(0) - from.value_or(0);
        if (known_turns && turns <= 0) return;
        auto const counter = at_.new_integer();
        if (from)
            at_.set(counter, *from);
        else
            at_.move(counter, own ? first_ : value_of(s.begin, machine_op::greatest));
        auto const end = to ? -1 : own ? last_ : value_of(s.end, machine_op::least);
        auto const jump = [&](machine_op op, std::int32_t label) {
            at_.add({.op = op, .operands = {counter, end, -1}, .label = label, .immediate = to.value_or(0)});
        };
        auto const top = new_label(), exit = new_label();
        if (!known_turns) jump(machine_op::jump_if_not_less, exit);
        auto const known = at_.enter();
        at_.define(s.var, counter);
        at_.make_pointers(s.var, s.body.data(), s.body.data() + s.body.size());
        auto const first = made_.code.size();
        place_label(top);
        lower(s.body);
        if (!known_turns || turns > 1) {
            at_.advance(s.var);
            at_.add_to(counter, 1);
            jump(machine_op::jump_if_less, top);
        }
        made_.loops.emplace_back(first, made_.code.size() - 1);
        place_label(exit);
        at_.leave(known);
    }

    // ---- vectors

    std::int32_t new_vector() { return made_.vectors++; }
    // The value of a register of the kernel IR. Accumulators keep theirs.
    std::int32_t vector_of(reg r) {
        auto const [at, is_new] = vectors_.try_emplace(r, -1);
        if (is_new) at->second = new_vector();
        return at->second;
    }

    static void refuse(instruction const& i) { not_in_machine_code(to_string(i)); }
    static void check_type(instruction const& i) {
        if (i.type == dtype::f32) return;
        auto const moves = i.op == opcode::load || i.op == opcode::store || i.op == opcode::splat ||
                           i.op == opcode::copy || i.op == opcode::broadcast;
        if (!moves || (i.type != dtype::u32 && i.type != dtype::i32)) refuse(i);
    }

    void block(code_list const& code) {
        find_numbers(code);
        find_products(code);
        find_memory_operands(code);
        auto const known = at_.enter();
        for (auto const& i : code) {
            check_type(i);
            if (folded_.contains(i.result) && (i.op == opcode::load || i.op == opcode::broadcast)) continue;
            if (products_.contains(i.result) && i.op == opcode::compute) continue;
            lower(i);
        }
        folded_.clear(), products_.clear();
        at_.leave(known);
    }

    void lower(instruction const& i) {
        switch (i.op) {
        case opcode::splat:
            return splat(vector_of(i.result), i);
        case opcode::load:
        case opcode::broadcast:
            return load(i);
        case opcode::store:
            return store(i);
        case opcode::copy:
            at_.add({.op = machine_op::copy,
                     .result = vector_of(i.result),
                     .operands = {vector_of(i.operands[0]), -1, -1}});
            return;
        case opcode::compute:
            return compute(i);
        case opcode::multiply_add:
            return multiply_add(i);
        case opcode::accumulate:
            at_.add({.op = machine_op::combine,
                     .function = extreme_or_sum(i),
                     .operands = {vector_of(i.result), vector_of(i.operands[0]), -1},
                     .temporaries = {mask_for(extreme_or_sum(i)), i.lanes == k_.lanes ? -1 : new_vector()},
                     .lanes = i.lanes});
            return;
        case opcode::reduce:
            at_.add({.op = machine_op::reduce,
                     .function = extreme_or_sum(i),
                     .result = vector_of(i.result),
                     .operands = {vector_of(i.operands[0]), -1, -1},
                     .temporaries = {new_vector(), mask_for(extreme_or_sum(i))}});
            return;
        case opcode::choose:
        case opcode::gather:
            refuse(i);
        }
    }

    static vector_function extreme_or_sum(instruction const& i) {
        return i.function == loop::scalar_op::add ? vector_function::add : vector_function::maximum;
    }
    // Without mask registers, comparisons and parts of vectors take a vector.
    std::int32_t mask_for(vector_function f) { return f == vector_function::maximum && !masks_ ? new_vector() : -1; }
    std::int32_t mask_for(std::int32_t lanes) { return lanes != k_.lanes && !masks_ ? new_vector() : -1; }
    static std::int64_t bits_of(instruction const& i) {
        return i.type == dtype::f32 ? std::bit_cast<std::int32_t>(static_cast<float>(i.value)) : i.integer;
    }
    void splat(std::int32_t to, instruction const& i) {
        at_.add({.op = machine_op::splat, .result = to, .immediate = bits_of(i)});
    }

    void load(instruction const& i) {
        if (i.operands[0] >= 0 || !i.order.empty()) refuse(i);
        auto const to = vector_of(i.result);
        auto const skip = i.predicate.empty() ? -1 : new_label();
        if (skip >= 0) {
            splat(to, i);
            unless(i.predicate, skip);
        }
        auto const scope = at_.enter(); // pointers made behind a condition are not known elsewhere
        auto const strided = i.op == opcode::load && i.stride != 1;
        machine_instruction made{.op = i.op == opcode::broadcast ? machine_op::broadcast
                                       : strided                 ? machine_op::gather
                                                                 : machine_op::load,
                                 .result = to,
                                 .lanes = i.lanes,
                                 .immediate = i.stride,
                                 .at = at_.place(i.buffer, i.offset),
                                 .constant_memory =
                                     skip < 0 && !k_.buffers[static_cast<std::size_t>(i.buffer)].written};
        if (strided) made.temporaries[0] = new_vector(), made.temporaries[1] = masks_ ? -1 : new_vector();
        at_.add(made);
        if (skip >= 0) {
            at_.leave(scope);
            place_label(skip);
        }
    }
    void store(instruction const& i) {
        auto const from = vector_of(i.operands[0]);
        auto const skip = i.predicate.empty() ? -1 : new_label();
        if (skip >= 0) unless(i.predicate, skip);
        auto const scope = at_.enter();
        at_.add({.op = machine_op::store,
                 .operands = {from, -1, -1},
                 .temporaries = {mask_for(i.lanes), -1},
                 .lanes = i.lanes,
                 .at = at_.place(i.buffer, i.offset)});
        if (skip >= 0) {
            at_.leave(scope);
            place_label(skip);
        }
    }

    // ---- arithmetic

    static std::optional<vector_function> function_of(loop::scalar_op op) {
        using loop::scalar_op;
        switch (op) {
        case scalar_op::add:
            return vector_function::add;
        case scalar_op::subtract:
            return vector_function::subtract;
        case scalar_op::multiply:
            return vector_function::multiply;
        case scalar_op::divide:
            return vector_function::divide;
        case scalar_op::maximum:
            return vector_function::maximum;
        case scalar_op::minimum:
            return vector_function::minimum;
        case scalar_op::square_root:
            return vector_function::square_root;
        case scalar_op::negate:
            return vector_function::negate;
        case scalar_op::absolute:
            return vector_function::absolute;
        case scalar_op::floor:
            return vector_function::floor;
        case scalar_op::round:
            return vector_function::round;
        default:
            return std::nullopt;
        }
    }
    // Which operand of a computation may be in memory; -1: none.
    int operand_in_memory(instruction const& i) {
        using loop::scalar_op;
        if (i.op != opcode::compute || !function_of(i.function)) return -1;
        if (products_.contains(i.result) ||
            (is_sum(i) && (products_.contains(i.operands[0]) || products_.contains(i.operands[1]))))
            return -1; // the allocation of registers decides
        if (i.function == scalar_op::maximum || i.function == scalar_op::minimum) return 0; // operands change places
        return info(i.function).operands == 2 ? 1 : -1;
    }
    // The instruction with its vector operands, the one at `memory` taken from memory where it is folded.
    void set_operand(machine_instruction& made, int at, reg from) {
        if (auto const found = folded_.find(from); found != folded_.end()) {
            made.at = at_.place(found->second->buffer, found->second->offset);
            made.at.broadcast = found->second->op == opcode::broadcast;
        } else {
            made.operands[at] = vector_of(from);
        }
    }
    void compute(instruction const& i) {
        auto const function = function_of(i.function);
        if (!function) refuse(i);
        if (info(i.function).operands == 1) {
            at_.add({.op = machine_op::unary,
                     .function = *function,
                     .result = vector_of(i.result),
                     .operands = {vector_of(i.operands[0]), -1, -1}});
            return;
        }
        if (auto const number = folded_number(i)) {
            at_.add({.op = machine_op::splat,
                     .result = vector_of(i.result),
                     .immediate = std::bit_cast<std::int32_t>(*number)});
            return;
        }
        if (fused(i)) return;
        // `maxps` gives its last operand where it is not less, as `maximum` gives its first one.
        auto const swapped = operand_in_memory(i) == 0;
        machine_instruction made{.op = machine_op::binary, .function = *function, .result = vector_of(i.result)};
        set_operand(made, 1, i.operands[swapped ? 0 : 1]);
        made.operands[0] = vector_of(i.operands[swapped ? 1 : 0]);
        at_.add(made);
    }
    void multiply_add(instruction const& i) {
        machine_instruction made{.op = machine_op::multiply_add,
                                 .operands = {vector_of(i.result), -1, -1},
                                 .temporaries = {mask_for(i.lanes), -1},
                                 .lanes = i.lanes};
        auto const first = folded_.contains(i.operands[0]) ? 1 : 0; // factors change places
        made.operands[1] = vector_of(i.operands[first]);
        set_operand(made, 2, i.operands[1 - first]);
        at_.add(made);
    }

    // ---- numbers, and products that are added

    // The number that arithmetic on numbers gives.
    std::optional<float> folded_number(instruction const& i) const {
        auto const a = numbers_.find(i.operands[0]), b = numbers_.find(i.operands[1]);
        if (a == numbers_.end() || b == numbers_.end()) return std::nullopt;
        switch (i.function) {
        case loop::scalar_op::add:
            return a->second + b->second;
        case loop::scalar_op::subtract:
            return a->second - b->second;
        case loop::scalar_op::multiply:
            return a->second * b->second;
        default:
            return std::nullopt;
        }
    }
    void find_numbers(code_list const& code) {
        for (auto const& i : code)
            if (i.op == opcode::splat && i.type == dtype::f32)
                numbers_[i.result] = static_cast<float>(i.value);
            else if (auto const number = i.op == opcode::compute ? folded_number(i) : std::nullopt)
                numbers_[i.result] = *number;
    }
    static bool is_sum(instruction const& i) {
        return i.op == opcode::compute && i.type == dtype::f32 &&
               (i.function == loop::scalar_op::add || i.function == loop::scalar_op::subtract);
    }
    // Finds the products of a block that one sum alone reads: they are rounded once with it.
    void find_products(code_list const& code) {
        std::map<reg, int> uses;
        for (auto const& i : code)
            for (auto const r : i.operands)
                if (r >= 0) ++uses[r];
        std::map<reg, instruction const*> waiting;
        for (auto const& i : code) {
            for (int o = 0; o < 2 && is_sum(i); ++o)
                if (auto const found = waiting.find(i.operands[o]); found != waiting.end()) {
                    products_.insert(*found);
                    break; // of two products one is fused
                }
            if (i.op == opcode::multiply_add || i.op == opcode::accumulate)
                std::erase_if(waiting, [&](auto const& w) {
                    return w.second->operands[0] == i.result || w.second->operands[1] == i.result;
                });
            if (i.op == opcode::compute && i.type == dtype::f32 && i.function == loop::scalar_op::multiply &&
                !numbers_.contains(i.result) && uses[i.result] == 1 && !used_elsewhere(code, i.result))
                waiting[i.result] = &i;
        }
    }
    bool fused(instruction const& i) {
        if (!is_sum(i)) return false;
        auto const which = products_.contains(i.operands[0]) ? 0 : products_.contains(i.operands[1]) ? 1 : -1;
        if (which < 0) return false;
        auto const& product = *products_.at(i.operands[which]);
        auto const subtracts = i.function == loop::scalar_op::subtract;
        machine_instruction made{.op = machine_op::fused,
                                 .function = !subtracts   ? vector_function::add
                                             : which == 0 ? vector_function::subtract
                                                          : vector_function::subtract_from,
                                 .result = vector_of(i.result)};
        made.operands[0] = vector_of(product.operands[0]);
        made.operands[1] = vector_of(product.operands[1]);
        made.operands[2] = vector_of(i.operands[1 - which]);
        at_.add(made);
        return true;
    }

    // ---- operands in memory

    // Finds the loads of a block that one arithmetic instruction alone reads, which takes them from memory.
    void find_memory_operands(code_list const& code) {
        std::map<reg, int> uses;
        for (auto const& i : code)
            for (auto const r : i.operands)
                if (r >= 0) ++uses[r];
        std::map<reg, instruction const*> waiting;
        for (auto const& i : code) {
            if (i.op == opcode::store) waiting.clear(); // it may write what they read
            for (int o = 0; o < 3; ++o) {
                auto const found = i.operands[o] < 0 ? waiting.end() : waiting.find(i.operands[o]);
                if (found == waiting.end()) continue;
                auto const both = waiting.contains(i.operands[0]) && waiting.contains(i.operands[1]);
                auto const takes =
                    i.op == opcode::multiply_add ? i.lanes == k_.lanes && (!both || o == 1) : operand_in_memory(i) == o;
                if (takes) folded_[found->first] = found->second;
                waiting.erase(found);
            }
            auto const whole = i.op == opcode::load ? i.lanes == k_.lanes && i.stride == 1 && i.order.empty()
                                                    : i.op == opcode::broadcast && masks_;
            if (whole && i.type == dtype::f32 && i.predicate.empty() && i.operands[0] < 0 && uses[i.result] == 1 &&
                !used_elsewhere(code, i.result))
                waiting[i.result] = &i;
        }
    }
    // Whether a register of a block is read outside of it. Blocks define what they read but accumulators and numbers.
    bool used_elsewhere(code_list const& code, reg r) {
        if (blocks_that_read_.empty()) count_readers(k_.body), count_readers(k_.fallback);
        auto const& in = blocks_that_read_[r];
        return in.size() != 1 || *in.begin() != &code;
    }
    void count_readers(std::vector<statement> const& statements) {
        for (auto const& s : statements) {
            for (auto const& i : s.code)
                for (auto const r : i.operands)
                    if (r >= 0) blocks_that_read_[r].insert(&s.code);
            if (s.kind == statement_kind::guard) blocks_that_read_[s.guarded].insert(nullptr);
            count_readers(s.body), count_readers(s.otherwise);
        }
    }

    kernel const& k_;
    bool masks_;
    machine_function made_;
    address_values<> at_;
    std::int32_t first_ = -1, last_ = -1, fallback_ = -1;
    std::vector<std::int32_t> parameters_;
    std::map<reg, std::int32_t> vectors_;
    std::map<reg, instruction const*> folded_, products_;
    std::map<reg, float> numbers_;
    std::map<reg, std::set<code_list const*>> blocks_that_read_;
};

} // namespace gsub::codegen::detail
