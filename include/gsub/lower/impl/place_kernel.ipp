// kernel_placement: where operands and results of generated kernels are stored, and how their descriptors read them.
#pragma once

#include <gsub/kernels/descriptor.hpp>
#include <gsub/lower/impl/kernel_frame.ipp>
#include <gsub/lower/impl/place_result.ipp>
#include <gsub/lower/impl/row_gathers.ipp>
#include <gsub/lower/impl/value_storage.ipp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub::detail {

// Batches of rows that meet one matrix are rows, where every array has them one after another.
GSUB_LAZY void join_rows(kernels::matmul_shape& s) {
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

template <class = void>
class kernel_placement {
public:
    explicit kernel_placement(value_storage<>& s) : s_(s) {}

    /// Places the kernel that is operator `number`.
    void place(kernel_op& op, std::size_t number, kernels::descriptor& d) {
        if (gathers_.take(op, d)) return;
        std::optional<kernel_value_id> channels_last; // where a result lies that is an image so
        // What reads views says how they lie.
        auto const read = [&](std::size_t i, kernels::array_view& how) { how = read_view(op.operands[i]); };
        if (auto* const s = std::get_if<kernels::row_reduction_shape>(&d)) {
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
        } else if (auto images = kernels::images_of(d)) {
            place_image(*images, op.operands[0].value);
            if (auto const stored = results_.image(*images, op.results[0])) channels_last = stored;
        } else if (std::holds_alternative<kernels::scatter_shape>(d)) {
            if (auto const row = repeated_row(op.operands[0].value)) stored_.emplace_back(0, *row);
        }
        auto needs = std::vector<operand_requirement>(op.operands.size());
        for (std::size_t i = 0; i < needs.size(); ++i) needs[i] = requirement_of(op, i);
        for (std::size_t i = 0; i < needs.size(); ++i) {
            auto& o = op.operands[i];
            auto const written =
                std::find_if(stored_.begin(), stored_.end(), [&](auto const& r) { return r.first == i; });
            o.value = written != stored_.end()                   ? written->second
                      : needs[i] == operand_requirement::blocks  ? s_.blocked(o.value)
                      : needs[i] == operand_requirement::view    ? s_.storage_of(o.value)
                      : needs[i] == operand_requirement::lanes   ? lanes_of(o.value)
                      : needs[i] == operand_requirement::weights ? weights_of(o.value)
                                                                 : s_.plain(o.value);
            o.access.clear();
        }
        if (auto* const s = std::get_if<kernels::matmul_shape>(&d)) {
            op.results[0] = results_.product(op.results[0], s->batch.size() + 2, s->m, s->n, s->y);
            if (s->constant) join_rows(*s);
        } else if (auto* const a = std::get_if<kernels::attention_shape>(&d)) {
            op.results[0] = results_.product(op.results[0], a->batch.size() + 2, a->m, a->n, a->y);
        } else if (channels_last) {
            op.results[0] = *channels_last;
        } else if (auto* const scattered = std::get_if<kernels::scatter_shape>(&d)) {
            place_scatter(op, number, *scattered);
        } else {
            for (auto& r : op.results) r = makes_blocks(op) ? s_.add_blocked(r) : s_.new_plain(r);
        }
        if (!kernels::chosen_by(d).empty()) {
            kernel_value flag{.name = "out of range", .type = tensor_type{dtype::i32, ints{1}}};
            flag.bytes = sizeof(std::int32_t);
            op.results.push_back(s_.add_value(std::move(flag)));
        }
        op.frame.clear();
        stored_.clear();
        s_.out.ops.push_back(std::move(op));
    }

private:
    static constexpr std::size_t many_bytes = std::size_t{1} << 20; // that a scatter does not copy itself

    // One row of a constant of many bytes that has nothing but such rows, as zeros do: short enough to stay in the
    // first cache while it is copied over and over.
    std::optional<kernel_value_id> repeated_row(kernel_value_id v) {
        constexpr std::size_t longest = 2048, shortest = 128;
        auto const& given = s_.in.values[s_.index(v)];
        auto const bytes = given.data.raw();
        if (!s_.constant(v) || bytes.size() < many_bytes) return std::nullopt;
        auto const element = byte_size(given.type.element);
        for (auto row = longest; row >= shortest; --row) {
            if (row % element != 0 || bytes.size() % row != 0) continue;
            if (std::memcmp(bytes.data(), bytes.data() + row, bytes.size() - row) != 0) continue;
            std::int64_t const dims[] = {static_cast<std::int64_t>(row / element)};
            auto data = tensor::zeros(given.type.element, dims);
            std::ranges::copy(bytes.first(row), data.mutable_raw().begin());
            kernel_value value{.name = given.name, .type = data.type(), .role = runtime::memory_role::constant};
            value.bytes = row, value.data = std::move(data);
            return s_.add_value(std::move(value));
        }
        return std::nullopt;
    }
    // Data that nothing reads later become the result. Of others, many bytes are copied as bytes, which keep nothing in
    // a cache, and the kernel works on the copy.
    void place_scatter(kernel_op& op, std::size_t number, kernels::scatter_shape& s) {
        if (s_.may_overwrite(op.operands[0].value, number)) {
            op.results[0] = s_.set_plain(op.results[0], op.operands[0].value);
            s.in_place = true;
            return;
        }
        op.results[0] = s_.new_plain(op.results[0]);
        auto const bytes = s_.out.values[s_.index(op.results[0])].bytes;
        if (bytes < many_bytes) return;
        auto const row = s_.out.values[s_.index(op.operands[0].value)].bytes;
        s_.add_op(op, row < bytes ? runtime::repeated_copy(row, bytes / row) : runtime::copy_of(bytes),
                  {op.operands[0].value}, {op.results[0]});
        op.operands[0].value = op.results[0];
        s.in_place = true;
    }
    // An image is read as it lies: in blocks, or with channels last where kernels have vectors of these, or take one at
    // a time.
    void place_image(kernels::image_ends<kernels::image_layout> const& of, kernel_value_id x) {
        using enum kernels::image_layout;
        if (s_.in_blocks(x))
            *of.input = blocked;
        else if (has_channels_last(x) && (of.in_channels % s_.isa.lanes() == 0 || *of.input == planar))
            *of.input = channels_last;
    }
    // Whether a value is a view of one that has all its channels behind the pixels.
    bool has_channels_last(kernel_value_id v) const {
        auto const& t = s_.type(v);
        if (!s_.is_view(v) || !may_be_blocked(t)) return false;
        auto const how = s_.view_of(v);
        auto stride = std::int64_t{1};
        auto const lies = [&](std::size_t d) {
            auto const size = t.dims[d].size();
            auto const fits = size == 1 || how.strides[d] == stride;
            stride *= size;
            return fits;
        };
        auto all = how.offset == 0 && lies(1);
        for (auto d = t.rank() - 1; d > 1; --d) all = lies(d) && all;
        return lies(0) && all && how.elements == stride;
    }
    // The weights of one kernel, which are packed when the program is emitted: each its own value.
    kernel_value_id weights_of(kernel_value_id v) {
        if (s_.use_count(v) > 1 || s_.is_plain(v)) return s_.plain(v);
        auto value = std::move(s_.in.values[s_.index(v)]); // the only reference to the elements that lowering has
        s_.in.values[s_.index(v)].type = value.type, s_.in.values[s_.index(v)].role = runtime::memory_role::constant;
        value.bytes = s_.bytes_of(value.type);
        return s_.set_plain(v, s_.add_value(std::move(value)));
    }
    // Numbers of channels, filled up to whole vectors.
    kernel_value_id lanes_of(kernel_value_id v) {
        auto const& given = s_.in.values[s_.index(v)];
        auto const l = s_.isa.lanes();
        auto const count = *given.type.elements();
        if (count % l == 0 || given.data.element() == dtype::undefined) return s_.plain(v);
        std::int64_t const dims[] = {(count + l - 1) / l * l};
        auto filled = tensor::zeros(dtype::f32, dims);
        std::ranges::copy(given.data.template data<float>(), filled.template mutable_data<float>().begin());
        kernel_value value{.name = given.name, .type = filled.type(), .role = runtime::memory_role::constant};
        value.bytes = filled.size_bytes();
        value.data = std::move(filled);
        return s_.add_value(std::move(value));
    }
    kernels::array_view read_view(kernel_operand const& o) const {
        return accessed(s_.view_of(o.value), {o.access.data(), o.access.size()});
    }
    void place_rows(kernel_op& op, kernels::row_reduction_shape& p) {
        auto const from = p.dims.size() - 1;
        std::span<std::int64_t const> const frame{op.frame.data(), op.frame.size()};
        for (std::size_t i = 0; i < p.arrays.size(); ++i) {
            if (auto* const rows = gathers_.find(op.operands[i].value)) {
                choose_rows(op, p, i, *rows);
                continue;
            }
            auto& o = op.operands[i];
            auto how = merged_view(frame, read_view(o), from);
            if (!how) { // what is no row as it lies is one row-major
                static_cast<void>(s_.plain(o.value));
                how = merged_view(frame, read_view(o), from);
            }
            p.arrays[i] = how ? std::move(*how) : repeated_rows(op, i, frame, from);
        }
    }
    // Rows of an operand in the entries that integers choose; these are an operand more.
    void choose_rows(kernel_op& op, kernels::row_reduction_shape& p, std::size_t i, gathered_rows& of) {
        std::span<std::int64_t const> const frame{op.frame.data(), op.frame.size()};
        auto const access = op.operands[i].access;
        auto const seen = [&](kernels::array_view const& own) {
            return merged_view(frame, accessed(own, {access.data(), access.size()}), p.dims.size() - 1).value();
        };
        p.arrays[i] = seen(of.rows);
        p.chosen.push_back({static_cast<std::int32_t>(i), of.by});
        p.chosen.back().by.at = seen(of.by.at);
        stored_.emplace_back(i, s_.storage_of(of.from));
        op.operands.push_back({of.integers, {}, {}});
        op.covers.insert(op.covers.begin(), of.covers.begin(), of.covers.end());
        of.covers.clear();
    }
    // What a view over other dimensions shows of a value at `storage_of`, row-major.
    kernel_value_id written_out(kernel_value_id v, ints const& dims, kernels::array_view const& how) {
        auto const from = s_.storage_of(v);
        kernel_value made{.name = s_.in.values[s_.index(v)].name, .type = tensor_type{s_.type(v).element, dims}};
        made.bytes = s_.bytes_of(made.type);
        auto const to = s_.add_value(std::move(made));
        s_.add_op(s_.conversion_of(v), kernels::copied_view(s_.type(v).element, dims, how), {from}, {to});
        return to;
    }
    // Rows of an operand that repeats along some of their dimensions but not all: written out.
    kernels::array_view repeated_rows(kernel_op const& op, std::size_t i, std::span<std::int64_t const> frame,
                                      std::size_t from) {
        auto const& o = op.operands[i];
        auto const how = read_view(o);
        ints dims;
        for (std::size_t d = 0; d < frame.size(); ++d) dims.push_back(d < from && how.strides[d] == 0 ? 1 : frame[d]);
        auto const element = s_.type(o.value).element;
        stored_.emplace_back(i, written_out(o.value, dims, how));
        auto made = kernels::array_view::contiguous(dims);
        for (std::size_t d = 0; d < from; ++d)
            if (dims[d] == 1) made.strides[d] = 0;
        made.element = element;
        return *merged_view(frame, made, from);
    }

    value_storage<>& s_;
    row_gathers<> gathers_{s_};
    result_placement<> results_{s_};
    std::vector<std::pair<std::size_t, kernel_value_id>> stored_; // where operands of the kernel at hand lie, else told
};

} // namespace gsub::detail
