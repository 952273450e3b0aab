// Random kernels in kernel IR: loops, branches, indices and blocks as no schedule makes them.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/core/random.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace random_kernel {

using namespace gsub;
using codegen::affine;
using codegen::instruction;
using codegen::opcode;
using codegen::reg;
using codegen::statement;
using codegen::statement_kind;
using codegen::variable;
using loop::scalar_op;

/// Makes a kernel of a buffer that it reads (x), one that it writes and reads (y) and some numbers that it keeps (s).
class maker {
public:
    maker(std::uint64_t seed, std::int32_t lanes) : random_(seed) {
        k_.name = "random", k_.lanes = lanes;
        k_.buffers = {{.name = "x", .dims = {elements}},
                      {.name = "y", .dims = {elements}, .written = true},
                      {.name = "s", .dims = {numbers}, .written = true}};
    }
    codegen::kernel run() {
        k_.parallel_extent = 1 + below(4);
        k_.parallel = new_variable();
        auto& outer = k_.body.emplace_back();
        outer.kind = statement_kind::loop, outer.var = k_.parallel;
        scope_.push_back({k_.parallel, k_.parallel_extent});
        outer.body = statements(3);
        return std::move(k_);
    }

private:
    static constexpr std::int64_t elements = 4096, numbers = 4;
    struct known {
        variable of;
        std::int64_t bound;
    };

    std::int64_t below(std::int64_t n) {
        return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(n)));
    }
    bool once_in(std::int64_t n) { return below(n) == 0; }
    variable new_variable() {
        k_.names.push_back("v" + std::to_string(k_.names.size()));
        return static_cast<variable>(k_.names.size() - 1);
    }
    affine index(std::int64_t scale) {
        affine a{below(k_.lanes)};
        for (auto const& v : scope_) {
            auto const factor = below(3);
            if (factor > 0) a += affine::of(v.of, factor == 1 ? 1 : scale);
        }
        return a;
    }
    std::vector<loop::bound> bounds() {
        auto const from = below(4);
        auto const extent = 1 + below(12);
        return {{index(1) - affine{from}, extent}};
    }

    // ---- statements

    std::vector<statement> statements(int depth) {
        std::vector<statement> out;
        auto const outer = scope_.size();
        auto const count = 1 + below(3);
        for (std::int64_t n = 0; n < count; ++n) switch (depth > 0 ? below(6) : 0) {
            case 0:
            case 1:
                out.push_back(block());
                break;
            case 2:
                out.push_back(repeated(depth));
                break;
            case 3:
                out.push_back(branch(depth));
                break;
            case 4:
                out.push_back(fused_index());
                out.push_back(block());
                break;
            default:
                reduction(out);
            }
        scope_.resize(outer);
        return out;
    }
    statement block() {
        statement s;
        std::vector<reg> values;
        auto const count = 2 + below(6);
        for (std::int64_t n = 0; n < count || values.empty(); ++n) values.push_back(value(s.code, values));
        add(s.code, {.op = opcode::store,
                     .operands = {values.back(), -1, -1},
                     .buffer = 1,
                     .offset = index(k_.lanes),
                     .lanes = part()});
        if (once_in(4)) s.code.back().predicate = bounds();
        return s;
    }
    reg value(std::vector<instruction>& code, std::vector<reg> const& values) {
        auto const any = [&] {
            return values[static_cast<std::size_t>(below(static_cast<std::int64_t>(values.size())))];
        };
        switch (values.empty() ? below(3) : below(7)) {
        case 0: {
            instruction i{.op = opcode::load, .buffer = once_in(5) ? 1 : 0, .offset = index(k_.lanes), .lanes = part()};
            if (once_in(3)) i.predicate = bounds();
            return add(code, i);
        }
        case 1:
            return add(code, {.op = opcode::splat, .offset = 0, .value = once_in(2) ? 4 : 0.75});
        case 2:
            return add(code,
                       {.op = opcode::broadcast, .buffer = once_in(2) ? 2 : 0, .offset = below(numbers), .lanes = 1});
        case 3: {
            auto const sum = add(code, {.op = opcode::reduce,
                                        .function = once_in(2) ? scalar_op::add : scalar_op::maximum,
                                        .operands = {any(), -1, -1},
                                        .offset = 0});
            auto const small = add(code, {.op = opcode::splat, .offset = 0, .value = 0.03125});
            auto const scaled = add(
                code,
                {.op = opcode::compute, .function = scalar_op::multiply, .operands = {sum, small, -1}, .offset = 0});
            add(code,
                {.op = opcode::store, .operands = {scaled, -1, -1}, .buffer = 2, .offset = below(numbers), .lanes = 1});
            return scaled;
        }
        case 4: {
            auto const size =
                add(code,
                    {.op = opcode::compute, .function = scalar_op::absolute, .operands = {any(), -1, -1}, .offset = 0});
            auto const one = add(code, {.op = opcode::splat, .offset = 0, .value = 1});
            auto const more = add(
                code, {.op = opcode::compute, .function = scalar_op::add, .operands = {size, one, -1}, .offset = 0});
            auto const root = add(
                code,
                {.op = opcode::compute, .function = scalar_op::square_root, .operands = {more, -1, -1}, .offset = 0});
            auto const from = any();
            return add(code, {.op = opcode::compute,
                              .function = scalar_op::divide,
                              .operands = {from, once_in(2) ? root : one, -1},
                              .offset = 0});
        }
        default: {
            constexpr scalar_op kinds[] = {scalar_op::add, scalar_op::subtract, scalar_op::maximum};
            auto const kind = kinds[static_cast<std::size_t>(below(3))];
            auto const a = any();
            auto const b = any();
            auto const sum = add(code, {.op = opcode::compute, .function = kind, .operands = {a, b, -1}, .offset = 0});
            auto const half = add(code, {.op = opcode::splat, .offset = 0, .value = 0.5});
            return add(
                code,
                {.op = opcode::compute, .function = scalar_op::multiply, .operands = {sum, half, -1}, .offset = 0});
        }
        }
    }
    statement repeated(int depth) {
        statement s;
        s.kind = statement_kind::loop, s.var = new_variable();
        auto const from = below(3);
        auto const turns = below(14);
        s.begin = {{affine{from}}}, s.end = {{affine{from + turns}}};
        if (once_in(4)) s.end.push_back({affine{scope_.back().bound} - affine::of(scope_.back().of)});
        scope_.push_back({s.var, from + turns + 1});
        s.body = statements(depth - 1);
        scope_.pop_back();
        return s;
    }
    statement branch(int depth) {
        statement s;
        s.kind = statement_kind::branch, s.conditions = bounds();
        s.body = statements(depth - 1);
        if (once_in(2)) s.otherwise = statements(depth - 1);
        return s;
    }
    statement fused_index() {
        statement s;
        auto const& of = scope_[static_cast<std::size_t>(below(static_cast<std::int64_t>(scope_.size())))];
        s.kind = statement_kind::fused_index, s.of = of.of;
        s.divisor = 1 + below(3), s.extent = 1 + below(8), s.var = new_variable();
        scope_.push_back({s.var, s.extent});
        return s;
    }
    // A sum, a sum of products or a maximum over a loop, reduced to a number that is kept.
    void reduction(std::vector<statement>& out) {
        statement before, loop, after;
        auto const start = add(before.code, {.op = opcode::splat, .offset = 0, .value = 0.25});
        auto const sum = add(before.code, {.op = opcode::copy, .operands = {start, -1, -1}, .offset = 0});
        loop.kind = statement_kind::loop, loop.var = new_variable();
        loop.begin = {{0}}, loop.end = {{affine{1 + below(30)}}};
        scope_.push_back({loop.var, 31});
        auto& code = loop.body.emplace_back().code;
        auto const x = add(code, {.op = opcode::load, .buffer = 0, .offset = index(k_.lanes), .lanes = k_.lanes});
        if (auto const kind = below(3); kind == 0)
            code.push_back(
                {.op = opcode::multiply_add, .result = sum, .operands = {x, x, -1}, .offset = 0, .lanes = k_.lanes});
        else
            code.push_back({.op = opcode::accumulate,
                            .function = kind == 1 ? scalar_op::add : scalar_op::maximum,
                            .result = sum,
                            .operands = {x, -1, -1},
                            .offset = 0,
                            .lanes = k_.lanes});
        scope_.pop_back();
        auto const all = add(
            after.code, {.op = opcode::reduce, .function = scalar_op::maximum, .operands = {sum, -1, -1}, .offset = 0});
        add(after.code,
            {.op = opcode::store, .operands = {all, -1, -1}, .buffer = 2, .offset = below(numbers), .lanes = 1});
        for (auto* const s : {&before, &loop, &after}) out.push_back(std::move(*s));
    }
    std::int32_t part() { return once_in(4) ? 1 + static_cast<std::int32_t>(below(k_.lanes)) : k_.lanes; }
    reg add(std::vector<instruction>& code, instruction i) {
        i.result = i.op == opcode::store ? -1 : k_.registers++;
        code.push_back(std::move(i));
        return code.back().result;
    }

    codegen::kernel k_;
    random_stream random_;
    std::vector<known> scope_;
};

} // namespace random_kernel
