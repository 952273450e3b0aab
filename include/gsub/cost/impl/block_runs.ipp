// Block runs: blocks that run one behind the other under one condition, as one block.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace gsub::cost::detail {

// A run: blocks, and branches to blocks under one condition, from one place of a list to before another.
struct block_run {
    std::size_t from = 0, to = 0;
    codegen::statement const* asked = nullptr; // a branch, whose condition is that of all
};

// Finds runs and joins their blocks: compilers test what several ask once, and read what several read once.
template <class = void>
class block_runs {
    using statement = codegen::statement;

public:
    /// Whether a node is a branch to one block alone.
    static bool is_simple(statement const& n) {
        return n.kind == codegen::statement_kind::branch && n.otherwise.empty() && n.body.size() == 1 &&
               n.body[0].kind == codegen::statement_kind::block;
    }
    /// Whether a list is instructions that run one behind the other, but for one condition: one run.
    static bool is_straight(std::vector<statement> const& statements) {
        return run_from(statements, 0).to == statements.size();
    }
    /// The longest run that begins at a place.
    static block_run run_from(std::vector<statement> const& statements, std::size_t from) {
        block_run out{from, from, nullptr};
        for (; out.to < statements.size(); ++out.to) {
            auto const& n = statements[out.to];
            if (n.kind == codegen::statement_kind::block) continue;
            if (!is_simple(n) || (out.asked && !alike(*out.asked, n))) break;
            out.asked = &n;
        }
        return out;
    }
    /// The instructions of a run as one block; `holds`: whether its condition does.
    statement const& joined(std::vector<statement> const& statements, block_run const& run, bool holds) {
        if (run.to == run.from + 1 && !run.asked) return statements[run.from];
        auto const [found, is_new] = joined_.try_emplace({&statements[run.from], holds});
        auto& made = found->second;
        if (!is_new) return made;
        std::map<codegen::reg, codegen::reg> same;
        for (auto i = run.from; i < run.to; ++i) {
            if (statements[i].kind == codegen::statement_kind::block)
                add(made, statements[i], same);
            else if (holds)
                add(made, statements[i].body[0], same);
        }
        return made;
    }

private:
    static bool alike(statement const& a, statement const& b) {
        return std::ranges::equal(a.conditions, b.conditions,
                                  [](auto& x, auto& y) { return x.extent == y.extent && x.value == y.value; });
    }
    // `same`: registers that hold what another one does.
    static void add(statement& made, statement const& block, std::map<codegen::reg, codegen::reg>& same) {
        for (auto instruction : block.code) {
            for (auto& o : instruction.operands)
                if (auto const found_as = same.find(o); found_as != same.end()) o = found_as->second;
            auto const reads = instruction.op == codegen::opcode::load || instruction.op == codegen::opcode::broadcast;
            auto const known = std::ranges::find_if(made.code, [&](auto const& o) {
                return reads && o.op == instruction.op && o.buffer == instruction.buffer &&
                       o.lanes == instruction.lanes && o.offset == instruction.offset;
            });
            if (known == made.code.end())
                made.code.push_back(std::move(instruction));
            else
                same[instruction.result] = known->result;
        }
    }

    std::map<std::pair<statement const*, bool>, statement>
        joined_; // by the first of several, and whether their condition holds
};

} // namespace gsub::cost::detail
