#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/passes/combine/combine_parallel_conv2d.hpp>
#include <gsub/passes/pass.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gsub::passes::detail {

// The number of branches in an argument. Throws `error` where it is none.
GSUB_LAZY std::size_t branches_in(std::string_view pass, std::string_view text) {
    std::size_t out = 0;
    auto const end = text.data() + text.size();
    auto const read = std::from_chars(text.data(), end, out);
    if (read.ec != std::errc{} || read.ptr != end || out < 2)
        throw error{problem{error_code::usage,
                            {},
                            {},
                            fmt::format("{} takes a number of branches, 2 or more, not {}", pass, quoted{text}),
                            {}}};
    return out;
}

// What is joined, and how.
enum class sibling_kind {
    convolutions, // weights along their outputs
    columns,      // matrices side by side
    stacks,       // matrices of one shape, one upon the other
    batches,      // stacks of matrices, side by side
};

// Finds operators that read one value, and makes one of them.
template <class = void>
class sibling_combiner {
public:
    sibling_combiner(any_graph& g, pass_context& cx, sibling_kind kind, std::size_t least)
        : g_(g), cx_(cx), kind_(kind), least_(std::max<std::size_t>(2, least)) {}

    pass_outcome run() {
        if (!find_row(g_.operators().ops, id_of<ops::concat>) || !find_row(g_.operators().ops, id_of<ops::split>) ||
            !find_row(g_.operators().ops, id_of<ops::reshape>) || !find_row(g_.operators().ops, id_of<ops::expand>) ||
            !find_row(g_.operators().ops, id_of<ops::fill>) || !find_row(g_.operators().ops, id_of<ops::squeeze>))
            return std::move(outcome_);
        if (kind_ == sibling_kind::batches) measure();
        collect();
        for (auto const& group : groups_) {
            cx_.check_stop();
            if (group.size() < 2) continue;
            if (group.size() < least_)
                outcome_.skip("fewer branches than asked for");
            else if (!independent(group))
                outcome_.skip("branches that may depend on each other");
            else
                join(group);
        }
        outcome_.changed = outcome_.matches > 0;
        if (outcome_.changed) {
            g_.erase_dead();
            GSUB_ASSERT(g_.sort(), "operators that read one value and constants do not depend on each other");
        }
        return std::move(outcome_);
    }

private:
    using branches = std::vector<node_id>;

    // Longest path to each node from what is constant or an input.
    void measure() {
        depth_.resize(g_.capacity());
        for (auto n : g_.order()) {
            if (g_.constant(n)) continue;
            for (auto v : g_.operands(n))
                if (v.valid()) depth_[n.index] = std::max(depth_[n.index], depth_[v.node.index] + 1);
        }
    }
    // A joined operator may stand where the first of the group stands: then all paths still lead upwards in depth,
    // however many groups are joined.
    [[nodiscard]] bool independent(branches const& group) const {
        if (kind_ != sibling_kind::batches) return true; // weights are constant
        auto first = depth_[group.front().index];
        for (auto n : group) first = std::min(first, depth_[n.index]);
        return std::all_of(group.begin(), group.end(),
                           [&](node_id n) { return depth_[g_.operand(n, 1).node.index] < first; });
    }

    void collect() {
        std::unordered_map<hash128, std::size_t> known;
        for (auto n : g_.order()) {
            auto const key = key_of(n);
            if (!key) continue;
            auto const [at, fresh] = known.try_emplace(*key, groups_.size());
            if (fresh) groups_.emplace_back();
            groups_[at->second].push_back(n);
        }
    }

    // What operators that can be joined have in common; nothing for one that cannot.
    std::optional<hash128> key_of(node_id n) {
        auto const convolves = kind_ == sibling_kind::convolutions;
        auto const takes_gemm = kind_ == sibling_kind::columns && g_.is<ops::gemm>(n);
        if (!(convolves ? g_.is<ops::conv>(n) : g_.is<ops::mat_mul>(n) || takes_gemm)) return std::nullopt;
        auto const x = g_.operand(n, 0), w = g_.operand(n, 1), c = g_.operand(n, 2);
        if (g_.constant(n) || !g_.used(n) || x == w) return std::nullopt;
        if (convolves && g_.attributes<ops::conv>(n).group != 1) return std::nullopt;
        auto const &weight = g_.type(w), &y = g_.type({n, 0});
        if (!weight.is_static() || !y.ranked || !y.layout.empty()) return std::nullopt;
        auto const rank = weight.rank();
        if (convolves ? rank < 3 : kind_ == sibling_kind::batches ? rank < 3 : rank != 2) return std::nullopt;
        if (!convolves && (!g_.type(x).ranked || g_.type(x).rank() < 2)) return std::nullopt;
        if (kind_ != sibling_kind::batches && (!g_.constant(w) || (c.valid() && !g_.constant(c)))) {
            outcome_.skip("weights that are not constant");
            return std::nullopt;
        }
        if (c.valid() && !operand_fits(n, c)) {
            outcome_.skip("a bias of another form");
            return std::nullopt;
        }
        hasher h{static_cast<std::uint64_t>(g_.op(n).id)};
        h.add(x.node.index).add(x.port).add(g_.attributes(n).hash()).add(static_cast<std::uint64_t>(weight.element));
        h.add(rank);
        for (std::size_t i = 0; i < rank; ++i)
            if (kind_ == sibling_kind::stacks || i != joined_axis(n))
                h.add(i).add(static_cast<std::uint64_t>(weight.dims[i].size()));
        return h.finish();
    }

    // The axis of a weight along which weights are joined.
    [[nodiscard]] std::size_t joined_axis(node_id n) const {
        if (kind_ == sibling_kind::convolutions) return 0;
        if (g_.is<ops::gemm>(n)) return g_.attributes<ops::gemm>(n).transpose_b ? 0 : 1;
        return g_.type(g_.operand(n, 1)).rank() - 1;
    }
    [[nodiscard]] std::int64_t channels(node_id n) const {
        return g_.type(g_.operand(n, 1)).dims[joined_axis(n)].size();
    }
    // Place of the channels among the dimensions of results, counted from the last one.
    [[nodiscard]] std::size_t from_last(node_id n) const {
        return kind_ == sibling_kind::convolutions ? g_.type({n, 0}).rank() - 2 : 0;
    }
    // A bias has one number a channel; that of a product may be one number and have rows.
    [[nodiscard]] bool operand_fits(node_id n, value_id c) const {
        auto const& t = g_.type(c);
        if (!t.is_static()) return false;
        if (kind_ == sibling_kind::convolutions) return t.rank() == 1 && t.dims[0].size() == channels(n);
        return true;
    }

    // ---- operands that go along ---------------------------------------------------------------------------------

    // Constants, one a branch, `from_last` from the end of which the channels are.
    struct side {
        std::vector<value_id> values;
        std::vector<std::int64_t> channels; // of each branch
        std::size_t from_last = 0;
    };
    [[nodiscard]] ints dims_of(value_id v) const {
        auto dims = g_.type(v).sizes();
        return dims.empty() ? ints(1, 1) : dims;
    }
    // Whether one number is repeated for its branch.
    [[nodiscard]] bool repeats() const { return kind_ != sibling_kind::convolutions; }
    [[nodiscard]] bool shared(side const& s) const {
        auto const same = std::all_of(s.values.begin(), s.values.end(), [&](value_id v) { return v == s.values[0]; });
        if (!same || !repeats()) return false;
        return kind_ == sibling_kind::stacks || dims_of(s.values[0]).back() == 1;
    }

    [[nodiscard]] bool joinable(side const& s) const {
        for (auto v : s.values)
            if (!g_.constant(v) || !g_.type(v).is_static() || g_.type(v).element != g_.type(s.values[0]).element)
                return false;
        if (shared(s)) return true;
        auto const first = dims_of(s.values[0]);
        if (first.size() <= s.from_last) return false;
        auto const at = first.size() - 1 - s.from_last;
        for (std::size_t i = 0; i < s.values.size(); ++i) {
            auto const dims = dims_of(s.values[i]);
            if (dims.size() != first.size()) return false;
            for (std::size_t d = 0; d < dims.size(); ++d)
                if ((d != at || kind_ == sibling_kind::stacks) && dims[d] != first[d]) return false;
            if (kind_ != sibling_kind::stacks && dims[at] != s.channels[i] && !(repeats() && dims[at] == 1))
                return false;
        }
        return true;
    }

    value_id reshaped(value_id v, ints dims) {
        return g_.add<ops::reshape>(attributes_of<ops::reshape>::to(std::move(dims)), {v});
    }
    // As many dimensions, ones in front.
    static ints with_ones(ints const& dims, std::size_t rank) {
        ints out(rank - dims.size(), 1);
        out.append(dims);
        return out;
    }
    // *Requires* `joinable`. `rank` is that of what they are joined with.
    value_id joined(side const& s, std::size_t rank) {
        if (shared(s)) return s.values[0];
        std::vector<value_id> parts;
        auto const at = dims_of(s.values[0]).size() - 1 - s.from_last;
        for (std::size_t i = 0; i < s.values.size(); ++i) {
            auto v = s.values[i];
            auto dims = dims_of(v);
            if (kind_ == sibling_kind::stacks) {
                v = reshaped(v, with_ones(dims, rank));
            } else if (dims[at] != s.channels[i]) {
                dims[at] = s.channels[i];
                v = g_.add<ops::expand>({.shape = dims}, {v});
            } else if (g_.type(v).rank() == 0) {
                v = reshaped(v, dims);
            }
            parts.push_back(v);
        }
        auto const axis = kind_ == sibling_kind::stacks ? 0 : static_cast<std::int64_t>(at);
        return g_.add<ops::concat>({.axis = axis}, parts);
    }

    // ---- joining ------------------------------------------------------------------------------------------------

    // An elementwise operator that all branches end in: it alone reads each of them, at one place.
    struct follower {
        std::vector<node_id> nodes;
        std::size_t operand = 0;
        side other; // empty: it has one operand
    };
    std::optional<follower> next(std::vector<value_id> const& ends, side const& shape) const {
        follower f;
        f.other.channels = shape.channels;
        f.other.from_last = shape.from_last;
        for (std::size_t i = 0; i < ends.size(); ++i) {
            use only{};
            std::size_t readers = 0;
            g_.for_each_use(ends[i], [&](use u) {
                only = u;
                return ++readers < 2;
            });
            auto const n = only.user;
            if (readers != 1 || n == g_.return_node()) return std::nullopt;
            auto const count = g_.operand_count(n);
            if (g_.op(n).category != op_category::elementwise || g_.op(n).layouts != layout_policy::propagates ||
                g_.result_count(n) != 1 || count < 1 || count > 2)
                return std::nullopt;
            if (!(g_.type({n, 0}).dims == g_.type(ends[i]).dims) || !g_.type({n, 0}).ranked) return std::nullopt;
            if (i == 0) f.operand = only.operand;
            auto const first = i == 0 ? n : f.nodes[0];
            if (g_.row(n) != g_.row(first) || !(g_.attributes(n) == g_.attributes(first)) ||
                count != g_.operand_count(first) || only.operand != f.operand)
                return std::nullopt; // by one place of operands, different values have different readers
            f.nodes.push_back(n);
            if (count == 2) f.other.values.push_back(g_.operand(n, 1 - f.operand));
        }
        if (!f.other.values.empty() && !joinable(f.other)) return std::nullopt;
        return f;
    }

    // The type of a branch with more channels, or with the branches as a dimension in front.
    [[nodiscard]] type_id widened(value_id v, side const& shape) const {
        auto t = g_.type(v);
        std::int64_t sum = 0;
        for (auto c : shape.channels) sum += c;
        if (kind_ == sibling_kind::stacks)
            t.dims.insert(0, dim{static_cast<std::int64_t>(shape.channels.size())});
        else
            t.dims[t.rank() - 1 - shape.from_last] = dim{sum};
        return t;
    }

    // Types are known, so that nothing is inferred: what was known of a branch is known afterwards.
    value_id append(node_id like, std::vector<value_id> operands, type_id type, std::vector<node_id> const& sources) {
        while (!operands.back().valid()) operands.pop_back();
        auto const made = g_.append_node(g_.row(like), g_.attributes(like), 0, operands, {&type, 1});
        g_.inherit_sources(made, sources);
        return {made, 0};
    }

    void join(branches const& group) {
        side shape, bias;
        shape.from_last = from_last(group[0]);
        std::vector<value_id> ends, weights;
        bool biased = false;
        for (auto n : group) {
            shape.channels.push_back(channels(n));
            weights.push_back(g_.operand(n, 1));
            ends.push_back({n, 0});
            biased = biased || g_.operand(n, 2).valid();
        }
        bias.channels = shape.channels;
        if (biased && !gather_biases(group, bias)) return outcome_.skip("biases of different form");
        auto const rank = g_.type(ends[0]).rank() + (kind_ == sibling_kind::stacks ? 1 : 0);
        auto axis = static_cast<std::int64_t>(joined_axis(group[0]));
        if (kind_ == sibling_kind::stacks) {
            for (auto& w : weights) { w = reshaped(w, with_ones(g_.type(w).sizes(), rank)); }
            axis = 0;
        }
        auto const weight = g_.add<ops::concat>({.axis = axis}, weights);
        auto const addend = biased ? joined(bias, rank) : value_id{};
        auto big = append(group[0], {g_.operand(group[0], 0), weight, addend}, widened(ends[0], shape), group);
        while (auto const f = next(ends, shape)) {
            std::vector<value_id> operands{big};
            if (!f->other.values.empty()) operands.insert(operands.begin() + (f->operand == 0), joined(f->other, rank));
            for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = {f->nodes[i], 0};
            big = append(f->nodes[0], std::move(operands), widened(ends[0], shape), f->nodes);
        }
        divide(big, ends, shape);
        ++outcome_.matches;
    }

    // The bias of each branch, zeros where there is none. Whether they can be joined.
    bool gather_biases(branches const& group, side& bias) {
        value_id some;
        for (auto n : group)
            if (g_.operand(n, 2).valid()) some = g_.operand(n, 2);
        auto const last = dims_of(some).size() - 1;
        for (std::size_t i = 0; i < group.size(); ++i) {
            auto c = g_.operand(group[i], 2);
            if (!c.valid()) {
                auto dims = dims_of(some);
                dims[last] = bias.channels[i];
                c = g_.add<ops::fill>({.shape = dims, .element = g_.type(some).element}, {});
            }
            bias.values.push_back(c);
        }
        if (joinable(bias)) return true;
        for (auto c : bias.values)
            if (!g_.used(c)) g_.erase_unused(c.node);
        return false;
    }

    // Parts of the joined value stand for the branches.
    void divide(value_id big, std::vector<value_id> const& ends, side const& shape) {
        auto const stacked = kind_ == sibling_kind::stacks;
        auto const rank = g_.type(big).rank();
        attributes_of<ops::split> parts;
        parts.axis = stacked ? 0 : static_cast<std::int64_t>(rank - 1 - shape.from_last);
        std::vector<type_id> types;
        for (std::size_t i = 0; i < ends.size(); ++i) {
            auto t = g_.type(ends[i]);
            if (stacked) t.dims.insert(0, dim{1});
            types.push_back(t);
            parts.sizes.push_back(stacked ? 1 : shape.channels[i]);
        }
        auto const cut = g_.append_node(*find_row(g_.operators().ops, id_of<ops::split>), intern<ops::split>(parts), 0,
                                        {&big, 1}, types);
        for (std::uint32_t i = 0; i < ends.size(); ++i) {
            value_id part{cut, i};
            if (stacked) {
                auto const type = g_.type_of(ends[i]);
                part = {g_.append_node(*find_row(g_.operators().ops, id_of<ops::squeeze>),
                                       intern<ops::squeeze>({.axes = {0}}), 0, {&part, 1}, {&type, 1}),
                        0};
            }
            g_.inherit_sources(part.node, {&ends[i].node, 1});
            g_.replace_uses(ends[i], part);
        }
    }

    any_graph& g_;
    pass_context& cx_;
    sibling_kind kind_;
    std::size_t least_;
    pass_outcome outcome_;
    std::vector<branches> groups_;
    std::vector<std::uint32_t> depth_;
};

} // namespace gsub::passes::detail

namespace gsub::passes {

GSUB_LAZY_BODY result<combine_parallel_conv2d> combine_parallel_conv2d::from_text(std::string_view text) {
    return capture([&] {
        combine_parallel_conv2d p;
        p.min_branches = detail::branches_in(name, text);
        return p;
    });
}

GSUB_LAZY_BODY result<pass_outcome> combine_parallel_conv2d::operator()(any_graph& g, pass_context& cx) const {
    return capture([&] {
        return detail::sibling_combiner<>{g, cx, detail::sibling_kind::convolutions, min_branches}.run();
    });
}

} // namespace gsub::passes
