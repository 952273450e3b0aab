#pragma once

#include <gsub/codegen/lower_nest.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/cost/impl/kernel_time.ipp>
#include <gsub/cost/lowered.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/graph_cloner.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/lower/lower_graph.hpp>
#include <gsub/runtime/program.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

namespace gsub::cost {

namespace detail {

struct hash_of_hash {
    std::size_t operator()(hash128 h) const noexcept { return static_cast<std::size_t>(h.low); }
};

// Operators of a group with the views that they read, as they stand in their graph.
template <class = void>
class group_in_graph {
public:
    group_in_graph(any_graph const& g, std::span<node_id const> group, fusion_scope const& scope)
        : g_(g), scope_(scope) {
        // Views that it reads come with it: whether they take time is up to who reads them.
        for (auto n : group) nodes_.push_back({n, true});
        for (auto n : group) add_views_of(n);
        std::sort(nodes_.begin(), nodes_.end(),
                  [&](auto const& a, auto const& b) { return g.place(a.node) < g.place(b.node); });
    }

    // Equal for groups that take one time.
    [[nodiscard]] hash128 key() const {
        hasher h;
        small_vector<value_id, 32> boundary;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            auto const n = nodes_[i].node;
            h.add(g_.row(n)).add(g_.attributes(n).hash()).add(nodes_[i].own ? 1u : 0u);
            for (auto v : g_.operands(n)) {
                if (!v.valid()) {
                    h.add(~std::uint64_t{0});
                } else if (auto const at = number_of(v.node); at < nodes_.size()) {
                    h.add(at << 8 | v.port);
                } else {
                    auto const known = std::find(boundary.begin(), boundary.end(), v);
                    h.add(1u << 30 | static_cast<std::uint64_t>(known - boundary.begin()));
                    if (known != boundary.end()) continue;
                    boundary.push_back(v);
                    h.add(g_.type_of(v).hash()).add(g_.constant(v) ? 2u : scope_.in_blocks(v) ? 1u : 0u);
                    h.add(g_.is<ops::input>(v.node) || is_view_node(v.node) ? 1u : 0u);
                    if (counts(v)) h.add(g_.blob(v.node)->hash());
                }
            }
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port) {
                value_id const v{n, port};
                h.add(g_.type_of(v).hash()).add(scope_.in_blocks(v) ? 1u : 0u).add(read_outside(v) ? 1u : 0u);
            }
        }
        return h.finish();
    }

    // As a graph of its own, whose types name layouts.
    struct alone {
        any_graph graph;
        std::vector<value_id> inputs; // what each input stands for
        std::vector<std::uint32_t> within;
    };
    template <class Zeros>
    [[nodiscard]] alone extracted(isa const& isa, Zeros&& zeros) const {
        alone out{any_graph{g_.operators()}, {}, {}};
        graph_cloner copies{g_, out.graph, cloned_text::nothing};
        auto const stored = [&](value_id v, bool in_blocks) {
            auto t = g_.type(v);
            t.layout = in_blocks ? channel_blocks(t.rank(), isa) : layout{};
            return t;
        };
        std::vector<value_id> outputs;
        for (auto const& [n, own] : nodes_) {
            for (auto v : g_.operands(n)) {
                if (!v.valid() || copies.has(v)) continue;
                if (g_.is<ops::constant>(v.node))
                    copies.stand(v, out.graph.add_constant(g_.blob(v.node)));
                else if (g_.constant(v))
                    copies.stand(v, out.graph.add_constant(zeros(g_.type(v))));
                else
                    copies.stand(v, out.graph.add_input(stored(v, read_in_blocks(v)), {})), out.inputs.push_back(v);
            }
            small_vector<type_id, 4> types;
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
                types.push_back(stored({n, port}, scope_.in_blocks({n, port})));
            auto const copy = copies.clone(n, copies.operands(n), {types, {}});
            out.within.resize(out.graph.capacity(), 0);
            out.within[copy.index] = own ? 1 : 0;
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
                if (own && read_outside({n, port})) outputs.push_back(copies({n, port}));
        }
        out.graph.set_outputs(outputs);
        out.within.resize(out.graph.capacity(), 0);
        return out;
    }

    [[nodiscard]] bool is_static() const {
        return std::all_of(nodes_.begin(), nodes_.end(), [&](auto const& m) {
            for (auto v : g_.operands(m.node))
                if (v.valid() && !g_.type(v).is_static()) return false;
            for (std::uint32_t port = 0; port < g_.result_count(m.node); ++port)
                if (!g_.type({m.node, port}).is_static()) return false;
            return true;
        });
    }
    // Whether another group or the caller reads a value.
    [[nodiscard]] bool read_outside(value_id v) const {
        auto outside = false;
        g_.for_each_use(v, [&](use u) {
            auto const at = number_of(u.user);
            outside = outside || at == nodes_.size() || !nodes_[at].own;
        });
        return outside;
    }
    // Whether an operand is there because a kernel has made it.
    [[nodiscard]] bool is_made(value_id v) const { return !g_.is<ops::input>(v.node) && !is_view_node(v.node); }
    [[nodiscard]] bool is_view_node(node_id n) const { return !g_.constant(n) && is_stored_view(g_, n); }

private:
    struct member {
        node_id node;
        bool own; ///< of the group, no view in front of it
    };
    void add_views_of(node_id n) {
        for (auto v : g_.operands(n)) {
            if (!v.valid() || nodes_.size() >= 64 || !is_view_node(v.node)) continue;
            auto const known = [&](member const& m) { return m.node == v.node; };
            if (std::any_of(nodes_.begin(), nodes_.end(), known)) continue;
            nodes_.push_back({v.node, false});
            add_views_of(v.node);
        }
    }
    [[nodiscard]] std::size_t number_of(node_id n) const {
        auto const earlier = [&](member const& m, std::size_t place) { return g_.place(m.node) < place; };
        auto const at = std::lower_bound(nodes_.begin(), nodes_.end(), g_.place(n), earlier);
        return at != nodes_.end() && at->node == n ? static_cast<std::size_t>(at - nodes_.begin()) : nodes_.size();
    }
    // Whether all members that read a value have it in blocks of channels: the first operand of what keeps that one's
    // layout as it lies, others as their results are.
    [[nodiscard]] bool read_in_blocks(value_id v) const {
        for (auto const& m : nodes_) {
            auto const operands = g_.operands(m.node);
            auto const rule = g_.op(m.node).layouts;
            for (std::size_t i = 0; i < operands.size(); ++i) {
                if (operands[i] != v) continue;
                if (rule == layout_policy::row_major || (rule == layout_policy::propagates_first && i > 0))
                    return false;
                if (!scope_.in_blocks(rule == layout_policy::propagates_first ? v : value_id{m.node, 0})) return false;
                if (rule == layout_policy::propagates && !(g_.type(v).dims == g_.type({m.node, 0}).dims)) return false;
            }
        }
        return true;
    }
    // Whether the elements of an operand decide what is computed: settings, and single numbers.
    [[nodiscard]] bool counts(value_id v) const {
        auto const& t = g_.type(v);
        return g_.is<ops::constant>(v.node) && (!is_floating(t.element) || (t.is_static() && *t.elements() == 1));
    }

    any_graph const& g_;
    fusion_scope const& scope_;
    bool is_region_;
    std::vector<member> nodes_;
};

// Bytes that the weights of a convolution take beside their own where its kernel reads them transformed.
GSUB_LAZY double bytes_of_tiles(any_graph const& g, node_id conv, isa const& isa,
                                kernels::winograd_options const& options) {
    auto const weights = g.operand(conv, 1);
    auto const &in = g.type(g.operand(conv, 0)), &filters = g.type(weights);
    auto const& a = g.attributes<ops::conv>(conv);
    if (!g.is<ops::constant>(weights.node) || !in.is_static() || in.rank() != 4 || filters.element != dtype::f32 ||
        a.group != 1)
        return 0;
    kernels::conv2d_shape s{
        .batch = in.dims[0].size(), .in_channels = in.dims[1].size(), .out_channels = filters.dims[0].size()};
    for (std::size_t i = 0; i < 2; ++i) {
        s.in[i] = in.dims[i + 2].size(), s.kernel[i] = filters.dims[i + 2].size();
        s.stride[i] = a.strides[i], s.dilation[i] = a.dilations[i];
        s.pads[i] = a.pads[i], s.pads[i + 2] = a.pads[i + 2];
    }
    auto const chosen = kernels::conv2d_applies(s, isa) ? kernels::choose_winograd(s, isa, options) : std::nullopt;
    if (!chosen) return 0;
    auto const numbers = (chosen->m + 2) * (chosen->m + 2) + 1;
    return gsub::cost::detail::size_bytes(g, weights) * (numbers / 9.0 - 1);
}

} // namespace detail

// What has been found out, for all copies of a model.
struct lowered::known_costs {
    std::shared_mutex mutex;
    std::unordered_map<hash128, double, detail::hash_of_hash> groups;
    std::unordered_map<hash128, kernel_time, detail::hash_of_hash> kernels;
    std::unordered_map<hash128, std::size_t, detail::hash_of_hash> algorithms; // chosen, by the direct one
    std::map<std::string, std::shared_ptr<constant_blob const>> zeros; // by type, for weights that are not computed yet
};

GSUB_LAZY_BODY lowered lowered::on(target const& machine, lowered_options const& options) {
    lowered made{machine, options};
    if (made.options_.threads == 0) made.options_.threads = machine.threads;
    if (machine.l1_bytes > 0) made.core_.l1_bytes = machine.l1_bytes;
    if (machine.l2_bytes > 0) made.core_.l2_bytes = machine.l2_bytes;
    // A machine tells the last cache of a whole socket, of which others hold their part. On an Intel Xeon that tells
    // 480 MB, a virtual machine reads arrays of 64 MB at the rate of that cache and those of 128 MB at nearly that of
    // memory.
    constexpr std::uint64_t share = 64 << 20;
    if (machine.l3_bytes > 0) made.core_.l3_bytes = std::min(machine.l3_bytes, std::max(made.core_.l3_bytes, share));
    if (options.rates) {
        auto& core = made.core_;
        auto const threads = static_cast<double>(made.options_.threads);
        // Kernels that are calibrated with reach about 0.95 of what units can do.
        auto const each_cycle = 2 * core.fma_units * core.unit_bytes / 4 * 0.95;
        core.gigahertz = options.rates->flop_per_second / threads / each_cycle / 1e9;
        core.memory_bytes_in_all = options.rates->bytes_per_second;
        core.memory_bytes_per_second = std::min(core.memory_bytes_per_second, options.rates->bytes_per_second);
    }
    made.evaluators_ = table_of<eval_row, standard_ops>();
    made.known_ = std::make_shared<known_costs>();
    return made;
}
GSUB_LAZY_BODY lowered lowered::of(any_graph const& g, target const& machine, lowered_options options) {
    auto const isa = options.isa ? options.isa : machine.isa;
    auto tiles = kernels::winograd_options_of(machine);
    tiles.accuracy = options.winograd;
    if (options.threads > 0) tiles.threads = options.threads;
    for (auto n : g.order())
        if (g.is<ops::constant>(n))
            options.weight_bytes += gsub::cost::detail::size_bytes(g, {n, 0});
        else if (g.is<ops::conv>(n))
            options.weight_bytes += detail::bytes_of_tiles(g, n, *isa, tiles);
    return on(machine, options);
}

GSUB_LAZY_BODY hash128 lowered::parameters() const {
    return hasher{}
        .add("lowered")
        .add(to_string(machine_))
        .add(core_.name)
        .add(isa_->name)
        .add(options_.threads)
        .add(static_cast<std::uint64_t>(options_.winograd))
        .add_real(options_.weight_bytes)
        .add(options_.rates ? options_.rates->parameters() : hash128{})
        .finish();
}
GSUB_LAZY_BODY std::size_t lowered::groups() const {
    std::shared_lock const lock{known_->mutex};
    return known_->groups.size();
}

GSUB_LAZY_BODY kernel_time lowered::of_kernel(kernel_graph const& g, kernel_op const& op) const {
    auto const value = [&](kernel_value_id v) -> kernel_value const& { return g.values[static_cast<std::size_t>(v)]; };
    kernel_time out;
    if (auto const* const copy = std::get_if<runtime::copy_call>(&op.computes)) {
        out.l2_bytes = 2 * static_cast<double>(copy->bytes());
        out.seconds = copy_seconds(out.l2_bytes, core_) + detail::call_seconds;
        return out;
    }
    if (auto const* const step = std::get_if<runtime::reference_call>(&op.computes)) {
        // The reference runtime: one element after another, in memory of its own.
        for (auto n : step->graph.order())
            out.seconds += 5e-6 + flop_count(step->graph, n) / 2e9 + bytes_moved(step->graph, n) / 2e9;
        return out;
    }
    auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
    auto const* const own = std::get_if<custom_kernel>(&op.computes);
    if ((!d && !own) || (own && !own->nest)) return out;
    std::vector<memory_level> homes;
    for (auto const& o : op.operands)
        homes.push_back(value(o.value).role == runtime::memory_role::constant ? memory_level::last
                                                                              : memory_level::cache);
    if (d) return of_descriptor(*d, *op.schedule, homes);
    return timed(own->nest(*op.schedule, *isa_), runtime::worth_threads(nullptr, own->operations), homes);
}
GSUB_LAZY_BODY kernel_time lowered::timed(loop::fused_nest const& nest, bool shared,
                                          std::span<memory_level const> homes) const {
    kernel_setting const setting{std::max(1u, options_.threads), shared, homes,
                                 lost_share(options_.weight_bytes, core_)};
    return time_of(codegen::lower(nest, "kernel").value(), core_, setting);
}
GSUB_LAZY_BODY kernel_time lowered::of_descriptor(kernels::descriptor const& d, loop::configuration const& knobs,
                                                  std::span<memory_level const> homes) const {
    hasher h;
    h.add(kernels::hash_of(d)).add(loop::to_string(knobs));
    for (auto home : homes) h.add(static_cast<std::uint64_t>(home));
    auto const key = h.finish();
    {
        std::shared_lock const lock{known_->mutex};
        if (auto const found = known_->kernels.find(key); found != known_->kernels.end()) return found->second;
    }
    auto const out =
        timed(kernels::nest_of(d, knobs, *isa_), runtime::worth_threads(&d, kernels::operations_of(d)), homes);
    std::unique_lock const lock{known_->mutex};
    return known_->kernels.emplace(key, out).first->second;
}

GSUB_LAZY_BODY std::size_t lowered::choose(std::span<kernels::descriptor const> alternatives, isa const& isa) const {
    GSUB_ASSERT(!alternatives.empty(), "something to choose from");
    auto const* const s = std::get_if<kernels::conv2d_shape>(&alternatives[0]);
    if (alternatives.size() == 1 || !s || &isa != isa_) return 0;
    auto const key = kernels::hash_of(alternatives[0]);
    {
        std::shared_lock const lock{known_->mutex};
        if (auto const found = known_->algorithms.find(key); found != known_->algorithms.end())
            return std::min(found->second, alternatives.size() - 1);
    }
    std::vector<memory_level> homes{memory_level::cache, memory_level::last};
    if (s->bias) homes.push_back(memory_level::last);
    if (s->residual) homes.push_back(memory_level::cache);
    constexpr double sure = 0.95; // of the direct kernel's time: others err more
    std::size_t best = 0;
    auto least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < alternatives.size(); ++i) {
        auto const& d = alternatives[i];
        auto const space = kernels::space_of(d, isa);
        auto const seconds = of_descriptor(d, kernels::counted(d, isa, space, tiles()), homes).seconds;
        if (seconds < least) least = i == 0 ? sure * seconds : seconds, best = i;
    }
    std::unique_lock const lock{known_->mutex};
    return known_->algorithms.emplace(key, best).first->second;
}
GSUB_LAZY_BODY kernels::winograd_options lowered::tiles() const {
    auto options = kernels::winograd_options_of(machine_);
    options.accuracy = options_.winograd, options.threads = std::max(1u, options_.threads);
    return options;
}

GSUB_LAZY_BODY result<lowered::unit> lowered::exactly(any_graph const& g) const {
    lowering_options options;
    options.winograd = tiles();
    auto const algorithm = [&](std::span<kernels::descriptor const> all, isa const& on) { return choose(all, on); };
    options.algorithms = algorithm_function{algorithm};
    auto const made = lower_graph(g, evaluators_, *isa_, options);
    if (!made) return made.error();
    unit total{};
    for (auto const& op : made->ops) total.amount += of_kernel(*made, op).seconds;
    for (auto const& p : costs_of_weights(g)) total.amount += p.amount;
    return total;
}

GSUB_LAZY_BODY double lowered::cost_of(any_graph const& g, kernel_group const& group, fusion_scope const& scope) const {
    if (std::all_of(group.begin(), group.end(),
                    [&](node_id n) { return is_stored_view(g, n) || !is_executed(g, n); }) &&
        !g.is<ops::layout_transform>(group.front())) {
        // Views take no time but where somebody outside sees them.
        auto const seen = std::any_of(group.begin(), group.end(), [&](node_id n) {
            auto output = false;
            for (std::uint32_t port = 0; port < g.result_count(n); ++port)
                g.for_each_use({n, port}, [&](use u) { output = output || u.user == g.return_node(); });
            return output;
        });
        if (!seen) return 0;
    }
    if (g.is<ops::opaque>(group.front()) || g.is<ops::call>(group.front())) return 0; // in each graph alike
    using operators = detail::group_in_graph<>;
    operators const of{g, group, scope};
    auto const key = of.key();
    {
        std::shared_lock const lock{known_->mutex};
        if (auto const found = known_->groups.find(key); found != known_->groups.end()) return found->second;
    }
    double total = 0;
    if (of.is_static()) {
        auto const alone = of.extracted(*isa_, [&](tensor_type const& t) {
            std::unique_lock const lock{known_->mutex};
            auto& kept = known_->zeros[to_string(t)];
            if (!kept) kept = std::make_shared<constant_blob const>(tensor::zeros(t.element, t.sizes()));
            return kept;
        });
        fuse_context cx;
        static_cast<fusion_rules&>(cx) = fusion_rules_of(alone.graph, *isa_);
        cx.evaluators = evaluators_, cx.laid_out = true, cx.within = as_span(alone.within);
        auto const chosen = select(fuse(alone.graph, cx).value(), *isa_, *this, options_.winograd).value();
        auto const made = schedule(layout_values(chosen, *isa_).value(), *isa_, counting_heuristic{tiles()}).value();
        auto const value = [&](kernel_value_id v) -> kernel_value const& {
            return made.values[static_cast<std::size_t>(v)];
        };
        // What stands between this group and the others, row-major here, may be in blocks there.
        std::vector<char> taken_apart(alone.inputs.size(), 0);
        for (auto const& op : made.ops) {
            auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
            auto const* const moved = d ? std::get_if<kernels::movement_shape>(d) : nullptr;
            auto const input = [&](kernel_operand const& o) -> std::optional<std::size_t> {
                if (value(o.value).role != runtime::memory_role::input) return std::nullopt;
                return value(o.value).position;
            };
            if (moved && moved->kind == kernels::movement_kind::to_blocked)
                if (auto const at = input(op.operands[0]); at && scope.in_blocks(alone.inputs[*at])) continue;
            if (moved && moved->kind == kernels::movement_kind::from_blocked && op.covers.empty() &&
                value(op.results[0]).role == runtime::memory_role::output) {
                auto const out = alone.graph.output(value(op.results[0]).position);
                if (in_channel_blocks(alone.graph.type(out), *isa_)) continue;
            }
            // Parts of a join in blocks are written in their place.
            if (std::holds_alternative<runtime::copy_call>(op.computes) && op.operands.size() == 1 &&
                std::all_of(alone.inputs.begin(), alone.inputs.end(), [&](value_id v) { return of.is_made(v); }))
                continue;
            for (auto const& o : op.operands)
                if (auto const at = input(o);
                    at && scope.in_blocks(alone.inputs[*at]) && !std::exchange(taken_apart[*at], char{1}))
                    total += copy_seconds(2 * gsub::cost::detail::size_bytes(g, alone.inputs[*at]), core_) +
                             detail::call_seconds;
            total += of_kernel(made, op).seconds;
        }
    } else {
        for (auto n : group)
            if (is_executed(g, n)) total += roofline{}(g, n).amount;
    }
    std::unique_lock const lock{known_->mutex};
    return known_->groups.emplace(key, total).first->second;
}

// Of so many bytes of weights beside those that the network came with: they are as much less in the last cache of all.
GSUB_LAZY_BODY double lowered::cost_of_more(double bytes) const {
    auto const room = static_cast<double>(core_.l3_bytes);
    auto const part = options_.weight_bytes / room;
    if (bytes <= 0 || part <= core_.kept_share || part >= core_.lost_share) return 0;
    auto const lost = bytes / room / (core_.lost_share - core_.kept_share);
    auto const hertz = core_.gigahertz * 1e9;
    auto const threads = static_cast<double>(std::max(1u, options_.threads));
    auto const from_memory = threads > 1 ? core_.memory_bytes_in_all : core_.memory_bytes_per_second;
    auto const waiting = 1 / from_memory - 1 / (core_.l3_bytes_per_cycle * hertz * threads); // for a byte
    return lost * options_.weight_bytes * std::max(0.0, waiting);
}
// Of what kernels read of a weight beyond its size: values made of weights count for each of these with its size. A
// tenth of what that costs, for further rewrites may let all read one and the same; a search is to get past there.
GSUB_LAZY_BODY double lowered::cost_of_copies(any_graph const& g, node_id weight) const {
    if (cost_of_more(1) == 0) return 0;
    auto const own = gsub::cost::detail::size_bytes(g, {weight, 0});
    double read = 0;
    std::vector<node_id> made{weight};
    for (std::size_t i = 0; i < made.size(); ++i)
        for (std::uint32_t port = 0; port < g.result_count(made[i]); ++port) {
            auto by_kernel = false;
            g.for_each_use({made[i], port}, [&](use u) {
                if (u.user == g.return_node()) return;
                if (!g.constant(u.user))
                    by_kernel = true;
                else if (std::find(made.begin(), made.end(), u.user) == made.end())
                    made.push_back(u.user);
            });
            if (by_kernel) read += std::min(own, gsub::cost::detail::size_bytes(g, {made[i], port}));
        }
    constexpr double counted = 0.1;
    return counted * cost_of_more(read - own);
}

// Of all weights. What was made of weights and is computed by now counts as a whole, at the first one: a search has
// none.
GSUB_LAZY_BODY std::vector<node_cost> lowered::costs_of_weights(any_graph const& g) const {
    std::vector<node_cost> out;
    auto stored = 0.0;
    for (auto n : g.order())
        if (g.is<ops::constant>(n)) {
            stored += gsub::cost::detail::size_bytes(g, {n, 0});
            out.push_back({n, cost_of_copies(g, n)});
        }
    if (!out.empty()) out.front().amount += cost_of_more(stored - options_.weight_bytes);
    return out;
}

// A function with a deduced type here would be instantiated, with all that it calls, wherever this file is included.
GSUB_LAZY_BODY void lowered::add_costs(std::vector<node_cost>& out, any_graph const& g, kernel_group const& group,
                                       fusion_scope const& scope) const {
    for (std::size_t i = 0; i + 1 < group.size(); ++i) out.push_back({group[i], 0});
    out.push_back({group.back(), cost_of(g, group, scope)});
}
GSUB_LAZY_BODY std::vector<node_cost> lowered::node_costs(any_graph const& g) const {
    auto out = costs_of_weights(g);
    each_kernel_group(g, fusion_rules_of(g, *isa_),
                      [&](kernel_group const& group, fusion_scope const& scope) { add_costs(out, g, group, scope); });
    return out;
}
GSUB_LAZY_BODY grouped_costs lowered::remembered(any_graph const& g) const {
    grouped_costs out;
    auto groups = grouping_of(g, fusion_rules_of(g, *isa_), [&](kernel_group const& group, fusion_scope const& scope) {
        add_costs(out.nodes, g, group, scope);
    });
    out.memory = std::make_shared<kernel_grouping const>(std::move(groups));
    return out;
}
GSUB_LAZY_BODY grouped_costs lowered::remembered(any_graph const& g, void const* memory,
                                                 changed_nodes const& changes) const {
    grouped_costs out;
    auto groups = grouping_of(
        g, fusion_rules_of(g, *isa_), *static_cast<kernel_grouping const*>(memory), changes,
        [&](kernel_group const& group, fusion_scope const& scope) { add_costs(out.nodes, g, group, scope); });
    out.memory = std::make_shared<kernel_grouping const>(std::move(groups));
    add_weights_near(out.nodes, g, changes);
    return out;
}
GSUB_LAZY_BODY std::vector<node_cost> lowered::node_costs_near(any_graph const& g, void const* memory,
                                                               changed_nodes const& changes) const {
    std::vector<node_cost> out;
    each_changed_group(g, fusion_rules_of(g, *isa_), *static_cast<kernel_grouping const*>(memory), changes,
                       [&](kernel_group const& group, fusion_scope const& scope) { add_costs(out, g, group, scope); });
    add_weights_near(out, g, changes);
    return out;
}
// Adds the costs of weights that what has changed is made of.
GSUB_LAZY_BODY void lowered::add_weights_near(std::vector<node_cost>& out, any_graph const& g,
                                              changed_nodes const& changes) const {
    std::vector<node_id> constants;
    auto const note = [&](node_id n) {
        if (g.constant(n) && std::find(constants.begin(), constants.end(), n) == constants.end())
            constants.push_back(n);
    };
    for (auto n : changes.values) note(n);
    for (auto n : changes.readers) note(n);
    for (std::size_t i = 0; i < constants.size(); ++i)
        for (auto v : g.operands(constants[i]))
            if (v.valid()) note(v.node);
    for (auto n : constants)
        if (g.is<ops::constant>(n)) out.push_back({n, cost_of_copies(g, n)});
}
GSUB_LAZY_BODY lowered::unit lowered::operator()(any_graph const& g) const {
    unit total{};
    for (auto const& p : node_costs(g)) total.amount += p.amount;
    return total;
}

} // namespace gsub::cost
