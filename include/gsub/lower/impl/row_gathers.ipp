// row_gathers: gathers that no kernel makes, as all that read them choose the rows themselves.
#pragma once

#include <gsub/lower/impl/kernel_frame.ipp>
#include <gsub/lower/impl/value_storage.ipp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub::detail {

// A view over the dimensions of a kernel's frame, by the dimension of the operand that each is.
GSUB_LAZY [[nodiscard]] kernels::array_view accessed(kernels::array_view const& own,
                                                     std::span<std::int8_t const> access) {
    auto how = own;
    how.strides.resize(0);
    for (auto const d : access) how.strides.push_back(d < 0 ? 0 : own.strides[static_cast<std::size_t>(d)]);
    return how;
}

// A gather: what its rows and the integers that choose them are, over the dimensions of the result.
struct gathered_rows {
    kernel_value_id from = -1, integers = -1;
    kernels::array_view rows{}; // of the first entry
    kernels::chosen_entries by{};
    std::vector<covered_node> covers{}; // until a reader has them
};

template <class = void>
class row_gathers {
public:
    explicit row_gathers(value_storage<>& s) : s_(s) {}

    // Whether the operator is a gather that all its readers make, which is remembered.
    bool take(kernel_op& op, kernels::descriptor const& d) {
        auto const* const m = std::get_if<kernels::movement_shape>(&d);
        if (!m || !m->chosen || op.operands.size() != 2) return false;
        auto const y = op.results[0];
        auto const axis = axis_of(op, *m);
        if (!axis || s_.is_output(y) || s_.uses(y).empty() || s_.belongs_in_blocks(y)) return false;
        auto made = seen(op, *m, *axis);
        if (!std::ranges::all_of(s_.uses(y), [&](auto const u) { return takes(u, made); })) return false;
        for (auto const u : s_.uses(y)) ++choices_[u.op];
        if (!lies_in_rows(made.from)) static_cast<void>(s_.plain(made.from));
        s_.shows(y, s_.storage_of(made.from)), s_.shows(y, s_.plain(made.integers));
        made.covers = std::move(op.covers);
        taken_.emplace(y, std::move(made));
        return true;
    }
    // The gather that a value is, which its readers make; null: it is stored.
    [[nodiscard]] gathered_rows* find(kernel_value_id v) {
        auto const found = taken_.find(v);
        return found == taken_.end() ? nullptr : &found->second;
    }

private:
    // The dimension that entries are chosen along; nothing where single elements are.
    std::optional<std::size_t> axis_of(kernel_op const& op, kernels::movement_shape const& m) const {
        auto const rows = m.dims.size() == 3 && m.chosen->at.strides == small_vector<std::int64_t, 6>{0, 1, 0};
        if (!rows) return std::nullopt;
        auto const from = s_.type(op.operands[0].value).sizes(), at = s_.type(op.operands[1].value).sizes(),
                   to = s_.type(op.results[0]).sizes();
        for (std::size_t a = 0; a < from.size(); ++a) {
            ints made{std::span{from}.first(a)};
            made.append(at), made.append(std::span{from}.subspan(a + 1));
            if (from[a] == m.chosen->entries && product(std::span{from}.first(a)) == m.dims[0] && made == to) return a;
        }
        return std::nullopt;
    }
    // Whether vectors of a value's rows are neighbours as it is stored.
    bool lies_in_rows(kernel_value_id v) const { return !s_.is_view(v) || s_.view_of(v).strides.back() == 1; }

    gathered_rows seen(kernel_op const& op, kernels::movement_shape const& m, std::size_t axis) const {
        auto const x = op.operands[0].value, index = op.operands[1].value;
        auto const own = lies_in_rows(x) ? s_.view_of(x) : kernels::array_view::contiguous(s_.type(x).sizes());
        auto const places = kernels::array_view::contiguous(s_.type(index).sizes());
        auto const rank = places.strides.size();
        gathered_rows made{x, index, own, {m.chosen->integers, places, m.chosen->entries, own.strides[axis]}, {}};
        made.rows.element = s_.type(x).element;
        made.rows.strides.resize(0), made.by.at.strides.resize(0);
        for (std::size_t d = 0; d + 1 < own.strides.size() + rank; ++d) {
            auto const chosen = d >= axis && d < axis + rank;
            made.rows.strides.push_back(chosen ? 0 : own.strides[d < axis ? d : d + 1 - rank]);
            made.by.at.strides.push_back(chosen ? places.strides[d - axis] : 0);
        }
        return made;
    }
    // Whether a reader may choose rows: it has whole vectors of them, and computes something.
    bool takes(value_storage<>::use_site u, gathered_rows const& of) const {
        constexpr int most = 8; // choices of a kernel
        auto const& reader = s_.in.ops[u.op];
        auto const* const d = std::get_if<kernels::descriptor>(&reader.computes);
        auto const* const p = d ? std::get_if<kernels::row_reduction_shape>(d) : nullptr;
        if (!p || u.operand >= p->arrays.size() || p->ops.empty() || p->dims.back() < s_.isa.lanes()) return false;
        if (std::ranges::any_of(p->results, [](auto const& r) { return !r.strides.empty(); })) return false;
        if (auto const known = choices_.find(u.op); known != choices_.end() && known->second >= most) return false;
        auto const& access = reader.operands[u.operand].access;
        std::span<std::int64_t const> const frame{reader.frame.data(), reader.frame.size()};
        std::span<std::int8_t const> const how{access.data(), access.size()};
        auto const rows = merged_view(frame, accessed(of.rows, how), p->dims.size() - 1),
                   at = merged_view(frame, accessed(of.by.at, how), p->dims.size() - 1);
        return rows && at && rows->strides.back() == 1 && at->strides.back() == 0;
    }

    value_storage<>& s_;
    std::map<kernel_value_id, gathered_rows> taken_;
    std::map<std::size_t, int> choices_; // of each reader
};

} // namespace gsub::detail
