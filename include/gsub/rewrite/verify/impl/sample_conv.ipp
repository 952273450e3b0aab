// Sampling of convolutions: new ones, and siblings of an earlier one.
#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/rewrite/verify/sample.hpp>

namespace gsub {

namespace detail {

/// Draws a convolution. A second one agrees with the first but for one thing, or not at all: the ways in which siblings
/// differ.
template <class = void>
class conv_sampler {
    using attributes = attributes_of<ops::conv>;

public:
    explicit conv_sampler(sample_context& cx)
        : cx_(cx),
          choose_(cx.choose()),
          box_(choose_.exhaustive()),
          earlier_(cx.earlier ? static_cast<attributes const*>(cx.earlier->typed()) : nullptr) {
        for (std::size_t i = 0; i < 2; ++i)
            if (cx.known(i) && cx.type(i).rank() < 3) cx.give_up();
        // One spatial dimension in the box: dimensions do not meet in any law, so one shows what two would.
        spatial_ = cx.known(0)   ? cx.type(0).rank() - 2
                   : cx.known(1) ? cx.type(1).rank() - 2
                   : box_        ? 1
                                 : choose_.pick<std::size_t>({1, 2, 2, 3});
    }

    attributes draw() {
        draw_input();
        draw_likeness();
        draw_window();
        draw_pads();
        if (resized_) resize_window();
        if (any_of(kernel_, [](std::int64_t taps) { return taps < 1; })) cx_.give_up();
        a_.act = keep(thing::act) ? earlier_->act : choose_.pick({activation::none, activation::relu});
        auto const channels = cx_.type(0).dims[1].size();
        a_.group = keep(thing::group) && channels % earlier_->group == 0 ? earlier_->group : draw_group(channels);
        if (cx_.known(1)) { // a shared weight says how many groups there are
            auto const inputs = cx_.type(1).dims[1].size();
            if (channels % inputs != 0) cx_.give_up();
            a_.group = channels / inputs;
        } else {
            draw_weight(channels);
        }
        if (!cx_.absent(2) && !cx_.known(2)) cx_.set_type(2, {dtype::f32, shape{cx_.type(1).dims[0]}});
        return a_;
    }

private:
    // What a sibling may differ in. `all`: it is not drawn as a sibling.
    enum class thing : std::size_t { strides = 1, dilations, pads_begin, pads_end, act, group, kernel = 8, all };

    // Whether that is as in the earlier convolution.
    [[nodiscard]] bool keep(thing t) const { return change_ != t && change_ != thing::all; }

    // The type of an operand of the earlier convolution, if it has as many dimensions.
    [[nodiscard]] tensor_type const* before(std::size_t i) const {
        if (!earlier_ || i >= cx_.earlier_types.size() || !cx_.earlier_types[i]) return nullptr;
        auto const& t = *cx_.earlier_types[i];
        return t.rank() == spatial_ + 2 ? &t : nullptr;
    }

    void draw_input() {
        // The input of an earlier convolution with one dimension changed, or another one.
        if (!cx_.known(0) && before(0) && choose_.below(2) == 0) {
            auto t = *before(0);
            t.dims[choose_.below(box_ ? t.rank() : 2)] = dim{cx_.size()};
            cx_.set_type(0, t);
        }
        if (cx_.known(0)) return;
        shape dims{dim{box_ ? 1 : choose_.pick<std::int64_t>({1, 2})},
                   dim{box_ ? choose_.pick<std::int64_t>({1, 2}) : choose_.pick<std::int64_t>({1, 2, 3, 4, 6})}};
        for (std::size_t i = 0; i < spatial_; ++i)
            dims.push_back(
                dim{box_ ? choose_.pick<std::int64_t>({2, 3}) : choose_.pick<std::int64_t>({1, 2, 3, 4, 5, 6})});
        cx_.set_type(0, {dtype::f32, dims});
    }

    void draw_likeness() {
        if (earlier_ && earlier_->strides.size() == spatial_) change_ = thing{choose_.below(box_ ? 9 : 12)};
        // Its window has a tap more or less at each side, which keeps the places of the output.
        resized_ = change_ == thing::kernel && !cx_.known(1) && before(1);
        // At random, every other convolution keeps the size of its input: laws that add something to it need that.
        same_size_ = !box_ && !earlier_ && choose_.below(2) == 0;
        channels_kept_ = !box_ && choose_.below(3) == 0;
        // Every other weight has the size of an earlier one, its inputs apart.
        same_weight_ = !box_ && !cx_.known(1) && before(1) && choose_.below(3) == 0;
    }

    void draw_window() {
        for (std::size_t i = 0; i < spatial_; ++i) {
            a_.strides.push_back(keep(thing::strides) ? earlier_->strides[i]
                                 : same_size_         ? 1
                                                      : choose_.pick<std::int64_t>({1, 2}));
            a_.dilations.push_back(keep(thing::dilations) ? earlier_->dilations[i]
                                                          : choose_.pick<std::int64_t>({1, 2}));
            kernel_.push_back(cx_.known(1)               ? cx_.type(1).dims[i + 2].size()
                              : same_weight_ || resized_ ? before(1)->dims[i + 2].size()
                              : box_                     ? choose_.pick<std::int64_t>({1, 2})
                                                         : choose_.pick<std::int64_t>({1, 1, 2, 3, 5}));
        }
    }

    void draw_pads() {
        auto const pad = [&] {
            return box_ ? choose_.pick<std::int64_t>({0, 1}) : choose_.pick<std::int64_t>({0, 0, 1, 2});
        };
        auto const extent = [&](std::size_t i) { return window_extent(kernel_[i], a_.dilations[i]); };
        for (std::size_t i = 0; i < spatial_; ++i)
            a_.pads.push_back(keep(thing::pads_begin) ? earlier_->pads[i]
                              : same_size_
                                  ? static_cast<std::int64_t>(choose_.below(static_cast<std::size_t>(extent(i))))
                                  : pad());
        for (std::size_t i = 0; i < spatial_; ++i)
            a_.pads.push_back(keep(thing::pads_end) ? earlier_->pads[i + spatial_]
                              : same_size_          ? extent(i) - 1 - a_.pads[i]
                                                    : pad());
    }

    void resize_window() {
        for (std::size_t side = 0; side < 2 * spatial_; ++side) {
            auto const taps = choose_.pick<std::int64_t>({0, 1, -1});
            a_.pads[side] += taps * a_.dilations[side % spatial_];
            kernel_[side % spatial_] += taps;
            if (a_.pads[side] < 0) cx_.give_up();
        }
    }

    // A divisor of the channels: 1, mostly, or 2 or 3.
    std::int64_t draw_group(std::int64_t channels) {
        auto const g = box_ ? choose_.pick<std::int64_t>({1, 2}) : choose_.pick<std::int64_t>({1, 1, 2, 3});
        return channels % g == 0 ? g : 1;
    }

    void draw_weight(std::int64_t channels) {
        auto const outputs = same_weight_ && before(1)->dims[0].size() % a_.group == 0 ? before(1)->dims[0].size()
                             : channels_kept_                                          ? channels
                                              : a_.group * (box_ ? choose_.pick<std::int64_t>({1, 2})
                                                                 : choose_.pick<std::int64_t>({1, 2, 3}));
        shape dims{dim{outputs}, dim{channels / a_.group}};
        for (auto k : kernel_) dims.push_back(dim{k});
        cx_.set_type(1, {dtype::f32, dims});
    }

    sample_context& cx_;
    chooser& choose_;
    bool box_;
    attributes const* earlier_; // or null
    std::size_t spatial_ = 0;
    thing change_ = thing::all;
    bool resized_ = false, same_size_ = false, channels_kept_ = false, same_weight_ = false;
    ints kernel_;
    attributes a_;
};

} // namespace detail

GSUB_LAZY_BODY attributes_of<ops::conv> sample<ops::conv>::draw(sample_context& cx) {
    return detail::conv_sampler<>{cx}.draw();
}

} // namespace gsub
