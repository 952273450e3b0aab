// Resize and Upsample, as gathers and products along each axis.
#pragma once

#include <gsub/io/impl/function_writer.ipp>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace gsub::io::detail {

/// What a Resize does along one axis.
struct resized_axis {
    std::size_t axis = 0;
    std::int64_t from = 0, to = 0; // sizes
    double scale = 1;
    double begin = 0, end = 1; // of the region, as shares of the axis
};

/// Where the elements of a resized axis come from: a weighted sum of elements each.
struct resized_elements {
    using taps = std::vector<std::pair<std::int64_t, double>>; // element and weight, by rising element
    std::vector<taps> from;
    std::vector<bool> outside; // of the region's tensor: they get a value of their own
};

/// Reads the attributes of a Resize and tells where elements come from.
class resize_reader {
public:
    explicit resize_reader(onnx_import_context& cx)
        : cx_(cx),
          mode_(cx.text("mode").value_or("nearest")),
          place_(cx.text("coordinate_transformation_mode").value_or(cx.opset() < 11 ? "asymmetric" : "half_pixel")),
          rounding_(cx.text("nearest_mode").value_or(cx.opset() < 11 ? "floor" : "round_prefer_floor")),
          sharpness_(cx.real("cubic_coeff_a").value_or(-0.75)),
          excludes_outside_(cx.integer("exclude_outside").value_or(0) != 0),
          smooth_(cx.integer("antialias").value_or(0) != 0) {
        expect("mode", mode_, {"nearest", "linear", "cubic"});
        expect("nearest_mode", rounding_, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
        expect("coordinate_transformation_mode", place_,
               {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                "tf_half_pixel_for_nn", "tf_crop_and_resize"});
    }

    [[nodiscard]] bool nearest() const noexcept { return mode_ == "nearest"; }
    [[nodiscard]] bool crops() const noexcept { return place_ == "tf_crop_and_resize"; }

    /// Takes the elements that the results along the axis are made of from what the import may make.
    [[nodiscard]] resized_elements elements_of(resized_axis const& a) const {
        constexpr double most = 1 << 14;
        if (!nearest() && !(reach(a) <= most)) cx_.unsupported("a filter that is as wide as this");
        auto const taps = nearest() ? 1 : static_cast<std::int64_t>(2 * reach(a)) + 1;
        cx_.take_constant({a.to, taps}, format_text("an axis of size {}", a.to));
        resized_elements out;
        for (std::int64_t i = 0; i < a.to; ++i) {
            auto const x = place_of(a, static_cast<double>(i));
            out.outside.push_back(crops() && !(x >= 0 && x <= static_cast<double>(a.from - 1)));
            out.from.push_back(nearest() ? resized_elements::taps{{inside(rounded(x), a.from), 1}} : weighted(a, x));
        }
        return out;
    }

private:
    void expect(std::string_view name, std::string const& value, std::initializer_list<std::string_view> all) const {
        if (std::ranges::find(all, value) == all.end()) cx_.unsupported(format_text("{} {}", name, quoted{value}));
    }
    // Where the centre of a result lies on the axis.
    [[nodiscard]] double place_of(resized_axis const& a, double i) const {
        auto const from = static_cast<double>(a.from), width = a.scale * from;
        if (place_ == "align_corners") return width == 1 ? 0 : i * (from - 1) / (width - 1);
        if (place_ == "asymmetric") return i / a.scale;
        if (place_ == "tf_half_pixel_for_nn") return (i + 0.5) / a.scale;
        if (crops()) {
            auto const region = (a.end - a.begin) * (from - 1);
            return a.begin * (from - 1) + (width == 1 ? region / 2 : i * region / (width - 1));
        }
        if (place_ == "pytorch_half_pixel" && a.to == 1) return width == 1 ? -0.5 : 0;
        auto const centred =
            place_ == "half_pixel_symmetric" ? from / 2 * (1 - static_cast<double>(a.to) / width) : 0.0;
        return centred + (i + 0.5) / a.scale - 0.5;
    }
    [[nodiscard]] double rounded(double x) const {
        if (rounding_ == "floor") return std::floor(x);
        if (rounding_ == "ceil") return std::ceil(x);
        return rounding_ == "round_prefer_floor" ? std::ceil(x - 0.5) : std::floor(x + 0.5);
    }
    static std::int64_t inside(double x, std::int64_t size) { // not beyond the edges; NaN is the first element
        auto const last = static_cast<double>(size - 1);
        return x > 0 ? static_cast<std::int64_t>(std::min(x, last)) : 0;
    }
    // The weight of an element at a distance from a place.
    [[nodiscard]] double weight(double distance) const {
        auto const x = std::abs(distance), a = sharpness_;
        if (mode_ == "linear") return std::max(0.0, 1 - x);
        if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
        return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
    }
    // A smooth filter is as wide as what becomes one element.
    [[nodiscard]] double narrow(resized_axis const& a) const { return smooth_ ? std::min(a.scale, 1.0) : 1.0; }
    [[nodiscard]] double reach(resized_axis const& a) const { return (mode_ == "linear" ? 1 : 2) / narrow(a); }
    [[nodiscard]] resized_elements::taps weighted(resized_axis const& a, double x) const {
        if (!(std::abs(x) <= 1e15)) cx_.unsupported("a filter that is as wide as this");
        resized_elements::taps out;
        double all = 0;
        for (auto j = std::ceil(x - reach(a)); j <= std::floor(x + reach(a)); ++j) {
            auto const w = weight((j - x) * narrow(a));
            auto const beyond = j < 0 || j > static_cast<double>(a.from - 1);
            if (w == 0 || (beyond && excludes_outside_)) continue;
            all += w;
            auto const element = inside(j, a.from);
            if (!out.empty() && out.back().first == element)
                out.back().second += w;
            else
                out.emplace_back(element, w);
        }
        if (out.empty() || all == 0) return {{inside(x, a.from), 1}};
        for (auto& [element, w] : out) w /= all;
        return out;
    }

    onnx_import_context& cx_;
    std::string mode_, place_, rounding_;
    double sharpness_; // of the cubic filter
    bool excludes_outside_, smooth_;
};

// A constant along an axis, to be broadcast over the others.
template <class T, class Of>
value_id along_axis(function_writer const& to, resized_elements const& e, std::size_t dimensions_behind, dtype element,
                    Of of) {
    ints sizes(1 + dimensions_behind, 1);
    sizes[0] = static_cast<std::int64_t>(e.from.size());
    auto t = tensor::uninitialized(dtype_of<T>, sizes);
    for (std::size_t i = 0; i < e.from.size(); ++i) t.template mutable_data<T>()[i] = of(i);
    return to.node().builder().constant(t.converted_to(element));
}

// Sums of few elements are gathered, an element of each sum at a time; those of many are a product. Elements of the
// last axis are gathered as rows, which are moved whole: two transpositions cost less than elements one by one.
GSUB_INLINE value_id resized_along(function_writer const& to, value_id x, resized_axis a, resized_elements const& e) {
    auto& b = to.node().builder();
    auto const rank = to.rank(x);
    std::size_t taps = 0;
    for (auto const& f : e.from) taps = std::max(taps, f.size());
    constexpr std::size_t few = 4;
    auto const as_rows = a.axis > 0 && a.axis == rank - 1 && taps <= few;
    ints first, last; // the last axis as the first one, and back
    if (as_rows) {
        first.push_back(static_cast<std::int64_t>(a.axis));
        for (std::size_t d = 0; d < a.axis; ++d) first.push_back(static_cast<std::int64_t>(d));
        for (std::size_t d = 1; d < rank; ++d) last.push_back(static_cast<std::int64_t>(d));
        last.push_back(0);
        x = to.make<ops::transpose>({.perm = first}, {x});
        a.axis = 0;
    }
    auto const back = [&](value_id y) { return as_rows ? to.make<ops::transpose>({.perm = last}, {y}) : y; };
    auto const gathered = [&](std::size_t k) {
        auto const places = along_axis<std::int64_t>(to, e, 0, dtype::i64, [&](std::size_t i) {
            return k < e.from[i].size() ? e.from[i][k].first : e.from[i][0].first;
        });
        return to.make<ops::gather>({.axis = static_cast<std::int64_t>(a.axis)}, {x, places});
    };
    auto const plain = std::ranges::all_of(e.from, [](auto const& f) { return f.size() == 1 && f[0].second == 1; });
    if (plain) return back(gathered(0));
    if (taps <= few) {
        value_id sum{};
        for (std::size_t k = 0; k < taps; ++k) {
            auto const weights = along_axis<double>(to, e, rank - 1 - a.axis, to.element(x), [&](std::size_t i) {
                return k < e.from[i].size() ? e.from[i][k].second : 0.0;
            });
            auto const part = to.mul(gathered(k), weights);
            sum = k == 0 ? part : to.add(sum, part);
        }
        return back(sum);
    }
    to.node().take_constant({a.from, a.to}, "filters of an axis as long as this");
    auto matrix = tensor::zeros(dtype::f64, ints{a.from, a.to});
    for (std::int64_t i = 0; i < a.to; ++i)
        for (auto const& [element, w] : e.from[static_cast<std::size_t>(i)])
            matrix.mutable_data<double>()[static_cast<std::size_t>(element * a.to + i)] = w;
    auto const weights = b.constant(matrix.converted_to(to.element(x)));
    ints swapped;
    for (std::size_t d = 0; d < rank; ++d) swapped.push_back(static_cast<std::int64_t>(d));
    std::swap(swapped[a.axis], swapped[rank - 1]);
    auto const turned = [&](value_id v) {
        return a.axis == rank - 1 ? v : to.make<ops::transpose>({.perm = swapped}, {v});
    };
    return turned(to.make<ops::mat_mul>(turned(x), weights));
}

// How often each element stands, one after the other; 0 where results are made otherwise.
GSUB_INLINE std::int64_t repeats_of(resized_axis const& a, resized_elements const& e) {
    if (a.from < 1 || a.to % a.from != 0 || std::ranges::find(e.outside, true) != e.outside.end()) return 0;
    auto const times = a.to / a.from;
    for (std::int64_t i = 0; i < a.to; ++i)
        if (auto const& f = e.from[static_cast<std::size_t>(i)]; f.size() != 1 || f[0] != std::pair{i / times, 1.0})
            return 0;
    return times;
}
// A value whose elements stand several times along each axis, which is a view of it.
GSUB_INLINE value_id repeated(function_writer const& to, value_id x, std::span<std::int64_t const> times) {
    ints apart, wide, all;
    for (std::size_t d = 0; d < times.size(); ++d) {
        auto const size = to.size(x, d);
        apart.push_back(size), wide.push_back(size), all.push_back(size * times[d]);
        if (times[d] > 1) apart.push_back(1), wide.push_back(times[d]);
    }
    return to.fixed(to.make<ops::expand>({.shape = wide}, {to.fixed(x, apart)}), all);
}

// Sizes of a region's ratio: all axes scaled alike.
GSUB_INLINE void keep_ratio(std::vector<resized_axis>& axes, bool within) {
    auto const scale_of = [](resized_axis const& a) { return static_cast<double>(a.to) / static_cast<double>(a.from); };
    auto best = scale_of(axes.front());
    for (auto const& a : axes) best = within ? std::min(best, scale_of(a)) : std::max(best, scale_of(a));
    for (auto& a : axes)
        a.scale = best, a.to = static_cast<std::int64_t>(std::floor(best * static_cast<double>(a.from) + 0.5));
}

GSUB_INLINE std::vector<resized_axis> read_resized_axes(onnx_import_context& cx, function_writer const& to, value_id x,
                                                        bool crops) {
    auto const rank = to.rank(x);
    std::vector<resized_axis> axes;
    auto const given = cx.integer_list("axes");
    for (std::size_t i = 0; i < (given ? given->size() : rank); ++i)
        axes.push_back({.axis = given ? to.axis((*given)[i], rank) : i});
    auto const policy = cx.text("keep_aspect_ratio_policy").value_or("stretch");
    if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
        cx.unsupported(format_text("keep_aspect_ratio_policy {}", quoted{policy}));
    auto const listed = cx.real_list("scales"); // of Upsample before operator set 9
    auto const factors =
        listed ? std::optional{std::vector<double>(listed->begin(), listed->end())} : to.reals(cx.opset() < 11 ? 1 : 2);
    auto const sizes = cx.opset() < 11 ? std::nullopt : cx.known_ints(3);
    auto const by_sizes = sizes && !sizes->empty(), by_factors = factors && !factors->empty();
    if (by_sizes == by_factors) cx.unsupported("neither sizes nor scales that are constants, or both");
    if ((by_sizes ? sizes->size() : factors->size()) != axes.size())
        cx.invalid(format_text("{} for {} axes", by_sizes ? sizes->size() : factors->size(), axes.size()));
    constexpr std::int64_t most = 1 << 24;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        auto& a = axes[i];
        a.from = to.size(x, a.axis);
        a.scale = by_factors ? (*factors)[i] : 1;
        if (!(a.scale > 0 && a.scale <= static_cast<double>(most)))
            cx.invalid(format_text("scale {}", shortest{a.scale}));
        // As files mean it: in single precision.
        a.to = by_sizes ? (*sizes)[i]
                        : static_cast<std::int64_t>(
                              std::min(std::floor(static_cast<float>(a.from) * static_cast<float>(a.scale)),
                                       static_cast<float>(most) + 1));
        if (a.to < 0) cx.invalid(format_text("size {}", a.to));
        if (a.from == 0 && a.to != 0) cx.invalid(format_text("axis {} of size 0", a.axis));
        if (by_sizes && a.from != 0) a.scale = static_cast<double>(a.to) / static_cast<double>(a.from);
        if (a.to > most) cx.unsupported(format_text("an axis of size {}", a.to));
    }
    if (by_sizes && policy != "stretch" && !axes.empty() &&
        std::ranges::all_of(axes, [](auto const& a) { return a.from > 0; }))
        keep_ratio(axes, policy == "not_larger");
    if (!crops) return axes;
    auto const region = to.reals(1);
    if (!region || region->size() != 2 * axes.size()) cx.unsupported("a region that is no constant");
    for (std::size_t i = 0; i < axes.size(); ++i)
        axes[i].begin = (*region)[i], axes[i].end = (*region)[i + axes.size()];
    return axes;
}

GSUB_INLINE value_id import_resize(onnx_import_context& cx) {
    function_writer const to{cx};
    resize_reader const how{cx};
    auto const beyond = cx.real("extrapolation_value").value_or(0);
    auto const given = to.typed(0);
    if (!how.nearest() && !to.is_floating_value(given))
        cx.unsupported(format_text("weighted sums of {}", to_string(to.element(given))));
    auto axes = read_resized_axes(cx, to, given, how.crops());
    // What shrinks comes first and what grows last, so that least is computed; else the last axis, where elements that
    // are chosen do not stand in rows.
    std::ranges::reverse(axes);
    std::ranges::stable_sort(axes, std::ranges::less{}, [](resized_axis const& a) {
        return static_cast<double>(a.to) / static_cast<double>(std::max<std::int64_t>(a.from, 1));
    });
    auto y = how.nearest() ? given : to.widened(given);
    value_id outside{};
    ints times(to.rank(y), 1);
    for (auto const& a : axes) {
        if (a.from == a.to && a.scale == 1 && !how.crops()) continue;
        auto const e = how.elements_of(a);
        auto const sizes_known = cx.builder().type_of(given)->is_static();
        if (auto const of = sizes_known ? repeats_of(a, e) : 0; of > 0) {
            times[a.axis] = of;
            continue;
        }
        y = resized_along(to, y, a, e);
        if (std::ranges::find(e.outside, true) == e.outside.end()) continue;
        auto const here = along_axis<bool>(to, e, to.rank(y) - 1 - a.axis, dtype::boolean,
                                           [&](std::size_t i) { return bool{e.outside[i]}; });
        outside = outside.valid() ? to.make<ops::logical_or>(outside, here) : here;
    }
    if (std::ranges::any_of(times, [](auto n) { return n > 1; })) y = repeated(to, y, times);
    if (outside.valid()) y = to.select(outside, to.number(beyond, y), y);
    return y == given ? to.make<ops::identity>(y) : to.cast(y, to.element(given));
}

} // namespace gsub::io::detail
