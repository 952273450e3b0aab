// Block runs: blocks that run one behind the other under one condition, as one block.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace gsub::cost::detail {

// A run: blocks, and branches to blocks under one condition, from one place of a list to before another.
struct block_run {
    std::size_t from = 0, to = 0;
    codegen::statement const* asked = nullptr; // a branch, whose condition is that of all
};

// The instructions of a run, where they stand.
struct joined_block {
    std::vector<codegen::instruction const*> code;
    std::vector<std::pair<codegen::reg, codegen::reg>> same; // registers that hold what another one does
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
    /// The instructions of a run as one block; `holds`: whether its condition does. Valid until the next call.
    joined_block const& joined(std::vector<statement> const& statements, block_run const& run, bool holds) {
        made_.code.clear();
        made_.same.clear();
        auto const alone = run.to == run.from + 1;
        for (auto i = run.from; i < run.to; ++i) {
            if (statements[i].kind == codegen::statement_kind::block)
                add(statements[i], alone);
            else if (holds)
                add(statements[i].body[0], false);
        }
        return made_;
    }

private:
    static bool alike(statement const& a, statement const& b) {
        return std::ranges::equal(a.conditions, b.conditions,
                                  [](auto& x, auto& y) { return x.extent == y.extent && x.value == y.value; });
    }
    // `alone`: a block is what it is.
    void add(statement const& block, bool alone) {
        for (auto const& instruction : block.code) {
            auto const reads = instruction.op == codegen::opcode::load || instruction.op == codegen::opcode::broadcast;
            if (alone || !reads) {
                made_.code.push_back(&instruction);
                continue;
            }
            auto const known = std::ranges::find_if(made_.code, [&](auto const* o) {
                return o->op == instruction.op && o->offset.constant() == instruction.offset.constant() &&
                       o->buffer == instruction.buffer && o->lanes == instruction.lanes &&
                       o->offset == instruction.offset;
            });
            if (known == made_.code.end())
                made_.code.push_back(&instruction);
            else
                made_.same.emplace_back(instruction.result, (*known)->result);
        }
    }

    joined_block made_;
};

} // namespace gsub::cost::detail
