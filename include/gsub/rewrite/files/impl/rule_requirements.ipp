#pragma once

#include <gsub/core/format.hpp>
#include <gsub/rewrite/files/rule_shapes.hpp>

#include <utility>

namespace gsub {

namespace detail {

/// A size, and how it comes from the sizes of a rule's inputs.
struct stated_size {
    std::int64_t size = 0;
    std::string text;
};
/// A shape, and an input of the rule that has its rank.
struct stated_shape {
    std::string name;
    std::vector<stated_size> sizes;

    [[nodiscard]] std::size_t rank() const noexcept { return sizes.size(); }
    stated_size& operator[](std::size_t d) { return sizes[d]; }
    stated_size const& operator[](std::size_t d) const { return sizes[d]; }
};

/// Follows shapes through the operators of a rule and notes what is not as it must be.
template <class = void>
class requirement_finder {
public:
    requirement_finder(rule_description const& rule, described_shapes const& shapes) : rule_(rule), shapes_(shapes) {
        for (std::size_t i = 0; i < shapes.inputs.size(); ++i)
            inputs_.push_back(stated(shapes.inputs[i], rule.inputs[i]));
    }

    std::vector<std::string> run() {
        // The parts of a split of the source are of any size, those of the target as large as what they stand for.
        values parts(rule_.source.size());
        for (std::size_t i = 0; i < parts.size(); ++i)
            for (std::uint32_t port = 0; port < rule_.source[i].results; ++port)
                parts[i].push_back(
                    stated(shapes_.results[i][port], format_text("part {} of source operator {}", port, i)));
        auto const before = follow(rule_.source, parts);
        parts.assign(rule_.target.size(), {});
        for (std::size_t i = 0; i < parts.size(); ++i) parts[i].resize(rule_.target[i].results);
        for (auto const& o : rule_.outputs)
            if (!o.target.is_input()) parts[o.target.number()][o.target.port] = read(before, o.source);
        auto const after = follow(rule_.target, parts);
        if (!broken_.empty()) return std::move(broken_);
        for (auto const& o : rule_.outputs) all_equal(read(after, o.target), read(before, o.source));
        return std::move(broken_);
    }

private:
    using values = std::vector<std::vector<stated_shape>>; // by operator and result

    static stated_shape stated(ints const& sizes, std::string_view name) {
        stated_shape out{std::string{name}, {}};
        for (std::size_t d = 0; d < sizes.size(); ++d) out.sizes.push_back({sizes[d], format_text("{}[{}]", name, d)});
        return out;
    }

    stated_shape const& read(values const& all, described_value v) const {
        return v.is_input() ? inputs_[v.number()] : all[v.number()][v.port];
    }

    template <class... T>
    void require(bool holds, std::type_identity_t<text_format<T...>> form, T&&... of) {
        if (holds) return;
        auto text = format_text(form, std::forward<T>(of)...);
        for (auto const& known : broken_)
            if (known == text) return;
        broken_.push_back(std::move(text));
    }
    void equal(stated_size const& a, stated_size const& b) { require(a.size == b.size, "{} = {}", a.text, b.text); }
    bool equal_ranks(stated_shape const& a, stated_shape const& b) {
        require(a.rank() == b.rank(), "{} and {} have equal ranks", a.name, b.name);
        return a.rank() == b.rank();
    }
    bool has_rank(stated_shape const& x, std::int64_t rank) {
        require(static_cast<std::int64_t>(x.rank()) == rank, "{} has rank {}", x.name, rank);
        return broken_.empty();
    }
    void all_equal(stated_shape const& a, stated_shape const& b, std::size_t but = rule_limits::rank) {
        if (!equal_ranks(a, b)) return;
        for (std::size_t d = 0; d < a.rank(); ++d)
            if (d != but) equal(a[d], b[d]);
    }

    // Stops at the first operator that is ill-typed; the shapes of those behind it are not known.
    values follow(std::vector<described_operator> const& operators, values const& parts) {
        values out;
        for (std::size_t i = 0; broken_.empty() && i < operators.size(); ++i) {
            auto const& op = operators[i];
            std::vector<stated_shape const*> x;
            for (auto const v : op.operands) x.push_back(&read(out, v));
            out.emplace_back(op.results, *x[0]);
            apply(op, x, parts[i], out.back());
        }
        return out;
    }

    void apply(described_operator const& op, std::vector<stated_shape const*> const& x,
               std::vector<stated_shape> const& parts, std::vector<stated_shape>& y) {
        auto const rank = x[0]->rank();
        auto const axis = static_cast<std::size_t>(op.axis);
        switch (op.word->law) {
        case shape_law::alike:
            for (auto const* other : x) all_equal(*x[0], *other);
            break;
        case shape_law::product: {
            auto const &a = *x[0], &b = *x[1];
            if (rank < 2) return require(false, "{} is a matrix or a stack of them", a.name);
            if (!equal_ranks(a, b)) return;
            for (std::size_t d = 0; d + 2 < rank; ++d) equal(a[d], b[d]);
            equal(a[rank - 1], b[rank - 2]);
            y[0][rank - 1] = b[rank - 1];
            break;
        }
        case shape_law::convolution:
            convolution(op, *x[0], *x[1], y[0]);
            break;
        case shape_law::joining:
            if (!fits(op, *x[0])) return;
            for (std::size_t i = 1; i < x.size(); ++i) {
                all_equal(*x[0], *x[i], axis);
                if (!broken_.empty()) return;
                y[0][axis].size += (*x[i])[axis].size;
                y[0][axis].text += format_text(" + {}", (*x[i])[axis].text);
            }
            break;
        case shape_law::parting:
            split(op, *x[0], parts, y);
            break;
        }
    }

    bool fits(described_operator const& op, stated_shape const& x) {
        if (op.rank > 0) return has_rank(x, op.rank);
        require(op.axis < static_cast<std::int64_t>(x.rank()), "{} has rank {} or more", x.name, op.axis + 1);
        return broken_.empty();
    }

    void convolution(described_operator const& op, stated_shape const& x, stated_shape const& w, stated_shape& y) {
        if (!has_rank(x, 4) || !has_rank(w, 4)) return;
        for (std::size_t d = 0; d < 2; ++d) {
            auto const& k = w[d + 2];
            if (op.kernel[d] > 0) require(k.size == op.kernel[d], "{} = {}", k.text, op.kernel[d]);
            if (op.same_pads) require(k.size % 2 == 1, "{} is odd", k.text);
        }
        require(x[1].size % w[1].size == 0, "{} is a multiple of {}", in_brackets(x[1]), in_brackets(w[1]));
        if (!broken_.empty()) return;
        require(w[0].size % (x[1].size / w[1].size) == 0, "{} is a multiple of {} / {}", in_brackets(w[0]),
                in_brackets(x[1]), in_brackets(w[1]));
        y[1] = w[0];
        for (std::size_t d = 0; d < 2; ++d) {
            if (op.same_pads && op.strides[d] == 1) continue;
            y[d + 2].size = window_positions(op, x[d + 2].size, w[d + 2].size, op.strides[d]);
            require(y[d + 2].size > 0, "the window {} fits into {}", w[d + 2].text, x[d + 2].text);
            y[d + 2].text = format_text("windows {} in {}", w[d + 2].text, x[d + 2].text);
        }
    }

    void split(described_operator const& op, stated_shape const& x, std::vector<stated_shape> const& parts,
               std::vector<stated_shape>& y) {
        if (!fits(op, x)) return;
        auto const axis = static_cast<std::size_t>(op.axis);
        stated_size sum;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (!equal_ranks(parts[i], x)) return;
            y[i][axis] = parts[i][axis];
            sum.size += parts[i][axis].size;
            sum.text += format_text("{}{}", i > 0 ? " + " : "", parts[i][axis].text);
        }
        equal(x[axis], sum);
    }

    static std::string in_brackets(stated_size const& s) {
        return s.text.find(' ') == std::string::npos ? s.text : format_text("({})", s.text);
    }

    rule_description const& rule_;
    described_shapes const& shapes_;
    std::vector<stated_shape> inputs_;
    std::vector<std::string> broken_;
};

} // namespace detail

GSUB_LAZY_BODY std::vector<std::string> broken_requirements(rule_description const& rule,
                                                            described_shapes const& shapes) {
    return detail::requirement_finder{rule, shapes}.run();
}

} // namespace gsub
