#pragma once

#include <gsub/core/format.hpp>
#include <gsub/loop/affine.hpp>

#include <algorithm>

namespace gsub::loop {

GSUB_INLINE affine affine::of(variable v, std::int64_t factor) {
    affine a;
    a.add(v, factor);
    return a;
}

GSUB_INLINE affine affine::with(variable v, affine const& value) const {
    auto const by = factor(v);
    if (by == 0) return *this;
    auto rest = *this;
    rest.add(v, -by);
    return rest + value * by;
}

GSUB_INLINE affine affine::resolved(std::span<interval const> variables) const {
    affine out{constant_};
    for (auto const& t : terms_) {
        auto const& v = variables[static_cast<std::size_t>(t.of)];
        if (v.low == v.high)
            out.constant_ += t.factor * v.low;
        else
            out.terms_.push_back(t);
    }
    return out;
}

GSUB_INLINE affine affine::renamed(std::span<variable const> to) const {
    affine out{constant_};
    for (auto const& t : terms_) out.add(to[static_cast<std::size_t>(t.of)], t.factor);
    return out;
}

GSUB_INLINE affine& affine::operator+=(affine const& other) {
    constant_ += other.constant_;
    for (auto const& t : other.terms_) add(t.of, t.factor);
    return *this;
}

GSUB_INLINE affine& affine::operator*=(std::int64_t factor) {
    if (factor == 0) return *this = affine{};
    constant_ *= factor;
    for (auto& t : terms_) t.factor *= factor;
    return *this;
}

GSUB_INLINE void affine::add(variable v, std::int64_t factor) {
    std::size_t i = 0;
    while (i < terms_.size() && terms_[i].of < v) ++i;
    if (i == terms_.size() || terms_[i].of != v) {
        if (factor != 0) terms_.insert(i, {v, factor});
    } else if ((terms_[i].factor += factor) == 0) {
        terms_.erase(i);
    }
}

GSUB_INLINE bool operator==(affine const& a, affine const& b) noexcept {
    return a.constant_ == b.constant_ && std::equal(a.terms_.begin(), a.terms_.end(), b.terms_.begin(), b.terms_.end());
}

GSUB_INLINE std::int64_t multiple_of(affine const& value, affine const& sum) noexcept {
    std::int64_t factor = 0;
    for (auto const& t : sum.terms()) {
        auto const here = value.factor(t.of);
        if (here <= 0 || t.factor <= 0 || here % t.factor != 0 || (factor != 0 && here / t.factor != factor)) return 0;
        factor = here / t.factor;
    }
    return factor;
}

GSUB_INLINE std::string to_string(affine const& a, std::span<std::string const> names) {
    std::string text;
    for (auto const& t : a.terms()) {
        if (text.empty())
            text += t.factor < 0 ? "-" : "";
        else
            text += t.factor < 0 ? " - " : " + ";
        auto const by = t.factor < 0 ? -t.factor : t.factor;
        if (by != 1) text += format_text("{}*", by);
        text += names[static_cast<std::size_t>(t.of)];
    }
    auto const c = a.constant();
    if (text.empty()) return format_text("{}", c);
    if (c != 0) text += format_text("{}{}", c < 0 ? " - " : " + ", c < 0 ? -c : c);
    return text;
}

} // namespace gsub::loop
