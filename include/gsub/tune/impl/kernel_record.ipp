#pragma once

#include <gsub/core/format.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/tune/kernel_record.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace gsub::tune {

namespace detail {

inline constexpr std::string_view target_before_model = "llvm -keys=cpu -model=";

GSUB_LAZY [[noreturn]] void refuse_value(std::string_view knob, std::string_view reason) {
    throw error{errors::malformed_record, format_text("knob {} {}", quoted{knob}, reason)};
}

GSUB_LAZY void set_split(loop::configuration& c, knob_value const& given) {
    if (given.kind != entity_kind::split || given.value.kind() != json_kind::list)
        refuse_value(given.name, "is a split; the record has no list of kind sp");
    std::vector<std::int64_t> factors;
    for (auto const& f : given.value.items()) {
        auto const number = f.number().integer();
        if (f.kind() != json_kind::number || !number) refuse_value(given.name, "has a factor that is no integer");
        factors.push_back(*number);
    }
    c.set(given.name, factors);
}

GSUB_LAZY void set_choice(loop::configuration& c, knob_value const& given) {
    auto const& v = given.value;
    std::optional<loop::choice_value> value;
    if (v.kind() == json_kind::boolean) value.emplace(v.boolean());
    if (v.kind() == json_kind::text) value.emplace(v.text());
    if (v.kind() == json_kind::number)
        if (auto const number = v.number().integer()) value.emplace(*number);
    if (given.kind != entity_kind::other || !value)
        refuse_value(given.name, format_text("is a choice; the record has {}", quoted{to_string(v)}));
    c.set(given.name, *value);
}

GSUB_LAZY [[nodiscard]] bool is_plain(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view{"._-"}.find(c) != std::string_view::npos;
}

} // namespace detail

GSUB_LAZY_BODY std::vector<knob_value> entity_of(loop::configuration const& c) {
    std::vector<knob_value> out;
    auto const knobs = c.space().knobs();
    for (std::size_t i = 0; i < knobs.size(); ++i) {
        auto const& k = knobs[i];
        if (k.is_split()) {
            std::vector<json_value> factors;
            for (auto const f : k.split(c.digits()[i])) factors.push_back(json_number::integer(f));
            out.push_back({k.name, entity_kind::split, std::move(factors)});
            continue;
        }
        auto const& v = k.choices[c.digits()[i]];
        out.push_back({k.name, entity_kind::other,
                       v.kind() == loop::choice_kind::text      ? json_value{v.text()}
                       : v.kind() == loop::choice_kind::boolean ? json_value{v.number() != 0}
                                                                : json_value{json_number::integer(v.number())}});
    }
    return out;
}

GSUB_LAZY_BODY result<loop::configuration> configuration_of(record const& r, loop::config_space const& space,
                                                            index_check check) {
    return capture([&] {
        auto c = space.at(0);
        std::vector<bool> seen(space.knobs().size());
        for (auto const& given : r.entity) {
            auto const knobs = space.knobs();
            auto const found =
                std::find_if(knobs.begin(), knobs.end(), [&](loop::knob const& k) { return k.name == given.name; });
            if (found == knobs.end()) detail::refuse_value(given.name, "is none of the space");
            auto const at = static_cast<std::size_t>(found - knobs.begin());
            if (seen[at]) detail::refuse_value(given.name, "stands there twice");
            seen[at] = true;
            try {
                found->is_split() ? detail::set_split(c, given) : detail::set_choice(c, given);
            } catch (error const& e) {
                throw error{errors::malformed_record, e.problems().front().reason}; // the file is wrong, not the caller
            }
        }
        for (std::size_t i = 0; i < seen.size(); ++i)
            if (!seen[i]) detail::refuse_value(space.knobs()[i].name, "has no value in the record");
        if (check == index_check::required && c.index() != r.index)
            throw error{errors::malformed_record, format_text("the record's index is {}, that of its values {} of {}",
                                                              r.index, c.index(), space.size())};
        return c;
    });
}

GSUB_LAZY_BODY task_name task_name_of(kernels::descriptor const& d) {
    auto text = kernels::to_string(d);
    auto name = "gsub." + text.substr(0, text.find('{'));
    return {std::move(name), {std::move(text)}};
}

GSUB_LAZY_BODY result<kernels::descriptor> descriptor_of(record const& r) {
    if (!r.task.starts_with("gsub."))
        return error{errors::record_form, format_text("task {} is not one of gsub's", quoted{r.task})};
    if (r.args.size() != 1 || r.args[0].kind() != json_kind::text)
        return error{errors::malformed_record,
                     format_text("task {} has not one descriptor as its argument", quoted{r.task})};
    auto made = kernels::parse_descriptor(r.args[0].text());
    if (!made) return made.error().within(format_text("task {}", quoted{r.task}));
    if (task_name_of(*made).task != r.task)
        return error{errors::malformed_record,
                     format_text("task {} has a descriptor of {}", quoted{r.task}, task_name_of(*made).task)};
    return made;
}

GSUB_LAZY_BODY std::string record_target(target const& t) {
    std::string out{detail::target_before_model};
    for (char const c : to_string(t))
        if (detail::is_plain(c))
            out += c;
        else
            out += format_text("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    return out;
}

GSUB_LAZY_BODY result<target> target_of(record const& r) {
    auto const refuse = [&](std::string reason) {
        return error{problem{errors::record_form, {}, {}, format_text("target {}: {}", quoted{r.target}, reason), {}}};
    };
    std::string_view model = r.target;
    if (!model.starts_with(detail::target_before_model)) return refuse("no target of gsub's");
    model.remove_prefix(detail::target_before_model.size());
    std::string text;
    for (std::size_t i = 0; i < model.size(); ++i) {
        if (model[i] != '%') {
            if (!detail::is_plain(model[i])) return refuse("more than a model stands there");
            text += model[i];
            continue;
        }
        unsigned code = 0;
        auto const digits = model.substr(i + 1, 2);
        auto const* const end = digits.data() + digits.size();
        if (digits.size() < 2 || std::from_chars(digits.data(), end, code, 16).ptr != end)
            return refuse("behind % stand two hexadecimal digits");
        text += static_cast<char>(static_cast<unsigned char>(code));
        i += 2;
    }
    if (text == "host") return refuse("a record names its machine");
    auto made = parse_target(text);
    if (!made) return refuse(made.error().message());
    return made;
}

namespace detail {
GSUB_LAZY [[nodiscard]] bool says(record const& r, std::string_view what) noexcept {
    auto const* const told = r.others.find(what);
    return told && told->kind() == json_kind::boolean && told->boolean();
}
} // namespace detail

GSUB_LAZY_BODY bool is_predicted(record const& r) noexcept {
    return detail::says(r, "predicted");
}
GSUB_LAZY_BODY int doubt_of(record const& r) noexcept {
    return is_predicted(r) ? 2 : detail::says(r, "confirmed") ? 0 : 1;
}

GSUB_LAZY_BODY result<record> record_of(kernels::descriptor const& d, target const& machine,
                                        loop::configuration const& c, measurement const& measured) {
    auto const refuse = [](std::string reason) { return error{error_code::usage, "a record: " + std::move(reason)}; };
    if (!std::isfinite(measured.all_cost) || !std::isfinite(measured.timestamp))
        return refuse("its times are finite numbers");
    auto named = task_name_of(d);
    record out;
    out.target = record_target(machine);
    out.task = std::move(named.task);
    out.args = std::move(named.args);
    out.index = c.index();
    out.entity = entity_of(c);
    out.error = measured.error;
    out.all_cost = measured.all_cost;
    out.timestamp = measured.timestamp;
    out.tvm_version = format_text("gsub {}.{}.{}", GSUB_VERSION_MAJOR, GSUB_VERSION_MINOR, GSUB_VERSION_PATCH);
    if (measured.predicted) out.others.add("predicted", true);
    if (measured.modelled_only) out.others.add("modelled_only", true);
    if (measured.confirmed) out.others.add("confirmed", true);
    if (out.failed()) {
        out.costs.push_back(failed_cost);
        return out;
    }
    if (measured.costs.empty()) return refuse("without a failure there are costs");
    for (auto const cost : measured.costs) {
        if (!std::isfinite(cost) || !(cost > 0))
            return refuse(format_text("a cost is {}; seconds of a run are finite and above zero", cost));
        out.costs.push_back(cost);
    }
    return out;
}

} // namespace gsub::tune
