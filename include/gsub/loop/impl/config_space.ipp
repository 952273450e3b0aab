#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/result.hpp>
#include <gsub/loop/config_space.hpp>
#include <gsub/loop/impl/split_factors.ipp>

#include <algorithm>

namespace gsub::loop {

namespace detail {

GSUB_LAZY bool is_word(std::string_view text) noexcept {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
}

} // namespace detail

GSUB_LAZY_BODY std::string to_string(choice_value const& v) {
    if (v.kind() == choice_kind::text) return v.text();
    if (v.kind() == choice_kind::boolean) return v.number() ? "true" : "false";
    return format_text("{}", v.number());
}

GSUB_LAZY_BODY std::uint64_t configuration::index() const noexcept {
    std::uint64_t index = 0;
    auto const knobs = space_->knobs();
    for (auto i = digits_.size(); i-- > 0;) index = index * knobs[i].size() + digits_[i];
    return index;
}

GSUB_LAZY_BODY std::span<std::int64_t const> configuration::factors(std::string_view name) const {
    auto const at = space_->position(name);
    auto const& k = space_->knobs()[at];
    if (!k.is_split()) detail::refuse_knob(name, "is a choice, not a split");
    return k.split(digits_[at]);
}

GSUB_LAZY_BODY std::int64_t configuration::outer(std::string_view name) const {
    return detail::outer_factor(space_->knobs()[space_->position(name)].extent, factors(name));
}

GSUB_LAZY_BODY choice_value const& configuration::choice(std::string_view name) const {
    auto const at = space_->position(name);
    auto const& k = space_->knobs()[at];
    if (k.is_split()) detail::refuse_knob(name, "is a split, not a choice");
    return k.choices[digits_[at]];
}

GSUB_LAZY_BODY void configuration::set(std::string_view name, std::span<std::int64_t const> factors) {
    auto const at = space_->position(name);
    auto const& k = space_->knobs()[at];
    if (!k.is_split()) detail::refuse_knob(name, "is a choice, not a split");
    auto const digit = detail::digit_of(k, factors);
    if (digit == k.size())
        detail::refuse_knob(name, format_text("{} is none of its {} splits of {} into {}", detail::text_of(factors),
                                              digit, k.extent, k.parts));
    digits_[at] = static_cast<std::uint32_t>(digit);
}

GSUB_LAZY_BODY void configuration::set(std::string_view name, choice_value const& value) {
    auto const at = space_->position(name);
    auto const& k = space_->knobs()[at];
    if (k.is_split()) detail::refuse_knob(name, "is a split, not a choice");
    auto const found = std::find(k.choices.begin(), k.choices.end(), value);
    if (found == k.choices.end())
        detail::refuse_knob(name, format_text("{} is none of its {} values", quoted{to_string(value)}, k.size()));
    digits_[at] = static_cast<std::uint32_t>(found - k.choices.begin());
}

GSUB_LAZY_BODY std::string to_string(configuration const& c) {
    std::string text;
    auto const knobs = c.space().knobs();
    for (std::size_t i = 0; i < knobs.size(); ++i) {
        auto const& k = knobs[i];
        auto const digit = c.digits()[i];
        text += format_text("{}{}={}", i ? " " : "", k.name,
                            k.is_split() ? detail::text_of(k.split(digit)) : to_string(k.choices[digit]));
    }
    return text;
}

GSUB_LAZY_BODY void config_space::split(std::string_view name, std::int64_t extent, split_options const& options) {
    if (extent < 1) detail::refuse_knob(name, format_text("splits an extent of {}, which is below 1", extent));
    if (options.parts < 1) detail::refuse_knob(name, "splits into no parts");
    knob made;
    made.name = name;
    made.extent = extent;
    made.parts = options.parts;
    if (options.policy == split_policy::candidate)
        detail::add_candidates(made, options);
    else
        detail::split_enumerator{made, options}.from(made.parts - 1, 1);
    add(std::move(made));
}

GSUB_LAZY_BODY void config_space::choice(std::string_view name, std::vector<choice_value> values) {
    knob made;
    made.name = name;
    made.choices = std::move(values);
    // Planners make a space for each kernel: values of one kind are compared without their texts.
    auto const alike = [](choice_value const& a, choice_value const& b) {
        return a.kind() == b.kind() ? a == b : to_string(a) == to_string(b);
    };
    for (std::size_t i = 0; i < made.size(); ++i) {
        auto const& value = made.choices[i];
        if (value.kind() == choice_kind::text && !detail::is_word(value.text()))
            detail::refuse_knob(name,
                                format_text("{} is no word of letters, digits and underscores", quoted{value.text()}));
        for (std::size_t j = 0; j < i; ++j)
            if (alike(made.choices[j], value))
                detail::refuse_knob(name, format_text("has two values {}", to_string(value)));
    }
    add(std::move(made));
}

GSUB_LAZY_BODY void config_space::add(knob made) {
    if (!detail::is_word(made.name)) detail::refuse_knob(made.name, "a name has letters, digits and underscores alone");
    for (auto const& k : knobs_)
        if (k.name == made.name) detail::refuse_knob(made.name, "is defined twice");
    if (made.size() == 0) detail::refuse_knob(made.name, "has no values");
    if (made.size() > detail::max_knob_values)
        detail::refuse_knob(made.name, format_text("has more than {} values", detail::max_knob_values));
    if (size_ > (std::uint64_t{1} << 63) / made.size()) detail::refuse_knob(made.name, "makes the space too large");
    size_ *= made.size();
    knobs_.push_back(std::move(made));
}

GSUB_LAZY_BODY std::size_t config_space::position(std::string_view name) const {
    for (std::size_t i = 0; i < knobs_.size(); ++i)
        if (knobs_[i].name == name) return i;
    std::string all;
    for (auto const& k : knobs_) all += format_text("{}{}", all.empty() ? "" : ", ", k.name);
    detail::refuse_knob(name, format_text("is unknown; there are: {}", all));
}

GSUB_LAZY_BODY configuration config_space::at(std::uint64_t index) const {
    if (index >= size_) {
        std::string all;
        for (auto const& k : knobs_) all += format_text("{}{}", all.empty() ? "" : ", ", k.name);
        throw error{errors::kernel_schedule,
                    format_text("configuration {}: the space of knobs {} has {}", index, all, size_)};
    }
    configuration c{*this};
    for (auto const& k : knobs_) {
        c.digits_.push_back(static_cast<std::uint32_t>(index % k.size()));
        index /= k.size();
    }
    return c;
}

GSUB_LAZY_BODY configuration config_space::parse(std::string_view text) const {
    auto c = at(0);
    std::vector<bool> seen(knobs_.size());
    while (!text.empty()) {
        auto const piece = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), piece.size() + 1));
        if (piece.empty()) continue;
        auto const equals = std::min(piece.find('='), piece.size());
        auto const name = piece.substr(0, equals), value = piece.substr(std::min(equals + 1, piece.size()));
        auto const i = position(name);
        auto const& k = knobs_[i];
        if (seen[i]) detail::refuse_knob(name, "is given twice");
        seen[i] = true;
        if (k.is_split()) {
            auto const factors = detail::read_factors(value);
            if (factors.empty()) detail::refuse_knob(name, format_text("{} is no list such as [-1,4]", quoted{value}));
            c.set(name, factors);
        } else {
            auto const found = std::find_if(k.choices.begin(), k.choices.end(),
                                            [&](choice_value const& v) { return to_string(v) == value; });
            if (found == k.choices.end())
                detail::refuse_knob(name, format_text("{} is none of its {} values", quoted{value}, k.size()));
            c.digits_[i] = static_cast<std::uint32_t>(found - k.choices.begin());
        }
    }
    for (std::size_t i = 0; i < knobs_.size(); ++i)
        if (!seen[i]) detail::refuse_knob(knobs_[i].name, "has no value");
    return c;
}

GSUB_LAZY_BODY bool config_space::allows(configuration const& c) const {
    return std::all_of(restrictions_.begin(), restrictions_.end(), [&](auto const& allowed) { return allowed(c); });
}

GSUB_LAZY_BODY std::optional<std::uint64_t> config_space::draw(random_stream& random) const {
    auto index = random.below(size_);
    for (int tries = 1; tries < 1000 && !allows(at(index)); ++tries) index = random.below(size_);
    for (std::uint64_t n = 0; n < size_; ++n, index = (index + 1) % size_)
        if (allows(at(index))) return index;
    return std::nullopt;
}

GSUB_LAZY_BODY std::vector<std::uint64_t> config_space::neighbours(std::uint64_t index) const {
    std::vector<std::uint64_t> found;
    auto c = at(index);
    for (std::size_t i = 0; i < knobs_.size(); ++i) {
        auto const kept = c.digits_[i];
        for (std::uint32_t d = 0; d < knobs_[i].size(); ++d) {
            c.digits_[i] = d;
            if (d != kept && allows(c)) found.push_back(c.index());
        }
        c.digits_[i] = kept;
    }
    return found;
}

GSUB_LAZY_BODY std::optional<std::uint64_t> config_space::neighbour(std::uint64_t index, random_stream& random) const {
    auto const c = at(index);
    std::uint64_t all = 0;
    for (auto const& k : knobs_) all += k.size() - 1;
    if (all == 0) return std::nullopt;
    for (int tries = 0; tries < 1000; ++tries) {
        auto pick = random.below(all);
        std::size_t i = 0;
        for (; pick >= knobs_[i].size() - 1; ++i) pick -= knobs_[i].size() - 1;
        auto other = c;
        other.digits_[i] = static_cast<std::uint32_t>(pick + (pick >= c.digits_[i]));
        if (allows(other)) return other.index();
    }
    auto const found = neighbours(index);
    if (found.empty()) return std::nullopt;
    return found[random.below(found.size())];
}

GSUB_LAZY_BODY std::string to_string(config_space const& space) {
    std::string text;
    for (auto const& k : space.knobs()) {
        text += format_text("{}: ", k.name);
        if (k.is_split()) text += format_text("{} splits of {} into {}", k.size(), k.extent, k.parts);
        for (std::size_t i = 0; i < k.choices.size(); ++i)
            text += format_text("{}{}", i ? ", " : "", to_string(k.choices[i]));
        text += "\n";
    }
    return text;
}

} // namespace gsub::loop
