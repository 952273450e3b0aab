#pragma once

#include <gsub/ir/blocked_layout.hpp>
#include <gsub/kernels/movement.hpp>
#include <gsub/lower/impl/expression_writer.ipp>
#include <gsub/lower/layout.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub {

namespace detail {

template <class = void>
class layout_pass {
public:
    layout_pass(kernel_graph g, isa const& set)
        : in_(std::move(g)),
          set_(set),
          plain_(in_.values.size(), -1),
          blocked_(in_.values.size(), -1),
          views_(in_.values.size()),
          uses_(in_.values.size()),
          output_uses_(in_.values.size(), 0) {}

    kernel_graph run() {
        for (std::size_t i = 0; i < in_.ops.size(); ++i)
            for (std::size_t k = 0; k < in_.ops[i].operands.size(); ++k)
                uses_[index(in_.ops[i].operands[k].value)].push_back({i, k});
        for (auto v : in_.outputs) ++output_uses_[index(v)];
        for (std::size_t v = 0; v < in_.values.size(); ++v)
            if (in_.values[v].role == memory_role::input) {
                auto value = in_.values[v];
                value.bytes = bytes_of(value.type);
                plain_[v] = add_value(std::move(value));
            }
        for (auto& op : in_.ops) place(op);
        for (std::size_t i = 0; i < in_.outputs.size(); ++i) add_output(in_.outputs[i], i);
        out_.stage = lowering_stage::laid_out;
        out_.inputs = std::move(in_.inputs), out_.results = std::move(in_.results);
        out_.input_names = std::move(in_.input_names), out_.output_names = std::move(in_.output_names);
        return std::move(out_);
    }

private:
    using memory_role = runtime::memory_role;
    struct stored_view {
        kernel_value_id value = -1;
        kernels::array_view how{};
    };
    struct use_site {
        std::size_t op, operand;
    };

    static std::size_t index(kernel_value_id v) noexcept { return static_cast<std::size_t>(v); }
    tensor_type const& type(kernel_value_id v) const { return in_.values[index(v)].type; }
    bool constant(kernel_value_id v) const { return in_.values[index(v)].role == memory_role::constant; }
    std::size_t use_count(kernel_value_id v) const { return uses_[index(v)].size() + output_uses_[index(v)]; }
    static std::size_t bytes_of(tensor_type const& t) {
        return static_cast<std::size_t>(*t.elements()) * byte_size(t.element);
    }

    // ---- storage

    kernel_value_id add_value(kernel_value v) {
        out_.values.push_back(std::move(v));
        return static_cast<kernel_value_id>(out_.values.size() - 1);
    }
    kernel_value_id add_temporary(kernel_value_id of, std::size_t bytes, std::int64_t block = 0) {
        kernel_value v{.name = in_.values[index(of)].name, .type = type(of)};
        v.block = block, v.bytes = bytes;
        return add_value(std::move(v));
    }
    kernel_value_id new_plain(kernel_value_id v) { return plain_[index(v)] = add_temporary(v, bytes_of(type(v))); }
    std::size_t blocked_bytes(tensor_type const& t) const {
        auto const elements = blocked_layout{t.rank(), 1, set_.lanes()}.stored_elements(t.sizes());
        if (!elements) throw error{error_code::unsupported, fmt::format("too large in blocks: {}", to_string(t))};
        return static_cast<std::size_t>(*elements) * byte_size(t.element);
    }
    // Blocks of one pixel a channel are the channels in order.
    bool stored_alike(tensor_type const& t) const {
        auto const sizes = t.sizes();
        return sizes[1] % set_.lanes() == 0 && product(std::span{sizes}.subspan(2)) == 1;
    }
    kernel_value_id add_constant(kernel_value_id v) {
        auto value = in_.values[index(v)];
        value.bytes = bytes_of(value.type);
        return add_value(std::move(value));
    }
    kernel_value_id plain(kernel_value_id v) {
        auto& found = plain_[index(v)];
        if (found >= 0) return found;
        if (constant(v)) return found = add_constant(v);
        if (auto const& view = views_[index(v)]; view.value >= 0) return found = copied(v, view);
        return found = converted(v, blocked_[index(v)], false);
    }
    kernel_value_id blocked(kernel_value_id v) {
        if (blocked_[index(v)] < 0) {
            auto const made = converted(v, plain(v), true);
            blocked_[index(v)] = made;
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
        auto const whole = kernels::array_view::contiguous(type(v).sizes());
        if (how.offset == 0 && how.elements == whole.elements && std::ranges::equal(how.strides, whole.strides))
            plain_[index(v)] = stored;
        else
            views_[index(v)] = {stored, std::move(how)};
    }
    // A piece of a value that is stored in blocks.
    kernel_value part_of(kernel_value_id of, kernel_value_id whole, std::size_t offset) const {
        auto const& owner = out_.values[index(whole)];
        kernel_value part{.name = in_.values[index(of)].name, .type = type(of)};
        part.block = set_.lanes(), part.bytes = blocked_bytes(type(of));
        part.part_of = owner.part_of < 0 ? whole : owner.part_of;
        part.offset = owner.offset + offset;
        return part;
    }
    bool joins(kernel_op const& op) const {
        auto const* const join = std::get_if<concat_shape>(&op.computes);
        if (!join) return false;
        std::vector<tensor_type> parts;
        for (auto const& o : op.operands) {
            if (constant(o.value)) return false;
            parts.push_back(type(o.value));
        }
        return joins_blocks(type(op.results[0]), join->axis, as_span(parts), set_.lanes());
    }
    // Storage for a value in blocks: its place in a value that joins it with others along the channels, where there is
    // one, so that nothing is copied.
    kernel_value_id add_blocked(kernel_value_id v) {
        kernel_op const* join = nullptr;
        for (auto const u : uses_[index(v)])
            if (joins(in_.ops[u.op])) join = &in_.ops[u.op];
        if (!join) return blocked_[index(v)] = add_temporary(v, blocked_bytes(type(v)), set_.lanes());
        auto const whole = join->results[0];
        if (blocked_[index(whole)] < 0) {
            auto const made = add_blocked(whole);
            blocked_[index(whole)] = made;
        }
        std::size_t offset = 0;
        for (auto const& o : join->operands) {
            if (o.value == v) break;
            offset += blocked_bytes(type(o.value));
        }
        return blocked_[index(v)] = add_value(part_of(v, blocked_[index(whole)], offset));
    }

    // ---- changes of layout

    void add_op(kernel_op const& like, kernel_computation what, std::vector<kernel_value_id> const& operands,
                std::vector<kernel_value_id> results) {
        kernel_op op{.computes = std::move(what), .covers = like.covers};
        for (auto v : operands) op.operands.push_back({v, {}, {}});
        op.results = std::move(results);
        op.border = like.border, op.moves = like.moves;
        out_.ops.push_back(std::move(op));
    }
    kernel_op conversion_of(kernel_value_id v) const {
        kernel_op like;
        like.moves = in_.values[index(v)].name;
        return like;
    }
    kernel_value_id converted(kernel_value_id v, kernel_value_id from, bool to_blocks) {
        auto const& t = type(v);
        if (stored_alike(t)) return from;
        auto const to = to_blocks ? add_temporary(v, blocked_bytes(t), set_.lanes()) : add_temporary(v, bytes_of(t));
        auto const sizes = t.sizes();
        add_op(conversion_of(v),
               to_blocks ? kernels::moved_to_blocks(t.element, sizes, set_.lanes())
                         : kernels::moved_from_blocks(t.element, sizes, set_.lanes()),
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

    // ---- operators

    void place(kernel_op& op) {
        std::visit(overloaded{
                       [&](kernels::descriptor& d) { place_kernel(op, d); },
                       [&](view_shape const& v) { place_view(op, v); },
                       [&](concat_shape const& c) { place_concat(op, c); },
                       [&](pad_shape const& p) { place_pad(op, p); },
                       [&](auto const&) { place_row_major(op); },
                   },
                   op.computes);
    }
    // Kernels of the application and of the reference evaluator.
    void place_row_major(kernel_op& op) {
        for (auto& o : op.operands) o.value = plain(o.value);
        for (auto& r : op.results) r = new_plain(r);
        out_.ops.push_back(std::move(op));
    }

    void place_kernel(kernel_op& op, kernels::descriptor& d) {
        // What reads views says how they lie.
        auto const read = [&](std::size_t i, kernels::array_view& how) { how = read_view(op.operands[i]); };
        std::vector<kernel_value_id> extra;
        if (auto* const s = std::get_if<kernels::row_program>(&d)) {
            place_rows(op, *s);
        } else if (auto* const r = std::get_if<kernels::reduction_shape>(&d)) {
            read(0, r->x);
        } else if (auto* const m = std::get_if<kernels::matmul_shape>(&d)) {
            read(0, m->a);
            if (!m->constant) read(1, m->b);
            for (std::size_t i = 0; i < m->arrays.size(); ++i) read(i + (m->bias ? 3 : 2), m->arrays[i]);
        } else if (auto* const a = std::get_if<kernels::attention_shape>(&d)) {
            read(0, a->q), read(1, a->keys), read(2, a->values);
            for (std::size_t i = 0; i < a->arrays.size(); ++i) read(i + 3, a->arrays[i]);
        } else if (auto* const c = std::get_if<kernels::conv2d_shape>(&d)) {
            // An image that lies in blocks already is read so.
            c->blocked_input = c->blocked_input || blocked_[index(op.operands[0].value)] >= 0;
        }
        auto needs = std::vector<operand_need>(op.operands.size());
        for (std::size_t i = 0; i < needs.size(); ++i) needs[i] = need_of(op, i);
        for (std::size_t i = 0; i < needs.size(); ++i) {
            auto& o = op.operands[i];
            o.value = needs[i] == operand_need::blocks    ? blocked(o.value)
                      : needs[i] == operand_need::view    ? storage_of(o.value)
                      : needs[i] == operand_need::lanes   ? lanes_of(o.value)
                      : needs[i] == operand_need::weights ? weights_of(o.value)
                                                          : plain(o.value);
            o.access.clear();
        }
        if (auto* const s = std::get_if<kernels::matmul_shape>(&d)) {
            op.results[0] = product_result(op.results[0], s->m, s->n, s->y);
            if (s->constant) join_rows(*s);
        } else if (auto* const a = std::get_if<kernels::attention_shape>(&d)) {
            op.results[0] = product_result(op.results[0], a->m, a->n, a->y);
        } else {
            for (auto& r : op.results) r = makes_blocks(op) ? add_blocked(r) : new_plain(r);
        }
        if (auto const* const m = std::get_if<kernels::movement_shape>(&d); m && m->chosen) {
            kernel_value flag{.name = "out of range", .type = tensor_type{dtype::i32, ints{1}}};
            flag.bytes = sizeof(std::int32_t);
            op.results.push_back(add_value(std::move(flag)));
        }
        op.frame.clear();
        out_.ops.push_back(std::move(op));
    }
    // The weights of one kernel, which are packed when the program is emitted: each its own value.
    kernel_value_id weights_of(kernel_value_id v) {
        if (use_count(v) > 1 || plain_[index(v)] >= 0) return plain(v);
        auto value = std::move(in_.values[index(v)]); // the only reference to the elements that lowering has
        in_.values[index(v)].type = value.type, in_.values[index(v)].role = memory_role::constant;
        value.bytes = bytes_of(value.type);
        return plain_[index(v)] = add_value(std::move(value));
    }
    // Numbers of channels, filled up to whole vectors.
    kernel_value_id lanes_of(kernel_value_id v) {
        auto const& given = in_.values[index(v)];
        auto const l = set_.lanes();
        auto const count = *given.type.elements();
        if (count % l == 0 || given.data.element() == dtype::undefined) return plain(v);
        std::int64_t const dims[] = {(count + l - 1) / l * l};
        auto filled = tensor::zeros(dtype::f32, dims);
        std::ranges::copy(given.data.template data<float>(), filled.template mutable_data<float>().begin());
        kernel_value value{.name = given.name, .type = filled.type(), .role = memory_role::constant};
        value.bytes = filled.size_bytes();
        value.data = std::move(filled);
        return add_value(std::move(value));
    }
    kernels::array_view read_view(kernel_operand const& o) const {
        auto const own = view_of(o.value);
        auto how = own;
        how.strides.resize(0);
        for (auto const d : o.access) how.strides.push_back(d < 0 ? 0 : own.strides[static_cast<std::size_t>(d)]);
        return how;
    }
    void place_rows(kernel_op& op, kernels::row_program& p) {
        auto const from = p.dims.size() - 1;
        std::span<std::int64_t const> const frame{op.frame.data(), op.frame.size()};
        for (std::size_t i = 0; i < p.arrays.size(); ++i) {
            auto how = merged_view(frame, read_view(op.operands[i]), from);
            if (!how) { // what is no row as it lies is one row-major
                static_cast<void>(plain(op.operands[i].value));
                how = merged_view(frame, read_view(op.operands[i]), from);
            }
            p.arrays[i] = std::move(*how);
        }
    }

    // Where the only reader of a product permutes its dimensions, but not the last one, the product is stored so. Rows
    // a multiple of 4 KiB apart would all fall on the same few lines of a cache: then they have gaps, if all readers
    // are products.
    kernel_value_id product_result(kernel_value_id v, std::int64_t rows, std::int64_t columns, kernels::array_view& y) {
        if (use_count(v) == 1 && uses_[index(v)].size() == 1) {
            auto const& reader = in_.ops[uses_[index(v)][0].op];
            if (auto const* const turned = std::get_if<view_shape>(&reader.computes); turned && permutes(*turned, v)) {
                if (turned->from.empty() || turned->from.back() + 1 != static_cast<int>(turned->from.size()))
                    return new_plain(v);
                auto const whole = kernels::array_view::contiguous(type(reader.results[0]).sizes());
                y = whole;
                for (std::size_t d = 0; d < turned->from.size(); ++d)
                    y.strides[static_cast<std::size_t>(turned->from[d])] = whole.strides[d];
                auto const to = add_temporary(reader.results[0], bytes_of(type(v)));
                set_view(v, to, y);
                return to;
            }
        }
        constexpr std::int64_t apart = 4096 / sizeof(float);
        if (columns % apart != 0 || rows < 8 || output_uses_[index(v)] > 0) return new_plain(v);
        for (auto const u : uses_[index(v)]) {
            auto const* const d = std::get_if<kernels::descriptor>(&in_.ops[u.op].computes);
            auto const product = d && (std::holds_alternative<kernels::matmul_shape>(*d) ||
                                       std::holds_alternative<kernels::attention_shape>(*d));
            if (!product || u.operand > 2) return new_plain(v);
        }
        auto dims = type(v).sizes();
        dims.back() += 16;
        y = kernels::array_view::contiguous(dims);
        auto const to = add_temporary(v, static_cast<std::size_t>(y.elements) * sizeof(float));
        set_view(v, to, y);
        return to;
    }
    bool permutes(view_shape const& v, kernel_value_id of) const {
        if (v.reshape || v.from.size() != type(of).rank()) return false;
        std::vector<char> seen(v.from.size(), 0);
        for (std::size_t d = 0; d < v.from.size(); ++d) {
            if (v.from[d] < 0 || v.step[d] != 1 || v.start[d] != 0) return false;
            seen[static_cast<std::size_t>(v.from[d])] = 1;
        }
        for (std::size_t d = 0; d < v.from.size(); ++d)
            if (v.from[d] != static_cast<std::int8_t>(d))
                return std::find(seen.begin(), seen.end(), 0) == seen.end() && same_sizes(v, of);
        return false;
    }
    // Whether a permutation shows all of its operand.
    bool same_sizes(view_shape const& v, kernel_value_id of) const {
        for (auto const u : uses_[index(of)]) {
            auto const& out = type(in_.ops[u.op].results[0]);
            for (std::size_t d = 0; d < v.from.size(); ++d)
                if (out.dims[d].size() != type(of).dims[static_cast<std::size_t>(v.from[d])].size()) return false;
        }
        return true;
    }
    // Batches of rows that meet one matrix are rows, where every array has them one after another.
    static void join_rows(kernels::matmul_shape& s) {
        while (!s.batch.empty()) {
            auto const at = s.batch.size() - 1; // the dimension before the rows
            auto const joins = [&](kernels::array_view const& v) {
                return v.strides.empty() || v.strides[at] == v.strides[at + 1] * s.m || s.batch[at] == 1;
            };
            if (!joins(s.a) || !joins(s.y) || !std::all_of(s.arrays.begin(), s.arrays.end(), joins)) return;
            auto const drop = [&](kernels::array_view& v) {
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

    void place_view(kernel_op const& op, view_shape const& v) {
        auto const x = op.operands[0].value, y = op.results[0];
        if (blocked_[index(x)] >= 0 && v.in_blocks)
            if (auto const first = cuts_blocks(v, type(x), type(y), set_.lanes())) {
                auto before = type(x);
                before.dims[1] = dim{*first};
                auto const offset = *first == 0 ? 0 : blocked_bytes(before);
                blocked_[index(y)] = add_value(part_of(y, blocked_[index(x)], offset));
                return;
            }
        auto const from = storage_of(x);
        auto const how = view_of(x);
        auto made = how;
        if (v.reshape) {
            auto reshaped = reshape(how, type(x).sizes(), type(y).sizes());
            if (!reshaped) { // elements in another order than they are stored
                plain_[index(y)] = plain(x);
                return;
            }
            made = std::move(*reshaped);
        } else {
            made.strides.resize(0);
            for (std::size_t d = 0; d < v.start.size(); ++d) made.offset += v.start[d] * how.strides[d];
            for (std::size_t d = 0; d < v.from.size(); ++d)
                made.strides.push_back(v.from[d] < 0 ? 0
                                                     : how.strides[static_cast<std::size_t>(v.from[d])] * v.step[d]);
        }
        set_view(y, from, std::move(made));
    }
    // The same elements over other dimensions, where no copy is needed for that.
    static std::optional<kernels::array_view> reshape(kernels::array_view const& v, ints const& from, ints const& to) {
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

    void place_concat(kernel_op const& op, concat_shape const& c) {
        auto const whole = op.results[0];
        auto const& t = type(whole);
        auto const in_blocks = [&](kernel_operand const& o) { return blocked_[index(o.value)] >= 0; };
        if (joins(op) && std::any_of(op.operands.begin(), op.operands.end(), in_blocks)) {
            if (blocked_[index(whole)] < 0) {
                auto const made = add_blocked(whole);
                blocked_[index(whole)] = made;
            }
            std::size_t offset = 0;
            for (auto const& o : op.operands) {
                auto const from = blocked(o.value);
                auto part = part_of(o.value, blocked_[index(whole)], offset);
                auto const size = part.bytes;
                auto const& stored = out_.values[index(from)];
                if (stored.part_of != part.part_of || stored.offset != part.offset)
                    add_op(op, runtime::copy_of(size), {from}, {add_value(std::move(part))});
                offset += size;
            }
            return;
        }
        auto const axis = static_cast<std::size_t>(c.axis);
        auto const all = t.sizes();
        auto const times = product(std::span{all}.first(axis));
        std::vector<std::size_t> sizes;
        auto scattered = false; // some are no rows, or rows of some bytes
        for (auto const& o : op.operands) {
            auto const v = o.value;
            sizes.push_back(bytes_of(type(v)) / static_cast<std::size_t>(times));
            auto const viewed = plain_[index(v)] < 0 && views_[index(v)].value >= 0;
            scattered = scattered || viewed || (times > 1 && sizes.back() < 256);
        }
        std::vector<kernel_value_id> from;
        if (!scattered || op.operands.size() > 16) {
            for (auto const& o : op.operands) from.push_back(plain(o.value));
            add_op(op, runtime::join_of(times, sizes), from, {new_plain(whole)});
            return;
        }
        ints extents;
        std::vector<kernels::array_view> views;
        for (auto const& o : op.operands) {
            from.push_back(storage_of(o.value));
            views.push_back(view_of(o.value));
            extents.push_back(type(o.value).dims[axis].size());
        }
        add_op(op, kernels::joined_views(t.element, all, axis, extents, views), from, {new_plain(whole)});
    }

    void place_pad(kernel_op const& op, pad_shape const& p) {
        auto const x = op.operands[0].value, y = op.results[0];
        auto const& in = type(x);
        auto const rank = in.rank();
        auto const moved = [&](std::size_t d) { return p.before[d] != 0 || p.after[d] != 0; };
        auto rest = static_cast<std::size_t>(0);
        for (std::size_t d = 0; d < rank; ++d) rest += moved(d);
        auto from = storage_of(x);
        auto view = view_of(x);
        if (rest == 0) return set_view(y, from, std::move(view));
        // Boxes of a border that is made of elements are as many as the products of its pieces: few dimensions at a
        // time.
        auto const constant = p.kind == kernels::border::constant;
        auto sizes = in.sizes();
        for (std::size_t d = 0; d < rank && rest > 0;) {
            ints before(rank, 0), after(rank, 0);
            auto next = sizes;
            for (int some = 0; d < rank && (constant || some < 2); ++d) {
                if (!moved(d)) continue;
                before[d] = p.before[d], after[d] = p.after[d];
                next[d] += before[d] + after[d];
                ++some, --rest;
            }
            std::vector<kernel_value_id> operands{from};
            std::optional<kernels::array_view> filling;
            if (op.operands.size() > 1) {
                operands.push_back(storage_of(op.operands[1].value));
                filling = view_of(op.operands[1].value);
                filling->strides.assign(rank, 0);
            }
            from = rest == 0 ? new_plain(y)
                             : add_temporary(y, static_cast<std::size_t>(product(next)) * byte_size(in.element));
            add_op(op, kernels::padded_view(in.element, sizes, view, before, after, p.kind, p.fill, filling), operands,
                   {from});
            sizes = next;
            view = kernels::array_view::contiguous(sizes);
            view.element = in.element;
        }
    }

    void add_output(kernel_value_id v, std::size_t i) {
        auto const from = plain(v);
        auto& value = out_.values[index(from)];
        if (value.role == memory_role::temporary && value.part_of < 0) {
            value.role = memory_role::output;
            value.position = i;
            out_.outputs.push_back(from);
            return;
        }
        kernel_value to{.name = in_.values[index(v)].name, .type = type(v), .role = memory_role::output, .position = i};
        to.bytes = bytes_of(type(v));
        auto const size = to.bytes;
        auto const made = add_value(std::move(to));
        add_op(conversion_of(v), runtime::copy_of(size), {from}, {made});
        out_.outputs.push_back(made);
    }

    kernel_graph in_, out_;
    isa const& set_;
    std::vector<kernel_value_id> plain_, blocked_; // storage of each value; -1: none
    std::vector<stored_view> views_;
    std::vector<std::vector<use_site>> uses_;
    std::vector<std::size_t> output_uses_;
};

} // namespace detail

GSUB_LAZY_BODY result<kernel_graph> layout_values(kernel_graph g, isa const& set) {
    try {
        return detail::layout_pass{std::move(g), set}.run();
    } catch (error const& e) { return e; }
}

} // namespace gsub
