#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/core/format.hpp>
#include <gsub/runtime/impl/device_program.hpp>

#include <algorithm>
#include <utility>

namespace gsub::runtime::detail {

GSUB_LAZY_BODY bool runs_on_device(program const& p, program_step const& s) {
    if (std::holds_alternative<kernel_call>(s.what)) return true;
    return std::holds_alternative<copy_call>(s.what) &&
           std::ranges::none_of(s.values, [&](std::int32_t v) { return p.values[static_cast<std::size_t>(v)].open; });
}

// Whether a step reads and writes each of its values.
struct value_use {
    bool read = false, written = false;
};
GSUB_LAZY std::vector<value_use> uses_of(program const& p, program_step const& s) {
    std::vector<value_use> out(s.values.size());
    auto const result_count = [&](std::size_t results) {
        for (std::size_t i = 0; i < out.size(); ++i) (i + results < out.size() ? out[i].read : out[i].written) = true;
    };
    std::visit(overloaded{
                   [&](kernel_call const& c) {
                       auto const& k = *p.kernels[static_cast<std::size_t>(c.kernel)].ir;
                       std::size_t at = 0;
                       for (auto const& b : k.buffers)
                           if (!b.workspace) out[at++] = {!b.written, b.written};
                   },
                   [&](copy_call const& c) {
                       for (auto const& m : c.moves) out[m.from].read = true, out[m.to].written = true;
                       if (c.moves.empty()) result_count(1);
                   },
                   [&](external_call const&) {
                       for (std::size_t i = 0; i < out.size(); ++i) {
                           auto const role = p.values[whole_of(p, s.values[i])].where.role;
                           out[i] = {true, role == memory_role::temporary || role == memory_role::output};
                       }
                   },
                   [&](reference_call const& c) { result_count(c.graph.output_count()); },
               },
               s.what);
    return out;
}

GSUB_LAZY_BODY device_transfers transfers_of(program const& p) {
    struct places {
        bool host = false, device = false;
    };
    device_transfers out;
    std::vector<places> valid(p.values.size());
    for (std::size_t v = 0; v < valid.size(); ++v) {
        auto const role = p.values[v].where.role;
        if (role == memory_role::input) valid[v].host = true;
        if (role == memory_role::constant) valid[v] = {true, true};
    }
    for (auto const& s : p.steps) {
        auto& moves = out.before.emplace_back();
        auto const on_device = runs_on_device(p, s);
        auto const uses = uses_of(p, s);
        auto const own = on_device ? &places::device : &places::host,
                   other = on_device ? &places::host : &places::device;
        for (auto const v : s.values) { // a part that is written leaves the rest
            auto const whole = whole_of(p, v);
            if (valid[whole].*own || !(valid[whole].*other)) continue;
            moves.push_back({static_cast<std::int32_t>(whole), on_device});
            valid[whole].*own = true;
        }
        for (std::size_t i = 0; i < uses.size(); ++i)
            if (uses[i].written) {
                auto& at = valid[whole_of(p, s.values[i])];
                at.*own = true, at.*other = false;
            }
    }
    for (std::size_t v = 0; v < valid.size(); ++v)
        if (p.values[v].where.role == memory_role::output && p.values[v].part_of < 0 && valid[v].device &&
            !valid[v].host)
            out.at_end.push_back({static_cast<std::int32_t>(v), false});
    return out;
}

GSUB_LAZY_BODY std::vector<program_kernel> kernels_for_device(program const& p, arena_plan const& plan) {
    constexpr std::size_t wide = 16;
    auto kernels = p.kernels;
    for (auto const& s : p.steps)
        if (auto const* const call = std::get_if<kernel_call>(&s.what))
            for (auto const v : s.values) {
                auto& ir = kernels[static_cast<std::size_t>(call->kernel)].ir;
                auto const at = plan.offsets[whole_of(p, v)] + p.values[static_cast<std::size_t>(v)].offset;
                if (at % wide == 0 || !ir || !ir->aligned) continue; // a text alone is refused as it is loaded
                auto apart = *ir;
                apart.aligned = false;
                ir = std::make_shared<codegen::kernel const>(std::move(apart));
            }
    return kernels;
}

GSUB_LAZY_BODY device_program::device_program(program const& p, arena_plan const& plan, std::shared_ptr<device> on,
                                              jit_options const& how)
    : p_(p),
      on_(std::move(on)),
      kernels_(on_->load(as_span(kernels_for_device(p, plan)), how)),
      constants_(p.values.size()),
      offsets_(plan.offsets),
      arena_(plan.size),
      transfers_(transfers_of(p)) {
    std::vector<char> uploaded(p.values.size(), 0);
    for (auto const& s : p.steps) {
        on_device_.push_back(runs_on_device(p, s));
        auto const* const call = std::get_if<kernel_call>(&s.what);
        status_of_.push_back(call && call->checks ? statuses_++ : 0);
        if (!on_device_.back()) continue;
        for (auto const v : s.values) {
            auto const whole = whole_of(p, v);
            auto const& value = p.values[whole];
            if (value.where.role != memory_role::constant || std::exchange(uploaded[whole], char{1})) continue;
            constants_[whole] = device_memory{on_, value.data.size_bytes()};
            on_->upload(constants_[whole].address(), value.data.raw());
        }
    }
}

GSUB_LAZY_BODY std::unique_ptr<device_program::memory> device_program::make_memory() const {
    auto out = std::make_unique<memory>();
    out->arena = device_memory{on_, arena_};
    if (statuses_ > 0) out->statuses = device_memory{on_, sizeof(std::int32_t) * statuses_};
    out->inputs.resize(p_.inputs.size()), out->outputs.resize(p_.outputs.size());
    for (auto const& v : p_.values)
        if (v.part_of < 0 && !v.open) {
            if (v.where.role == memory_role::input) out->inputs[v.position] = device_memory{on_, v.size};
            if (v.where.role == memory_role::output) out->outputs[v.position] = device_memory{on_, v.size};
        }
    return out;
}

GSUB_LAZY_BODY device_address device_program::address(std::int32_t value, memory const& m) const {
    auto const whole = whole_of(p_, value);
    auto const& v = p_.values[whole];
    auto const offset = p_.values[static_cast<std::size_t>(value)].offset;
    switch (v.where.role) {
    case memory_role::temporary:
        return m.arena.address() + (offsets_[whole] + offset);
    case memory_role::constant:
        return constants_[whole].address() + offset;
    case memory_role::input:
        return m.inputs[v.position].address() + offset;
    case memory_role::output:
        break;
    }
    return m.outputs[v.position].address() + offset;
}

GSUB_LAZY_BODY void device_program::begin(memory const& m) const {
    if (statuses_ > 0) on_->fill_with_zeros(m.statuses.address(), sizeof(std::int32_t) * statuses_);
}

GSUB_LAZY_BODY void device_program::move(std::span<device_transfers::transfer const> what, memory const& m,
                                         function_ref<std::span<std::byte>(std::int32_t)> host) const {
    for (auto const& t : what) {
        if (t.to_device)
            on_->upload(address(t.value, m), host(t.value));
        else
            on_->download(host(t.value), address(t.value, m));
    }
}
GSUB_LAZY_BODY void device_program::move_before(std::size_t i, memory const& m,
                                                function_ref<std::span<std::byte>(std::int32_t)> host) const {
    move(as_span(transfers_.before[i]), m, host);
}

GSUB_LAZY_BODY void device_program::start(std::size_t i, memory const& m) const {
    auto const& s = p_.steps[i];
    std::vector<device_address> at;
    for (auto const v : s.values) at.push_back(address(v, m));
    if (auto const* const call = std::get_if<kernel_call>(&s.what)) {
        if (call->checks) at.back() = m.statuses.address() + sizeof(std::int32_t) * status_of_[i];
        try {
            on_->launch(*kernels_[static_cast<std::size_t>(call->kernel)], as_span(at), call->launch.positions);
        } catch (error const& e) { throw error{e.within(s.name)}; }
        return;
    }
    auto const& copy = std::get<copy_call>(s.what);
    for (auto const& c : copy.moves)
        on_->copy({at[c.from] + c.from_at, at[c.to] + c.to_at, c.from_step, c.to_step, c.size, copy.times});
}

GSUB_LAZY_BODY void device_program::end(memory const& m, function_ref<std::span<std::byte>(std::int32_t)> host) const {
    move(as_span(transfers_.at_end), m, host);
    if (statuses_ == 0) return on_->finish();
    std::vector<std::int32_t> all(statuses_);
    on_->download(std::as_writable_bytes(std::span{all}), m.statuses.address());
    for (std::size_t i = 0; i < p_.steps.size(); ++i)
        if (auto const* const call = std::get_if<kernel_call>(&p_.steps[i].what);
            call && call->checks && all[status_of_[i]] != 0)
            throw error{errors::index_out_of_range,
                        format_text("an index of {} ({}) is out of range", p_.steps[i].name, kind_of(p_.steps[i]))};
}

} // namespace gsub::runtime::detail
