#pragma once

#include <gsub/core/format.hpp>
#include <gsub/eval/evaluate_index.hpp>
#include <gsub/eval/impl/evaluate_tensor.ipp>

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>

namespace gsub {

namespace detail {

GSUB_INLINE std::int64_t checked_index(std::int64_t i, std::int64_t size, std::string_view op) {
    if (i < -size || i >= size)
        throw error{problem{errors::index_out_of_range,
                            {},
                            std::string{op},
                            format_text("index {} for a dimension of size {}", i, size),
                            {}}};
    return i < 0 ? i + size : i;
}

GSUB_INLINE indexed_parts parts_along(std::span<std::int64_t const> dims, tensor const& indices, std::size_t axis,
                                      std::string_view op) {
    indexed_parts out;
    if (indices.elements() == 0) return out;
    auto const wanted = indices.converted_to(dtype::i64);
    auto const strides = row_major_strides(dims);
    box_index at{indices.dims()};
    for (auto const i : wanted.data<std::int64_t>()) {
        std::int64_t place = 0;
        for (std::size_t d = 0; d < dims.size(); ++d)
            place += checked_index(d == axis ? i : at[d], dims[d], op) * strides[d];
        out.places.push_back(place);
        at.next();
    }
    return out;
}

GSUB_INLINE indexed_parts parts_by_rows(std::span<std::int64_t const> dims, tensor const& indices, std::size_t batch,
                                        std::string_view op) {
    indexed_parts out;
    auto const named = static_cast<std::size_t>(indices.dims().back());
    auto const strides = row_major_strides(dims);
    out.length = product(dims.subspan(batch + named));
    if (indices.elements() == 0) return out;
    auto const wanted = indices.converted_to(dtype::i64);
    auto const rows = wanted.data<std::int64_t>();
    box_index at{indices.dims().first(indices.rank() - 1)};
    for (std::size_t row = 0; row < rows.size(); row += named) {
        std::int64_t place = 0;
        for (std::size_t d = 0; d < batch; ++d) place += checked_index(at[d], dims[d], op) * strides[d];
        for (std::size_t d = 0; d < named; ++d)
            place += checked_index(rows[row + d], dims[batch + d], op) * strides[batch + d];
        out.places.push_back(place);
        at.next();
    }
    return out;
}

GSUB_INLINE void gather_parts(op_call_args& args, indexed_parts const& parts) {
    auto const& x = *args.operands[0];
    auto& out = args.results[0];
    if (out.size_bytes() == 0) return;
    auto const bytes = byte_size(x.element()), part = static_cast<std::size_t>(parts.length) * bytes;
    auto* to = out.mutable_raw().data();
    for (auto const place : parts.places) {
        std::memcpy(to, x.raw().data() + static_cast<std::size_t>(place) * bytes, part);
        to += part;
    }
}

} // namespace detail

GSUB_INLINE void evaluate<ops::gather_elements>::move(op_call_args& args) {
    auto const dims = args.operands[0]->dims();
    auto const axis = *normalized_axis(detail::typed_attributes<ops::gather_elements>(args).axis, dims.size());
    detail::gather_parts(args, detail::parts_along(dims, *args.operands[1], axis, "GatherElements"));
}

GSUB_INLINE void evaluate<ops::gather_nd>::move(op_call_args& args) {
    auto const batch = static_cast<std::size_t>(detail::typed_attributes<ops::gather_nd>(args).batch_dims);
    detail::gather_parts(args, detail::parts_by_rows(args.operands[0]->dims(), *args.operands[1], batch, "GatherND"));
}

// ---- sizes that data decide

namespace detail {

// A word that is in the order of numbers: NaN are equal and the greatest, -0 is 0.
GSUB_INLINE std::uint64_t ordered_word(double v) {
    constexpr auto sign = std::uint64_t{1} << 63;
    auto const bits = std::bit_cast<std::uint64_t>(v == 0 ? 0.0 : v);
    return v != v ? ~std::uint64_t{0} : bits & sign ? ~bits : bits | sign;
}
// Words that are in the order of the elements.
GSUB_INLINE std::vector<std::uint64_t> ordered_words(tensor const& x) {
    constexpr auto sign = std::uint64_t{1} << 63;
    std::vector<std::uint64_t> words;
    words.reserve(static_cast<std::size_t>(x.elements()));
    if (x.element() == dtype::field61) {
        for (auto const v : x.data<field61>()) words.push_back(v.value());
    } else if (is_floating(x.element())) {
        auto const wide = x.converted_to(dtype::f64);
        for (auto const v : wide.data<double>()) words.push_back(ordered_word(v));
    } else {
        auto const is_signed = info(x.element()).is_signed;
        for (auto const v : x.to_ints()) words.push_back(static_cast<std::uint64_t>(v) ^ (is_signed ? sign : 0));
    }
    return words;
}

// Different ones of things that a function puts in order.
struct different {
    std::vector<std::int64_t> first; // where each stands first, in the order of the result
    std::vector<std::int64_t> of;    // which of them each thing is
    std::vector<std::int64_t> count;
};
template <class Compare>
[[nodiscard]] different find_different(std::int64_t count, bool sorted, Compare compare) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return compare(a, b) < 0; });
    std::vector<std::int64_t> class_of(order.size()), first;
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (i == 0 || compare(order[i - 1], order[i]) != 0) first.push_back(order[i]); // the sort is stable
        class_of[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(first.size()) - 1;
    }
    std::vector<std::int64_t> place(first.size());
    std::iota(place.begin(), place.end(), std::int64_t{0});
    auto const first_of = [&](std::int64_t k) { return first[static_cast<std::size_t>(k)]; };
    if (!sorted) std::sort(place.begin(), place.end(), [&](auto a, auto b) { return first_of(a) < first_of(b); });
    different made;
    std::vector<std::int64_t> now(first.size());
    for (auto const k : place) {
        now[static_cast<std::size_t>(k)] = static_cast<std::int64_t>(made.first.size());
        made.first.push_back(first_of(k));
    }
    made.count.assign(first.size(), 0);
    for (auto const k : class_of) {
        made.of.push_back(now[static_cast<std::size_t>(k)]);
        ++made.count[static_cast<std::size_t>(made.of.back())];
    }
    return made;
}

// Fills result `port` of an op call, which is there or not, with a vector.
GSUB_INLINE void fill_vector(op_call_args& args, std::size_t port, std::span<std::int64_t const> values) {
    if (port >= args.results.size()) return;
    auto& to = args.make_result(port, dtype::i64, ints{static_cast<std::int64_t>(values.size())});
    std::copy(values.begin(), values.end(), to.mutable_data<std::int64_t>().begin());
}

struct scored_box {
    std::uint64_t score; // in the order of scores
    std::size_t box;
};
// Sorts boxes from the greatest score down; equal ones keep their order. No branch depends on a score.
GSUB_INLINE void sort_by_score(std::vector<scored_box>& all, std::vector<scored_box>& room) {
    room.resize(all.size());
    if (all.size() < 32) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            std::size_t place = 0;
            for (std::size_t k = 0; k < i; ++k) place += all[k].score >= all[i].score;
            for (auto k = i + 1; k < all.size(); ++k) place += all[k].score > all[i].score;
            room[place] = all[i];
        }
        return all.swap(room);
    }
    std::uint64_t differ = 0;
    for (auto const& b : all) differ |= b.score ^ all[0].score;
    auto const end = static_cast<int>(std::bit_width(differ));
    for (auto bit = std::countr_zero(differ); bit < end; bit += 8) { // a byte at a time, the least one first
        std::array<std::size_t, 256> place{};
        auto const byte = [bit](scored_box const& b) { return ~b.score >> bit & 255; };
        for (auto const& b : all) ++place[byte(b)];
        std::exclusive_scan(place.begin(), place.end(), place.begin(), std::size_t{0});
        for (auto const& b : all) room[place[byte(b)]++] = b;
        all.swap(room);
    }
}

// The boxes of a class from the greatest score down: NaN are the greatest, and of equal scores the first box comes
// first. Few are asked for of many, so that they are sorted batch by batch. No branch depends on one score of many: a
// processor could not foresee it.
template <class T>
class candidate_queue {
public:
    // Those of scores greater than `least`, all where there is none; about `asked` of them will be asked for.
    candidate_queue(std::span<T const> scores, std::optional<T> least, std::size_t asked)
        : scores_(scores),
          least_(least.value_or(-infinity)),
          floor_(least ? ordered_word(*least) : ordered_word(-infinity) - 1),
          ceiling_(ordered_word(least ? infinity : std::numeric_limits<T>::quiet_NaN())) {
        asked = std::max<std::size_t>(asked, 96);
        if (asked >= scores.size() / 2) return; // all are one batch
        auto const step = asked / sampled_ | 1; // odd, so that it meets all columns of a grid
        sample_.resize(scores.size() / step + 1);
        std::size_t count = 0;
        for (std::size_t i = 0; i < scores.size(); i += step) {
            sample_[count] = scores[i];
            count += !(scores[i] < least_);
        }
        sample_.resize(count);
    }

    // The next box, if one is left.
    std::optional<std::size_t> next() {
        while (at_ == batch_.size()) {
            if (floor_ >= ceiling_) return std::nullopt;
            fill(lowest_of_batch());
            at_ = 0;
        }
        return batch_[at_++].box;
    }

private:
    static constexpr auto infinity = std::numeric_limits<T>::infinity();
    // The score that the boxes of the next batch reach, by a sample of all scores. Each batch doubles the number of
    // boxes that were in one.
    T lowest_of_batch() {
        if (sample_.size() <= sampled_) return least_;
        auto const end = sample_.begin() + static_cast<std::ptrdiff_t>(sampled_);
        std::partial_sort(sample_.begin(), end, sample_.end(), [](T a, T b) { return ranks_before(a, b, true); });
        sampled_ *= 2;
        return end[-1];
    }
    // The boxes that are left and whose scores reach one, in order.
    void fill(T lowest) {
        auto const below = std::max(floor_, ordered_word(lowest) - 1);
        auto const count = find(lowest);
        batch_.resize(count);
        std::size_t left = 0;
        for (std::size_t k = 0; k < count; ++k) {
            auto const score = ordered_word(scores_[found_[k]]);
            batch_[left] = {score, found_[k]};
            left += score > below && score <= ceiling_;
        }
        batch_.resize(left);
        sort_by_score(batch_, room_);
        ceiling_ = below;
    }
    // Finds the boxes whose scores are not less than one, and tells how many. Few groups of scores hold such, and are
    // found first.
    std::size_t find(T lowest) {
        constexpr std::size_t group = 8, wide = 32;
        auto const size = scores_.size();
        std::vector<std::size_t> groups(size / group + 1);
        std::size_t holding = 0, count = 0, i = 0;
        for (; i + wide <= size; i += wide) {
            std::array<std::uint8_t, wide> reach;
            for (std::size_t k = 0; k < wide; ++k) reach[k] = !(scores_[i + k] < lowest);
            auto const any = std::bit_cast<std::array<std::uint64_t, wide / group>>(reach);
            for (std::size_t k = 0; k < any.size(); ++k) {
                groups[holding] = i + k * group;
                holding += any[k] != 0;
            }
        }
        found_.resize(holding * group + size - i);
        auto const take = [&](std::size_t box) {
            found_[count] = box;
            count += !(scores_[box] < lowest);
        };
        for (auto const first : std::span{groups}.first(holding))
            for (std::size_t k = 0; k < group; ++k) take(first + k);
        for (; i < size; ++i) take(i);
        return count;
    }

    std::span<T const> scores_;
    T least_;
    std::uint64_t floor_, ceiling_; // those left are above the one, and not above the other
    std::vector<T> sample_;
    std::size_t sampled_ = 12; // how many of the sample the batches hold, with the next one
    std::vector<std::size_t> found_;
    std::vector<scored_box> batch_, room_;
    std::size_t at_ = 0;
};

// The numbers of a suppression, and what its boxes overlap.
template <class T>
class box_selector {
public:
    explicit box_selector(op_call_args const& args)
        : center_(typed_attributes<ops::non_max_suppression>(args).center),
          boxes_(args.operands[0]->converted_to(dtype_of<T>)),
          scores_(args.operands[1]->converted_to(dtype_of<T>)) {
        auto const number = [&](std::size_t i) -> tensor const* {
            if (i >= args.operands.size() || !args.operands[i]) return nullptr;
            if (args.operands[i]->elements() == 1) return args.operands[i];
            throw error{
                problem{errors::ill_typed,
                        {},
                        std::string{args.op->name},
                        format_text("operand {} is {}; it takes one number", i, to_string(args.operands[i]->type())),
                        {}}};
        };
        auto const as_real = [](tensor const& t) { return t.converted_to(dtype_of<T>).template data<T>()[0]; };
        if (auto const* const t = number(2)) most_ = std::max<std::int64_t>(t->to_ints()[0], 0);
        if (auto const* const t = number(3)) overlap_ = as_real(*t);
        if (auto const* const t = number(4)) least_ = as_real(*t);
    }

    // Rows of batch, class and box.
    std::vector<std::int64_t> run(executor& threads) const {
        auto const classes = scores_.dims()[1], each = scores_.dims()[2];
        auto const parts = static_cast<std::size_t>(scores_.dims()[0] * classes);
        std::vector<std::vector<std::int64_t>> kept(parts);
        if (most_ > 0 && each > 0)
            threads.parallel_for(parts, [&](std::size_t part) {
                auto const count = static_cast<std::size_t>(each);
                auto const image = part / static_cast<std::size_t>(classes);
                kept[part] = select(boxes_.template data<T>().subspan(4 * image * count, 4 * count),
                                    scores_.template data<T>().subspan(part * count, count));
            });
        std::size_t count = 0;
        for (auto const& boxes : kept) count += boxes.size();
        std::vector<std::int64_t> rows;
        rows.reserve(3 * count);
        for (std::size_t part = 0; part < parts; ++part) {
            auto const at = static_cast<std::int64_t>(part), image = at / classes, of = at % classes;
            for (auto const i : kept[part])
                for (auto const v : {image, of, i}) rows.push_back(v);
        }
        return rows;
    }

private:
    struct corners {
        T low[2], high[2], area;
    };
    corners box(T const* b) const {
        corners c{};
        for (std::size_t d = 0; d < 2; ++d) {
            auto const half = b[d + 2] / 2;
            c.low[d] = center_ ? b[d] - half : std::min(b[d], b[d + 2]);
            c.high[d] = center_ ? b[d] + half : std::max(b[d], b[d + 2]);
        }
        c.area = (c.high[0] - c.low[0]) * (c.high[1] - c.low[1]);
        return c;
    }
    // Boxes that are kept and have an area, a number of some of them side by side; points fill the last group up.
    class kept_boxes {
    public:
        kept_boxes(T most, std::size_t count) : most_(most) { groups_.reserve((count + few - 1) / few); }
        void add(corners const& c) {
            if (!(c.area > 0)) return;
            T const numbers[] = {c.low[0], c.low[1], c.high[0], c.high[1], c.area};
            if (count_ % few == 0) groups_.emplace_back();
            for (std::size_t i = 0; i < 5; ++i) groups_.back()[i][count_ % few] = numbers[i];
            ++count_;
        }
        // Whether a box shares more than a part of what it and one of these cover. What two share is not more than the
        // area of one, and a point shares nothing.
        [[nodiscard]] bool overlap(corners const& a) const {
            if (!(a.area > 0)) return false;
            using mask = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>; // lanes as wide as numbers
            for (auto const& g : groups_) {
                mask none = 1;
                for (std::size_t i = 0; i < few; ++i) {
                    auto const height = lesser(a.high[0], g[2][i]) - greater(a.low[0], g[0][i]),
                               width = lesser(a.high[1], g[3][i]) - greater(a.low[1], g[1][i]);
                    auto const common = height * width, together = a.area + g[4][i] - common;
                    none &= !((height > 0) & (width > 0) & (common / together > most_));
                }
                if (!none) return true;
            }
            return false;
        }

    private:
        static constexpr std::size_t few = 16;
        static T lesser(T a, T b) { return b < a ? b : a; }
        static T greater(T a, T b) { return a < b ? b : a; }
        T most_;
        std::size_t count_ = 0;
        std::vector<std::array<std::array<T, few>, 5>> groups_;
    };
    // The boxes of a class that are kept, the best first.
    std::vector<std::int64_t> select(std::span<T const> boxes, std::span<T const> scores) const {
        auto const most = std::min(static_cast<std::size_t>(most_), scores.size());
        candidate_queue<T> candidates{scores, least_, 2 * most}; // some overlap
        std::vector<std::int64_t> kept;
        kept.reserve(most);
        kept_boxes chosen{overlap_, most};
        while (kept.size() < most) {
            auto const i = candidates.next();
            if (!i) break;
            auto const mine = box(&boxes[4 * *i]);
            if (chosen.overlap(mine)) continue;
            chosen.add(mine);
            kept.push_back(static_cast<std::int64_t>(*i));
        }
        return kept;
    }

    bool center_;
    tensor boxes_, scores_;
    std::int64_t most_ = 0;
    T overlap_ = 0;
    std::optional<T> least_;
};

// Some boxes that depend on all operands: equal ones choose the same, others with near certainty not.
GSUB_INLINE std::vector<std::int64_t> boxes_by_hash(op_call_args const& args) {
    auto const dims = args.operands[1]->dims();
    std::vector<std::int64_t> rows;
    if (std::ranges::count(dims, 0) > 0) return rows;
    hasher all{static_cast<std::uint64_t>(args.op->id)};
    all.add(args.attributes.hash());
    for (auto const* x : args.operands) {
        if (!x) continue;
        for (auto const d : x->dims()) all.add(static_cast<std::uint64_t>(d));
        for (auto const word : ordered_words(*x)) all.add(word);
    }
    for (std::size_t i = 0; i < 3 * 8; ++i)
        rows.push_back(
            static_cast<std::int64_t>(hasher{all}.add(i).finish().low % static_cast<std::uint64_t>(dims[i % 3])));
    return rows;
}

} // namespace detail

GSUB_INLINE void evaluate<ops::non_zero>::move(op_call_args& args) {
    auto const& x = *args.operands[0];
    auto const each = byte_size(x.element());
    // All bits but the sign of a float, which is the last one.
    auto const last = is_floating(x.element()) && x.element() != dtype::field61 ? std::byte{0x7f} : std::byte{0xff};
    auto const is_zero = [&](std::size_t i) {
        auto const bits = x.raw().subspan(i * each, each);
        return (bits.back() & last) == std::byte{0} &&
               std::all_of(bits.begin(), bits.end() - 1, [](std::byte b) { return b == std::byte{0}; });
    };
    auto const elements = static_cast<std::size_t>(x.elements());
    std::size_t count = 0;
    for (std::size_t i = 0; i < elements; ++i) count += !is_zero(i);
    auto& out =
        args.make_result(0, dtype::i64, ints{static_cast<std::int64_t>(x.rank()), static_cast<std::int64_t>(count)});
    auto const to = out.mutable_data<std::int64_t>();
    box_index at{x.dims()};
    std::size_t column = 0;
    for (std::size_t i = 0; i < elements; ++i, at.next()) {
        if (is_zero(i)) continue;
        for (std::size_t d = 0; d < x.rank(); ++d) to[d * count + column] = at[d];
        ++column;
    }
}

GSUB_INLINE void evaluate<ops::unique>::move(op_call_args& args) {
    auto const& a = detail::typed_attributes<ops::unique>(args);
    auto const& x = *args.operands[0];
    auto const words = detail::ordered_words(x);
    // x as [outer, things, inner]
    std::int64_t outer = 1, things = x.elements(), inner = 1;
    std::size_t axis = 0;
    if (!a.flat) {
        axis = *normalized_axis(a.axis, x.rank());
        outer = product(x.dims().first(axis)), things = x.dims()[axis], inner = product(x.dims().subspan(axis + 1));
    }
    auto const found = detail::find_different(things, a.sorted, [&](std::int64_t p, std::int64_t q) {
        for (std::int64_t o = 0; o < outer; ++o)
            for (std::int64_t i = 0; i < inner; ++i) {
                auto const left = words[static_cast<std::size_t>((o * things + p) * inner + i)],
                           right = words[static_cast<std::size_t>((o * things + q) * inner + i)];
                if (left != right) return left < right ? -1 : 1;
            }
        return 0;
    });
    ints dims(x.dims().begin(), x.dims().end());
    auto const kept = static_cast<std::int64_t>(found.first.size());
    if (a.flat)
        dims = {kept};
    else
        dims[axis] = kept;
    auto& out = args.make_result(0, x.element(), dims);
    if (out.size_bytes() > 0) {
        auto const part = static_cast<std::size_t>(inner) * byte_size(x.element());
        auto* to = out.mutable_raw().data();
        for (std::int64_t o = 0; o < outer; ++o)
            for (auto const thing : found.first) {
                std::memcpy(to, x.raw().data() + static_cast<std::size_t>(o * things + thing) * part, part);
                to += part;
            }
    }
    detail::fill_vector(args, 1, found.first);
    detail::fill_vector(args, 2, found.of);
    detail::fill_vector(args, 3, found.count);
}

GSUB_INLINE void evaluate<ops::non_max_suppression>::move(op_call_args& args) {
    auto const element = args.operands[0]->element();
    auto const rows = element == dtype::field61 ? detail::boxes_by_hash(args)
                      : element == dtype::f64   ? detail::box_selector<double>{args}.run(*args.threads)
                                                : detail::box_selector<float>{args}.run(*args.threads);
    auto& out = args.make_result(0, dtype::i64, ints{static_cast<std::int64_t>(rows.size() / 3), 3});
    std::copy(rows.begin(), rows.end(), out.mutable_data<std::int64_t>().begin());
}

} // namespace gsub
