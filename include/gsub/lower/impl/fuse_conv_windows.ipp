// Lowering of convolutions that no template of convolutions takes, such as those by computed weights: as products.
#pragma once

#include <gsub/eval/op_call.hpp>
#include <gsub/kernels/matmul.hpp>
#include <gsub/lower/kernel_builder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace gsub::detail {

// A convolution of f32, without bias and activation, of N images of G groups of C channels, by O filters a group. Its
// products have the batches [N, G] and the rows O:
//
//     [O, C taps] * [C taps, positions]                            windows overlap, so they are copied
//     sum over other taps of [O, taps] * [taps, last positions]    of one channel a group: all operands are views
template <class = void>
class window_products {
public:
    window_products(kernel_builder& b, node_id n) : b_(b), g_(b.graph()), n_(n), window_(g_.attributes<ops::conv>(n)) {}

    bool add() {
        if (!read()) return false;
        auto const along = greatest(taps_);
        auto const sums = product(taps_) / taps_[along];
        return channels_ == 1 && taps_[along] > 1 && sums <= most_sums ? add_sums(along) : add_windows();
    }

private:
    // Each of these products is a kernel, whose text has to be compiled.
    static constexpr std::int64_t most_sums = 32;
    // Copied windows take no more bytes than that at a time.
    static constexpr std::int64_t most_bytes = std::int64_t{1} << 28;

    bool read() {
        auto const &in = g_.type(g_.operand(n_, 0)), &filters = g_.type(g_.operand(n_, 1)), &out = g_.type({n_, 0});
        if (in.element != dtype::f32 || g_.operand(n_, 2).valid() || in.rank() < 3 || *in.elements() == 0 ||
            *filters.elements() == 0 || g_.attributes<ops::conv>(n_).act != activation::none)
            return false;
        auto const sizes = in.sizes(), weights = filters.sizes(), results = out.sizes();
        groups_ = g_.attributes<ops::conv>(n_).group;
        images_ = sizes[0], channels_ = weights[1], outputs_ = weights[0] / groups_;
        in_.append(std::span{sizes}.subspan(2)), taps_.append(std::span{weights}.subspan(2));
        out_.append(std::span{results}.subspan(2));
        return true;
    }

    static std::size_t greatest(ints const& sizes) {
        return static_cast<std::size_t>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
    }

    // ---- views

    kernel_value_id unnamed(ints sizes, std::span<std::int64_t const> behind) {
        sizes.append(behind);
        return b_.unnamed(tensor_type{dtype::f32, sizes});
    }
    void add_op(kernel_computation what, kernel_value_id from, kernel_value_id to) {
        b_.add({&n_, 1}, {.computes = std::move(what), .operands = {{from, {}, {}}}, .results = {to}});
    }
    kernel_value_id viewed(kernel_value_id x, view_shape v, kernel_value_id as) {
        add_op(std::move(v), x, as);
        return as;
    }
    kernel_value_id reshaped(kernel_value_id x, ints sizes, std::span<std::int64_t const> behind) {
        return viewed(x, {.reshape = true}, unnamed(std::move(sizes), behind));
    }

    // The images with their borders, `[N, G, C, in...]`.
    kernel_value_id images() {
        auto x = b_.operand(g_.operand(n_, 0));
        auto const& pads = window_.pads;
        if (std::any_of(pads.begin(), pads.end(), [](auto p) { return p != 0; })) {
            pad_shape border{.before = {0, 0}, .after = {0, 0}};
            for (std::size_t d = 0; d < in_.size(); ++d) {
                border.before.push_back(pads[d]), border.after.push_back(pads[d + in_.size()]);
                in_[d] += border.before.back() + border.after.back();
            }
            auto const wide = unnamed({images_, groups_ * channels_}, in_);
            add_op(std::move(border), std::exchange(x, wide), wide);
        }
        return reshaped(x, {images_, groups_, channels_}, in_);
    }
    // The filters, `[G, O, sizes...]`.
    kernel_value_id filters(std::span<std::int64_t const> sizes) {
        return reshaped(b_.operand(g_.operand(n_, 1)), {groups_, outputs_}, sizes);
    }
    static void append(view_shape& v, std::size_t from, std::int64_t step) {
        v.from.push_back(static_cast<std::int8_t>(from)), v.step.push_back(step);
    }

    // ---- products

    // Of `[G, O, k]` and `[batch..., k, n]`, and what is added to it: `[batch..., O, n]`.
    kernel_value_id multiplied(kernel_value_id weights, kernel_value_id data, ints const& batch, std::int64_t k,
                               std::int64_t n, std::optional<kernel_value_id> added = {}) {
        kernels::matmul_shape s{.m = outputs_, .n = n, .k = k};
        s.batch.assign(batch.begin(), batch.end());
        s.constant = false;
        kernel_operand left{weights, {}, {}}, right{data, {}, {}};
        left.access.resize(batch.size(), -1);
        left.access[1] = 0;
        left.access.push_back(1), left.access.push_back(2);
        for (std::size_t d = 0; d < batch.size() + 2; ++d) right.access.push_back(static_cast<std::int8_t>(d));
        kernel_op op{.operands = {std::move(left), right}};
        if (added) {
            right.value = *added;
            op.operands.push_back(std::move(right));
            s.arrays.resize(1);
            s.epilogue.push_back({loop::scalar_op::add, 0, 1});
        }
        std::int64_t const matrix[] = {outputs_, n};
        auto const y = unnamed(batch, matrix);
        op.computes = std::move(s), op.results = {y};
        b_.add({&n_, 1}, std::move(op));
        return y;
    }

    // As matrices, of so many positions at a time that their windows fit. Windows of one tap, side by side, are the
    // images as they are.
    bool add_windows() {
        auto const cut = greatest(out_);
        std::int64_t const slice[] = {images_, groups_ * channels_, product(taps_), product(out_) / out_[cut], 4};
        auto const bytes = checked_product(slice);
        auto const copied = product(taps_) > 1 || product(window_.strides) > 1;
        if (copied && (!bytes || *bytes > most_bytes)) return false;
        auto const most = copied ? most_bytes / *bytes : out_[cut], pieces = (out_[cut] + most - 1) / most;
        auto const each = (out_[cut] + pieces - 1) / pieces;
        std::int64_t const k[] = {channels_ * product(taps_)};
        auto const x = images(), weights = filters(k);
        kernel_op join{.computes = concat_shape{static_cast<std::int64_t>(2 + cut)}};
        for (std::int64_t first = 0; first < out_[cut]; first += each) {
            auto out = out_;
            out[cut] = std::min(each, out_[cut] - first);
            auto const made = multiplied(weights, windows(x, cut, first, out), {images_, groups_}, k[0], product(out));
            auto const part = each == out_[cut] ? b_.result({n_, 0}) : unnamed({images_, groups_ * outputs_}, out);
            add_op(view_shape{.reshape = true}, made, part);
            join.operands.push_back({part, {}, {}});
        }
        if (each == out_[cut]) return true;
        join.results = {b_.result({n_, 0})};
        b_.add({&n_, 1}, std::move(join));
        return true;
    }
    // The windows of positions from one on, `[N, G, C taps, positions]`.
    kernel_value_id windows(kernel_value_id x, std::size_t cut, std::int64_t first, ints const& out) {
        view_shape v{.from = {0, 1, 2}, .start = {0, 0, 0}, .step = {1, 1, 1}};
        v.start.resize(3 + in_.size(), 0);
        v.start[3 + cut] = first * window_.strides[cut];
        ints sizes{images_, groups_, channels_};
        for (std::size_t d = 0; d < in_.size(); ++d)
            if (taps_[d] > 1) append(v, 3 + d, window_.dilations[d]), sizes.push_back(taps_[d]);
        for (std::size_t d = 0; d < in_.size(); ++d) append(v, 3 + d, window_.strides[d]);
        std::int64_t const matrix[] = {channels_ * product(taps_), product(out)};
        return reshaped(viewed(x, std::move(v), unnamed(sizes, out)), {images_, groups_}, matrix);
    }

    // As a sum of products, one for each tap of the other dimensions than that along which there are most.
    bool add_sums(std::size_t along) {
        auto const x = images(), weights = filters(taps_);
        auto const last = in_.size() - 1;
        ints batch{images_, groups_};
        batch.append(std::span{out_}.first(last));
        auto others = taps_;
        others[along] = 1;
        box_index at{others};
        std::optional<kernel_value_id> sum;
        do {
            view_shape some{.from = {0, 1}, .start = {0, 0}, .step = {1, 1}};
            auto seen = some;
            seen.start.push_back(0);
            for (std::size_t d = 0; d <= last; ++d) {
                some.start.push_back(at[d]), seen.start.push_back(at[d] * window_.dilations[d]);
                if (d < last) append(seen, 3 + d, window_.strides[d]);
            }
            append(some, 2 + along, 1), append(seen, 3 + along, window_.dilations[along]);
            append(seen, 3 + last, window_.strides[last]);
            std::int64_t const matrix[] = {taps_[along], out_[last]};
            std::int64_t const one[] = {taps_[along]};
            auto const left = viewed(weights, std::move(some), unnamed({groups_, outputs_}, one));
            auto const right = viewed(x, std::move(seen), unnamed(batch, matrix));
            sum = multiplied(left, right, batch, taps_[along], out_[last], sum);
        } while (at.next());
        if (outputs_ > 1) { // filters are behind the batches
            view_shape turned{.from = {0, 1}, .step = {1, 1}};
            turned.start.resize(batch.size() + 2, 0);
            append(turned, batch.size(), 1);
            for (std::size_t d = 2; d < batch.size(); ++d) append(turned, d, 1);
            append(turned, batch.size() + 1, 1);
            sum = viewed(*sum, std::move(turned), unnamed({images_, groups_, outputs_}, out_));
        }
        add_op(view_shape{.reshape = true}, *sum, b_.result({n_, 0}));
        return true;
    }

    kernel_builder& b_;
    any_graph const& g_;
    node_id n_;
    window_attributes window_;
    std::int64_t images_ = 1, groups_ = 1, channels_ = 1, outputs_ = 1; // channels and outputs of a group
    ints in_{}, taps_{}, out_{};                                        // of the dimensions of pixels; in_ with borders
};

GSUB_LAZY [[nodiscard]] bool fuse_conv_windows(kernel_builder& b, node_id n) {
    return window_products{b, n}.add();
}

} // namespace gsub::detail
