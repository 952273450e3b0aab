// Texts of operators that move or convert elements.
#pragma once

#include <gsub/eval/scalar.hpp>
#include <gsub/runtime/impl/cast_source.ipp>
#include <gsub/runtime/impl/step_source.ipp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace gsub::runtime::detail {

// The text of a graph of one operator that moves or converts elements.
template <class = void>
class operator_text {
public:
    explicit operator_text(any_graph const& g) : g_(g) {}

    std::optional<step_source> source() {
        if (!find_operator()) return std::nullopt;
        auto const n = node_;
        if (all_empty()) return source_of_step("", 1);
        if (g_.is<ops::cast>(n)) return cast();
        if (g_.is<ops::transpose>(n)) return transpose();
        if (g_.is<ops::slice>(n)) return slice();
        if (g_.is<ops::pad>(n)) return pad();
        if (g_.is<ops::split>(n) || g_.is<ops::concat>(n)) return parts();
        if (g_.is<ops::gather>(n)) return gather();
        if (g_.is<ops::fill>(n)) return fill();
        if (g_.is<ops::shape>(n)) return shape();
        if (g_.op(n).free_view) return view();
        return std::nullopt;
    }

private:
    bool find_operator() {
        for (auto n : g_.order()) {
            if (g_.is<ops::input>(n) || g_.is<ops::constant>(n)) continue;
            if (n == g_.results_node()) break;
            if (node_.valid()) return false;
            node_ = n;
        }
        if (!node_.valid()) return false;
        for (auto v : g_.operands(node_))
            if (v.valid() && !g_.type(v).is_static()) return false;
        for (std::size_t i = 0; i < g_.output_count(); ++i)
            if (g_.output(i).node != node_ || !g_.type(g_.output(i)).is_static()) return false;
        return true;
    }
    bool all_empty() const {
        for (std::size_t i = 0; i < g_.output_count(); ++i)
            if (*g_.type(g_.output(i)).elements() > 0) return false;
        return true;
    }
    tensor_type const& operand(std::size_t i) const { return g_.type(g_.operand(node_, i)); }
    bool has(std::size_t i) const { return i < g_.operand_count(node_) && g_.operand(node_, i).valid(); }
    // The buffer of an operand that is computed elsewhere.
    std::optional<std::size_t> buffer(std::size_t i) const {
        auto const v = g_.operand(node_, i);
        if (!g_.is<ops::input>(v.node)) return std::nullopt;
        return g_.input_position(v.node);
    }
    // A list of numbers: an operand that is constant, else an attribute.
    std::optional<ints> setting(std::size_t i, ints const& otherwise) const {
        if (!has(i)) return otherwise;
        auto const v = g_.operand(node_, i);
        if (!g_.is<ops::constant>(v.node)) return std::nullopt;
        return g_.constant_data(v.node).to_ints();
    }
    // Whether the first of two buffers is the first operand and the second one the only result.
    bool one_to_one() const {
        return buffer(0) == std::size_t{0} && g_.inputs().size() == 1 && g_.output_count() == 1 &&
               g_.output(0).port == 0;
    }
    tensor_type const& result() const { return g_.type(g_.output(0)); }
    static std::size_t along(std::int64_t axis, std::size_t rank) {
        return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
    }
    static std::size_t bytes_of(tensor_type const& t) {
        return static_cast<std::size_t>(*t.elements()) * byte_size(t.element);
    }

    std::optional<step_source> cast() const {
        if (!one_to_one()) return std::nullopt;
        return operand(0).element == result().element
                   ? view()
                   : source_of_cast(operand(0).element, result().element, *result().elements());
    }
    std::optional<step_source> view() const {
        auto const from = buffer(0);
        if (!from || g_.output_count() != 1 || g_.output(0).port != 0 || bytes_of(operand(0)) != bytes_of(result()))
            return std::nullopt;
        return source_of_copy({1, {{.from = *from, .to = g_.inputs().size(), .size = bytes_of(result())}}});
    }

    std::optional<step_source> gather() const {
        auto const& x = operand(0);
        auto const integers = operand(1).element;
        if (buffer(0) != std::size_t{0} || buffer(1) != std::size_t{1} || !is_integer(integers)) return std::nullopt;
        auto const axis = along(g_.attributes<ops::gather>(node_).axis, x.rank());
        auto const dims = x.sizes();
        return source_of_gather(static_cast<std::size_t>(product(std::span{dims}.first(axis))), dims[axis],
                                static_cast<std::size_t>(product(std::span{dims}.subspan(axis + 1))) *
                                    byte_size(x.element),
                                static_cast<std::size_t>(*operand(1).elements()), integers);
    }

    // Concat and Split: pieces of the whole, one after the other.
    std::optional<step_source> parts() const {
        auto const joins = g_.is<ops::concat>(node_);
        auto const& whole = joins ? result() : operand(0);
        auto const axis =
            along(joins ? g_.attributes<ops::concat>(node_).axis : g_.attributes<ops::split>(node_).axis, whole.rank());
        auto const dims = whole.sizes();
        auto const row = [&](tensor_type const& t) { // bytes a time
            auto const own = t.sizes();
            return static_cast<std::size_t>(product(std::span{own}.subspan(axis))) * byte_size(t.element);
        };
        std::vector<strided_move> moves;
        std::size_t begin = 0;
        if (joins) {
            for (std::size_t i = 0; i < g_.operand_count(node_); ++i) {
                auto const from = buffer(i);
                if (!from) return std::nullopt;
                auto const size = row(operand(i));
                moves.push_back({*from, 0, size, g_.inputs().size(), begin, row(whole), size});
                begin += size;
            }
        } else {
            auto const from = buffer(0);
            if (!from) return std::nullopt;
            for (std::uint32_t port = 0; port < g_.result_count(node_); ++port) {
                if (!g_.type({node_, port}).is_static()) return std::nullopt;
                auto const size = row(g_.type({node_, port}));
                for (std::size_t i = 0; i < g_.output_count(); ++i)
                    if (g_.output(i).port == port)
                        moves.push_back({*from, begin, row(whole), g_.inputs().size() + i, 0, size, size});
                begin += size;
            }
        }
        return source_of_copy({product(std::span{dims}.first(axis)), std::move(moves)});
    }

    // ---- boxes

    // A dimension of the result, and where its positions lie in the operand.
    struct dimension {
        std::int64_t size = 1, stride = 0;
        std::int64_t before = 0, there = 0; // of a pad: width, and the operand's size
    };
    small_vector<std::int64_t, 6> strides() const {
        auto const dims = operand(0).sizes();
        small_vector<std::int64_t, 6> out(dims.size(), 1);
        for (auto i = dims.size(); i-- > 1;) out[i - 1] = out[i] * dims[i];
        return out;
    }
    std::vector<dimension> dimensions() const {
        std::vector<dimension> out;
        for (auto d : result().sizes()) out.push_back({d});
        return out;
    }
    // Rows of the result, a row a position. `bound` limits `x`, a position in the operand, or clears `in`.
    std::optional<step_source> boxes(std::vector<dimension> dims, std::int64_t origin, std::string_view border = {},
                                     std::string (*bound)(dimension const&) = nullptr) const {
        if (dims.empty()) dims.emplace_back();
        auto const last = dims.back();
        auto const limit = [&](dimension const& d) { return bound ? bound(d) : std::string{}; };
        std::string text =
            message({item_type(result().element), "  const item* from = (const item*)b[0];\n  item* to = (item*)b[",
                     g_.inputs().size(), "];\n", border,
                     "  for (long at = begin; at < end; ++at) {\n    long rest = at, place = ", origin,
                     ", x;\n    bool in = true;\n"});
        std::int64_t rows = 1;
        for (auto i = dims.size() - 1; i-- > 0;) {
            text += message({"    x = rest % ", dims[i].size, "L, rest /= ", dims[i].size, "L;\n", limit(dims[i]),
                             "    place += x * ", dims[i].stride, "L;\n"});
            rows *= dims[i].size;
        }
        text += message({"    const bool row = in;\n    item* out = to + at * ", last.size, "L;\n",
                         "    for (long i = 0; i < ", last.size, "L; ++i) {\n    x = i, in = row;\n", limit(last),
                         "    out[i] = ", bound ? "!in ? border : " : "", "from[place + x * ", last.stride,
                         "L];\n    }\n  }\n"});
        return source_of_step(text, rows);
    }

    std::optional<step_source> transpose() const {
        if (!one_to_one()) return std::nullopt;
        auto dims = dimensions();
        auto const& perm = g_.attributes<ops::transpose>(node_).perm;
        auto const step = strides();
        for (std::size_t i = 0; i < perm.size(); ++i) dims[i].stride = step[static_cast<std::size_t>(perm[i])];
        return boxes(std::move(dims), 0);
    }

    std::optional<step_source> slice() const {
        auto const& a = g_.attributes<ops::slice>(node_);
        auto const starts = setting(1, a.starts), ends = setting(2, a.ends);
        if (!one_to_one() || !starts || !ends) return std::nullopt;
        ints all;
        for (std::size_t i = 0; i < starts->size(); ++i) all.push_back(static_cast<std::int64_t>(i));
        auto const alone = g_.operand_count(node_) == 1;
        auto const axes = setting(3, alone ? a.axes : all);
        auto const steps = setting(4, alone ? a.steps : ints(starts->size(), 1));
        if (!axes || !steps) return std::nullopt;
        auto dims = dimensions();
        auto const step = strides();
        for (std::size_t i = 0; i < dims.size(); ++i) dims[i].stride = step[i];
        std::int64_t origin = 0;
        for (std::size_t i = 0; i < axes->size(); ++i) {
            auto const d = along((*axes)[i], dims.size());
            auto const range = clamped_slice((*starts)[i], (*ends)[i], (*steps)[i], operand(0).dims[d].size());
            origin += range.start * step[d];
            dims[d].stride = dims[d].size == 1 ? 0 : step[d] * range.step; // a lone element may have any step
        }
        return boxes(std::move(dims), origin);
    }

    std::optional<step_source> pad() const {
        auto const& a = g_.attributes<ops::pad>(node_);
        auto dims = dimensions();
        ints all;
        for (std::size_t i = 0; i < dims.size(); ++i) all.push_back(static_cast<std::int64_t>(i));
        auto const pads = setting(1, a.pads), axes = setting(3, all);
        if (buffer(0) != std::size_t{0} || g_.output_count() != 1 || !pads || !axes) return std::nullopt;
        if (*operand(0).elements() == 0 && a.mode != "constant") return std::nullopt;
        auto const step = strides();
        for (std::size_t i = 0; i < dims.size(); ++i) {
            dims[i].stride = step[i];
            dims[i].there = operand(0).dims[i].size();
        }
        for (std::size_t i = 0; i < axes->size(); ++i) dims[along((*axes)[i], dims.size())].before = (*pads)[i];
        auto const element = result().element;
        auto border = tensor::zeros(element, ints{1});
        std::optional<std::size_t> given; // the buffer with the border's value
        if (a.mode == "constant") {
            border = tensor::scalar(a.value).converted_to(element);
            if (has(2) && *operand(2).elements() > 0) {
                if (auto const v = g_.operand(node_, 2); g_.is<ops::constant>(v.node))
                    border = g_.constant_data(v.node);
                else if (given = buffer(2); !given)
                    return std::nullopt;
            }
        }
        auto const value = given ? message({"*(const item*)b[", *given, "]"}) : bits_of(border);
        auto const limit = a.mode == "edge" ? edge_of : a.mode == "reflect" ? reflection_of : inside_of;
        return boxes(std::move(dims), 0, message({"  const item border = ", value, ";\n"}), limit);
    }
    static std::string inside_of(dimension const& d) {
        return message({"    x -= ", d.before, "L, in = in && x >= 0 && x < ", d.there, "L;\n"});
    }
    static std::string edge_of(dimension const& d) {
        return message({"    x -= ", d.before, "L, x = x < 0 ? 0 : x < ", d.there, "L ? x : ", d.there - 1, "L;\n"});
    }
    static std::string reflection_of(dimension const& d) {
        return message({"    x -= ", d.before, "L, x = x < 0 ? -x : x < ", d.there, "L ? x : ", 2 * (d.there - 1),
                        "L - x;\n    in = in && x >= 0 && x < ", d.there, "L;\n"});
    }

    // ---- constants

    static tensor constant_of(double real, std::int64_t integer, dtype element) {
        return is_floating(element) ? tensor::scalar(real).converted_to(element)
                                    : tensor::scalar(integer).converted_to(element);
    }
    // The first element as a number of its size.
    static std::string bits_of(tensor const& t) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, t.raw().data(), byte_size(t.element()));
        return message({bits, "UL"});
    }
    std::optional<step_source> fill() const {
        auto const& a = g_.attributes<ops::fill>(node_);
        auto const element = result().element;
        return source_of_step(message({item_type(element), "  item* to = (item*)b[", g_.inputs().size(),
                                       "];\n  for (long i = 0; i < ", *result().elements(),
                                       "L; ++i) to[i] = ", bits_of(constant_of(a.value, a.integer, element)), ";\n"}),
                              1);
    }
    std::optional<step_source> shape() const {
        auto const& a = g_.attributes<ops::shape>(node_);
        auto const dims = operand(0).sizes();
        auto const rank = static_cast<std::int64_t>(dims.size());
        auto const start = std::clamp<std::int64_t>(a.start < 0 ? a.start + rank : a.start, 0, rank);
        std::string text = message({"  long* to = (long*)b[", g_.inputs().size(), "];\n"});
        for (std::int64_t i = 0; i < *result().elements(); ++i)
            text += message({"  to[", i, "] = ", dims[static_cast<std::size_t>(start + i)], "L;\n"});
        return source_of_step(text, 1);
    }

    any_graph const& g_;
    node_id node_{};
};

} // namespace gsub::runtime::detail
