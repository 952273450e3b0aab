#pragma once

#include <gsub/codegen/attention.hpp>
#include <gsub/codegen/conv2d.hpp>
#include <gsub/codegen/elementwise.hpp>
#include <gsub/codegen/matmul.hpp>
#include <gsub/codegen/pool2d.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/driver/impl/chain_writer.ipp>
#include <gsub/driver/impl/storage_planner.ipp>
#include <gsub/eval/fold.hpp>
#include <gsub/passes/fuse.hpp>
#include <gsub/runtime/extern_kernel.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace gsub::detail {

// What follows a contraction within one kernel: an array added, then bounds.
struct epilogue {
    value_id residual{};
    double low = -1e300, high = 1e300;
    bool bounded() const noexcept { return low > -1e300 || high < 1e300; }
};

// Chooses a kernel for each group of operators.
template <class = void>
class program_planner : storage_planner<> {
public:
    program_planner(any_graph g, std::span<eval_row const> meaning, codegen::isa const& set,
                    build_options const& options)
        : storage_planner(std::move(g), meaning, set), options_(options) {}

    runtime::program run() {
        check();
        for (auto n : g_.inputs()) {
            auto t = g_.type({n, 0});
            t.arrangement = {}; // callers' memory is row-major
            plain_[{n, 0}] = add_value({runtime::residence::input, bytes_of(t), g_.input_position(n)});
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
        auto missing = not_computable(g_, meaning_);
        std::erase_if(missing, [](problem const& p) { return p.reason == runtime::computed_by_user; });
        if (!missing.empty()) throw error{std::move(missing)};
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
        folding.threads = options_.threads;
        fold_constants(g_, meaning_, folding).value();
    }

    // Groups of operators, and alone the nodes with a kernel of the user's, each after what it reads.
    std::vector<std::vector<node_id>> groups() const {
        auto found = passes::fuse_groups(g_);
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
        else if (g_.is<ops::concat>(n))
            taken = plan_join(n);
        else if (g_.is<ops::split>(n))
            taken = plan_split(n);
        else if (g_.is<ops::gather>(n))
            taken = plan_gather(n);
        else if (is_view(n))
            taken = plan_view(n);
        if (taken == 0) taken = plan_blocked_elementwise(n);
        if (taken == 0) taken = plan_rows(n);
        return taken ? taken : plan_reference(n);
    }

    // The only reader of a value, if it is an operator that nothing computes as yet.
    std::optional<node_id> only_reader(value_id v) const {
        if (g_.use_count(v) != 1) return std::nullopt;
        auto reader = g_.results_node();
        g_.for_each_use(v, [&](use u) { reader = u.user; });
        if (reader == g_.results_node() || planned_[reader.index] || g_.result_count(reader) != 1) return std::nullopt;
        return reader;
    }
    // Nodes behind the last one of a kernel that it takes over: each reads the value before it and nothing else does.
    void absorb(std::vector<node_id>& nodes, epilogue& e) const {
        while (true) {
            value_id const before{nodes.back(), 0};
            auto const next = only_reader(before);
            if (!next || g_.type({*next, 0}) != g_.type(before)) return;
            auto const n = *next;
            if (g_.is<ops::add>(n) && !e.residual.valid() && !e.bounded()) {
                auto const left = g_.operand(n, 0), right = g_.operand(n, 1);
                auto const other = left == before ? right : right == before ? left : value_id{};
                if (!other.valid() || other == before || g_.type(other) != g_.type(before) || !exists(other)) return;
                e.residual = other;
            } else if (auto const b = bounds_of(n); b && g_.operand(n, 0) == before && !e.bounded()) {
                e.low = b->low, e.high = b->high;
            } else {
                return;
            }
            nodes.push_back(n);
        }
    }
    std::optional<epilogue> bounds_of(node_id n) const {
        epilogue e;
        if (g_.is<ops::relu>(n)) {
            e.low = 0;
        } else if (g_.is<ops::clip>(n)) {
            auto const& a = g_.attributes<ops::clip>(n);
            if (g_.operand_count(n) != 1) return std::nullopt;
            if (std::isfinite(a.min)) e.low = a.min;
            if (std::isfinite(a.max)) e.high = a.max;
        } else {
            return std::nullopt;
        }
        return e;
    }

    // What a normalisation by constants does to each channel: a factor, and what is added.
    struct channel_lines {
        std::vector<float> scale, shift;
    };
    std::optional<channel_lines> lines_of(node_id n) const {
        std::vector<tensor> constants; // scale, shift, mean, variance
        for (std::size_t i = 1; i < 5; ++i) {
            auto c = constant_of(g_.operand(n, i));
            if (!c || c->element() != dtype::f32) return std::nullopt;
            constants.push_back(std::move(*c));
        }
        channel_lines out;
        for (std::size_t c = 0; c < static_cast<std::size_t>(constants[0].elements()); ++c) {
            auto const at = [&](std::size_t i) { return static_cast<double>(constants[i].data<float>()[c]); };
            auto const factor = at(0) / std::sqrt(at(3) + g_.attributes<ops::batch_norm>(n).epsilon);
            out.scale.push_back(static_cast<float>(factor));
            out.shift.push_back(static_cast<float>(at(1) - at(2) * factor));
        }
        return out;
    }
    // A line for each channel is a depthwise convolution of one pixel, and the image is one row.
    std::size_t plan_batch_norm(node_id n) {
        auto const& type = g_.type(g_.operand(n, 0));
        if (!computes_f32(type) || type.rank() != 4 || *type.elements() == 0 || g_.result_count(n) != 1) return 0;
        auto const lines = lines_of(n);
        codegen::conv2d_shape s;
        s.batch = type.dims[0].size();
        s.in_channels = s.out_channels = s.groups = type.dims[1].size();
        s.in = {1, type.dims[2].size() * type.dims[3].size()};
        if (!lines || s.groups == 1) return 0;
        return add_conv(s, {n}, flat(lines->scale), {}, lines->shift, {});
    }

    std::size_t plan_conv(node_id n) {
        auto const x = g_.operand(n, 0);
        auto const &in = g_.type(x), &out = g_.type({n, 0});
        auto const& a = g_.attributes<ops::conv>(n);
        auto weights = constant_of(g_.operand(n, 1));
        auto bias = constant_of(g_.operand(n, 2));
        if (!computes_f32(in) || in.rank() != 4 || !weights || (g_.operand(n, 2).valid() && !bias)) return 0;
        codegen::conv2d_shape s;
        s.batch = in.dims[0].size();
        s.in_channels = in.dims[1].size();
        s.out_channels = out.dims[1].size();
        s.groups = a.group;
        for (std::size_t i = 0; i < 2; ++i) {
            s.in[i] = in.dims[i + 2].size();
            s.kernel[i] = weights->dims()[i + 2];
            s.stride[i] = a.strides[i];
            s.dilation[i] = a.dilations[i];
            s.pads[i] = a.pads[i], s.pads[i + 2] = a.pads[i + 2];
        }
        if (*out.elements() == 0 || *in.elements() == 0) return 0;
        auto const depthwise = s.groups > 1 && s.groups == s.in_channels && s.groups == s.out_channels;
        auto const l = set_.lanes();
        if (s.groups > 1 && !depthwise && ((s.in_channels / s.groups) % l != 0 || (s.out_channels / s.groups) % l != 0))
            return 0;
        epilogue e;
        if (a.act == activation::relu)
            e.low = 0;
        else if (a.act == activation::clip)
            e.low = a.act_min, e.high = a.act_max;
        else if (a.act != activation::none)
            return 0;
        std::vector<node_id> nodes{n};
        release(g_.operand(n, 1));
        std::vector<float> scale, shifts;
        if (bias) shifts.assign(bias->template data<float>().begin(), bias->template data<float>().end());
        if (auto const next = only_reader({n, 0}); next && !e.bounded() && g_.is<ops::batch_norm>(*next))
            if (auto const lines = lines_of(*next)) {
                scale = lines->scale;
                shifts.resize(lines->shift.size(), 0.0f);
                for (std::size_t c = 0; c < shifts.size(); ++c)
                    shifts[c] = shifts[c] * lines->scale[c] + lines->shift[c];
                nodes.push_back(*next);
            }
        return add_conv(s, std::move(nodes), std::move(*weights), std::move(scale), shifts, e);
    }
    // A convolution of the first operand of the first node, with what follows the last. Weights are scaled by output
    // channels, if at all.
    std::size_t add_conv(codegen::conv2d_shape s, std::vector<node_id> nodes, tensor weights, std::vector<float> scale,
                         std::span<float const> bias, epilogue e) {
        auto const x = g_.operand(nodes.front(), 0);
        auto const depthwise = s.groups > 1 && s.groups == s.in_channels && s.groups == s.out_channels;
        absorb(nodes, e);
        s.blocked_input = depthwise || s.groups > 1 || s.in_channels >= set_.lanes() / 2 || blocked_.contains(x);
        s.bias = !bias.empty();
        s.residual = e.residual.valid();
        s.low = e.low, s.high = e.high;
        auto const tiles = codegen::choose_winograd(s, set_, options_.winograd);
        auto const elements = weights.elements();
        auto const unit = s.groups > 1 ? s.out_channels : std::int64_t{set_.lanes()} * (tiles ? tiles->vectors : 1);
        auto pack = [s, tiles, unit, set = set_, per_channel = elements / s.out_channels, weights = std::move(weights),
                     scale = std::move(scale)](std::int64_t first, std::int64_t count) {
            auto const begin = first * unit;
            auto part = s;
            if (s.groups == 1) part.out_channels = std::min(count * unit, s.out_channels - begin);
            auto from =
                weights.template data<float>().subspan(static_cast<std::size_t>(begin * per_channel),
                                                       static_cast<std::size_t>(part.out_channels * per_channel));
            std::vector<float> scaled;
            if (!scale.empty()) {
                scaled.assign(from.begin(), from.end());
                for (std::size_t i = 0; i < scaled.size(); ++i)
                    scaled[i] *= scale[static_cast<std::size_t>(begin) + i / static_cast<std::size_t>(per_channel)];
                from = scaled;
            }
            return tiles ? codegen::pack_winograd_weights(part, *tiles, from, set)
                         : codegen::pack_conv2d_weights(part, from, set);
        };
        auto const units = (s.out_channels + unit - 1) / unit;
        std::vector<std::int32_t> values{s.blocked_input ? blocked(x) : plain(x),
                                         add_packed(elements, units, std::move(pack))};
        if (s.bias) values.push_back(add_constant(filled_up(bias)));
        if (s.residual) values.push_back(blocked(e.residual));
        values.push_back(add_blocked({nodes.back(), 0}));
        mark_planned(nodes);
        auto const kind = tiles       ? message({"winograd F", tiles->m})
                          : depthwise ? std::string{"depthwise conv2d"}
                                      : std::string{"conv2d"};
        add_kernel(kind, nodes,
                   tiles ? codegen::winograd_nest(s, *tiles, set_)
                         : codegen::conv2d_nest(s, codegen::default_config(s, set_), set_),
                   std::move(values), s.operations());
        return 1;
    }

    std::vector<float> filled_up(std::span<float const> elements) const {
        std::vector<float> out(elements.begin(), elements.end());
        auto const l = static_cast<std::size_t>(set_.lanes());
        out.resize((out.size() + l - 1) / l * l, 0.0f);
        return out;
    }

    // ---- chains of arithmetic

    // Whether something reads a value that is not a part of the kernel.
    bool escapes(chain_writer<> const& w, value_id v) const {
        bool out = false; // the graph's outputs are uses by its node of results
        g_.for_each_use(v, [&](use u) { out = out || !w.knows({u.user, 0}); });
        return out;
    }
    // Adds operators that use what the kernel computes, in the graph's order, as long as they fit. With `one_result`,
    // only as many as leave one value that others read, the last.
    void grow(chain_writer<>& w, value_id start, bool one_result) {
        std::size_t nodes = one_result ? 0 : w.nodes().size(), ops = 0, arrays = 0;
        std::vector<value_id> values;
        if (start.valid()) values.push_back(start);
        for (auto n : w.nodes()) values.push_back({n, 0});
        std::vector<node_id> refused;
        auto const settle = [&] {
            if (!one_result) return;
            for (auto v : values)
                if (v != values.back() && escapes(w, v)) return;
            nodes = w.nodes().size(), ops = w.size(), arrays = w.arrays().size();
        };
        settle();
        while (w.nodes().size() < 32) { // with arrays and scratch memory less than 64 buffers
            std::optional<node_id> next;
            for (auto v : values)
                g_.for_each_use(v, [&](use u) {
                    auto const n = u.user;
                    if (n == g_.results_node() || planned_[n.index] || w.knows({n, 0}) || !can_join(w, n) ||
                        std::find(refused.begin(), refused.end(), n) != refused.end())
                        return;
                    if (!next || position_[n.index] < position_[next->index]) next = n;
                });
            if (!next) break;
            if (w.add(*next)) {
                values.push_back({*next, 0});
                settle();
            } else {
                refused.push_back(*next);
            }
        }
        if (one_result) w.shrink(nodes, ops, arrays);
    }
    // Whether all operands of a node are there by the time of the kernel.
    bool can_join(chain_writer<> const& w, node_id n) const {
        auto const operands = g_.operands(n);
        return std::all_of(operands.begin(), operands.end(),
                           [&](value_id v) { return !v.valid() || w.knows(v) || exists(v); });
    }
    void mark_planned(std::vector<node_id> const& nodes) {
        for (auto n : nodes) planned_[n.index] = 1;
    }
    static double operations_of(std::vector<codegen::row_op> const& ops, std::int64_t elements) {
        double each = 0;
        for (auto const& o : ops) each += o.what.op >= loop::scalar_op::exponential ? 10 : 1;
        return each * static_cast<double>(elements);
    }

    // Arithmetic on values in blocks of channels. What fills blocks up is zero at first and stays finite under these
    // operations.
    std::size_t plan_blocked_elementwise(node_id n) {
        auto const& type = g_.type({n, 0});
        if (!computes_f32(type) || type.rank() != 4 || *type.elements() == 0) return 0;
        auto const operands = g_.operands(n);
        if (std::none_of(operands.begin(), operands.end(), [&](auto v) { return blocked_.contains(v); })) return 0;
        auto const view = [&](value_id v) {
            return g_.type(v) == type ? view_of(v) : std::optional<codegen::array_view>{};
        };
        chain_writer w{g_, type.sizes(), false, view};
        if (!w.add(n)) return 0;
        grow(w, {}, true);
        auto const chain = w.chain();
        using loop::scalar_op;
        for (auto const& o : chain)
            if (o.op == scalar_op::divide || o.op == scalar_op::logarithm) return 0;
        std::vector<std::int32_t> values;
        for (auto v : w.arrays()) values.push_back(blocked(v));
        value_id const y{w.nodes().back(), 0};
        values.push_back(add_blocked(y));
        auto const elements = blocked_elements(type);
        mark_planned(w.nodes());
        add_kernel("elementwise", w.nodes(),
                   codegen::elementwise_nest(elements, static_cast<std::int32_t>(w.arrays().size()), chain, set_),
                   std::move(values), operations_of(w.ops(), elements));
        return 1;
    }

    // Arithmetic and reductions along the last dimensions on values that are stored row-major, or are views of such.
    std::size_t plan_rows(node_id n) {
        auto const reduces = g_.op(n).category == op_category::reduction && g_.operand_count(n) > 0;
        auto const& type = g_.type(reduces ? g_.operand(n, 0) : value_id{n, 0});
        if (!computes_f32(type) || g_.result_count(n) != 1 || *type.elements() == 0) return 0;
        auto const view = [&](value_id v) { return view_of(v); };
        chain_writer w{g_, type.sizes(), true, view};
        if (!w.add(n)) return 0;
        grow(w, {}, false);
        codegen::row_program p;
        p.dims = w.dims();
        p.arrays = w.views();
        p.ops = w.ops();
        std::vector<std::int32_t> values;
        for (auto v : w.arrays()) values.push_back(storage_of(v));
        for (auto m : w.nodes())
            if (value_id const y{m, 0}; escapes(w, y)) {
                p.results.push_back({w.number(y), !w.is_reduced(y)});
                values.push_back(new_plain(y));
            }
        if (p.results.empty()) return 0; // nothing reads it
        mark_planned(w.nodes());
        auto const operations = operations_of(p.ops, *type.elements());
        add_kernel(w.reduces() ? "rows" : "elementwise", w.nodes(), codegen::row_nest(std::move(p), set_),
                   std::move(values), operations);
        return 1;
    }

    // ---- products

    std::size_t plan_product(node_id n) {
        auto const x = g_.operand(n, 0), y = g_.operand(n, 1);
        value_id const result{n, 0};
        auto const &left = g_.type(x), &right = g_.type(y), &out = g_.type(result);
        if (!computes_f32(left) || !computes_f32(right) || left.rank() < 2 || right.rank() < 2 ||
            *out.elements() == 0 || *left.elements() == 0)
            return 0;
        auto const dims = out.sizes(), left_dims = left.sizes();
        auto const rank = dims.size();
        codegen::matmul_shape s;
        double alpha = 1, beta = 1;
        auto a = view_of(x), b = view_of(y);
        if (!a || !b) return 0;
        std::optional<tensor> bias;
        bool transposed = false;
        if (g_.is<ops::gemm>(n)) {
            auto const& how = g_.attributes<ops::gemm>(n);
            alpha = how.alpha, beta = how.beta;
            transposed = how.transpose_b;
            bias = constant_of(g_.operand(n, 2));
            if (g_.operand(n, 2).valid() && !bias) return 0;
            if (how.transpose_a) std::swap(a->strides[0], a->strides[1]);
            if (transposed) std::swap(b->strides[0], b->strides[1]);
        }
        s.m = dims[rank - 2], s.n = dims[rank - 1];
        s.k = *left.elements() / (product(std::span{left_dims}.first(left.rank() - 2)) * s.m);
        if (bias && (bias->elements() != s.n || bias->dims().back() != s.n)) return 0;
        s.batch.assign(dims.begin(), dims.end() - 2);
        auto weights = right.rank() == 2 ? constant_of(y) : std::nullopt;
        s.constant = weights.has_value();
        if (!s.constant && alpha != 1) return 0;
        s.a = over_batches(*a, left.sizes(), rank);
        if (!s.constant) s.b = over_batches(*b, right.sizes(), rank);
        s.bias = bias.has_value();

        auto const view = [&](value_id v) { return view_of(v); };
        chain_writer w{g_, dims, false, view};
        w.start_with(result);
        grow(w, result, true);
        s.arrays = w.views();
        s.chain = w.chain();
        auto const last = w.nodes().empty() ? result : value_id{w.nodes().back(), 0};
        if (!s.constant && plan_attention(n, s, w, last)) return 1;

        std::vector<std::int32_t> values{storage_of(x)};
        if (s.constant) {
            release(y);
            values.push_back(packed_matrix(s, alpha, transposed, std::move(*weights)));
        } else {
            values.push_back(storage_of(y));
        }
        if (bias) {
            auto filled = filled_up(bias->data<float>());
            for (auto& v : filled) v *= static_cast<float>(beta);
            values.push_back(add_constant(filled));
        }
        for (auto v : w.arrays()) values.push_back(storage_of(v));
        std::vector<node_id> taken{n};
        taken.insert(taken.end(), w.nodes().begin(), w.nodes().end());
        values.push_back(new_product_result(last, s, taken));
        if (s.constant) join_rows(s);
        mark_planned(taken);
        add_kernel("matmul", taken, codegen::matmul_nest(s, codegen::default_config(s, set_), set_), std::move(values),
                   s.operations());
        return 1;
    }
    // A softmax of the rows of a product and a product with values that are there already are one kernel with it.
    bool plan_attention(node_id n, codegen::matmul_shape const& scores, chain_writer<> const& w, value_id last) {
        auto const softmax = only_reader(last);
        if (!softmax || !g_.is<ops::softmax>(*softmax)) return false;
        auto const dims = g_.type(last).sizes();
        auto const rank = dims.size();
        auto const axis = g_.attributes<ops::softmax>(*softmax).axis;
        if (axis != -1 && axis != static_cast<std::int64_t>(rank) - 1) return false;
        value_id const weights{*softmax, 0};
        auto const second = only_reader(weights);
        if (!second || !g_.is<ops::mat_mul>(*second) || g_.operand(*second, 0) != weights) return false;
        auto const v = g_.operand(*second, 1);
        auto const &type = g_.type(v), &out = g_.type({*second, 0});
        if (!computes_f32(type) || !computes_f32(out) || type.rank() < 2 || constant_of(v) || !reach(v)) return false;
        auto const out_dims = out.sizes();
        if (out_dims.size() != rank || !std::equal(dims.begin(), dims.end() - 1, out_dims.begin())) return false;
        auto const view = view_of(v);
        if (!view || out_dims.back() == 0) return false;

        codegen::attention_shape s;
        s.m = scores.m, s.k = scores.k, s.s = scores.n, s.n = out_dims.back();
        s.batch = scores.batch;
        s.q = scores.a, s.keys = scores.b;
        s.values = over_batches(*view, type.sizes(), rank);
        s.arrays = scores.arrays, s.chain = scores.chain;
        std::vector<std::int32_t> values{storage_of(g_.operand(n, 0)), storage_of(g_.operand(n, 1)), storage_of(v)};
        for (auto a : w.arrays()) values.push_back(storage_of(a));
        std::vector<node_id> taken{n};
        taken.insert(taken.end(), w.nodes().begin(), w.nodes().end());
        taken.push_back(*softmax);
        taken.push_back(*second);
        codegen::matmul_shape stored;
        stored.m = s.m, stored.n = s.n;
        values.push_back(new_product_result({*second, 0}, stored, taken));
        s.y = stored.y;
        mark_planned(taken);
        add_kernel("attention", taken, codegen::attention_nest(s, default_config(s, set_), set_), std::move(values),
                   s.operations());
        return true;
    }
    // The right operand of a product, `[k, n]` or transposed, in vectors of columns.
    std::int32_t packed_matrix(codegen::matmul_shape const& s, double alpha, bool transposed, tensor weights) {
        auto const l = std::int64_t{set_.lanes()};
        auto const elements = weights.elements();
        auto pack = [n = s.n, k = s.k, l, alpha, transposed, set = set_,
                     weights = std::move(weights)](std::int64_t first, std::int64_t count) {
            codegen::matmul_shape of;
            of.n = std::min(count * l, n - first * l), of.k = k;
            auto from = weights.template data<float>();
            std::vector<float> columns;
            if (transposed) {
                from = from.subspan(static_cast<std::size_t>(first * l * k), static_cast<std::size_t>(of.n * k));
            } else if (of.n < n) {
                columns.reserve(static_cast<std::size_t>(of.n * k));
                for (std::int64_t row = 0; row < k; ++row) {
                    auto const of_row =
                        from.subspan(static_cast<std::size_t>(row * n + first * l), static_cast<std::size_t>(of.n));
                    columns.insert(columns.end(), of_row.begin(), of_row.end());
                }
                from = columns;
            }
            auto packed = codegen::pack_matmul_weights(of, from, transposed, set);
            if (alpha != 1)
                for (auto& v : packed) v *= static_cast<float>(alpha);
            return packed;
        };
        return add_packed(elements, (s.n + l - 1) / l, std::move(pack));
    }
    // The view of an operand over the batches of the product and the two dimensions of its matrices.
    static codegen::array_view over_batches(codegen::array_view own, ints const& dims, std::size_t rank) {
        small_vector<std::int64_t, 6> strides(rank - dims.size(), 0);
        for (std::size_t d = 0; d < dims.size(); ++d)
            strides.push_back(d + 2 < dims.size() && dims[d] == 1 ? 0 : own.strides[d]);
        own.strides = strides;
        return own;
    }
    // Rows a multiple of 4 KiB apart would all fall on the same few lines of a cache: then they have gaps, if their
    // readers can do with that.
    std::int32_t new_rows(value_id v, codegen::matmul_shape& s) {
        constexpr std::int64_t apart = 4096 / sizeof(float);
        bool gaps = s.n % apart == 0 && s.m >= 8;
        g_.for_each_use(v, [&](use u) { gaps = gaps && (g_.is<ops::mat_mul>(u.user) || g_.is<ops::gemm>(u.user)); });
        if (!gaps) return new_plain(v);
        auto dims = g_.type(v).sizes();
        dims.back() += 16;
        s.y = codegen::array_view::contiguous(dims);
        auto const to = add_temporary(static_cast<std::size_t>(s.y.elements) * sizeof(float));
        add_view(v, to, s.y);
        return to;
    }
    // Where the only reader of a product permutes its dimensions, but not the last one, the product is stored so.
    std::int32_t new_product_result(value_id v, codegen::matmul_shape& s, std::vector<node_id>& taken) {
        auto reader = v.node;
        g_.for_each_use(v, [&](use u) { reader = u.user; });
        if (g_.use_count(v) != 1 || reader == g_.results_node() || !g_.is<ops::transpose>(reader))
            return new_rows(v, s);
        auto const& perm = g_.attributes<ops::transpose>(reader).perm;
        if (perm.empty() || perm.back() != static_cast<std::int64_t>(perm.size()) - 1) return new_plain(v);
        value_id const turned{reader, 0};
        auto const whole = codegen::array_view::contiguous(g_.type(turned).sizes());
        s.y = whole;
        for (std::size_t d = 0; d < perm.size(); ++d) s.y.strides[static_cast<std::size_t>(perm[d])] = whole.strides[d];
        taken.push_back(reader);
        return new_plain(turned);
    }
    // Batches of rows that meet one matrix are rows, where every array has them one after another.
    static void join_rows(codegen::matmul_shape& s) {
        while (!s.batch.empty()) {
            auto const at = s.batch.size() - 1; // the dimension before the rows
            auto const joins = [&](codegen::array_view const& v) {
                return v.strides.empty() || v.strides[at] == v.strides[at + 1] * s.m || s.batch[at] == 1;
            };
            if (!joins(s.a) || !joins(s.y) || !std::all_of(s.arrays.begin(), s.arrays.end(), joins)) return;
            auto const drop = [&](codegen::array_view& v) {
                if (v.strides.empty()) return;
                small_vector<std::int64_t, 6> rest;
                for (std::size_t d = 0; d < v.strides.size(); ++d)
                    if (d != at) rest.push_back(v.strides[d]);
                v.strides = rest;
            };
            drop(s.a), drop(s.y);
            for (auto& v : s.arrays) drop(v);
            s.m *= s.batch[at];
            s.batch.pop_back();
        }
    }

    std::size_t plan_pool(node_id n) {
        auto const x = g_.operand(n, 0);
        auto const &in = g_.type(x), &out = g_.type({n, 0});
        if (!computes_f32(in) || in.rank() != 4 || *in.elements() == 0 || *out.elements() == 0) return 0;
        for (std::size_t i = 1; i < g_.result_count(n); ++i)
            if (g_.used(value_id{n, static_cast<std::uint32_t>(i)})) return 0;
        codegen::pool2d_shape s;
        s.batch = in.dims[0].size();
        s.channels = in.dims[1].size();
        for (std::size_t i = 0; i < 2; ++i) {
            s.in[i] = s.kernel[i] = in.dims[i + 2].size();
            s.out[i] = out.dims[i + 2].size();
        }
        auto const window = [&](auto const& a) {
            for (std::size_t i = 0; i < 2; ++i) {
                s.kernel[i] = a.kernel_shape[i];
                s.stride[i] = a.strides[i];
                s.dilation[i] = a.dilations[i];
                s.pads[i] = a.pads[i], s.pads_end[i] = a.pads[i + 2];
            }
        };
        s.average = !g_.is<ops::max_pool>(n);
        if (g_.is<ops::max_pool>(n)) window(g_.attributes<ops::max_pool>(n));
        if (g_.is<ops::average_pool>(n)) {
            window(g_.attributes<ops::average_pool>(n));
            s.count_pads = g_.attributes<ops::average_pool>(n).count_include_pad;
        }
        std::vector<std::int32_t> values{blocked(x)};
        if (s.average) values.push_back(add_constant(codegen::pool2d_factors(s)));
        values.push_back(add_blocked({n, 0}));
        add_kernel(s.average ? "average pool" : "max pool", {&n, 1}, codegen::pool2d_nest(s, set_), std::move(values),
                   static_cast<double>(*out.elements() * s.kernel[0] * s.kernel[1]));
        return 1;
    }

    std::size_t plan_join(node_id n) {
        value_id const whole{n, 0};
        auto const& t = g_.type(whole);
        auto const operands = g_.operands(n);
        if (joins_blocks(n) &&
            std::any_of(operands.begin(), operands.end(), [&](auto v) { return blocked_.contains(v); })) {
            if (!blocked_.contains(whole)) add_blocked(whole);
            std::size_t offset = 0;
            for (auto v : operands) {
                auto const from = blocked(v);
                auto const size = blocked_bytes(g_.type(v));
                auto part = part_of(blocked_[whole], offset, size);
                auto const& stored = made_.values[static_cast<std::size_t>(from)];
                if (stored.part_of != part.part_of || stored.offset != part.offset) {
                    runtime::program_step s;
                    s.name = g_.display_name(n);
                    s.kind = "copy";
                    s.host = runtime::make_copy_step(size);
                    s.values = {from, add_value(std::move(part))};
                    made_.steps.push_back(std::move(s));
                }
                offset += size;
            }
            return 1;
        }
        if (*t.elements() == 0) return 0;
        auto const axis = along(g_.attributes<ops::concat>(n).axis, t);
        auto const all = t.sizes();
        auto const times = product(std::span{all}.first(axis));
        std::vector<std::size_t> sizes;
        runtime::program_step s;
        for (auto v : operands) {
            sizes.push_back(bytes_of(g_.type(v)) / static_cast<std::size_t>(times));
            s.values.push_back(plain(v));
        }
        s.name = g_.display_name(n);
        s.kind = "join";
        s.values.push_back(plain_[whole] = add_temporary(bytes_of(t)));
        s.host = runtime::make_join_step(static_cast<std::size_t>(times), std::move(sizes));
        made_.steps.push_back(std::move(s));
        return 1;
    }

    // Whole blocks of the channels of one image are pieces of what is split.
    std::size_t plan_split(node_id n) {
        auto const x = g_.operand(n, 0);
        auto const& t = g_.type(x);
        if (!blocked_.contains(x) || t.dims[0].size() != 1 || along(g_.attributes<ops::split>(n).axis, t) != 1)
            return 0;
        for (std::uint32_t i = 0; i < g_.result_count(n); ++i)
            if (g_.type({n, i}).dims[1].size() % set_.lanes() != 0) return 0;
        std::size_t offset = 0;
        for (std::uint32_t i = 0; i < g_.result_count(n); ++i) {
            auto const size = blocked_bytes(g_.type({n, i}));
            blocked_[{n, i}] = add_value(part_of(blocked_[x], offset, size));
            offset += size;
        }
        return 1;
    }

    // ---- operators that move elements

    // Nothing is moved: the result is another view of what is stored.
    bool is_view(node_id n) const {
        return g_.is<ops::transpose>(n) || g_.is<ops::slice>(n) ||
               (g_.op(n).free_view && g_.result_count(n) == 1 && !g_.is<ops::shape>(n));
    }
    // Whether a value is there already, or as views of one that is.
    bool reach(value_id v) {
        if (exists(v)) return true;
        auto const n = v.node;
        if (planned_[n.index] || !is_view(n) || !reach(g_.operand(n, 0)) || plan_view(n) == 0) return false;
        planned_[n.index] = 1;
        return true;
    }
    std::size_t plan_view(node_id n) {
        auto const x = g_.operand(n, 0);
        value_id const y{n, 0};
        auto const &in = g_.type(x), &out = g_.type(y);
        if (!computes_f32(in)) {
            if (!g_.op(n).free_view || bytes_of(in) != bytes_of(out)) return 0;
            plain_[y] = plain(x);
            return 1;
        }
        if (*in.elements() == 0 || *out.elements() == 0) return 0;
        auto const from = storage_of(x);
        auto const how = *view_of(x);
        auto made = how;
        if (g_.is<ops::transpose>(n)) {
            auto const& perm = g_.attributes<ops::transpose>(n).perm;
            for (std::size_t d = 0; d < perm.size(); ++d)
                made.strides[d] = how.strides[static_cast<std::size_t>(perm[d])];
        } else if (g_.is<ops::slice>(n)) {
            if (g_.operand_count(n) != 1) return 0;
            auto const& a = g_.attributes<ops::slice>(n);
            for (std::size_t i = 0; i < a.starts.size(); ++i) {
                auto const d = along(i < a.axes.size() ? a.axes[i] : static_cast<std::int64_t>(i), in);
                auto const size = in.dims[d].size(), step = i < a.steps.size() ? a.steps[i] : 1;
                auto const start = a.starts[i] < 0 ? a.starts[i] + size : a.starts[i];
                made.offset += std::clamp<std::int64_t>(start, 0, step < 0 ? size - 1 : size) * how.strides[d];
                made.strides[d] = how.strides[d] * step;
            }
        } else if (auto const reshaped = reshape(how, in.sizes(), out.sizes())) {
            made = *reshaped;
        } else { // elements in another order than they are stored
            plain_[y] = plain(x);
            return 1;
        }
        add_view(y, from, std::move(made));
        return 1;
    }
    // The same elements over other dimensions, where no copy is needed for that.
    static std::optional<codegen::array_view> reshape(codegen::array_view const& v, ints const& from, ints const& to) {
        auto out = v;
        out.strides.resize(0);
        out.strides.resize(to.size(), 0);
        std::size_t i = 0, j = 0;
        while (i < from.size() || j < to.size()) {
            // Groups of dimensions with one product.
            auto const first = i, begin = j;
            std::int64_t a = i < from.size() ? from[i++] : 1, b = j < to.size() ? to[j++] : 1;
            while (a != b)
                if (a < b)
                    a *= from[i++];
                else
                    b *= to[j++];
            std::int64_t stride = 0, extent = 1;
            for (auto d = i; d-- > first;) {
                if (from[d] == 1) continue;
                if (extent == 1)
                    stride = v.strides[d];
                else if (v.strides[d] != stride * extent)
                    return std::nullopt;
                extent *= from[d];
            }
            for (auto d = j; d-- > begin;) {
                out.strides[d] = stride;
                stride *= to[d];
            }
        }
        return out;
    }

    // Rows chosen by an integer tensor.
    std::size_t plan_gather(node_id n) {
        auto const x = g_.operand(n, 0), index = g_.operand(n, 1);
        value_id const y{n, 0};
        auto const &in = g_.type(x), &at = g_.type(index);
        if (*g_.type(y).elements() == 0 || (at.element != dtype::i32 && at.element != dtype::i64)) return 0;
        auto const axis = along(g_.attributes<ops::gather>(n).axis, in);
        auto const dims = in.sizes();
        runtime::program_step s;
        s.name = g_.display_name(n);
        s.kind = "gather";
        s.host = runtime::make_gather_step(static_cast<std::size_t>(product(std::span{dims}.first(axis))), dims[axis],
                                           static_cast<std::size_t>(product(std::span{dims}.subspan(axis + 1))) *
                                               byte_size(in.element),
                                           static_cast<std::size_t>(*at.elements()), at.element);
        s.values = {plain(x), plain(index)};
        s.values.push_back(new_plain(y));
        made_.steps.push_back(std::move(s));
        return 1;
    }

    std::size_t plan_user_kernel(node_id n, std::shared_ptr<runtime::host_step const> own) {
        auto const& a = g_.attributes<ops::opaque>(n);
        runtime::program_step s;
        s.name = g_.display_name(n);
        s.kind = message({"extern ", a.domain, a.domain.empty() ? "" : ".", a.op_type});
        s.host = std::move(own);
        for (auto v : g_.operands(n))
            if (v.valid()) s.values.push_back(plain(v));
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port) s.values.push_back(new_plain({n, port}));
        made_.steps.push_back(std::move(s));
        return 1;
    }

    std::size_t plan_reference(node_id n) {
        auto alone = extract(g_, {&n, 1});
        runtime::program_step s;
        s.name = g_.display_name(n);
        s.kind = message({"reference ", g_.op(n).name});
        for (auto v : alone.boundary) s.values.push_back(plain(v));
        for (auto v : alone.results) s.values.push_back(plain_[v] = add_temporary(bytes_of(g_.type(v))));
        s.host = runtime::make_reference_step(std::move(alone.graph), meaning_);
        made_.steps.push_back(std::move(s));
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
        if (value.where == runtime::residence::temporary && value.part_of < 0) {
            value.where = runtime::residence::output;
            value.position = i;
            return;
        }
        runtime::program_step s;
        s.name = g_.display_name(v.node);
        s.kind = "copy";
        s.host = runtime::make_copy_step(bytes_of(t));
        s.values = {from, add_value({runtime::residence::output, bytes_of(t), i})};
        made_.steps.push_back(std::move(s));
    }

    build_options const& options_;
    std::optional<runtime::bound_graph> bound_; // with the user's kernels, where there are any
    std::vector<std::size_t> position_;         // of nodes in the graph's order
};

} // namespace gsub::detail
