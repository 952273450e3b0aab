#pragma once

#include <gsub/codegen/emit_cpp.hpp>
#include <gsub/codegen/lower.hpp>
#include <gsub/core/executor.hpp>
#include <gsub/core/message.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/blocked_layout.hpp>
#include <gsub/ir/ops.hpp>
#include <gsub/ir/traversal.hpp>
#include <gsub/kernels/descriptor.hpp>
#include <gsub/kernels/movement.hpp>
#include <gsub/runtime/program.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace gsub::detail {

// The program under construction: where the values of a graph are stored and how, and the steps so far. A value is
// stored row-major, in blocks of channels, or both; or it is a view of what is stored.
template <class = void>
class storage_planner {
public:
    storage_planner(any_graph g, std::span<eval_row const> meaning, isa const& set, build_options const& options)
        : g_(std::move(g)), meaning_(meaning), set_(set), options_(options) {}

protected:
    using memory_role = runtime::memory_role;

    static bool computes_f32(tensor_type const& t) { return t.element == dtype::f32; }
    static std::size_t bytes_of(tensor_type const& t) {
        return static_cast<std::size_t>(*t.elements()) * byte_size(t.element);
    }

    std::int32_t add_value(runtime::program_value v) {
        made_.values.push_back(std::move(v));
        return static_cast<std::int32_t>(made_.values.size() - 1);
    }
    std::int32_t add_temporary(std::size_t size) { return add_value({on_host(memory_role::temporary), size}); }
    std::int32_t add_constant(tensor t) {
        auto const size = t.size_bytes();
        return add_value({on_host(memory_role::constant), size, 0, std::move(t)});
    }
    static tensor flat(std::vector<float> const& elements) {
        std::int64_t const dims[] = {static_cast<std::int64_t>(elements.size())};
        return tensor::from(std::span<std::int64_t const>{dims}, as_span(elements));
    }
    std::int32_t add_constant(std::vector<float> const& elements) { return add_constant(flat(elements)); }

    // The tensor of a constant, or nothing.
    std::optional<tensor> constant_of(value_id v) const {
        if (!v.valid() || !g_.constant(v)) return std::nullopt;
        if (g_.is<ops::constant>(v.node)) return g_.constant_data(v.node);
        auto const alone = extract(g_, {&v.node, 1});
        return evaluate_graph(alone.graph, meaning_, {}).value()[v.port];
    }

    // Weights in the order of a kernel: units of equal size (vectors of output channels), of which `make` gives some
    // from the first on. They are made when the plan stands.
    using pack_function = std::function<std::vector<float>(std::int64_t first, std::int64_t count)>;
    std::int32_t add_packed(std::int64_t elements, std::int64_t count, pack_function make) {
        constexpr std::int64_t piece = std::int64_t{1} << 14; // elements that a thread packs at a time
        auto const value = add_value({on_host(memory_role::constant)});
        auto const step = std::clamp<std::int64_t>(count * piece / std::max<std::int64_t>(elements, 1), 1, count);
        packings_.push_back({value, elements, count, step, std::move(make)});
        return value;
    }
    // The largest first, so that what it was made of is gone when memory fills; all threads together on one that has
    // pieces, and each on one of the rest.
    void pack_all(executor* threads) {
        inline_executor alone;
        auto& all = threads ? *threads : static_cast<executor&>(alone);
        std::stable_sort(packings_.begin(), packings_.end(),
                         [](packing const& a, packing const& b) { return a.elements > b.elements; });
        std::size_t i = 0;
        for (; i < packings_.size() && packings_[i].pieces() > 1; ++i) pack(packings_[i], all);
        all.parallel_for(packings_.size() - i, [&](std::size_t k) { pack(packings_[i + k], alone); });
    }

    // A constant that one operator reads, which packs it.
    void release(value_id v) {
        if (!g_.is<ops::constant>(v.node) || g_.use_count(v) != 1 || plain_.contains(v)) return;
        if (sharers_.empty())
            for (auto n : g_.order())
                if (g_.is<ops::constant>(n)) ++sharers_[&g_.constant_data(n)];
        if (sharers_[&g_.constant_data(v.node)] == 1) g_.release_constant(v.node);
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
        if (auto const view = views_.find(v); view != views_.end()) return plain_[v] = copied(v, view->second);
        return plain_[v] = converted(v, blocked_.at(v), false);
    }
    std::int32_t blocked(value_id v) {
        if (auto const found = blocked_.find(v); found != blocked_.end()) return found->second;
        return blocked_[v] = converted(v, plain(v), true);
    }
    // Whether a value is computed by now. A join has its place as soon as one of its pieces does.
    bool exists(value_id v) const {
        if (g_.is<ops::concat>(v.node) && !g_.constant(v) && !planned_[v.node.index]) return false;
        return plain_.contains(v) || blocked_.contains(v) || views_.contains(v) || g_.constant(v);
    }
    // How a value is read at `storage_of`, over its own dimensions; nothing where there is none yet.
    std::optional<kernels::array_view> view_of(value_id v) const {
        if (!exists(v)) return std::nullopt;
        if (auto const view = views_.find(v); view != views_.end() && !plain_.contains(v)) return view->second.how;
        return kernels::array_view::contiguous(g_.type(v).sizes());
    }
    std::int32_t storage_of(value_id v) {
        if (auto const view = views_.find(v); view != views_.end() && !plain_.contains(v)) return view->second.value;
        return plain(v);
    }
    // Makes a value a view of a stored one.
    void add_view(value_id v, std::int32_t value, kernels::array_view how) {
        auto const whole = kernels::array_view::contiguous(g_.type(v).sizes());
        if (how.offset == 0 && how.elements == whole.elements && std::ranges::equal(how.strides, whole.strides))
            plain_[v] = value;
        else
            views_[v] = {value, std::move(how)};
    }
    std::int32_t new_plain(value_id v) { return plain_[v] = add_temporary(bytes_of(g_.type(v))); }

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
        runtime::program_value part{on_host(memory_role::temporary), size};
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
        auto const sizes = t.sizes();
        add_movement(v.node,
                     to_blocks ? kernels::moved_to_blocks(t.element, sizes, set_.lanes())
                               : kernels::moved_from_blocks(t.element, sizes, set_.lanes()),
                     {from, to});
        return to;
    }

    struct stored_view {
        std::int32_t value;
        kernels::array_view how;
    };
    // What a view shows, row-major.
    std::int32_t copied(value_id v, stored_view const& from) {
        auto const& t = g_.type(v);
        auto const to = add_temporary(bytes_of(t));
        add_movement(v.node, kernels::copied_view(t.element, t.sizes(), from.how), {from.value, to});
        return to;
    }
    void add_movement(node_id n, kernels::movement_shape s, std::vector<std::int32_t> values) {
        if (s.chosen) values.push_back(add_temporary(sizeof(std::int32_t)));
        auto const nest = kernels::movement_nest(s, set_);
        add_kernel(std::move(s), {&n, 1}, nest, std::move(values), 0);
    }

    void add_step(node_id n, decltype(runtime::program_step::what) what, std::vector<std::int32_t> values) {
        made_.steps.push_back({g_.display_name(n), std::move(what), std::move(values)});
    }
    // A call of the kernel of a nest, which `computes` describes.
    void add_kernel(kernels::descriptor computes, std::span<node_id const> nodes, loop::fused_nest const& nest,
                    std::vector<std::int32_t> values, double operations) {
        auto k = codegen::lower(nest, kernels::kind_of(computes)).value();
        runtime::kernel_call c;
        c.launch.positions = k.parallel < 0 ? 1 : k.parallel_extent;
        c.workspace = codegen::scratch_bytes(k);
        if (auto const* const moved = std::get_if<kernels::movement_shape>(&computes))
            c.checks = moved->chosen.has_value();
        c.computes = std::move(computes);
        auto text = codegen::emit_cpp(k, "gsub_kernel");
        auto const [found, is_new] = kernels_.emplace(std::move(text), static_cast<std::int32_t>(made_.kernels.size()));
        if (is_new)
            made_.kernels.push_back({{found->first, "gsub_kernel", std::string{set_.flags}},
                                     std::make_shared<codegen::kernel const>(std::move(k))});
        c.kernel = found->second;
        runtime::program_step s;
        for (auto n : nodes) s.name += message({s.name.empty() ? "" : " + ", g_.display_name(n)});
        s.what = std::move(c);
        s.values = std::move(values);
        s.operations = operations;
        made_.steps.push_back(std::move(s));
    }

    any_graph g_;
    std::span<eval_row const> meaning_;
    isa const& set_;
    build_options const& options_;
    runtime::program made_;
    std::map<value_id, std::int32_t> plain_, blocked_;
    std::map<value_id, stored_view> views_;
    struct packing {
        std::int32_t value;
        std::int64_t elements, units, step; // elements before packing; units, those of a piece
        pack_function make;
        std::int64_t pieces() const noexcept { return (units + step - 1) / step; }
    };
    void pack(packing& p, executor& threads) {
        auto const first = p.make(0, p.step);
        auto const unit = static_cast<std::int64_t>(first.size()) / p.step;
        std::int64_t const dims[] = {unit * p.units};
        auto& value = made_.values[static_cast<std::size_t>(p.value)];
        value.data = tensor::in_pages(dtype::f32, dims, true);
        value.size = value.data.size_bytes();
        auto* const to = value.data.template mutable_data<float>().data();
        std::copy(first.begin(), first.end(), to);
        threads.parallel_for(static_cast<std::size_t>(p.pieces() - 1), [&](std::size_t i) {
            auto const begin = (static_cast<std::int64_t>(i) + 1) * p.step;
            auto const made = p.make(begin, std::min(p.step, p.units - begin));
            std::copy(made.begin(), made.end(), to + begin * unit);
        });
        p.make = nullptr; // frees what it was made of
    }
    std::vector<packing> packings_;
    std::vector<char> planned_;                    // nodes
    std::map<std::string, std::int32_t> kernels_;  // by their texts
    std::map<tensor const*, std::size_t> sharers_; // constants with these elements
};

} // namespace gsub::detail
