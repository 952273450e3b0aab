// value_storage: where values of a kernel graph are stored, during the layout pass.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/types/blocked_layout.hpp>
#include <gsub/kernels/movement.hpp>
#include <gsub/lower/kernel_graph.hpp>
#include <gsub/lower/kernel_layouts.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub::detail {

// The graph that is laid out, the one that is made, and how each value of the first is stored in the second: row-major,
// in blocks of channels, or both; or as a view of what is stored.
template <class = void>
class value_storage {
public:
    using memory_role = runtime::memory_role;
    struct stored_view {
        kernel_value_id value = -1;
        kernels::array_view how{};
    };
    struct use_site {
        std::size_t op, operand;
    };

    value_storage(kernel_graph g, gsub::isa const& on)
        : in(std::move(g)),
          isa(on),
          plain_(in.values.size(), -1),
          blocked_(in.values.size(), -1),
          views_(in.values.size()),
          uses_(in.values.size()),
          output_uses_(in.values.size(), 0),
          home_in_blocks_(in.values.size(), 0) {
        for (std::size_t v = 0; v < in.values.size(); ++v) {
            auto& t = in.values[v].type;
            home_in_blocks_[v] = in_channel_blocks(t, isa);
            t.layout = {}; // from here on, storage says it
        }
        for (std::size_t i = 0; i < in.ops.size(); ++i)
            for (std::size_t k = 0; k < in.ops[i].operands.size(); ++k)
                uses_[index(in.ops[i].operands[k].value)].push_back({i, k});
        for (auto v : in.outputs) ++output_uses_[index(v)];
        for (std::size_t v = 0; v < in.values.size(); ++v)
            if (in.values[v].role == memory_role::input) {
                auto value = in.values[v];
                value.bytes = bytes_of(value.type);
                plain_[v] = add_value(std::move(value));
            }
    }

    static std::size_t index(kernel_value_id v) noexcept { return static_cast<std::size_t>(v); }
    tensor_type const& type(kernel_value_id v) const { return in.values[index(v)].type; }
    std::vector<use_site> const& uses(kernel_value_id v) const { return uses_[index(v)]; }
    bool is_output(kernel_value_id v) const { return output_uses_[index(v)] > 0; }
    bool in_blocks(kernel_value_id v) const { return blocked_[index(v)] >= 0; }
    // Whether the value's type says so.
    bool belongs_in_blocks(kernel_value_id v) const { return home_in_blocks_[index(v)] != 0; }
    bool is_view(kernel_value_id v) const { return plain_[index(v)] < 0 && views_[index(v)].value >= 0; }
    bool is_plain(kernel_value_id v) const { return plain_[index(v)] >= 0; }
    // Says that a value is stored row-major there, or in blocks.
    kernel_value_id set_plain(kernel_value_id v, kernel_value_id stored) { return plain_[index(v)] = shows(v, stored); }
    kernel_value_id set_blocked(kernel_value_id v, kernel_value_id stored) {
        return blocked_[index(v)] = shows(v, stored);
    }
    // Says that who reads a value reads what is stored there.
    kernel_value_id shows(kernel_value_id v, kernel_value_id stored) {
        shown_.resize(std::max(shown_.size(), index(stored) + 1));
        shown_[index(stored)].push_back(v);
        return stored;
    }
    bool constant(kernel_value_id v) const { return in.values[index(v)].role == memory_role::constant; }
    std::size_t use_count(kernel_value_id v) const { return uses_[index(v)].size() + output_uses_[index(v)]; }
    // None yet where data decide its sizes.
    static std::size_t bytes_of(tensor_type const& t) {
        if (!t.is_static()) return 0;
        return static_cast<std::size_t>(*t.elements()) * byte_size(t.element);
    }

    // ---- storage

    kernel_value_id add_value(kernel_value v) {
        out.values.push_back(std::move(v));
        return static_cast<kernel_value_id>(out.values.size() - 1);
    }
    kernel_value_id add_temporary(kernel_value_id of, std::size_t bytes, std::int64_t block = 0) {
        kernel_value v{.name = in.values[index(of)].name, .type = type(of)};
        v.block = block, v.bytes = bytes;
        return add_value(std::move(v));
    }
    kernel_value_id new_plain(kernel_value_id v) { return set_plain(v, add_temporary(v, bytes_of(type(v)))); }
    std::size_t blocked_bytes(tensor_type const& t) const {
        auto const elements = blocked_layout{t.rank(), 1, isa.lanes()}.stored_elements(t.sizes());
        if (!elements) throw error{errors::memory_limit, format_text("too large in blocks: {}", to_string(t))};
        return static_cast<std::size_t>(*elements) * byte_size(t.element);
    }
    // Blocks of one pixel a channel are the channels in order.
    bool stored_alike(tensor_type const& t) const {
        auto const sizes = t.sizes();
        return sizes[1] % isa.lanes() == 0 && product(std::span{sizes}.subspan(2)) == 1;
    }
    kernel_value_id add_constant(kernel_value_id v) {
        auto value = in.values[index(v)];
        value.bytes = bytes_of(value.type);
        return add_value(std::move(value));
    }
    kernel_value_id plain(kernel_value_id v) {
        if (auto const found = plain_[index(v)]; found >= 0) return found;
        if (constant(v)) return set_plain(v, add_constant(v));
        if (auto const& view = views_[index(v)]; view.value >= 0) return set_plain(v, copied(v, view));
        return set_plain(v, converted(v, blocked_[index(v)], false));
    }
    // Puts what a kernel has made into the layout of its type, and nowhere else.
    void settle(kernel_value_id v) {
        if (belongs_in_blocks(v)) {
            static_cast<void>(blocked(v));
        } else if (in_blocks(v)) {
            static_cast<void>(plain(v));
            blocked_[index(v)] = -1;
        }
    }
    kernel_value_id blocked(kernel_value_id v) {
        if (blocked_[index(v)] < 0) {
            auto const made = converted(v, plain(v), true);
            set_blocked(v, made);
        }
        return blocked_[index(v)];
    }
    // How a value is read at `storage_of`, over its own dimensions.
    kernels::array_view view_of(kernel_value_id v) const {
        auto const& view = views_[index(v)];
        auto how =
            view.value >= 0 && plain_[index(v)] < 0 ? view.how : kernels::array_view::contiguous(type(v).sizes());
        how.element = type(v).element;
        return how;
    }
    kernel_value_id storage_of(kernel_value_id v) {
        auto const& view = views_[index(v)];
        return view.value >= 0 && plain_[index(v)] < 0 ? view.value : plain(v);
    }
    // Makes a value a view of a stored one.
    void set_view(kernel_value_id v, kernel_value_id stored, kernels::array_view how) {
        auto const sizes = type(v).sizes();
        auto const whole = kernels::array_view::contiguous(sizes);
        auto same = how.offset == 0 && how.elements == whole.elements;
        for (std::size_t d = 0; d < sizes.size(); ++d)
            same = same && (how.strides[d] == whole.strides[d] || sizes[d] == 1);
        if (same)
            set_plain(v, stored);
        else
            views_[index(v)] = {shows(v, stored), std::move(how)};
    }
    // Whether an operator may write over what it reads as its first operand: memory of this run alone, which neither it
    // nor any behind it reads otherwise.
    bool may_overwrite(kernel_value_id stored, std::size_t op) const {
        auto const& value = out.values[index(stored)];
        if (value.role != memory_role::temporary || value.part_of >= 0 || value.block != 0) return false;
        return std::ranges::all_of(shown_[index(stored)], [&](auto const v) {
            return !is_output(v) && std::ranges::all_of(uses(v), [&](use_site u) {
                return u.op < op || (u.op == op && u.operand == 0);
            });
        });
    }
    // A piece of a value that is stored in blocks.
    kernel_value part_of(kernel_value_id of, kernel_value_id whole, std::size_t offset) const {
        auto const& owner = out.values[index(whole)];
        kernel_value part{.name = in.values[index(of)].name, .type = type(of)};
        part.block = isa.lanes(), part.bytes = blocked_bytes(type(of));
        part.part_of = owner.part_of < 0 ? whole : owner.part_of;
        part.offset = owner.offset + offset;
        return part;
    }
    bool joins(kernel_op const& op) const {
        auto const* const join = std::get_if<concat_shape>(&op.computes);
        if (!join || !belongs_in_blocks(op.results[0])) return false;
        std::vector<tensor_type> parts;
        for (auto const& o : op.operands) {
            if (constant(o.value)) return false;
            parts.push_back(type(o.value));
        }
        return concatenates_blocks(type(op.results[0]), join->axis, as_span(parts), isa.lanes());
    }
    // The join of blocks that a value is a piece of; null: none.
    kernel_op const* concat_of(kernel_value_id v) const {
        kernel_op const* join = nullptr;
        for (auto const u : uses_[index(v)])
            if (joins(in.ops[u.op])) join = &in.ops[u.op];
        return join;
    }
    // Storage for a value in blocks: its place in a value that joins it with others along the channels, where there is
    // one, so that nothing is copied. That value may be a piece itself.
    kernel_value_id add_blocked(kernel_value_id v) {
        std::vector<std::pair<kernel_value_id, kernel_op const*>> pieces{{v, concat_of(v)}};
        while (pieces.back().second && !in_blocks(pieces.back().second->results[0])) {
            auto const whole = pieces.back().second->results[0];
            pieces.emplace_back(whole, concat_of(whole));
        }
        for (; !pieces.empty(); pieces.pop_back()) {
            auto const [piece, join] = pieces.back();
            if (!join) {
                set_blocked(piece, add_temporary(piece, blocked_bytes(type(piece)), isa.lanes()));
                continue;
            }
            std::size_t offset = 0;
            for (auto const& o : join->operands) {
                if (o.value == piece) break;
                offset += blocked_bytes(type(o.value));
            }
            set_blocked(piece, add_value(part_of(piece, blocked_[index(join->results[0])], offset)));
        }
        return blocked_[index(v)];
    }

    // ---- changes of layout

    void add_op(kernel_op const& like, kernel_computation what, std::vector<kernel_value_id> const& operands,
                std::vector<kernel_value_id> results) {
        kernel_op op{.computes = std::move(what), .covers = like.covers};
        for (auto v : operands) op.operands.push_back({v, {}, {}});
        op.results = std::move(results);
        op.boundary = like.boundary, op.moves = like.moves;
        out.ops.push_back(std::move(op));
    }
    kernel_op conversion_of(kernel_value_id v) const {
        kernel_op like;
        like.moves = in.values[index(v)].name;
        return like;
    }
    kernel_value_id converted(kernel_value_id v, kernel_value_id from, bool to_blocks) {
        auto const& t = type(v);
        if (stored_alike(t)) return from;
        auto const to = to_blocks ? add_temporary(v, blocked_bytes(t), isa.lanes()) : add_temporary(v, bytes_of(t));
        auto const sizes = t.sizes();
        add_op(conversion_of(v),
               to_blocks ? kernels::to_blocked_layout(t.element, sizes, isa.lanes())
                         : kernels::from_blocked_layout(t.element, sizes, isa.lanes()),
               {from}, {to});
        return to;
    }
    // What a view shows, row-major.
    kernel_value_id copied(kernel_value_id v, stored_view const& from) {
        auto const& t = type(v);
        auto const to = add_temporary(v, bytes_of(t));
        add_op(conversion_of(v), kernels::copied_view(t.element, t.sizes(), from.how), {from.value}, {to});
        return to;
    }

    kernel_graph in, out;
    gsub::isa const& isa;

private:
    std::vector<kernel_value_id> plain_, blocked_; // storage of each value; -1: none
    std::vector<stored_view> views_;
    std::vector<std::vector<use_site>> uses_;
    std::vector<std::vector<kernel_value_id>> shown_; // values that are read at each stored one
    std::vector<std::size_t> output_uses_;
    std::vector<char> home_in_blocks_; // what types say
};

} // namespace gsub::detail
