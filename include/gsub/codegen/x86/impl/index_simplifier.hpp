// index_simplifier: range analysis of the indices of a kernel: what a known range makes a number, another index, or
// a condition that always or never holds.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/codegen/x86/impl/kernel_renaming.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace gsub::codegen::detail {

/// Makes a kernel that computes the same with fewer divisions and conditions, without loops of one turn or of nothing.
/// *Complexity* O(n v) for n instructions and v variables around each.
template <class = void>
class index_simplifier {
public:
    explicit index_simplifier(kernel made) : made_(std::move(made)) {}

    kernel run() {
        uses_.assign(static_cast<std::size_t>(made_.registers), 0);
        count_uses(made_.body), count_uses(made_.fallback);
        made_.body = simplified(std::move(made_.body));
        made_.fallback = simplified(std::move(made_.fallback));
        return std::move(made_);
    }

private:
    using list = std::vector<statement>;

    list simplified(list statements) {
        auto const known = names_.variables;
        auto const bounds = bounds_;
        list out;
        for (auto& s : statements) {
            names_.rename(s);
            switch (s.kind) {
            case statement_kind::block:
                block(s);
                out.push_back(std::move(s));
                break;
            case statement_kind::fused_index:
                fused_index(std::move(s), out);
                break;
            case statement_kind::chosen_index:
                chosen_index(std::move(s), out);
                break;
            case statement_kind::branch:
                branch(std::move(s), out);
                break;
            case statement_kind::loop:
                loop(std::move(s), out);
                break;
            case statement_kind::guard:
                out.push_back(std::move(s));
            }
        }
        names_.variables = known;
        bounds_ = bounds;
        return out;
    }
    static void append(list& to, list from) {
        to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    }

    // ---- ranges: from 0 to before a bound

    void define(variable v, std::int64_t bound) { bounds_[v] = bound; }
    [[nodiscard]] std::optional<loop::interval> range(affine const& a) const {
        loop::interval r{a.constant(), a.constant()};
        for (auto const& t : a.terms()) {
            auto const found = bounds_.find(t.of);
            if (found == bounds_.end()) return std::nullopt;
            (t.factor > 0 ? r.high : r.low) += t.factor * (found->second - 1);
        }
        return r;
    }
    [[nodiscard]] bool holds(loop::bound const& b) const {
        auto const r = range(b.value);
        return r && r->low >= 0 && r->high < b.extent;
    }
    [[nodiscard]] bool fails(loop::bound const& b) const {
        auto const r = range(b.value);
        return r && (r->high < 0 || r->low >= b.extent);
    }
    [[nodiscard]] bool fail(std::vector<loop::bound> const& bounds) const {
        return std::any_of(bounds.begin(), bounds.end(), [&](auto const& b) { return fails(b); });
    }
    void leave_out_known(std::vector<loop::bound>& bounds) const {
        std::erase_if(bounds, [&](auto const& b) { return holds(b); });
    }

    // ---- statements

    void block(statement& s) {
        std::erase_if(s.code, [&](auto const& i) { return i.op == opcode::store && fail(i.predicate); });
        for (auto& i : s.code) {
            if (i.op == opcode::load && i.operands[0] < 0 && fail(i.predicate)) {
                i.op = opcode::splat, i.buffer = -1, i.offset = affine{0};
                i.predicate.clear(), i.order.clear(), i.stride = 1;
            }
            leave_out_known(i.predicate);
        }
        for (auto& i : s.code)
            if (i.op == opcode::load && i.stride != 1 && i.operands[0] < 0) narrow(i, s.code);
    }
    // A load that gathers reads no more lanes than are stored.
    void narrow(instruction& load, std::vector<instruction> const& code) const {
        std::int32_t lanes = 0;
        auto stores = 0;
        for (auto const& i : code)
            if (i.op == opcode::store && i.operands[0] == load.result) ++stores, lanes = std::max(lanes, i.lanes);
        if (stores > 0 && stores == uses_[static_cast<std::size_t>(load.result)])
            load.lanes = std::min(load.lanes, lanes);
    }
    void count_uses(list const& statements) {
        for (auto const& s : statements) {
            for (auto const& i : s.code)
                for (auto const r : i.operands)
                    if (r >= 0) ++uses_[static_cast<std::size_t>(r)];
            if (s.guarded >= 0) ++uses_[static_cast<std::size_t>(s.guarded)];
            count_uses(s.body), count_uses(s.otherwise);
        }
    }
    void fused_index(statement s, list& out) {
        auto const of = names_.of(affine::of(s.of));
        if (of.is_constant()) {
            names_.variables[s.var] = affine{of.constant() / s.divisor % s.extent};
            return;
        }
        s.of = of.terms()[0].of; // another variable: nothing else stands for one that an index is of
        auto is_whole = false;   // no remainder
        if (auto const r = range(of)) {
            auto const bound = r->high / s.divisor + 1;
            is_whole = bound <= s.extent;
            s.extent = std::min(bound, s.extent);
        }
        if (s.extent == 1) {
            names_.variables[s.var] = affine{0};
            return;
        }
        names_.variables.erase(s.var);
        if (s.divisor == 1 && is_whole) {
            names_.variables[s.var] = of;
            return;
        }
        define(s.var, s.extent);
        out.push_back(std::move(s));
    }
    // It stays, as it tells of what is out of range.
    void chosen_index(statement s, list& out) {
        names_.variables.erase(s.var);
        if (s.extent == 1)
            names_.variables[s.var] = affine{0};
        else
            define(s.var, s.extent);
        s.body = simplified(std::move(s.body));
        out.push_back(std::move(s));
    }
    void branch(statement s, list& out) {
        if (fail(s.conditions)) return append(out, simplified(std::move(s.otherwise)));
        leave_out_known(s.conditions);
        if (s.conditions.empty()) return append(out, simplified(std::move(s.body)));
        s.body = simplified(std::move(s.body));
        s.otherwise = simplified(std::move(s.otherwise));
        if (!s.body.empty() || !s.otherwise.empty()) out.push_back(std::move(s));
    }
    void loop(statement s, list& out) {
        auto const outer = names_.variables;
        auto const bounds = bounds_;
        names_.variables.erase(s.var), bounds_.erase(s.var);
        auto const turns = turns_of(s, made_.parallel);
        if (turns == 1) {
            names_.variables[s.var] = affine{number_of(s.begin, 0)};
            append(out, simplified(std::move(s.body)));
        } else if (turns != 0) {
            if (s.var == made_.parallel)
                define(s.var, made_.parallel_extent);
            else if (auto const end = number_of(s.end, 0); end > 0 && number_of(s.begin, -1) >= 0)
                define(s.var, end);
            s.body = simplified(std::move(s.body));
            if (!s.body.empty()) out.push_back(std::move(s));
        }
        names_.variables = outer;
        bounds_ = bounds;
    }

    kernel made_;
    kernel_renaming names_;
    std::map<variable, std::int64_t> bounds_;
    std::vector<int> uses_; // by register
};

} // namespace gsub::codegen::detail
