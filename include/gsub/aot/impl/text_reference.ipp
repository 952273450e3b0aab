// Reference texts: how an exported model computes the steps that the reference runtime computes in an executable, and
// that go by what their elements are: TopK, and MaxPool where its indices are read.
#pragma once

#include <gsub/aot/impl/literal.ipp>
#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops.hpp>
#include <gsub/runtime/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace gsub::aot::detail {

// A step that computes rows one by one, as a text that is called as kernels are.
struct rows_text {
    runtime::kernel_source source{};
    std::int64_t rows = 1;
    std::size_t workspace = 0; // bytes that a thread lends it
    std::size_t bytes = 0;     // that it reads
};

// Keys of elements, which are told by their bits, stand in the elements' order: NaN is the greatest one, both zeros are
// equal. Before: `bits`, the uppermost of them as `sign`, and of reals `infinity`.
inline constexpr std::string_view key_of_reals = R"text(bits key(bits b) {
  const bits size = static_cast<bits>(b & ~sign);
  if (size > infinity) return static_cast<bits>(~bits{0});
  if (size == 0) return sign;
  return static_cast<bits>(b & sign ? ~b : b | sign);
}
)text";
inline constexpr std::string_view key_of_signed = "bits key(bits b) { return static_cast<bits>(b ^ sign); }\n";
inline constexpr std::string_view key_of_unsigned = "bits key(bits b) { return b; }\n";

// Before: keys, the numbers of x, values, places and the workspace among the step's buffers, or -1; and numbers by
// name. Those that may be among the first are gathered, and cut back each time that there is no more room.
inline constexpr std::string_view text_of_top_k = R"text(struct entry {
  bits rank; // the first one has the least
  long place;
};
bool before(const entry& a, const entry& b) { return a.rank != b.rank ? a.rank < b.rank : a.place < b.place; }
bits rank_of(bits b) { return largest ? static_cast<bits>(~key(b)) : key(b); }
void rank(const bits* x, entry* best) {
  long count = 0, i = 0;
  for (; i < size && count < room; ++i) best[count++] = {rank_of(x[i * inner]), i};
  for (;;) {
    if (count > kept) {
      std::nth_element(best, best + (kept - 1), best + count, before);
      count = kept;
    }
    if (i == size) break;
    const bits last = best[kept - 1].rank;
    for (; i < size && count < room; ++i)
      if (const bits r = rank_of(x[i * inner]); r < last) best[count++] = {r, i};
  }
  std::sort(best, best + count, before);
}
}
extern "C" void gsub_step(void* const* b, long begin, long end) {
  entry* const best = static_cast<entry*>(b[workspace]);
  for (long row = begin; row < end; ++row) {
    const bits* const from = static_cast<const bits*>(b[x]) + row / inner * size * inner + row % inner;
    rank(from, best);
    for (long i = 0; i < kept; ++i) {
      const long to = (row / inner * kept + i) * inner + row % inner;
      if (values >= 0) static_cast<bits*>(b[values])[to] = from[best[i].place * inner];
      if (places >= 0) static_cast<std::int64_t*>(b[places])[to] = best[i].place;
    }
  }
}
)text";

// The same. Of equal ones the first counts; a window beside the image has the least value, and -1 as its place.
inline constexpr std::string_view text_of_max_pool = R"text(void next(long* at, const long* sizes) {
  for (int d = rank; d-- > 0;) {
    if (++at[d] < sizes[d]) return;
    at[d] = 0;
  }
}
long place_of(long offset) {
  if (!column_major) return offset;
  long out = 0, step = area;
  for (int d = rank; d-- > 0;) {
    step /= in[d];
    out += offset % in[d] * step;
    offset /= in[d];
  }
  return out;
}
}
extern "C" void gsub_step(void* const* b, long begin, long end) {
  for (long plane = begin; plane < end; ++plane) {
    const bits* const from = static_cast<const bits*>(b[x]) + plane * area;
    long at[rank] = {};
    for (long to = plane * windows; to < (plane + 1) * windows; ++to) {
      long tap[rank] = {}, best = -1;
      for (long t = 0; t < taps; ++t) {
        long place = 0;
        bool inside = true;
        for (int d = 0; d < rank; ++d) {
          const long p = at[d] * stride[d] + tap[d] * dilation[d] - pad[d];
          inside = inside && p >= 0 && p < in[d];
          place = place * in[d] + p;
        }
        if (inside && (best < 0 || key(from[place]) > key(from[best]))) best = place;
        next(tap, kernel);
      }
      if (values >= 0) static_cast<bits*>(b[values])[to] = best < 0 ? least : from[best];
      if (places >= 0) static_cast<std::int64_t*>(b[places])[to] = plane * area + place_of(best);
      next(at, out);
    }
  }
}
)text";

// Writes the text of a call, where there is one.
template <class = void>
class reference_text {
public:
    explicit reference_text(runtime::reference_call const& c) : g_(c.graph) {}

    [[nodiscard]] std::optional<rows_text> written() {
        auto const computed = [&](node_id n) {
            return n != g_.return_node() && !g_.is<ops::input>(n) && !g_.is<ops::constant>(n);
        };
        auto const order = g_.order();
        if (std::ranges::count_if(order, computed) != 1) return std::nullopt;
        node_ = *std::ranges::find_if(order, computed);
        auto const pools = g_.is<ops::max_pool>(node_) && g_.result_count(node_) == 2;
        if (!pools && !g_.is<ops::top_k>(node_)) return std::nullopt;
        if (!g_.is<ops::input>(g_.operand(node_, 0).node)) return std::nullopt;
        auto const& t = operand_type();
        if (!t.is_static() || *t.elements() == 0 || !g_.type({node_, 0}).is_static() ||
            *g_.type({node_, 0}).elements() == 0 || !write_keys(t.element))
            return std::nullopt;
        made_.bytes = static_cast<std::size_t>(*t.elements()) * byte_size(t.element);
        write_buffers();
        pools ? write_max_pool() : write_top_k();
        made_.source.symbol = "gsub_step";
        return std::move(made_);
    }

private:
    [[nodiscard]] tensor_type const& operand_type() const { return g_.type(g_.operand(node_, 0)); }

    // *Returns* whether elements of the type have keys.
    bool write_keys(dtype t) {
        auto const bits = 8 * byte_size(t);
        if (t == dtype::field61 || (!is_floating(t) && !is_integer(t))) return false;
        made_.source.text = format_text("#include <algorithm>\n#include <cstdint>\nnamespace {{\nusing bits = "
                                        "std::uint{}_t;\nconstexpr bits sign = bits{{1}} << {};\n",
                                        bits, bits - 1);
        auto const reals = is_floating(t), is_signed = info(t).is_signed;
        if (reals) { // what a real has above its fraction, without the sign
            std::uint64_t const fraction = t == dtype::f64 ? 52 : t == dtype::f32 ? 23 : t == dtype::f16 ? 10 : 7;
            auto const infinity = ((std::uint64_t{1} << (bits - 1)) - 1) >> fraction << fraction;
            made_.source.text += format_text("constexpr bits infinity = {}u;\n", infinity);
        }
        made_.source.text += format_text("constexpr bits least = {};\n", reals       ? "sign | infinity"
                                                                         : is_signed ? "sign"
                                                                                     : "0");
        made_.source.text += reals ? key_of_reals : is_signed ? key_of_signed : key_of_unsigned;
        return true;
    }
    // The graph's inputs are the first buffers, its outputs the last.
    void write_buffers() {
        auto const inputs = g_.inputs();
        auto const at = std::ranges::find(inputs, g_.operand(node_, 0).node) - inputs.begin();
        auto const result = [&](std::uint32_t port) {
            for (std::size_t i = 0; i < g_.output_count(); ++i)
                if (g_.output(i) == value_id{node_, port}) return static_cast<std::int64_t>(inputs.size() + i);
            return std::int64_t{-1};
        };
        made_.source.text += format_text("constexpr int x = {}, values = {}, places = {}, workspace = {};\n", at,
                                         result(0), result(1), inputs.size() + g_.output_count());
    }
    void number(std::string_view name, std::int64_t value) {
        made_.source.text += format_text("constexpr long {} = {};\n", name, c_literal(value));
    }
    template <class Range>
    void numbers(std::string_view name, Range const& values) {
        std::string all;
        for (auto const v : values) all += format_text("{}{}", all.empty() ? "" : ", ", c_literal(v));
        made_.source.text += format_text("constexpr long {}[] = {{{}}};\n", name, all);
    }

    void write_top_k() {
        auto const& a = g_.attributes<ops::top_k>(node_);
        auto const sizes = operand_type().sizes();
        auto const axis = *normalized_axis(a.axis, sizes.size());
        auto const kept = g_.type({node_, 0}).dims[axis].size();
        auto const inner = product(std::span{sizes}.subspan(axis + 1));
        auto const room = kept + std::max<std::int64_t>(kept, 256);
        number("size", sizes[axis]), number("inner", inner), number("kept", kept), number("room", room);
        made_.source.text += format_text("constexpr bool largest = {};\n", a.largest);
        made_.source.text += text_of_top_k;
        made_.rows = *operand_type().elements() / sizes[axis];
        made_.workspace = static_cast<std::size_t>(room) * 16;
    }
    void write_max_pool() {
        auto const& a = g_.attributes<ops::max_pool>(node_);
        auto const sizes = operand_type().sizes(), results = g_.type({node_, 0}).sizes();
        auto const in = std::span{sizes}.subspan(2), out = std::span{results}.subspan(2);
        made_.source.text += format_text("constexpr int rank = {};\nconstexpr bool column_major = {};\n", in.size(),
                                         a.column_major_indices);
        number("area", product(in)), number("windows", product(out)), number("taps", product(a.kernel_shape));
        numbers("in", in), numbers("out", out), numbers("kernel", a.kernel_shape), numbers("stride", a.strides);
        numbers("dilation", a.dilations), numbers("pad", std::span{a.pads}.first(in.size()));
        made_.source.text += text_of_max_pool;
        made_.rows = sizes[0] * sizes[1];
    }

    any_graph const& g_;
    node_id node_;
    rows_text made_;
};

} // namespace gsub::aot::detail
