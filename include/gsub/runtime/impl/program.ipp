#pragma once

#include <gsub/core/message.hpp>
#include <gsub/core/meta.hpp>
#include <gsub/runtime/impl/operator_source.ipp>
#include <gsub/runtime/impl/step_source.ipp>
#include <gsub/runtime/memory_planner.hpp>
#include <gsub/runtime/program.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace gsub::runtime {

namespace detail {

template <class = void>
class blocking_step final : public host_step {
public:
    blocking_step(std::span<std::int64_t const> dims, std::int64_t lanes, bool to_blocks)
        : batch_(dims[0]), channels_(dims[1]), lanes_(lanes), to_blocks_(to_blocks) {
        for (auto d : dims.subspan(2)) area_ *= d;
    }

    void run(std::span<void* const> values, executor& threads) const override {
        auto const blocks = (channels_ + lanes_ - 1) / lanes_;
        auto const* const from = static_cast<float const*>(values[0]);
        auto* const to = static_cast<float*>(values[1]);
        threads.parallel_for(static_cast<std::size_t>(batch_ * blocks), [&](std::size_t at) {
            auto const n = static_cast<std::int64_t>(at) / blocks, b = static_cast<std::int64_t>(at) % blocks;
            auto const present = std::min(lanes_, channels_ - b * lanes_);
            auto const plain = (n * channels_ + b * lanes_) * area_, blocked = (n * blocks + b) * area_ * lanes_;
            if (to_blocks_) {
                for (std::int64_t i = 0; i < area_; ++i) {
                    auto* const pixel = to + blocked + i * lanes_;
                    for (std::int64_t c = 0; c < present; ++c) pixel[c] = from[plain + c * area_ + i];
                    for (auto c = present; c < lanes_; ++c) pixel[c] = 0;
                }
            } else {
                for (std::int64_t c = 0; c < present; ++c)
                    for (std::int64_t i = 0; i < area_; ++i) to[plain + c * area_ + i] = from[blocked + i * lanes_ + c];
            }
        });
    }

    std::optional<step_source> source() const override {
        auto const blocks = (channels_ + lanes_ - 1) / lanes_;
        auto const numbers = message({"  const long channels = ", channels_, ", lanes = ", lanes_,
                                      ", blocks = ", blocks, ", area = ", area_, ";\n"});
        return source_of_step(numbers + (to_blocks_ ? R"(  for (long at = begin; at < end; ++at) {
    const long n = at / blocks, k = at % blocks, left = channels - k * lanes, present = left < lanes ? left : lanes;
    const float* from = (const float*)b[0] + (n * channels + k * lanes) * area;
    float* to = (float*)b[1] + at * area * lanes;
    for (long i = 0; i < area; ++i) {
      for (long c = 0; c < present; ++c) to[i * lanes + c] = from[c * area + i];
      for (long c = present; c < lanes; ++c) to[i * lanes + c] = 0;
    }
  }
)"
                                                    : R"(  for (long at = begin; at < end; ++at) {
    const long n = at / blocks, k = at % blocks, left = channels - k * lanes, present = left < lanes ? left : lanes;
    const float* from = (const float*)b[0] + at * area * lanes;
    float* to = (float*)b[1] + (n * channels + k * lanes) * area;
    for (long c = 0; c < present; ++c)
      for (long i = 0; i < area; ++i) to[c * area + i] = from[i * lanes + c];
  }
)"),
                              batch_ * blocks);
    }

private:
    std::int64_t batch_, channels_, area_ = 1, lanes_;
    bool to_blocks_;
};

template <class = void>
class gather_step final : public host_step {
public:
    gather_step(std::size_t outer, std::int64_t size, std::size_t inner, std::size_t count, dtype integers)
        : outer_(outer), inner_(inner), count_(count), size_(size), integers_(integers) {}
    void run(std::span<void* const> values, executor&) const override {
        auto const* const from = static_cast<std::byte const*>(values[0]);
        auto* to = static_cast<std::byte*>(values[2]);
        for (std::size_t o = 0; o < outer_; ++o)
            for (std::size_t i = 0; i < count_; ++i, to += inner_) {
                auto at = integers_ == dtype::i64 ? static_cast<std::int64_t const*>(values[1])[i]
                                                  : std::int64_t{static_cast<std::int32_t const*>(values[1])[i]};
                if (at < -size_ || at >= size_)
                    throw error{error_code::invalid_input,
                                message({"index ", at, " of a gather is out of range for ", size_, " entries"})};
                if (at < 0) at += size_;
                std::memcpy(to, from + (o * static_cast<std::size_t>(size_) + static_cast<std::size_t>(at)) * inner_,
                            inner_);
            }
    }
    std::optional<step_source> source() const override {
        return source_of_gather(outer_, size_, inner_, count_, integers_);
    }

private:
    std::size_t outer_, inner_, count_;
    std::int64_t size_;
    dtype integers_;
};

} // namespace detail

GSUB_LAZY_BODY std::vector<kernel_source> sources_of(std::span<program_kernel const> kernels) {
    std::vector<kernel_source> out;
    for (auto const& k : kernels) out.push_back(k.source);
    return out;
}

GSUB_LAZY_BODY copy_call join_of(std::int64_t times, std::span<std::size_t const> sizes) {
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
        if (c.graph.is<ops::input>(n) || c.graph.is<ops::constant>(n) || n == c.graph.results_node()) continue;
        if (!out.empty()) out += '+';
        out += c.graph.op(n).name;
    }
    return out;
}

GSUB_LAZY_BODY std::string kind_of(program_step const& s) {
    return std::visit(
        overloaded{
            [](kernel_call const& c) { return c.computes ? kernels::kind_of(*c.computes) : std::string{"kernel"}; },
            [](copy_call const& c) -> std::string { return c.moves.size() == 1 ? "copy" : "join"; },
            [](external_call const& c) { return fmt::format("extern {}", c.op); },
            [](reference_call const& c) { return fmt::format("reference {}", operators_of(c)); },
            [](host_call const& c) -> std::string {
                switch (c.work) {
                case host_work::gather:
                    return "gather";
                case host_work::to_blocks:
                    return "to blocks of channels";
                case host_work::from_blocks:
                    return "from blocks of channels";
                }
                return {};
            },
        },
        s.what);
}

GSUB_LAZY_BODY std::optional<step_source> source_of(program_step const& s) {
    using source = std::optional<step_source>;
    return std::visit(overloaded{
                          [](kernel_call const&) -> source { return std::nullopt; },
                          [](copy_call const& c) -> source { return detail::source_of_copy(c); },
                          [](external_call const& c) -> source { return c.host->source(); },
                          [](reference_call const& c) -> source { return detail::operator_text{c.graph}.source(); },
                          [](host_call const& c) -> source { return c.host->source(); },
                      },
                      s.what);
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

GSUB_LAZY_BODY std::shared_ptr<host_step const> make_blocking_step(std::span<std::int64_t const> dims,
                                                                   std::int64_t lanes, bool to_blocks) {
    GSUB_ASSERT(dims.size() >= 2, "blocks of channels need a batch and a channel dimension");
    return std::make_shared<detail::blocking_step<> const>(dims, lanes, to_blocks);
}

GSUB_LAZY_BODY std::shared_ptr<host_step const> make_gather_step(std::size_t outer, std::int64_t size,
                                                                 std::size_t inner, std::size_t count, dtype integers) {
    return std::make_shared<detail::gather_step<> const>(outer, size, inner, count, integers);
}

} // namespace gsub::runtime
