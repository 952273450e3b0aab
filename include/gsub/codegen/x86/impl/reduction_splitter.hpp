// reduction_splitter: sums and maxima of a loop in several accumulators, which do not wait for each other.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/codegen/x86/impl/kernel_renaming.hpp>
#include <gsub/codegen/x86/impl/turn_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

namespace gsub::codegen::detail {

/// Splits the reductions of loops that do little else: a loop takes some turns at once, each with accumulators of its
/// own, which are combined behind it. Sums are added in another order. Loops of several accumulators have what keeps a
/// processor busy as they are.
template <class = void>
class reduction_splitter {
public:
    static constexpr std::int64_t least_turns = 8, at_once = 4, most_accumulators = 1;
    static constexpr std::int64_t most_instructions = 24; ///< of the turns at once

    explicit reduction_splitter(kernel made) : made_(std::move(made)) {}

    kernel run() {
        made_.body = split(std::move(made_.body));
        made_.fallback = split(std::move(made_.fallback));
        return std::move(made_);
    }

private:
    using list = std::vector<statement>;
    using code_list = std::vector<instruction>;

    list split(list statements) {
        list out;
        for (auto& s : statements) {
            s.body = split(std::move(s.body));
            s.otherwise = split(std::move(s.otherwise));
            if (auto const sums = sums_of(s); !sums.empty())
                split(s, sums, out);
            else
                out.push_back(std::move(s));
        }
        return out;
    }
    // What a loop accumulates in all lanes and does not read, where it is to be split.
    [[nodiscard]] code_list sums_of(statement const& s) const {
        if (turns_of(s, made_.parallel) < least_turns || s.body.size() != 1 || !s.body[0].body.empty() ||
            !s.body[0].otherwise.empty() || at_once * size_of(s.body) > most_instructions)
            return {};
        code_list out;
        std::set<reg> read, others;
        for (auto const& i : s.body[0].code) {
            read.insert(std::begin(i.operands), std::end(i.operands));
            if (i.op == opcode::accumulate || i.op == opcode::multiply_add)
                out.push_back(i);
            else
                others.insert(i.result);
        }
        std::set<reg> sums;
        for (auto const& i : out)
            if (i.lanes != made_.lanes || i.type != dtype::f32 || read.contains(i.result) ||
                others.contains(i.result) || !sums.insert(i.result).second)
                return {};
        if (static_cast<std::int64_t>(out.size()) > most_accumulators) return {};
        return out;
    }
    void split(statement& s, code_list const& sums, list& out) {
        statement before, after;
        std::vector<kernel_renaming> names(at_once); // of accumulators, by turn
        for (auto const& sum : sums) {
            auto const adds = sum.op == opcode::multiply_add || sum.function == loop::scalar_op::add;
            auto begin = sum.result; // a maximum of its own first value and others
            if (adds) before.code.push_back({.op = opcode::splat, .result = begin = fresh(), .offset = 0});
            for (std::size_t n = 1; n < names.size(); ++n) {
                auto const other = names[n].registers[sum.result] = fresh();
                before.code.push_back({.op = opcode::copy, .result = other, .operands = {begin, -1, -1}, .offset = 0});
                after.code.push_back({.op = opcode::accumulate,
                                      .function = adds ? loop::scalar_op::add : loop::scalar_op::maximum,
                                      .result = sum.result,
                                      .operands = {other, -1, -1},
                                      .offset = 0,
                                      .lanes = made_.lanes});
            }
        }
        auto const turns = turns_of(s, made_.parallel);
        auto const old = std::exchange(s.var, static_cast<variable>(made_.names.size()));
        made_.names.push_back(made_.names[static_cast<std::size_t>(old)]);
        auto const begin = affine{number_of(s.begin, 0)};
        auto const body = std::move(s.body);
        s.body.clear();
        write(body, old, affine::of(s.var, at_once) + begin, at_once, names, s.body);
        s.begin = {{affine{0}}}, s.end = {{affine{turns / at_once}}};
        out.push_back(std::move(before));
        out.push_back(std::move(s));
        write(body, old, begin + affine{turns / at_once * at_once}, turns % at_once, names, out);
        out.push_back(std::move(after));
    }
    void write(list const& body, variable v, affine const& first, std::int64_t turns,
               std::vector<kernel_renaming> const& names, list& out) {
        list made;
        turn_writer<>{made_}.write(body, v, first, turns, made);
        for (std::size_t n = 0; n < made.size(); ++n) {
            names[n].rename(made[n]);
            out.push_back(std::move(made[n]));
        }
    }
    reg fresh() { return made_.registers++; }

    kernel made_;
};

} // namespace gsub::codegen::detail
