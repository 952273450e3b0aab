// GridSample: images read at places that are computed.
#pragma once

#include <gsub/io/impl/function_writer.ipp>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace gsub::io::detail {

/// Sampling of a file: weighted sums of the pixels around places, each a gather. Halves are computed in f32.
class grid_sampler {
public:
    explicit grid_sampler(onnx_import_context& cx)
        : cx_(cx),
          to_(cx),
          mode_(cx.text("mode").value_or("linear")),
          padding_(cx.text("padding_mode").value_or("zeros")),
          corners_(cx.integer("align_corners").value_or(0) != 0) {
        if (mode_ == "bilinear") mode_ = "linear";
        if (mode_ == "bicubic") mode_ = "cubic";
        if (mode_ != "linear" && mode_ != "nearest" && mode_ != "cubic")
            cx.unsupported(format_text("mode {}", quoted{mode_}));
        if (padding_ != "zeros" && padding_ != "border" && padding_ != "reflection")
            cx.unsupported(format_text("padding_mode {}", quoted{padding_}));
    }

    value_id run() {
        auto const given = to_.floating(0), x = to_.widened(given);
        auto const grid = to_.cast(to_.floating(1), to_.element(x));
        auto const rank = to_.rank(x);
        if (rank < 3 || to_.rank(grid) != rank || to_.size(grid, rank - 1) != static_cast<std::int64_t>(rank) - 2)
            cx_.invalid(format_text("places {} for operand {}", to_string(cx_.type(1)), to_string(cx_.type(0))));
        auto const pixels = rank - 2;
        if (pixels > 3) cx_.unsupported(format_text("images of {} dimensions", pixels));
        auto const batch = to_.size(x, 0), channels = to_.size(x, 1);
        ints result{batch, channels};
        std::int64_t places = 1, area = 1;
        for (std::size_t i = 0; i < pixels; ++i) {
            result.push_back(to_.size(grid, i + 1));
            if (to_.size(x, i + 2) == 0 || __builtin_mul_overflow(places, result.back(), &places) ||
                __builtin_mul_overflow(area, to_.size(x, i + 2), &area))
                cx_.unsupported(format_text("operand {}", to_string(cx_.type(0))));
        }
        source_ = to_.make<ops::transpose>({.perm = {0, 2, 1}}, {to_.fixed(x, {batch, channels, area})});
        auto const flat = to_.fixed(grid, {batch, places, static_cast<std::int64_t>(pixels)});
        std::int64_t stride = area;
        for (std::size_t i = 0; i < pixels; ++i) {
            auto const last = static_cast<std::int64_t>(pixels - 1 - i); // places name the last dimension first
            auto const place =
                to_.make<ops::slice>({.starts = {last}, .ends = {last + 1}, .axes = {2}, .steps = {1}}, {flat});
            auto const size = to_.size(x, i + 2);
            stride /= size;
            axes_.push_back(taps_of(place, size, stride));
        }
        auto const sum = summed(0, {});
        auto const y = to_.make<ops::transpose>({.perm = {0, 2, 1}}, {sum});
        return to_.cast(to_.fixed(y, result), to_.element(given));
    }

private:
    // A pixel along one axis for each place, [batch, places, 1]: its part of an index, its weight and whether it is
    // there; not valid where they are 1 and true.
    struct tap {
        value_id index, weight{}, inside{};
    };

    [[nodiscard]] value_id number(double v) const { return to_.number(v, source_); }
    [[nodiscard]] value_id clamped(value_id v, double low, double high) const {
        return to_.make<ops::clip>({.min = low, .max = high}, {v});
    }
    [[nodiscard]] value_id outside(value_id v, double low, double high) const {
        return to_.make<ops::logical_or>(to_.make<ops::less>(v, number(low)), to_.make<ops::greater>(v, number(high)));
    }
    // Turned back at the borders until it lies between them.
    [[nodiscard]] value_id reflected(value_id v, double low, double high) const {
        if (!(high > low)) return to_.add(to_.mul(v, number(0)), number(low));
        auto const period = 2 * (high - low);
        auto const from = to_.sub(v, number(low));
        auto const rounds = to_.make<ops::floor>(to_.div(from, number(period)));
        auto const once = to_.sub(from, to_.mul(rounds, number(period)));
        auto const back = to_.sub(number(period), once);
        return to_.add(to_.select(to_.make<ops::less>(back, once), back, once), number(low));
    }

    [[nodiscard]] std::vector<tap> taps_of(value_id place, std::int64_t size, std::int64_t stride) const {
        auto const last = static_cast<double>(size - 1);
        auto const low = corners_ ? 0 : -0.5, high = corners_ ? last : last + 0.5;
        auto const from_edge = to_.add(place, number(1));
        auto at = corners_ ? to_.mul(from_edge, number(last / 2))
                           : to_.div(to_.sub(to_.mul(from_edge, number(last + 1)), number(1)), number(2));
        if (mode_ == "nearest") at = to_.make<ops::round>(at);
        if (padding_ != "zeros")
            at = to_.select(outside(at, low, high),
                            padding_ == "border" ? clamped(at, 0, last) : reflected(at, low, high), at);
        auto const tap_at = [&](value_id pixel, value_id weight) {
            tap t{pixel, weight};
            if (padding_ == "zeros") t.inside = to_.make<ops::logical_not>(outside(pixel, 0, last));
            if (padding_ == "reflection")
                pixel = to_.select(outside(pixel, low, high), reflected(pixel, low, high), pixel);
            auto const whole = to_.cast(clamped(to_.make<ops::round>(pixel), 0, last), dtype::i64);
            t.index = to_.mul(whole, to_.integer(stride, dtype::i64));
            return t;
        };
        if (mode_ == "nearest") return {tap_at(at, {})};
        auto const before = to_.make<ops::floor>(at), beyond = to_.sub(at, before);
        std::vector<tap> out;
        if (mode_ == "linear") {
            out.push_back(tap_at(before, to_.sub(number(1), beyond)));
            out.push_back(tap_at(to_.add(before, number(1)), beyond));
            return out;
        }
        for (int i = -1; i <= 2; ++i) {
            auto const distance = i <= 0 ? to_.sub(beyond, number(i)) : to_.sub(number(i), beyond);
            out.push_back(tap_at(to_.add(before, number(i)), cubic(distance, i == 0 || i == 1)));
        }
        return out;
    }
    // Keys' cubic with a = -3/4, of a distance up to 1, or from 1 to 2.
    [[nodiscard]] value_id cubic(value_id x, bool near) const {
        constexpr double a = -0.75;
        auto const by = [&](value_id v, double factor) { return to_.mul(v, number(factor)); };
        auto const plus = [&](value_id v, double term) { return to_.add(v, number(term)); };
        if (near) return plus(to_.mul(to_.mul(plus(by(x, a + 2), -(a + 3)), x), x), 1);
        return plus(to_.mul(plus(to_.mul(plus(by(x, a), -5 * a), x), 8 * a), x), -4 * a);
    }

    // The sum over the taps of the axes from one on, those before being chosen.
    [[nodiscard]] value_id summed(std::size_t axis, tap const& chosen) const {
        if (axis == axes_.size()) {
            auto v = to_.make<ops::gather_nd>({.batch_dims = 1}, {source_, chosen.index});
            if (chosen.inside.valid()) v = to_.select(chosen.inside, v, number(0));
            return chosen.weight.valid() ? to_.mul(v, chosen.weight) : v;
        }
        value_id sum;
        auto const both = [&]<class Join>(value_id a, value_id b, Join join) {
            return !a.valid() ? b : !b.valid() ? a : join(a, b);
        };
        for (auto const& t : axes_[axis]) {
            tap const next{
                both(chosen.index, t.index, [&](auto a, auto b) { return to_.add(a, b); }),
                both(chosen.weight, t.weight, [&](auto a, auto b) { return to_.mul(a, b); }),
                both(chosen.inside, t.inside, [&](auto a, auto b) { return to_.make<ops::logical_and>(a, b); })};
            auto const part = summed(axis + 1, next);
            sum = sum.valid() ? to_.add(sum, part) : part;
        }
        return sum;
    }

    onnx_import_context& cx_;
    function_writer to_;
    std::string mode_, padding_;
    bool corners_;
    value_id source_; // [batch, pixels, channels]
    std::vector<std::vector<tap>> axes_;
};

GSUB_INLINE value_id import_grid_sample(onnx_import_context& cx) {
    return grid_sampler{cx}.run();
}

} // namespace gsub::io::detail
