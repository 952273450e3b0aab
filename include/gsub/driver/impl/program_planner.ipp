#pragma once

#include <gsub/driver/build.hpp>
#include <gsub/driver/impl/product_planner.ipp>
#include <gsub/eval/fold.hpp>
#include <gsub/passes/fuse_ops.hpp>
#include <gsub/runtime/extern_kernel.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace gsub::detail {

// Chooses a kernel for each group of operators.
template <class = void>
class program_planner : product_planner<> {
public:
    program_planner(any_graph g, std::span<eval_row const> meaning, isa const& set, build_options const& options)
        : product_planner<>(std::move(g), meaning, set, options) {}

    runtime::program run() {
        check();
        for (auto n : g_.inputs()) {
            auto t = g_.type({n, 0});
            t.arrangement = {}; // callers' memory is row-major
            plain_[{n, 0}] = add_value({on_host(memory_role::input), bytes_of(t), g_.input_position(n)});
            made_.inputs.push_back(t);
            made_.input_names.emplace_back(g_.name({n, 0}));
        }
        std::size_t next = 0;
        for (auto n : g_.order()) {
            position_.resize(std::max<std::size_t>(position_.size(), n.index + 1));
            position_[n.index] = next++;
        }
        planned_.assign(position_.size(), 0);
        for (auto const& group : groups()) {
            auto rest = std::vector<node_id>(group);
            while (true) {
                std::erase_if(rest, [&](node_id n) { return planned_[n.index] != 0; });
                if (rest.empty()) break;
                auto const taken = plan_from(rest);
                for (std::size_t i = 0; i < taken; ++i) planned_[rest[i].index] = 1;
            }
        }
        for (std::size_t i = 0; i < g_.output_count(); ++i) add_output(i);
        pack_all(options_.threads);
        return std::move(made_);
    }

private:
    void check() {
        if (!options_.kernels.empty()) {
            bound_ = runtime::bind_kernels(g_, options_.kernels).value();
            g_ = std::move(bound_->graph);
            g_.erase_dead();
        }
        std::vector<node_id> own;
        if (bound_)
            for (auto const& s : bound_->steps) own.push_back(s.first);
        if (auto missing = not_computable(g_, meaning_, own); !missing.empty()) throw error{std::move(missing)};
        std::vector<problem> open;
        for (auto n : g_.order())
            for (std::size_t i = 0; i < g_.result_count(n); ++i)
                if (auto const& t = g_.type({n, static_cast<std::uint32_t>(i)}); !t.is_static())
                    open.push_back({error_code::unsupported, g_.display_name(n), std::string{g_.op(n).name},
                                    message({"an executable has static shapes; this is ", to_string(t)}),
                                    "give the model fixed dimensions"});
        if (!open.empty()) throw error{std::move(open)};
        fold_options folding;
        folding.max_weight_bytes = options_.max_weight_bytes;
        folding.dequantize = true;
        folding.threads = options_.threads;
        fold_constants(g_, meaning_, folding).value();
    }

    // Groups of operators, and alone the nodes with a kernel of the user's, each after what it reads.
    std::vector<std::vector<node_id>> groups() const {
        auto found = passes::fuse_groups(g_, {.max_ops = options_.group ? passes::fuse_ops{}.max_ops : 1});
        if (!bound_ || bound_->steps.empty()) return found;
        for (auto const& own : bound_->steps)
            if (g_.live(own.first)) found.push_back({own.first});
        std::sort(found.begin(), found.end(),
                  [&](auto const& a, auto const& b) { return position_[a.back().index] < position_[b.back().index]; });
        return found;
    }

    // ---- steps

    // Plans a step for the first nodes of a group; returns how many.
    std::size_t plan_from(std::span<node_id const> nodes) {
        auto const n = nodes[0];
        std::size_t taken = 0;
        if (auto own = bound_ ? bound_->step_of(n) : nullptr) return plan_user_kernel(n, std::move(own));
        if (!options_.generate) return plan_reference(n);
        if (g_.is<ops::conv>(n))
            taken = plan_conv(n);
        else if (g_.is<ops::batch_norm>(n))
            taken = plan_batch_norm(n);
        else if (g_.is<ops::gemm>(n) || g_.is<ops::mat_mul>(n))
            taken = plan_product(n);
        else if (g_.is<ops::max_pool>(n) || g_.is<ops::average_pool>(n) || g_.is<ops::global_average_pool>(n))
            taken = plan_pool(n);
        else if (g_.is<ops::lrn>(n))
            taken = plan_local_response_norm(n);
        else if (g_.is<ops::concat>(n))
            taken = plan_join(n);
        else if (g_.is<ops::split>(n))
            taken = plan_split(n);
        else if (g_.is<ops::gather>(n))
            taken = plan_gather(n);
        else if (g_.is<ops::pad>(n))
            taken = plan_pad(n);
        else if (g_.is<ops::fill>(n) || g_.is<ops::shape>(n))
            taken = plan_known(n);
        else if (is_view(n))
            taken = plan_view(n);
        if (taken == 0) taken = plan_blocked_elementwise(n);
        if (taken == 0) taken = plan_rows(n);
        if (taken == 0 && (g_.is<ops::softmax>(n) || g_.is<ops::fast_softmax>(n))) taken = plan_softmax(n);
        if (taken == 0) taken = plan_reduction(n);
        return taken ? taken : plan_reference(n);
    }

    std::size_t plan_user_kernel(node_id n, std::shared_ptr<runtime::host_step const> own) {
        auto const& a = g_.attributes<ops::opaque>(n);
        std::vector<std::int32_t> values;
        for (auto v : g_.operands(n))
            if (v.valid()) values.push_back(plain(v));
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port) values.push_back(new_plain({n, port}));
        add_step(n,
                 runtime::external_call{fmt::format("{}{}{}", a.domain, a.domain.empty() ? "" : ".", a.op_type),
                                        std::move(own)},
                 std::move(values));
        return 1;
    }

    std::size_t plan_reference(node_id n) {
        auto alone = extract(g_, {&n, 1});
        std::vector<std::int32_t> values;
        for (auto v : alone.boundary) values.push_back(plain(v));
        for (auto v : alone.results) values.push_back(new_plain(v));
        add_step(n, runtime::reference_call{std::move(alone.graph), meaning_}, std::move(values));
        return 1;
    }

    void add_output(std::size_t i) {
        auto const v = g_.output(i);
        auto t = g_.type(v);
        t.arrangement = {};
        made_.outputs.push_back(t);
        made_.output_names.push_back(i < g_.info().output_names.size() ? g_.info().output_names[i]
                                                                       : std::string{g_.name(v)});
        auto const from = plain(v);
        auto& value = made_.values[static_cast<std::size_t>(from)];
        if (value.where == on_host(memory_role::temporary) && value.part_of < 0) {
            value.where = on_host(memory_role::output);
            value.position = i;
            return;
        }
        add_step(v.node, runtime::copy_of(bytes_of(t)),
                 {from, add_value({on_host(memory_role::output), bytes_of(t), i})});
    }

    std::optional<runtime::bound_graph> bound_; // with the user's kernels, where there are any
};

} // namespace gsub::detail
