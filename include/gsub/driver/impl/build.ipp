#pragma once

#include <gsub/codegen/conv2d.hpp>
#include <gsub/codegen/elementwise.hpp>
#include <gsub/codegen/emit_cpp.hpp>
#include <gsub/codegen/lower.hpp>
#include <gsub/codegen/matmul.hpp>
#include <gsub/codegen/pool2d.hpp>
#include <gsub/core/message.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/eval/fold.hpp>
#include <gsub/ir/blocked_layout.hpp>
#include <gsub/ir/ops.hpp>
#include <gsub/ir/traversal.hpp>
#include <gsub/passes/fuse.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

namespace gsub {

namespace detail {

// What follows a contraction within one kernel: an array added, then bounds.
struct epilogue {
    value_id residual{};
    double low = -1e300, high = 1e300;
    bool bounded() const noexcept { return low > -1e300 || high < 1e300; }
};

class program_planner {
public:
    program_planner(any_graph g, std::span<eval_row const> meaning, codegen::isa const& set,
                    build_options const& options)
        : g_(std::move(g)), meaning_(meaning), set_(set), options_(options) {}

    runtime::program run() {
        check();
        for (auto n : g_.inputs()) {
            auto t = g_.type({n, 0});
            t.arrangement = {}; // callers' memory is row-major
            plain_[{n, 0}] = add_value({runtime::residence::input, bytes_of(t), g_.input_position(n)});
            made_.inputs.push_back(t);
            made_.input_names.emplace_back(g_.name({n, 0}));
        }
        for (auto const& group : passes::fuse_groups(g_))
            for (std::size_t at = 0; at < group.size();) at += plan_from(std::span{group}.subspan(at));
        for (std::size_t i = 0; i < g_.output_count(); ++i) add_output(i);
        return std::move(made_);
    }

private:
    static bool computes_f32(tensor_type const& t) { return t.element == dtype::f32; }
    static std::size_t bytes_of(tensor_type const& t) {
        return static_cast<std::size_t>(*t.elements()) * byte_size(t.element);
    }

    void check() {
        if (auto missing = not_computable(g_, meaning_); !missing.empty()) throw error{std::move(missing)};
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

    // ---- values

    std::int32_t add_value(runtime::program_value v) {
        made_.values.push_back(std::move(v));
        return static_cast<std::int32_t>(made_.values.size() - 1);
    }
    std::int32_t add_temporary(std::size_t size) { return add_value({runtime::residence::temporary, size}); }
    std::int32_t add_constant(tensor t) {
        auto const size = t.size_bytes();
        return add_value({runtime::residence::constant, size, 0, std::move(t)});
    }
    std::int32_t add_constant(std::vector<float> const& elements) {
        std::int64_t const dims[] = {static_cast<std::int64_t>(elements.size())};
        return add_constant(tensor::from(std::span<std::int64_t const>{dims}, std::span<float const>{elements}));
    }

    // The tensor of a constant, or nothing.
    std::optional<tensor> constant_of(value_id v) const {
        if (!v.valid() || !g_.constant(v)) return std::nullopt;
        if (g_.is<ops::constant>(v.node)) return g_.constant_data(v.node);
        auto const alone = extract(g_, {&v.node, 1});
        return evaluate_graph(alone.graph, meaning_, {}).value()[v.port];
    }

    // Elements of a value that is stored in blocks of channels, `[N, C/l, ..., l]`.
    std::int64_t blocked_elements(tensor_type const& t) const {
        auto const elements = blocked_layout{t.rank(), 1, set_.lanes()}.stored_elements(t.sizes());
        if (!elements) throw error{error_code::unsupported, message({"too large in blocks: ", to_string(t)})};
        return *elements;
    }
    std::size_t blocked_bytes(tensor_type const& t) const {
        return static_cast<std::size_t>(blocked_elements(t)) * sizeof(float);
    }
    // Blocks of one pixel a channel are the channels in order.
    bool stored_alike(tensor_type const& t) const {
        auto const sizes = t.sizes();
        return sizes[1] % set_.lanes() == 0 && product(std::span{sizes}.subspan(2)) == 1;
    }

    std::int32_t plain(value_id v) {
        if (auto const found = plain_.find(v); found != plain_.end()) return found->second;
        if (auto t = constant_of(v)) return plain_[v] = add_constant(std::move(*t));
        return plain_[v] = converted(v, blocked_.at(v), false);
    }
    std::int32_t blocked(value_id v) {
        if (auto const found = blocked_.find(v); found != blocked_.end()) return found->second;
        return blocked_[v] = converted(v, plain(v), true);
    }
    // Storage for a value in blocks: its place in a value that joins it with others along the channels, where there is
    // one, so that nothing is copied.
    std::int32_t add_blocked(value_id v) {
        std::optional<node_id> join;
        g_.for_each_use(v, [&](use u) {
            if (!join && joins_blocks(u.user) && u.user != v.node) join = u.user;
        });
        if (!join) return blocked_[v] = add_temporary(blocked_bytes(g_.type(v)));
        value_id const whole{*join, 0};
        if (!blocked_.contains(whole)) blocked_[whole] = add_blocked(whole);
        std::size_t offset = 0;
        for (auto o : g_.operands(*join)) {
            if (o == v) break;
            offset += blocked_bytes(g_.type(o));
        }
        return blocked_[v] = add_value(part_of(blocked_[whole], offset, blocked_bytes(g_.type(v))));
    }
    static std::size_t along(std::int64_t axis, tensor_type const& t) {
        return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(t.rank()) : axis);
    }
    // A piece of a value that is stored in blocks.
    runtime::program_value part_of(std::int32_t whole, std::size_t offset, std::size_t size) const {
        auto const& owner = made_.values[static_cast<std::size_t>(whole)];
        runtime::program_value part{runtime::residence::temporary, size};
        part.part_of = owner.part_of < 0 ? whole : owner.part_of;
        part.offset = owner.offset + offset;
        return part;
    }
    // A join along the channels of one image, of whole blocks.
    bool joins_blocks(node_id n) const {
        if (!g_.is<ops::concat>(n)) return false;
        auto const& t = g_.type({n, 0});
        if (along(g_.attributes<ops::concat>(n).axis, t) != 1) return false;
        if (!computes_f32(t) || t.rank() != 4 || t.dims[0].size() != 1) return false;
        auto const operands = g_.operands(n);
        return std::all_of(operands.begin(), operands.end(), [&](value_id v) {
            return !g_.constant(v) && g_.type(v).dims[1].size() % set_.lanes() == 0 && *g_.type(v).elements() > 0;
        });
    }
    std::int32_t converted(value_id v, std::int32_t from, bool to_blocks) {
        auto const& t = g_.type(v);
        if (stored_alike(t)) return from;
        auto const to = add_temporary(to_blocks ? blocked_bytes(t) : bytes_of(t));
        runtime::program_step s;
        s.name = g_.display_name(v.node);
        s.kind = to_blocks ? "to blocks of channels" : "from blocks of channels";
        s.host = runtime::make_blocking_step(t.sizes(), set_.lanes(), to_blocks);
        s.values = {from, to};
        made_.steps.push_back(std::move(s));
        return to;
    }

    // ---- steps

    void add_kernel(std::string_view kind, std::span<node_id const> nodes, loop::loop_nest const& nest,
                    std::vector<std::int32_t> values, double operations) {
        auto const k = codegen::lower(nest, kind).value();
        auto text = codegen::emit_cpp(k, set_, "gsub_kernel");
        auto const [found, is_new] = kernels_.emplace(std::move(text), static_cast<std::int32_t>(made_.kernels.size()));
        if (is_new) made_.kernels.push_back({found->first, "gsub_kernel", std::string{set_.flags}});
        runtime::program_step s;
        for (auto n : nodes) s.name += message({s.name.empty() ? "" : " + ", g_.display_name(n)});
        s.kind = kind;
        s.kernel = found->second;
        s.positions = k.parallel < 0 ? 1 : k.parallel_extent;
        s.values = std::move(values);
        s.operations = operations;
        made_.steps.push_back(std::move(s));
    }

    // Plans a step for the first nodes of a group; returns how many.
    std::size_t plan_from(std::span<node_id const> nodes) {
        auto const n = nodes[0];
        std::size_t taken = 0;
        if (!options_.generate) return plan_reference(n);
        if (g_.is<ops::conv>(n))
            taken = plan_conv(nodes);
        else if (g_.is<ops::gemm>(n) || g_.is<ops::mat_mul>(n))
            taken = plan_product(nodes);
        else if (g_.is<ops::max_pool>(n) || g_.is<ops::average_pool>(n) || g_.is<ops::global_average_pool>(n))
            taken = plan_pool(n);
        else if (g_.is<ops::concat>(n))
            taken = plan_join(n);
        else if (g_.is<ops::split>(n))
            taken = plan_split(n);
        else if (g_.op(n).free_view && g_.result_count(n) == 1 && !g_.is<ops::shape>(n))
            taken = plan_view(n);
        if (taken == 0) taken = plan_elementwise(nodes);
        return taken ? taken : plan_reference(n);
    }

    // How many nodes after the first the kernel takes over: each reads the value before it and nothing else does.
    std::size_t absorb(std::span<node_id const> nodes, epilogue& e) const {
        std::size_t taken = 1;
        for (; taken < nodes.size(); ++taken) {
            value_id const before{nodes[taken - 1], 0};
            auto const n = nodes[taken];
            if (g_.use_count(before) != 1 || g_.result_count(n) != 1 || g_.type({n, 0}) != g_.type(before)) break;
            if (g_.is<ops::add>(n) && !e.residual.valid() && !e.bounded()) {
                auto const left = g_.operand(n, 0), right = g_.operand(n, 1);
                auto const other = left == before ? right : right == before ? left : value_id{};
                if (!other.valid() || other == before || g_.type(other) != g_.type(before) || !exists(other)) break;
                e.residual = other;
            } else if (auto const b = bounds_of(n); b && g_.operand(n, 0) == before && !e.bounded()) {
                e.low = b->low, e.high = b->high;
            } else {
                break;
            }
        }
        return taken;
    }
    bool exists(value_id v) const { return plain_.contains(v) || blocked_.contains(v) || g_.constant(v); }
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

    std::size_t plan_conv(std::span<node_id const> nodes) {
        auto const n = nodes[0];
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
        auto const taken = absorb(nodes, e);
        s.blocked_input = depthwise || s.groups > 1 || s.in_channels >= l / 2 || blocked_.contains(x);
        s.bias = bias.has_value();
        s.residual = e.residual.valid();
        s.low = e.low, s.high = e.high;
        std::vector<std::int32_t> values{s.blocked_input ? blocked(x) : plain(x),
                                         add_constant(codegen::pack_conv2d_weights(s, weights->data<float>(), set_))};
        if (s.bias) values.push_back(add_constant(filled_up(bias->data<float>())));
        if (s.residual) values.push_back(blocked(e.residual));
        value_id const y{nodes[taken - 1], 0};
        values.push_back(add_blocked(y));
        auto const nest = codegen::conv2d_nest(s, codegen::default_config(s, set_), set_);
        add_kernel(depthwise ? "depthwise conv2d" : "conv2d", nodes.first(taken), nest, std::move(values),
                   s.operations());
        return taken;
    }

    std::vector<float> filled_up(std::span<float const> elements) const {
        std::vector<float> out(elements.begin(), elements.end());
        auto const l = static_cast<std::size_t>(set_.lanes());
        out.resize((out.size() + l - 1) / l * l, 0.0f);
        return out;
    }

    std::size_t plan_product(std::span<node_id const> nodes) {
        auto const n = nodes[0];
        auto const x = g_.operand(n, 0);
        auto const &in = g_.type(x), &out = g_.type({n, 0});
        auto weights = constant_of(g_.operand(n, 1));
        if (!computes_f32(in) || !weights || weights->rank() != 2 || in.rank() < 2 || *out.elements() == 0 ||
            *in.elements() == 0)
            return 0;
        codegen::matmul_shape s;
        bool transposed = false;
        std::optional<tensor> bias;
        double alpha = 1, beta = 1;
        if (g_.is<ops::gemm>(n)) {
            auto const& a = g_.attributes<ops::gemm>(n);
            transposed = a.transpose_b;
            alpha = a.alpha, beta = a.beta;
            bias = constant_of(g_.operand(n, 2));
            if (a.transpose_a || (g_.operand(n, 2).valid() && !bias)) return 0;
        }
        s.k = in.dims[in.rank() - 1].size();
        s.m = *in.elements() / s.k;
        s.n = out.dims[out.rank() - 1].size();
        if (bias && (bias->elements() != s.n || bias->dims().back() != s.n)) return 0;
        epilogue e;
        auto const taken = absorb(nodes, e);
        s.bias = bias.has_value();
        s.residual = e.residual.valid();
        s.low = e.low, s.high = e.high;
        auto packed = codegen::pack_matmul_weights(s, weights->data<float>(), transposed, set_);
        if (alpha != 1)
            for (auto& w : packed) w *= static_cast<float>(alpha);
        std::vector<std::int32_t> values{plain(x), add_constant(packed)};
        if (bias) {
            auto filled = filled_up(bias->data<float>());
            for (auto& b : filled) b *= static_cast<float>(beta);
            values.push_back(add_constant(filled));
        }
        if (s.residual) values.push_back(plain(e.residual));
        values.push_back(plain_[{nodes[taken - 1], 0}] = add_temporary(bytes_of(out)));
        add_kernel("matmul", nodes.first(taken), codegen::matmul_nest(s, codegen::default_config(s, set_), set_),
                   std::move(values), s.operations());
        return taken;
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

    std::size_t plan_view(node_id n) {
        auto const x = g_.operand(n, 0);
        if (bytes_of(g_.type(x)) != bytes_of(g_.type({n, 0}))) return 0;
        plain_[{n, 0}] = plain(x);
        return 1;
    }

    // A chain of additions, products and bounds over arrays of one shape and numbers.
    std::size_t plan_elementwise(std::span<node_id const> nodes) {
        auto const& type = g_.type({nodes[0], 0});
        if (!computes_f32(type) || *type.elements() == 0) return 0;
        std::vector<value_id> arrays;
        struct operation {
            loop::scalar_op op;
            value_id left, right; // invalid: the result before
            double value = 0;
        };
        std::vector<operation> chain;
        std::size_t taken = 0;
        for (; taken < nodes.size(); ++taken) {
            auto const n = nodes[taken];
            if (g_.result_count(n) != 1 || g_.type({n, 0}) != type) break;
            auto const before = taken ? value_id{nodes[taken - 1], 0} : value_id{};
            if (taken && g_.use_count(before) != 1) break;
            auto const is_before = [&](value_id v) { return taken && v == before; };
            if (auto const b = bounds_of(n)) {
                auto const x = g_.operand(n, 0);
                if (taken && !is_before(x)) break;
                if (!is_before(x) && g_.type(x) != type) break;
                auto const first = is_before(x) ? value_id{} : x;
                auto left = first;
                if (b->low > -1e300) chain.push_back({loop::scalar_op::maximum, left, {}, b->low}), left = {};
                if (b->high < 1e300) chain.push_back({loop::scalar_op::minimum, left, {}, b->high}), left = {};
                if (b->low <= -1e300 && b->high >= 1e300) break;
            } else {
                auto const op = g_.is<ops::add>(n)   ? loop::scalar_op::add
                                : g_.is<ops::sub>(n) ? loop::scalar_op::subtract
                                : g_.is<ops::mul>(n) ? loop::scalar_op::multiply
                                                     : loop::scalar_op::constant;
                if (op == loop::scalar_op::constant) break;
                auto const x = g_.operand(n, 0), y = g_.operand(n, 1);
                if (taken && !is_before(x) && !is_before(y)) break;
                auto const fits = [&](value_id v) { return is_before(v) || (g_.type(v) == type && exists(v)); };
                if (!fits(x) || !fits(y) || (is_before(x) && is_before(y))) break;
                chain.push_back({op, is_before(x) ? value_id{} : x, is_before(y) ? value_id{} : y, 0});
            }
        }
        if (taken == 0) return 0;
        // Stored as most of its arrays are; zeros that fill blocks up stay finite under these operations.
        auto const add_array = [&](value_id v) {
            auto const found = std::find(arrays.begin(), arrays.end(), v);
            if (found == arrays.end()) arrays.push_back(v);
            return static_cast<std::int32_t>(std::find(arrays.begin(), arrays.end(), v) - arrays.begin());
        };
        for (auto const& c : chain) {
            if (c.left.valid()) add_array(c.left);
            if (c.right.valid()) add_array(c.right);
        }
        auto const in_blocks =
            type.rank() == 4 && std::any_of(arrays.begin(), arrays.end(), [&](auto v) { return blocked_.contains(v); });
        std::vector<codegen::elementwise_op> lowered;
        for (auto const& c : chain) {
            auto const previous = static_cast<std::int32_t>(arrays.size() + lowered.size()) - 1;
            auto const bound = c.op == loop::scalar_op::maximum || c.op == loop::scalar_op::minimum;
            codegen::elementwise_op o;
            o.op = c.op;
            o.left = c.left.valid() ? add_array(c.left) : previous;
            if (!bound) o.right = c.right.valid() ? add_array(c.right) : previous;
            o.value = c.value;
            lowered.push_back(o);
        }
        std::vector<std::int32_t> values;
        for (auto v : arrays) values.push_back(in_blocks ? blocked(v) : plain(v));
        value_id const y{nodes[taken - 1], 0};
        auto const elements = in_blocks ? blocked_elements(type) : *type.elements();
        auto const to = in_blocks ? add_blocked(y)
                                  : (plain_[y] = add_temporary(static_cast<std::size_t>(elements) * sizeof(float)));
        values.push_back(to);
        add_kernel("elementwise", nodes.first(taken),
                   codegen::elementwise_nest(elements, static_cast<std::int32_t>(arrays.size()), lowered, set_),
                   std::move(values), static_cast<double>(elements) * static_cast<double>(lowered.size()));
        return taken;
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

    any_graph g_;
    std::span<eval_row const> meaning_;
    codegen::isa const& set_;
    build_options const& options_;
    runtime::program made_;
    std::map<value_id, std::int32_t> plain_, blocked_;
    std::map<std::string, std::int32_t> kernels_;
};

} // namespace detail

GSUB_INLINE result<runtime::program> plan(any_graph const& g, std::span<eval_row const> meaning,
                                          codegen::isa const& set, build_options const& options) {
    try {
        return detail::program_planner{g, meaning, set, options}.run();
    } catch (error const& e) { return e; }
}

GSUB_INLINE result<runtime::executable> build(any_graph const& g, std::span<eval_row const> meaning,
                                              target const& machine, build_options const& options) {
    auto jit = options.jit;
    if (!jit.threads) jit.threads = options.threads;
    if (!jit.watch) jit.watch = options.watch;
    auto chosen = options;
    auto const with = options.generate ? runtime::find_compiler(options.compiler) : runtime::compiler{};
    if (!with) {
        if (options.watch)
            options.watch->on_note(
                message({"no kernels are generated, the reference runtime computes: ", with.error().message()}));
        chosen.generate = false;
    }
    auto made = plan(g, meaning, options.set ? *options.set : codegen::isa_of(machine), chosen);
    if (!made) return made.error();
    std::vector<runtime::loaded_kernel> kernels;
    if (!made->kernels.empty()) {
        auto loaded = runtime::load_kernels(made->kernels, *with, jit);
        if (!loaded) return loaded.error();
        kernels = std::move(*loaded);
    }
    return runtime::executable{std::move(*made), std::move(kernels)};
}

} // namespace gsub
