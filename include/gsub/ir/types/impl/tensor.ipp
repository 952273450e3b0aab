#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/types/tensor.hpp>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <ostream>
#include <sys/mman.h>
#include <unistd.h>

namespace gsub {

namespace detail {

// A float that rounds to 16 bits as `value` itself does: where it is inexact its last bit is odd, so that it is no tie.
// *Source* Boldo and Melquiond, "When double rounding is odd", 2005.
template <class From>
float float_before_rounding(From value) {
    if constexpr (sizeof(From) < 4 || std::is_same_v<From, float>) {
        return static_cast<float>(value);
    } else if constexpr (std::is_integral_v<From> && sizeof(From) == 8) {
        // More bits than a double has: the low ones count as one.
        constexpr auto exact = From{1} << 53;
        constexpr auto low = From{0x7ff};
        auto const many = value > exact || (std::is_signed_v<From> && value < From{0} - exact);
        auto const few = many ? (value & ~low) | ((value & low) != 0 ? low + 1 : From{0}) : value;
        return float_before_rounding(static_cast<double>(few));
    } else {
        auto const wide = static_cast<double>(value);
        auto near = static_cast<float>(wide);
        if (static_cast<double>(near) == wide || std::isnan(wide)) return near;
        if (std::abs(static_cast<double>(near)) > std::abs(wide)) near = std::nextafter(near, 0.0f);
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(near) | 1u);
    }
}

template <class To, class From>
To convert_element(From value) {
    if constexpr (std::is_same_v<To, bool>) {
        return static_cast<double>(value) != 0.0;
    } else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
        auto const x = std::trunc(static_cast<double>(value));
        if (std::isnan(x)) return To{0};
        // The bounds are powers of two, hence exact in double; the upper one is exclusive.
        auto const low = static_cast<double>(std::numeric_limits<To>::min());
        auto const high = std::ldexp(1.0, std::numeric_limits<To>::digits);
        return x < low     ? std::numeric_limits<To>::min()
               : x >= high ? std::numeric_limits<To>::max()
                           : static_cast<To>(x);
    } else if constexpr (std::is_same_v<To, float16> || std::is_same_v<To, bfloat16>) {
        return To{float_before_rounding(value)};
    } else {
        return static_cast<To>(value);
    }
}

constexpr bool has_storage_type(dtype t) noexcept {
    return info(t).onnx != 0;
}

// Converts by way of a type that holds every value of the source, block by block: two loops a type instead of one a
// pair of types. Over pointers, as spans of so many types take long to compile.
template <class Wide>
void convert_through(tensor const& from, tensor& to) {
    auto const* const from_bytes = from.raw().data();
    auto* const to_bytes = to.mutable_raw().data();
    std::array<Wide, 512> block;
    auto const count = static_cast<std::size_t>(from.elements());
    for (std::size_t begin = 0; begin < count; begin += block.size()) {
        auto const n = std::min(block.size(), count - begin);
        with_storage_type(from.element(), [&]<class From> {
            auto const* const in = reinterpret_cast<From const*>(from_bytes) + begin;
            if constexpr (std::is_integral_v<From> == std::is_integral_v<Wide>)
                for (std::size_t i = 0; i < n; ++i) block[i] = static_cast<Wide>(in[i]);
        });
        with_storage_type(to.element(), [&]<class To> {
            auto* const out = reinterpret_cast<To*>(to_bytes) + begin;
            for (std::size_t i = 0; i < n; ++i) out[i] = convert_element<To, Wide>(block[i]);
        });
    }
}

// Seven significant digits: what a float has.
GSUB_INLINE std::string short_real(double value) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 7).ptr};
}

} // namespace detail

GSUB_INLINE tensor tensor::without_memory(dtype element, std::span<std::int64_t const> dims) {
    auto const count = checked_product(dims);
    GSUB_ASSERT(count && static_cast<std::uint64_t>(*count) <=
                             (std::uint64_t{1} << 62) / std::max<std::size_t>(byte_size(element), 1),
                "a tensor needs dimensions >= 0 and at most 2^62 bytes");
    tensor t;
    t.element_ = element;
    t.dims_ = ints(dims);
    t.elements_ = *count;
    t.writable_ = true;
    return t;
}

GSUB_INLINE tensor tensor::uninitialized(dtype element, std::span<std::int64_t const> dims) {
    auto t = without_memory(element, dims);
    if (auto const needed = t.size_bytes(); needed != 0) {
        // Whole cache lines, so that vector code may touch the padding.
        auto const rounded = (needed + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
        auto* const memory = static_cast<std::byte*>(::operator new (rounded, std::align_val_t{buffer_alignment}));
        t.owner_ = std::shared_ptr<void const>(memory, [](void const* p) {
            ::operator delete (const_cast<void*>(p), std::align_val_t{buffer_alignment});
        });
        t.data_ = memory;
    }
    return t;
}

GSUB_INLINE tensor tensor::zeros(dtype element, std::span<std::int64_t const> dims) {
    auto t = uninitialized(element, dims);
    if (t.data_) std::memset(t.data_, 0, t.size_bytes());
    return t;
}

GSUB_INLINE tensor tensor::zeros(tensor_type const& type) {
    GSUB_ASSERT(type.is_static(), "tensor::zeros needs a type with fixed dimensions");
    return zeros(type.element, type.sizes());
}

GSUB_INLINE tensor tensor::in_pages(dtype element, std::span<std::int64_t const> dims, bool huge) {
    auto t = without_memory(element, dims);
    auto const size = t.size_bytes();
    if (size == 0) return t;
    // Of huge pages there are whole ones only where an address is a multiple of theirs.
    constexpr std::size_t unit = std::size_t{2} << 20;
    auto const slack = huge && size >= 2 * unit ? unit : 0;
    auto* const at = ::mmap(nullptr, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return zeros(element, dims); // too many mappings, say
    t.owner_ =
        std::shared_ptr<void const>(at, [all = size + slack](void const* p) { ::munmap(const_cast<void*>(p), all); });
    auto const address = reinterpret_cast<std::uintptr_t>(at);
    t.data_ = static_cast<std::byte*>(at) + (slack ? (unit - address % unit) % unit : 0);
    if (slack) ::madvise(t.data_, size, MADV_HUGEPAGE); // advice: nothing depends on its being taken
    return t;
}

GSUB_INLINE void tensor::discard(std::int64_t first, std::int64_t count) {
    if (!writable_ || owner_.use_count() != 1) return;
    auto const page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    auto const item = static_cast<std::int64_t>(byte_size(element_));
    auto const begin = (reinterpret_cast<std::uintptr_t>(data_ + first * item) + page - 1) / page * page;
    auto const end = reinterpret_cast<std::uintptr_t>(data_ + (first + count) * item) / page * page;
    if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

GSUB_INLINE tensor tensor::borrowed(dtype element, std::span<std::int64_t const> dims, std::byte const* data,
                                    std::shared_ptr<void const> owner) {
    auto const count = checked_product(dims);
    GSUB_ASSERT(count.has_value(), "a tensor needs dimensions >= 0 with a product of at most 2^62");
    GSUB_ASSERT(byte_size(element) == 0 || reinterpret_cast<std::uintptr_t>(data) % byte_size(element) == 0,
                "borrowed elements must be aligned to their size");
    tensor t;
    t.element_ = element;
    t.dims_ = ints(dims);
    t.elements_ = *count;
    t.data_ = const_cast<std::byte*>(data);
    t.owner_ = std::move(owner);
    return t;
}

GSUB_INLINE tensor tensor::wrapping(dtype element, std::span<std::int64_t const> dims, std::byte* data,
                                    std::shared_ptr<void const> owner) {
    // A count of tensors alone: the owner may hold its memory elsewhere too.
    auto t = borrowed(element, dims, data, std::make_shared<std::shared_ptr<void const> const>(std::move(owner)));
    t.writable_ = true;
    return t;
}

GSUB_INLINE std::span<std::byte> tensor::mutable_raw() {
    if (data_ && (!writable_ || owner_.use_count() > 1)) {
        auto own = uninitialized(element_, dims_);
        std::memcpy(own.data_, data_, size_bytes());
        *this = std::move(own);
    }
    return {data_, size_bytes()};
}

GSUB_INLINE tensor tensor::reshaped(std::span<std::int64_t const> dims) const {
    GSUB_ASSERT(checked_product(dims) == elements_, "reshaped() must keep the number of elements");
    auto t = *this;
    t.dims_ = ints(dims);
    return t;
}

GSUB_INLINE tensor tensor::converted_to(dtype element) const {
    if (element == element_) return *this;
    GSUB_ASSERT(elements_ == 0 || (detail::has_storage_type(element_) && detail::has_storage_type(element)),
                "converted_to() needs element types with a storage type");
    auto t = uninitialized(element, dims_);
    switch (widest_of_kind(element_)) {
    case dtype::f64:
        detail::convert_through<double>(*this, t);
        break;
    case dtype::u64:
        detail::convert_through<std::uint64_t>(*this, t);
        break;
    default:
        detail::convert_through<std::int64_t>(*this, t);
    }
    return t;
}

GSUB_INLINE ints tensor::to_ints() const {
    GSUB_ASSERT(is_integer(element_) || element_ == dtype::boolean, "to_ints() needs an integer tensor");
    auto const wide = converted_to(dtype::i64);
    return ints(wide.data<std::int64_t>());
}

GSUB_INLINE hash128 tensor::hash() const {
    hasher h{0x74656e736f72u};
    h.add(static_cast<std::uint64_t>(element_)).add(dims_.size());
    for (auto d : dims_) h.add(static_cast<std::uint64_t>(d));
    return h.add(hash_bytes(raw())).finish();
}

GSUB_INLINE void fill_random(tensor& t, random_stream stream) {
    GSUB_ASSERT(t.elements() == 0 || detail::has_storage_type(t.element()),
                "fill_random() needs an element type with a storage type");
    auto* const data = t.mutable_raw().data();
    auto const count = static_cast<std::size_t>(t.elements());
    with_storage_type(t.element(), [&]<class T> {
        auto* const elements = reinterpret_cast<T*>(data);
        for (std::size_t i = 0; i < count; ++i) {
            auto& x = elements[i];
            if constexpr (std::is_integral_v<T>)
                x = static_cast<T>(stream.below(2));
            else
                x = detail::convert_element<T>(stream.normal());
        }
    });
}

GSUB_INLINE result<difference> compare(tensor const& a, tensor const& b, double relative, double absolute) {
    if (!std::equal(a.dims().begin(), a.dims().end(), b.dims().begin(), b.dims().end()))
        return error{error_code::negative,
                     format_text("shapes differ: {} against {}", to_string(a.type()), to_string(b.type()))};
    auto const x = a.converted_to(dtype::f64), y = b.converted_to(dtype::f64);
    auto const left = x.data<double>(), right = y.data<double>();
    difference d;
    double largest = 0, sum = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
        if (!std::isfinite(left[i]) || !std::isfinite(right[i])) {
            auto const same = std::isnan(left[i]) ? std::isnan(right[i]) : left[i] == right[i];
            if (!same) d.same_specials = false, ++d.outside;
            continue;
        }
        auto const gap = std::abs(left[i] - right[i]);
        d.max_absolute = std::max(d.max_absolute, gap);
        largest = std::max(largest, std::abs(right[i]));
        sum += gap;
        if (gap > absolute + relative * std::abs(right[i])) ++d.outside;
    }
    d.mean_absolute = left.empty() ? 0 : sum / static_cast<double>(left.size());
    d.max_relative = d.max_absolute == 0 ? 0
                     : largest > 0       ? d.max_absolute / largest
                                         : std::numeric_limits<double>::infinity();
    return d;
}

GSUB_INLINE std::string to_string(tensor const& t, std::size_t limit) {
    std::string text = to_string(t.type()) + " {";
    if (detail::has_storage_type(t.element())) {
        auto const wide = widest_of_kind(t.element());
        auto const values = t.converted_to(wide);
        auto const shown = std::min<std::size_t>(limit, static_cast<std::size_t>(t.elements()));
        for (std::size_t i = 0; i < shown; ++i) {
            if (i) text += ", ";
            if (wide == dtype::f64)
                text += detail::short_real(values.data<double>()[i]);
            else if (wide == dtype::u64)
                text += format_text("{}", values.data<std::uint64_t>()[i]);
            else
                text += format_text("{}", values.data<std::int64_t>()[i]);
        }
        if (shown < static_cast<std::size_t>(t.elements())) text += ", ...";
    }
    return text + '}';
}

GSUB_INLINE std::ostream& operator<<(std::ostream& out, tensor const& t) {
    return out << to_string(t);
}

} // namespace gsub
