// result_placement: where results are stored as their only reader has them.
#pragma once

#include <gsub/kernels/descriptor.hpp>
#include <gsub/lower/impl/value_storage.ipp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace gsub::detail {

template <class = void>
class result_placement {
public:
    explicit result_placement(value_storage<>& s) : s_(s) {}

    // Where the only reader of an image moves its channels behind the pixels, it is stored so.
    std::optional<kernel_value_id> image(kernels::image_ends<kernels::image_layout> const& of, kernel_value_id v) {
        if (!of.alone || of.out_channels % s_.isa.lanes() != 0 || s_.is_output(v) || s_.uses(v).size() != 1) return {};
        auto const* reader = &s_.in.ops[s_.uses(v)[0].op];
        if (auto const* const same = std::get_if<view_shape>(&reader->computes); same && same->reshape) { // its layout
            auto const y = reader->results[0];
            if (s_.type(y) != s_.type(v) || s_.is_output(y) || s_.uses(y).size() != 1) return {};
            reader = &s_.in.ops[s_.uses(y)[0].op];
        }
        auto const* const turned = std::get_if<view_shape>(&reader->computes);
        if (!turned || !permutes(*turned, reader->operands[0].value)) return {};
        auto const last = turned->from.size() - 1; // of [N, H, W, C] those of [N, C, H, W]
        for (std::size_t d = 0; d <= last; ++d)
            if (turned->from[d] != static_cast<std::int8_t>(d == 0 ? 0 : d == last ? 1 : d + 1)) return {};
        *of.result = kernels::image_layout::channels_last;
        return stored_as_read(v, *reader, *turned).first;
    }
    // Where the only reader of a product permutes its dimensions, but not the last one, the product is stored so. Rows
    // a multiple of 4 KiB apart would all fall on the same few lines of a cache: then they have gaps, if all readers
    // are products.
    kernel_value_id product(kernel_value_id v, std::size_t rank, std::int64_t rows, std::int64_t columns,
                            kernels::array_view& y) {
        if (s_.type(v).rank() != rank) return s_.new_plain(v); // a product with a vector
        if (s_.use_count(v) == 1 && s_.uses(v).size() == 1) {
            auto const& reader = s_.in.ops[s_.uses(v)[0].op];
            if (auto const* const turned = std::get_if<view_shape>(&reader.computes); turned && permutes(*turned, v)) {
                if (turned->from.empty() || turned->from.back() + 1 != static_cast<int>(turned->from.size()))
                    return s_.new_plain(v);
                auto [to, how] = stored_as_read(v, reader, *turned);
                y = std::move(how);
                return to;
            }
        }
        constexpr std::int64_t apart = 4096 / sizeof(float);
        if (columns % apart != 0 || rows < 8 || s_.is_output(v)) return s_.new_plain(v);
        for (auto const u : s_.uses(v)) {
            auto const* const d = std::get_if<kernels::descriptor>(&s_.in.ops[u.op].computes);
            auto const product = d && (std::holds_alternative<kernels::matmul_shape>(*d) ||
                                       std::holds_alternative<kernels::attention_shape>(*d));
            if (!product || u.operand > 2) return s_.new_plain(v);
        }
        auto dims = s_.type(v).sizes();
        dims.back() += 16;
        y = kernels::array_view::contiguous(dims);
        auto const to = s_.add_temporary(v, static_cast<std::size_t>(y.elements) * sizeof(float));
        s_.set_view(v, to, y);
        return to;
    }

private:
    // Storage of a value in the order in which its only reader permutes it, and how it is read there itself.
    std::pair<kernel_value_id, kernels::array_view> stored_as_read(kernel_value_id v, kernel_op const& reader,
                                                                   view_shape const& turned) {
        auto const whole = kernels::array_view::contiguous(s_.type(reader.results[0]).sizes());
        auto how = whole;
        for (std::size_t d = 0; d < turned.from.size(); ++d)
            how.strides[static_cast<std::size_t>(turned.from[d])] = whole.strides[d];
        auto const to = s_.add_temporary(reader.results[0], s_.bytes_of(s_.type(v)));
        s_.set_view(v, to, how);
        return {to, std::move(how)};
    }
    bool permutes(view_shape const& v, kernel_value_id of) const {
        if (v.reshape || v.from.size() != s_.type(of).rank()) return false;
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
        for (auto const u : s_.uses(of)) {
            auto const& out = s_.type(s_.in.ops[u.op].results[0]);
            for (std::size_t d = 0; d < v.from.size(); ++d)
                if (out.dims[d].size() != s_.type(of).dims[static_cast<std::size_t>(v.from[d])].size()) return false;
        }
        return true;
    }

    value_storage<>& s_;
};

} // namespace gsub::detail
