#pragma once

#include <gsub/runtime/program.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace gsub::runtime {

namespace detail {

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

private:
    std::int64_t batch_, channels_, area_ = 1, lanes_;
    bool to_blocks_;
};

class copy_step final : public host_step {
public:
    explicit copy_step(std::size_t size) noexcept : size_(size) {}
    void run(std::span<void* const> values, executor&) const override {
        if (size_ > 0) std::memcpy(values[1], values[0], size_);
    }

private:
    std::size_t size_;
};

class join_step final : public host_step {
public:
    join_step(std::size_t times, std::vector<std::size_t> sizes) : times_(times), sizes_(std::move(sizes)) {}
    void run(std::span<void* const> values, executor&) const override {
        auto* to = static_cast<std::byte*>(values.back());
        for (std::size_t t = 0; t < times_; ++t)
            for (std::size_t i = 0; i < sizes_.size(); ++i) {
                if (sizes_[i] > 0) std::memcpy(to, static_cast<std::byte const*>(values[i]) + t * sizes_[i], sizes_[i]);
                to += sizes_[i];
            }
    }

private:
    std::size_t times_;
    std::vector<std::size_t> sizes_;
};

class reference_step final : public host_step {
public:
    reference_step(any_graph g, std::span<eval_row const> meaning) : g_(std::move(g)), meaning_(meaning) {}

    void run(std::span<void* const> values, executor& threads) const override {
        std::vector<tensor> inputs;
        std::size_t at = 0;
        for (auto n : g_.inputs()) {
            auto const& t = g_.type({n, 0});
            inputs.push_back(
                tensor::borrowed(t.element, t.sizes(), static_cast<std::byte const*>(values[at++]), nullptr));
        }
        evaluate_options options;
        options.threads = &threads;
        auto const results = evaluate_graph(g_, meaning_, inputs, options).value();
        for (std::size_t i = 0; i < results.size(); ++i) {
            auto const declared = g_.type(g_.output(i)).element;
            auto const r = results[i].element() == declared ? results[i] : results[i].converted_to(declared);
            if (r.size_bytes() > 0) std::memcpy(values[at++], r.raw().data(), r.size_bytes());
        }
    }

private:
    any_graph g_;
    std::span<eval_row const> meaning_;
};

} // namespace detail

GSUB_INLINE std::shared_ptr<host_step const> make_blocking_step(std::span<std::int64_t const> dims, std::int64_t lanes,
                                                                bool to_blocks) {
    GSUB_ASSERT(dims.size() >= 2, "blocks of channels need a batch and a channel dimension");
    return std::make_shared<detail::blocking_step const>(dims, lanes, to_blocks);
}

GSUB_INLINE std::shared_ptr<host_step const> make_copy_step(std::size_t size) {
    return std::make_shared<detail::copy_step const>(size);
}

GSUB_INLINE std::shared_ptr<host_step const> make_join_step(std::size_t times, std::vector<std::size_t> sizes) {
    return std::make_shared<detail::join_step const>(times, std::move(sizes));
}

GSUB_INLINE std::shared_ptr<host_step const> make_reference_step(any_graph g, std::span<eval_row const> meaning) {
    return std::make_shared<detail::reference_step const>(std::move(g), meaning);
}

} // namespace gsub::runtime
