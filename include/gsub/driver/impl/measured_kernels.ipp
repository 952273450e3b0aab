#pragma once

#include <gsub/core/format.hpp>
#include <gsub/driver/calibrate.hpp>
#include <gsub/driver/measured_kernels.hpp>
#include <gsub/ir/graph_cloner.hpp>
#include <gsub/lower/fusion.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace gsub {

namespace detail {

// A group of operators on its own, and a text that is equal for groups that take one time.
struct lone_group {
    any_graph graph;
    std::string ops, signature;
};

class group_reader {
public:
    group_reader(any_graph const& g, std::span<node_id const> nodes)
        : g_(g), nodes_(nodes), made_{any_graph{g.operators()}, {}, {}} {}

    // Nothing where a size is not known.
    std::optional<lone_group> run() {
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            auto const n = nodes_[i];
            made_.ops += format_text("{}{}{}{}", i == 0 ? "" : "+", g_.op(n).domain, g_.op(n).domain.empty() ? "" : ".",
                                     g_.op(n).name);
            made_.signature += i == 0 ? "(" : " (";
            small_vector<value_id, 6> operands;
            for (auto v : g_.operands(n)) {
                if (operands.size() > 0) made_.signature += ' ';
                operands.push_back(bring(v));
            }
            made_.signature += ")->";
            auto const copy = clone_node(made_.graph, g_, n, operands, cloned_text::nothing);
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port) {
                value_id const v{n, port};
                if (!g_.type(v).is_static()) return std::nullopt;
                name(v, {copy, port});
                bool outside = false;
                g_.for_each_use(
                    v, [&](use u) { outside |= std::find(nodes_.begin(), nodes_.end(), u.user) == nodes_.end(); });
                if (outside) outputs_.push_back({copy, port});
                made_.signature +=
                    format_text("{}{}{}", port == 0 ? "" : ",", to_string(g_.type(v)), outside ? "*" : "");
            }
            for (auto const& value : g_.attributes(n).values()) made_.signature += format_text(";{}", to_string(value));
        }
        if (!known_sizes_) return std::nullopt;
        made_.graph.set_outputs(outputs_);
        return std::move(made_);
    }

private:
    struct entry {
        value_id here;
        std::size_t number;
    };
    void name(value_id v, value_id here) {
        auto const number = moved_.size();
        moved_[v] = {here, number};
    }

    value_id bring(value_id v) {
        if (!v.valid()) {
            made_.signature += '_';
            return v;
        }
        if (auto const found = moved_.find(v); found != moved_.end()) {
            made_.signature += format_text("%{}", found->second.number);
            return found->second.here;
        }
        auto const& type = g_.type(v);
        made_.signature += to_string(type);
        value_id here;
        if (!type.is_static()) {
            known_sizes_ = false;
        } else if (g_.is<ops::constant>(v.node)) {
            // Integers choose and shape; a single number may choose a kernel, such as the exponent 2.
            if (!is_floating(type.element) || *type.elements() == 1) {
                auto const h = g_.blob(v.node)->hash();
                made_.signature += format_text("={}.{}", h.high, h.low);
            }
            made_.signature += 'c';
            here = made_.graph.add_constant(g_.blob(v.node));
        } else if (g_.constant(v)) { // weight arithmetic, done before the kernel runs
            auto t = tensor::uninitialized(type.element, type.sizes());
            fill_random(t, random_stream{1}.split(moved_.size()));
            made_.signature += 'c';
            here = made_.graph.add_constant(std::move(t));
        } else {
            auto row_major = type;
            row_major.layout = {};
            here = made_.graph.add_input(row_major, {});
        }
        name(v, here);
        return here;
    }

    any_graph const& g_;
    std::span<node_id const> nodes_;
    lone_group made_;
    std::map<value_id, entry> moved_;
    std::vector<value_id> outputs_;
    bool known_sizes_ = true;
};

// Whether a step is there only because its group stands alone: a change of blocks, or one value copied.
GSUB_INLINE bool only_arranges(runtime::program_step const& s) {
    if (auto const* const call = std::get_if<runtime::kernel_call>(&s.what)) {
        auto const* const moved = call->computes ? std::get_if<kernels::movement_shape>(&*call->computes) : nullptr;
        return moved && (moved->kind == kernels::movement_kind::to_blocked ||
                         moved->kind == kernels::movement_kind::from_blocked);
    }
    auto const* const copy = std::get_if<runtime::copy_call>(&s.what);
    return copy && copy->moves.size() == 1;
}

} // namespace detail

GSUB_INLINE result<measured_kernels> measured_kernels::make(eval_table evaluators, cost::profile p,
                                                            cost::measure_options measuring, build_options building,
                                                            target const& machine) {
    auto const compiler = runtime::find_compiler(building.compiler);
    if (!compiler) return compiler.error().within("timing generated kernels");
    building.compiler = compiler->path;
    building.generate = true;
    if (!building.threads) building.threads = measuring.threads;
    if (!building.observe) building.observe = measuring.observe;
    measured_kernels made{evaluators, measuring, std::move(building), machine};
    auto const& isa = made.building_.isa ? *made.building_.isa : isa_of(machine);
    auto const workers = measuring.threads ? measuring.threads->concurrency() : 1;
    if (auto const found = p.rates().find(calibration_key(machine, workers, isa)); found != p.rates().end())
        made.roof_ = found->second;
    made.machine_ =
        format_text("{} threads={} backend=simd isa={} winograd={} gsub={} compiler={}", machine.key(), workers,
                    isa.name, static_cast<int>(made.building_.winograd.accuracy), version, compiler->identity);
    std::replace(made.machine_.begin(), made.machine_.end(), '\n', ' ');
    made.state_ = std::make_shared<state>();
    made.state_->known = std::move(p);
    return made;
}

GSUB_INLINE measured_kernels::unit measured_kernels::operator()(any_graph const& g) const {
    unit total{};
    std::lock_guard const lock{state_->mutex};
    auto rules = fusion_rules_of(g, building_.isa ? *building_.isa : isa_of(target_));
    if (!building_.rows.empty()) rules.rows = building_.rows;
    if (!building_.scalars.empty()) rules.scalars = building_.scalars;
    rules.group = building_.group;
    for (auto const& group : kernel_groups(g, rules)) {
        auto const unknown = g.is<ops::opaque>(group.front()) || g.is<ops::call>(group.front());
        total.amount += unknown ? roof_(g, group.front()).amount : cost_of(g, group);
    }
    return total;
}

GSUB_INLINE double measured_kernels::cost_of(any_graph const& g, std::span<node_id const> group) const {
    if (std::none_of(group.begin(), group.end(), [&](node_id n) { return cost::is_executed(g, n); })) return 0;
    double roof = 0;
    for (auto n : group) roof += roof_(g, n).amount;
    auto alone = detail::group_reader{g, group}.run();
    if (!alone) return ++state_->unmeasured, roof;
    auto const key = format_text("{}|{}|{}", machine_, alone->ops, alone->signature);
    if (auto const* known = state_->known.find(key)) return *known;
    if (auto const found = state_->fallback.find(key); found != state_->fallback.end()) return found->second;
    if (measuring_.observe) measuring_.observe->on_progress({"measuring", state_->runs + 1, 0, alone->ops});
    auto const unmeasured = [&] {
        ++state_->unmeasured;
        return state_->fallback[key] = roof;
    };
    auto const built = build(alone->graph, evaluators_, target_, building_);
    if (!built && built.error().code() == error_code::environment)
        throw built.error().within("timing generated kernels");
    if (!built) return unmeasured();
    auto const inputs = random_inputs(alone->graph, 1);
    inline_executor one;
    auto& threads = measuring_.threads ? *measuring_.threads : one;
    auto runs = std::max<std::size_t>(measuring_.least_runs, 1);
    auto const timed = [&] {
        double sum = 0;
        auto const profile = built->profile(inputs, threads, runs);
        if (!profile) return -1.0; // random numbers are no operands of everything
        for (std::size_t i = 0; i < profile->size(); ++i)
            if (!detail::only_arranges(built->steps()[i])) sum += (*profile)[i].seconds;
        return sum;
    };
    auto taken = timed();
    if (taken < 0) return unmeasured();
    if (auto const spent = taken * static_cast<double>(runs); spent < measuring_.least_seconds) {
        auto const wanted = measuring_.least_seconds / std::max(taken, 1e-6);
        runs = std::clamp(static_cast<std::size_t>(wanted), runs, std::max<std::size_t>(runs, 1000));
        taken = timed();
    }
    ++state_->runs;
    state_->known.add(key, alone->ops, alone->signature, machine_, taken, runs);
    return taken;
}

} // namespace gsub
