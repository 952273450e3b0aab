#pragma once

#include <gsub/core/format.hpp>
#include <gsub/tune/json_value.hpp>
#include <gsub/tune/record.hpp>

#include <cmath>
#include <limits>

namespace gsub::tune::detail {

// What the readers of both formats take out of JSON values; each throws `invalid_input` that names the member.

GSUB_LAZY [[noreturn]] void refuse_member(std::string_view member, std::string_view reason) {
    throw error{errors::malformed_record, format_text("{}: {}", member, reason)};
}
GSUB_LAZY [[nodiscard]] json_value const& member_of(json_value const& in, std::string_view key) {
    auto const* const found = in.find(key);
    if (!found) refuse_member(format_text("member {}", quoted{key}), "is missing");
    return *found;
}
GSUB_LAZY [[nodiscard]] std::span<json_value const> list_of(json_value const& value, std::string_view member) {
    if (value.kind() != json_kind::list) refuse_member(member, "is no list");
    return value.items();
}
GSUB_LAZY [[nodiscard]] std::span<json_value const> list_of(json_value const& value, std::string_view member,
                                                            std::size_t least, std::size_t most) {
    auto const items = list_of(value, member);
    if (items.size() < least || items.size() > most)
        refuse_member(member,
                      format_text("has {} items, not {}", items.size(),
                                  least == most ? std::to_string(least) : format_text("{} to {}", least, most)));
    return items;
}
GSUB_LAZY [[nodiscard]] std::string const& text_of_member(json_value const& value, std::string_view member) {
    if (value.kind() != json_kind::text) refuse_member(member, "is no text");
    return value.text();
}
GSUB_LAZY [[nodiscard]] std::int64_t integer_of(json_value const& value, std::string_view member,
                                                std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                                                std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
    auto const number = value.kind() == json_kind::number ? value.number().integer() : std::nullopt;
    if (!number) refuse_member(member, "is no integer");
    if (*number < least || *number > most)
        refuse_member(member, format_text("is {}, not one of {} to {}", *number, least, most));
    return *number;
}
GSUB_LAZY [[nodiscard]] json_number const& finite_of(json_value const& value, std::string_view member) {
    if (value.kind() != json_kind::number) refuse_member(member, "is no number");
    if (!std::isfinite(value.number().value()))
        refuse_member(member, format_text("is {}, which is no finite number", value.number().text()));
    return value.number();
}

GSUB_LAZY void add_members(json_value& to, json_value const& from) {
    for (std::size_t i = 0; i < from.keys().size(); ++i) to.add(from.keys()[i], from.items()[i]);
}

// Costs, outcome, total and time of a result, which both formats write alike.
struct measured_members {
    std::vector<json_number> costs;
    measure_error error;
    json_number all_cost, timestamp;
};
GSUB_LAZY [[nodiscard]] measured_members read_result(json_value const& value) {
    auto const items = list_of(value, "result", 4, 4);
    measured_members out;
    auto const number = integer_of(items[1], "error number", 0, std::int64_t{measure_error_count} - 1);
    out.error = static_cast<measure_error>(number);
    for (auto const& cost : list_of(items[0], "costs")) {
        out.costs.push_back(finite_of(cost, "a cost"));
        if (number == 0 && !(cost.number().value() > 0))
            refuse_member("a cost", format_text("is {}; seconds of a run are above zero", cost.number().text()));
    }
    if (out.costs.empty() && number == 0) refuse_member("costs", "there are none, and the measurement has not failed");
    out.all_cost = finite_of(items[2], "cost of all");
    out.timestamp = finite_of(items[3], "timestamp");
    return out;
}
GSUB_LAZY [[nodiscard]] json_value result_of(std::vector<json_number> const& costs, measure_error failed,
                                             json_number const& all_cost, json_number const& timestamp) {
    return std::vector<json_value>{std::vector<json_value>(costs.begin(), costs.end()),
                                   json_number::integer(static_cast<std::int64_t>(failed)), all_cost, timestamp};
}
GSUB_LAZY [[nodiscard]] double mean_of(std::vector<json_number> const& costs) noexcept {
    if (costs.empty()) return failed_cost;
    double sum = 0;
    for (auto const& c : costs) sum += c.value() / static_cast<double>(costs.size());
    return sum;
}

} // namespace gsub::tune::detail
