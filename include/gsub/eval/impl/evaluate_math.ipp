#pragma once

#include <gsub/eval/evaluate_math.hpp>

#include <cstring>

namespace gsub {

GSUB_INLINE void evaluate<ops::cast>::move(kernel_args& args) {
    auto const& x = *args.operands[0];
    auto& y = args.results[0];
    auto const from = args.declared[0], to = static_cast<attributes_of<ops::cast> const*>(args.attributes.typed())->to;
    if (x.element() == dtype::field61 || y.element() == dtype::field61) {
        auto const count = static_cast<std::size_t>(x.elements());
        if (is_floating(to) && !is_floating(from)) { // integers are in the field
            auto const wide = x.converted_to(dtype::i64);
            for (std::size_t i = 0; i < count; ++i)
                y.mutable_data<field61>()[i] = field61{wide.data<std::int64_t>()[i]};
        } else if (is_floating(to)) { // between floating types: rounds, hence uninterpreted where it narrows
            auto const in = x.data<field61>();
            auto const out = y.mutable_data<field61>();
            for (std::size_t i = 0; i < count; ++i)
                out[i] = byte_size(to) >= byte_size(from)
                             ? in[i]
                             : field61::from_bits(hasher{hash_name(to_string(to))}.add(in[i].value()).finish().low);
        } else if (is_floating(from)) {
            auto bits = tensor::uninitialized(dtype::i64, x.dims());
            for (std::size_t i = 0; i < count; ++i)
                bits.mutable_data<std::int64_t>()[i] = static_cast<std::int64_t>(
                    hasher{hash_name(to_string(to))}.add(x.data<field61>()[i].value()).finish().low >> 1);
            y = bits.converted_to(to);
        } else {
            y = x.converted_to(to);
        }
        return;
    }
    y = x.converted_to(y.element());
}

} // namespace gsub
