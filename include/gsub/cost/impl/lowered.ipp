#pragma once

#include <gsub/codegen/lower_nest.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/cost/impl/group_costs.ipp>
#include <gsub/cost/impl/group_in_graph.ipp>
#include <gsub/cost/impl/kernel_time.ipp>
#include <gsub/cost/impl/lowered_weights.ipp>
#include <gsub/cost/lowered.hpp>
#include <gsub/cost/nest_time.hpp>
#include <gsub/cost/static_gpu.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/lower/lower_graph.hpp>
#include <gsub/runtime/program.hpp>
#include <gsub/target/port_table.hpp>

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

// For operators of unknown shapes.
GSUB_LAZY roofline roofline_of(target const& machine) {
    if (!machine.gpu) return {};
    return {.launch = copy_seconds(0, *machine.gpu),
            .flop_per_second = machine.gpu->flops(),
            .bytes_per_second = machine.gpu->memory_bytes_per_second};
}

// Where the operands of a convolution are: weights may have left the caches since the last run.
GSUB_LAZY std::vector<memory_level> homes_of(kernels::conv2d_shape const& s) {
    std::vector<memory_level> homes{memory_level::cache, memory_level::last};
    if (s.bias) homes.push_back(memory_level::last);
    if (s.residual) homes.push_back(memory_level::cache);
    return homes;
}

// Which input of the graph an operand is, if it is one.
GSUB_LAZY std::optional<std::size_t> input_of(kernel_graph const& g, kernel_operand const& o) {
    auto const& value = g.values[static_cast<std::size_t>(o.value)];
    if (value.role != runtime::memory_role::input) return std::nullopt;
    return value.position;
}

// Whether a kernel of a group that is lowered by itself is none where the group stands in its graph.
// `all_made`: kernels make all that the group reads.
GSUB_LAZY bool is_left_out(group_in_graph<void> const& of, group_in_graph<void>::alone const& alone, bool all_made,
                           kernel_graph const& made, kernel_op const& op, isa const& isa) {
    auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
    auto const* const moved = d ? std::get_if<kernels::movement_shape>(d) : nullptr;
    if (moved && moved->kind == kernels::movement_kind::to_blocked)
        if (auto const at = input_of(made, op.operands[0]); at && of.in_blocks(alone.inputs[*at])) return true;
    if (moved && moved->kind == kernels::movement_kind::from_blocked && op.covers.empty()) {
        auto const& result = made.values[static_cast<std::size_t>(op.results[0])];
        if (result.role == runtime::memory_role::output &&
            in_channel_blocks(alone.graph.type(alone.graph.output(result.position)), isa))
            return true;
    }
    // Parts of a join in blocks are written in their place.
    return all_made && std::holds_alternative<runtime::copy_call>(op.computes) && op.operands.size() == 1;
}

} // namespace detail

// What has been found out, for all copies of a model.
struct lowered::known_costs {
    std::shared_mutex mutex;
    std::unordered_map<hash128, double, detail::hash_of_hash> groups;
    std::unordered_map<hash128, kernel_time, detail::hash_of_hash> kernels;
    std::unordered_map<hash128, std::size_t, detail::hash_of_hash> algorithms;         // chosen, by the direct one
    std::unordered_map<hash128, kernels::winograd_config, detail::hash_of_hash> tiles; // chosen, by the kernel
    std::size_t not_modelled = 0;     // kernels that the kernel time model has no time for
    std::optional<static_gpu> on_gpu; // where the target is one
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
    made.core_.ports = options.ports;
    if (options.rates) {
        auto& core = made.core_;
        auto const threads = static_cast<double>(made.options_.threads);
        // Kernels that are calibrated with reach about 0.95 of what units can do.
        auto const each_cycle = 2 * core.fma_units * core.unit_bytes / 4 * 0.95;
        core.gigahertz = options.rates->flop_per_second / threads / each_cycle / 1e9;
        core.memory_bytes_in_all = options.rates->bytes_per_second;
        core.memory_bytes_per_second = std::min(core.memory_bytes_per_second, options.rates->bytes_per_second);
    }
    made.evaluators_ = options.evaluators.empty() ? table_of<eval_row, standard_ops>() : options.evaluators;
    made.known_ = std::make_shared<known_costs>();
    GSUB_ASSERT(!machine.gpu || made.isa_ == &isa::warp, "a GPU has kernels whose lanes are threads");
    if (machine.gpu) made.known_->on_gpu.emplace(*machine.gpu);
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
    hasher ports;
    if (core_.ports) {
        ports.add_real(core_.ports->issue).add_real(core_.ports->accumulate_latency);
        for (auto const& u : core_.ports->uses)
            ports.add(static_cast<std::uint64_t>(u.of))
                .add(static_cast<std::uint64_t>(u.from_bytes))
                .add(u.ports)
                .add_real(u.latency)
                .add_real(u.busy);
    }
    return hasher{}
        .add("lowered")
        .add(to_string(machine_))
        .add(core_.name)
        .add(ports.finish())
        .add(isa_->name)
        .add(options_.threads)
        .add(static_cast<std::uint64_t>(options_.winograd))
        .add(options_.model.name)
        .add_real(options_.weight_bytes)
        .add(options_.rates ? options_.rates->parameters() : hash128{})
        .finish();
}
GSUB_LAZY_BODY std::size_t lowered::groups() const {
    std::shared_lock const lock{known_->mutex};
    return known_->groups.size();
}
GSUB_LAZY_BODY std::size_t lowered::not_modelled() const {
    std::shared_lock const lock{known_->mutex};
    return known_->not_modelled;
}

GSUB_LAZY_BODY kernel_time lowered::of_kernel(kernel_graph const& g, kernel_op const& op) const {
    auto const value = [&](kernel_value_id v) -> kernel_value const& { return g.values[static_cast<std::size_t>(v)]; };
    kernel_time out;
    if (auto const* const copy = std::get_if<runtime::copy_call>(&op.computes)) {
        out.l2_bytes = 2 * static_cast<double>(copy->bytes());
        out.seconds = copying(out.l2_bytes);
        return out;
    }
    if (auto const* const step = std::get_if<runtime::reference_call>(&op.computes)) {
        // The reference runtime: one element after another, in memory of its own.
        for (auto n : step->graph.order())
            out.seconds += 5e-6 + flop_count(step->graph, n) / 2e9 + bytes_moved(step->graph, n) / 2e9;
        if (machine_.gpu) {
            double bytes = 0;
            for (auto n : step->graph.order()) bytes += bytes_moved(step->graph, n);
            out.seconds += transfer_seconds(bytes);
        }
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
GSUB_LAZY_BODY double lowered::copying(double bytes) const {
    return machine_.gpu ? copy_seconds(bytes, *machine_.gpu) : copy_seconds(bytes, core_) + detail::call_seconds;
}
GSUB_LAZY_BODY kernel_time lowered::timed(loop::fused_nest const& nest, bool shared,
                                          std::span<memory_level const> homes) const {
    if (machine_.gpu) {
        auto const t = time_of(codegen::lower(nest, "kernel").value(), *machine_.gpu);
        kernel_time out;
        out.compute = std::max({t.issue_cycles, t.multiply_cycles, t.memory_cycles, t.latency_cycles});
        out.memory_bytes = t.moved_seconds * machine_.gpu->memory_bytes_per_second;
        out.seconds = t.seconds;
        return out;
    }
    kernel_setting const setting{std::max(1u, options_.threads), shared, homes,
                                 evicted_share(options_.weight_bytes, core_)};
    if (options_.model.of_nest) return options_.model.of_nest(nest, core_, setting);
    auto const k = codegen::lower(nest, "kernel").value();
    if (options_.model.of || options_.model.source) {
        auto const made = options_.model.source ? options_.model.source->time_of(k, *isa_, core_, setting)
                                                : options_.model.of(k, *isa_, core_, setting);
        if (made) return *made;
        if (made.error().code() != error_code::unsupported) throw made.error();
        std::unique_lock const lock{known_->mutex};
        ++known_->not_modelled;
    }
    return time_of(k, core_, setting);
}
GSUB_LAZY_BODY void lowered::prepare(std::span<kernel_op const> ops, executor& threads) const {
    if (!options_.model.source) return;
    std::vector<codegen::kernel> made;
    for (auto const& op : ops) {
        auto const* const d = std::get_if<kernels::descriptor>(&op.computes);
        auto const* const own = std::get_if<custom_kernel>(&op.computes);
        if (d && op.schedule)
            made.push_back(codegen::lower(kernels::nest_of(*d, *op.schedule, *isa_), "kernel").value());
        else if (own && own->nest)
            made.push_back(codegen::lower(own->nest(*op.schedule, *isa_), "kernel").value());
    }
    options_.model.source->prepare(made, *isa_, threads);
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
    if (machine_.gpu && &isa == isa_) return known_->on_gpu->choose(alternatives, isa);
    auto const* const s = std::get_if<kernels::conv2d_shape>(&alternatives[0]);
    if (alternatives.size() == 1 || !s || &isa != isa_) return 0;
    auto const key = kernels::hash_of(alternatives[0]);
    {
        std::shared_lock const lock{known_->mutex};
        if (auto const found = known_->algorithms.find(key); found != known_->algorithms.end())
            return std::min(found->second, alternatives.size() - 1);
    }
    auto const homes = detail::homes_of(*s);
    constexpr double sure = 0.95; // of the direct kernel's time: others err more
    std::size_t best = 0;
    auto least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < alternatives.size(); ++i) {
        auto const& d = alternatives[i];
        auto const space = kernels::space_of(d, isa);
        auto const seconds = of_descriptor(d, choose(d, isa, space), homes).seconds;
        if (seconds < least) least = i == 0 ? sure * seconds : seconds, best = i;
    }
    std::unique_lock const lock{known_->mutex};
    return known_->algorithms.emplace(key, best).first->second;
}
GSUB_LAZY_BODY loop::configuration lowered::choose(kernels::descriptor const& d, isa const& isa,
                                                   loop::config_space const& space) const {
    if (machine_.gpu && &isa == isa_) return known_->on_gpu->choose(d, isa, space);
    if (!std::holds_alternative<kernels::winograd_shape>(d) || &isa != isa_)
        return kernels::counted(d, isa, space, tiles());
    auto point = space.at(0);
    kernels::set_knobs(point, best_tiles(d));
    return point;
}
GSUB_LAZY_BODY kernels::winograd_config lowered::best_tiles(kernels::descriptor const& d) const {
    auto const key = kernels::hash_of(d);
    {
        std::shared_lock const lock{known_->mutex};
        if (auto const found = known_->tiles.find(key); found != known_->tiles.end()) return found->second;
    }
    auto const& s = std::get<kernels::winograd_shape>(d);
    auto const homes = detail::homes_of(s.conv);
    kernel_setting const setting{std::max(1u, options_.threads), runtime::worth_threads(&d, kernels::operations_of(d)),
                                 homes, evicted_share(options_.weight_bytes, core_)};
    auto const space = kernels::space_of(d, *isa_);
    auto const counted_seconds = [&](kernels::winograd_config const& c) {
        auto point = space.at(0);
        kernels::set_knobs(point, c);
        return of_descriptor(d, point, homes).seconds;
    };
    // The best of many by the closed form are weighed anew as kernels, beside the first one, by counted cycles.
    constexpr std::size_t most = 16, most_anew = 4;
    constexpr double sure = 0.97;
    auto const all = kernels::winograd_candidates(s.conv, *isa_, s.m, tiles(), most);
    std::vector<std::pair<double, kernels::winograd_config>> others;
    for (auto const& c : std::span{all}.subspan(1))
        others.emplace_back(nest_time_of(kernels::winograd_nest(s.conv, c, *isa_), core_, setting).seconds, c);
    std::ranges::stable_sort(others, {}, [](auto const& o) { return o.first; });
    others.resize(std::min(others.size(), most_anew));
    auto best = all.front();
    auto least = others.empty() ? 0.0 : sure * counted_seconds(best);
    for (auto const& [closed, c] : others)
        if (auto const seconds = counted_seconds(c); seconds < least) least = seconds, best = c;
    std::unique_lock const lock{known_->mutex};
    return known_->tiles.emplace(key, best).first->second;
}
GSUB_LAZY_BODY kernels::winograd_options lowered::tiles() const {
    auto options = kernels::winograd_options_of(machine_);
    options.accuracy = options_.winograd, options.threads = std::max(1u, options_.threads);
    return options;
}

namespace detail {
// Evaluators of a graph's operators: gsub's own, or those of the set that a model is made for.
GSUB_LAZY eval_table evaluators_for(any_graph const& g, eval_table given) {
    auto const is_standard = g.operators().ops.data() == table_of<op_info, standard_ops>().data();
    return is_standard ? table_of<eval_row, standard_ops>() : given;
}
} // namespace detail

GSUB_LAZY_BODY result<lowered::unit> lowered::exactly(any_graph const& g) const {
    lowering_options options;
    options.winograd = tiles();
    auto const rules = rules_of(g);
    options.rows = rules.rows, options.scalars = rules.scalars;
    auto const algorithm = [&](std::span<kernels::descriptor const> all, isa const& on) { return choose(all, on); };
    auto const point = [&](kernels::descriptor const& d, isa const& on, loop::config_space const& space) {
        return choose(d, on, space);
    };
    options.algorithms = algorithm_function{algorithm}, options.schedules = schedule_function{point};
    auto const made = lower_graph(g, detail::evaluators_for(g, evaluators_), *isa_, options);
    if (!made) return made.error();
    unit total{};
    for (auto const& op : made->ops) total.amount += of_kernel(*made, op).seconds;
    for (auto const& p : costs_of_weights(g)) total.amount += p.amount;
    return total;
}

// Those of gsub's own operators, or of the set that the model is made for.
GSUB_LAZY_BODY fusion_rules lowered::rules_of(any_graph const& g) const {
    auto rules = fusion_rules_of(g, *isa_);
    if (rules.rows.empty() && options_.rows.size() == g.operators().ops.size())
        rules.rows = options_.rows, rules.scalars = options_.scalars;
    return rules;
}
GSUB_LAZY_BODY std::vector<std::uint32_t> lowered::group_of_nodes(any_graph const& g) const {
    return detail::group_of_nodes(g, rules_of(g));
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
    if (auto const first = group.front();
        g.is<ops::opaque>(first) || g.is<ops::call>(first) || g.is<ops::if_else>(first))
        return 0; // in each graph alike
    detail::group_in_graph<> const of{g, group, scope};
    auto const key = of.key();
    {
        std::shared_lock const lock{known_->mutex};
        if (auto const found = known_->groups.find(key); found != known_->groups.end()) return found->second;
    }
    double total = 0;
    if (of.is_static()) {
        total = cost_alone(of);
    } else {
        for (auto n : group)
            if (is_executed(g, n)) total += detail::roofline_of(machine_)(g, n).amount;
    }
    std::unique_lock const lock{known_->mutex};
    return known_->groups.emplace(key, total).first->second;
}

// Of a group that is lowered by itself.
GSUB_LAZY_BODY double lowered::cost_alone(detail::group_in_graph<void> const& of) const {
    auto const alone = of.extracted(*isa_, [&](tensor_type const& t) {
        std::unique_lock const lock{known_->mutex};
        auto& kept = known_->zeros[to_string(t)];
        if (!kept) kept = std::make_shared<constant_blob const>(tensor::zeros(t.element, t.sizes()));
        return kept;
    });
    fuse_context cx;
    static_cast<fusion_rules&>(cx) = rules_of(alone.graph);
    cx.evaluators = detail::evaluators_for(alone.graph, evaluators_), cx.laid_out = true,
    cx.within = as_span(alone.within);
    auto const chosen = select(fuse(alone.graph, cx).value(), *isa_, *this, options_.winograd).value();
    auto const made = schedule(layout_values(chosen, *isa_).value(), *isa_, *this).value();
    double total = 0;
    auto const all_made = std::ranges::all_of(alone.inputs, [&](value_id v) { return of.is_made(v); });
    // What stands between this group and the others, row-major here, may be in blocks there.
    std::vector<char> taken_apart(alone.inputs.size(), 0);
    for (auto const& op : made.ops) {
        if (detail::is_left_out(of, alone, all_made, made, op, *isa_)) continue;
        for (auto const& o : op.operands)
            if (auto const at = detail::input_of(made, o);
                at && of.in_blocks(alone.inputs[*at]) && !std::exchange(taken_apart[*at], char{1}))
                total += copying(2 * of.size_bytes(alone.inputs[*at]));
        total += of_kernel(made, op).seconds;
    }
    return total;
}

GSUB_LAZY_BODY std::vector<node_cost> lowered::node_costs(any_graph const& g) const {
    auto out = costs_of_weights(g);
    auto const cost = [&](kernel_group const& group, fusion_scope const& scope) { return cost_of(g, group, scope); };
    append(out, detail::group_costs(g, rules_of(g), cost));
    return out;
}
GSUB_LAZY_BODY grouped_costs lowered::remembered(any_graph const& g) const {
    auto const cost = [&](kernel_group const& group, fusion_scope const& scope) { return cost_of(g, group, scope); };
    return detail::remembered_groups(g, rules_of(g), cost);
}
GSUB_LAZY_BODY grouped_costs lowered::remembered(any_graph const& g, void const* memory,
                                                 changed_nodes const& changes) const {
    auto const cost = [&](kernel_group const& group, fusion_scope const& scope) { return cost_of(g, group, scope); };
    auto out = detail::remembered_groups(g, rules_of(g), {memory, changes}, cost);
    add_weights_near(out.nodes, g, changes);
    return out;
}
GSUB_LAZY_BODY std::vector<node_cost> lowered::node_costs_near(any_graph const& g, void const* memory,
                                                               changed_nodes const& changes) const {
    auto const cost = [&](kernel_group const& group, fusion_scope const& scope) { return cost_of(g, group, scope); };
    auto out = detail::group_costs_near(g, rules_of(g), {memory, changes}, cost);
    add_weights_near(out, g, changes);
    return out;
}
GSUB_LAZY_BODY lowered::unit lowered::operator()(any_graph const& g) const {
    unit total{};
    for (auto const& p : node_costs(g)) total.amount += p.amount;
    return total;
}

} // namespace gsub::cost
