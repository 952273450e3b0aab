#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/meta.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/runtime/memory_planner.hpp>
#include <gsub/runtime/program.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace gsub::runtime {

GSUB_LAZY_BODY std::vector<kernel_source> sources_of(std::span<program_kernel const> kernels) {
    std::vector<kernel_source> out;
    for (auto const& k : kernels) out.push_back(k.source);
    return out;
}

GSUB_LAZY_BODY copy_call concat_of(std::int64_t times, std::span<std::size_t const> sizes) {
    auto const row = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
    copy_call c{times, {}};
    std::size_t before = 0;
    for (std::size_t i = 0; i < sizes.size(); before += sizes[i++])
        c.moves.push_back(
            {.from = i, .from_step = sizes[i], .to = sizes.size(), .to_at = before, .to_step = row, .size = sizes[i]});
    return c;
}

GSUB_LAZY_BODY std::string operators_of(reference_call const& c) {
    std::string out;
    for (auto n : c.graph.order()) {
        if (c.graph.is<ops::input>(n) || c.graph.is<ops::constant>(n) || n == c.graph.return_node()) continue;
        if (!out.empty()) out += '+';
        out += c.graph.op(n).name;
    }
    return out;
}

GSUB_LAZY_BODY std::string kind_of(program_step const& s) {
    return std::visit(
        overloaded{
            [](kernel_call const& c) { return c.computes ? kernels::kind_of(*c.computes) : std::string{"kernel"}; },
            [](copy_call const& c) -> std::string { return c.moves.size() == 1 ? "copy" : "concat"; },
            [](external_call const& c) { return format_text("extern {}", c.op); },
            [](reference_call const& c) { return format_text("reference {}", operators_of(c)); },
        },
        s.what);
}

GSUB_LAZY_BODY hash128 hash_of(program const& p) {
    hasher h;
    std::vector<hash128> kernels;
    for (auto const& k : p.kernels)
        kernels.push_back(hasher{}.add(k.source.symbol).add(k.source.isa_flags).add(k.source.text).finish());
    for (auto const& v : p.values)
        h.add(v.where.device.index)
            .add(static_cast<std::uint64_t>(v.where.role))
            .add(v.size)
            .add(v.position)
            .add(static_cast<std::uint64_t>(v.part_of))
            .add(v.offset);
    for (auto const& s : p.steps) {
        h.add(s.what.index());
        std::visit(
            overloaded{
                [&](kernel_call const& c) {
                    h.add(kernels[static_cast<std::size_t>(c.kernel)])
                        .add(static_cast<std::uint64_t>(c.launch.positions))
                        .add(c.workspace)
                        .add(static_cast<std::uint64_t>(c.checks));
                },
                [&](copy_call const& c) {
                    h.add(static_cast<std::uint64_t>(c.times));
                    for (auto const& m : c.moves)
                        h.add(m.from).add(m.from_at).add(m.from_step).add(m.to).add(m.to_at).add(m.to_step).add(m.size);
                },
                [&](external_call const& c) { h.add(c.op); },
                [&](reference_call const& c) {
                    h.add(c.graph.hash());
                    if (!c.branches) return;
                    for (auto const& [name, body] : *c.branches) h.add(name).add(body.hash());
                },
            },
            s.what);
        h.add(s.values.size());
        for (auto v : s.values) h.add(static_cast<std::uint64_t>(v));
    }
    for (auto const* types : {&p.inputs, &p.outputs})
        for (auto const& t : *types) h.add(to_string(t));
    return h.finish();
}

GSUB_LAZY_BODY arena_plan plan_arena(program const& p) {
    std::vector<buffer> lifetimes;
    std::vector<std::int32_t> number(p.values.size(), -1);
    for (std::size_t i = 0; i < p.steps.size(); ++i)
        for (auto part : p.steps[i].values) {
            auto const v = whole_of(p, part);
            if (p.values[v].where.role != memory_role::temporary) continue;
            if (number[v] < 0) {
                number[v] = static_cast<std::int32_t>(lifetimes.size());
                lifetimes.push_back({p.values[v].size, static_cast<int>(i), static_cast<int>(i), -1});
            }
            lifetimes[static_cast<std::size_t>(number[v])].last = static_cast<int>(i);
        }
    auto const plan = plan_memory(as_span(lifetimes));
    arena_plan out;
    out.size = plan.size;
    for (auto n : number) out.offsets.push_back(n < 0 ? 0 : plan.offsets[static_cast<std::size_t>(n)]);
    return out;
}

} // namespace gsub::runtime
