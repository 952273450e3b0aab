#pragma once

#include <gsub/core/format.hpp>
#include <gsub/tune/ansor_record.hpp>
#include <gsub/tune/impl/record_members.ipp>

namespace gsub::tune {

namespace detail {

// Fields of each step: `i` a number >= 0, `n` any integer, `l` a list of numbers >= 0, `t` a text.
struct step_form {
    std::string_view code, fields;
};
inline constexpr step_form step_forms[] = {
    {"AN", "iii"},     // stage, loop, annotation
    {"FU", "il"},      // stage, loops
    {"PR", "iit"},     // stage, loop, pragma$value
    {"RE", "il"},      // stage, order
    {"SP", "iinln"},   // stage, loop, extent, lengths, from the innermost out
    {"FSP", "iiii"},   // stage, loop, step followed, parts
    {"FFSP", "iilin"}, // stage, loop, steps followed, level, factor or parts
    {"SA", "iinn"},    // stage, loop, factor, offset
    {"CA", "iii"},     // stage, target's stage, target's loop
    {"CI", "i"},       // stage
    {"CR", "i"},       // stage
    {"CHR", "itl"},    // stage, scope, readers
    {"CHW", "it"},     // stage, scope
    {"RF", "iii"},     // stage, loop, place of the factored loop
};

GSUB_LAZY void check_field(char form, json_value const& field, std::string_view named) {
    if (form == 't')
        static_cast<void>(text_of_member(field, named));
    else if (form == 'l')
        for (auto const& item : list_of(field, named)) static_cast<void>(integer_of(item, named, 0));
    else if (form == 'i')
        static_cast<void>(integer_of(field, named, 0));
    else
        static_cast<void>(integer_of(field, named));
}

GSUB_LAZY [[nodiscard]] transform_step read_step(json_value const& value, std::size_t number) {
    auto const named = format_text("step {}", number);
    auto const items = list_of(value, named);
    if (items.empty()) refuse_member(named, "is empty");
    transform_step out;
    out.code = text_of_member(items[0], named);
    for (auto const& [code, fields] : step_forms) {
        if (code != out.code) continue;
        if (items.size() != fields.size() + 1)
            refuse_member(named, format_text("{} has {} fields, not {}", code, items.size() - 1, fields.size()));
        for (std::size_t i = 0; i < fields.size(); ++i)
            check_field(fields[i], items[i + 1], format_text("field {} of {}, {}", i + 1, named, code));
        out.fields.assign(items.begin() + 1, items.end());
        return out;
    }
    refuse_member(named, format_text("{} is no step of Ansor", quoted{out.code}));
}

GSUB_LAZY void read_task(json_value const& value, ansor_record& out) {
    auto const items = list_of(value, "task", 2, 6);
    if (items.size() == 4) refuse_member("task", "has 4 items; it has 2, 3, 5 or 6");
    out.workload = text_of_member(items[0], "workload");
    out.target = text_of_member(items[1], "target");
    if (items.size() > 2) {
        auto const numbers = list_of(items[2], "hardware", 8, 8);
        auto& hardware = out.hardware.emplace();
        for (std::size_t i = 0; i < 8; ++i) hardware[i] = integer_of(numbers[i], "hardware");
    }
    if (items.size() > 4) {
        out.target_host = text_of_member(items[3], "target of the host");
        out.layout_rewrite = integer_of(items[4], "layout rewriting");
    }
    if (items.size() > 5)
        for (auto& names = out.input_names.emplace(); auto const& name : list_of(items[5], "names of inputs"))
            names.push_back(text_of_member(name, "the name of an input"));
}

GSUB_LAZY [[nodiscard]] ansor_record read_ansor_record(json_value const& line) {
    if (line.kind() != json_kind::object) refuse_member("record", "is no JSON object");
    ansor_record out;
    out.version = text_of_member(member_of(line, "v"), "version");
    if (out.version.size() != 4 || !out.version.starts_with("v0.") || out.version[3] < '2' || out.version[3] > '6')
        throw error{problem{errors::record_form,
                            {},
                            {},
                            format_text("a record of version {}", quoted{out.version}),
                            "records of Ansor's versions v0.2 to v0.6"}};
    for (auto const& key : line.keys())
        if (key != "i" && key != "r" && key != "v")
            refuse_member("record", format_text("has a member {}", quoted{key}));
    auto const input = list_of(member_of(line, "i"), "input", 2, 2);
    read_task(input[0], out);
    auto const state = list_of(input[1], "state", 2, 2);
    if (!list_of(state[0], "stages").empty()) refuse_member("stages", "are listed; Ansor leaves them empty");
    auto const steps = list_of(state[1], "steps");
    for (std::size_t i = 0; i < steps.size(); ++i) out.steps.push_back(read_step(steps[i], i));
    auto measured = read_result(member_of(line, "r"));
    out.costs = std::move(measured.costs);
    out.error = measured.error;
    out.all_cost = std::move(measured.all_cost);
    out.timestamp = std::move(measured.timestamp);
    return out;
}

} // namespace detail

GSUB_LAZY_BODY double ansor_record::mean_cost() const noexcept {
    return detail::mean_of(costs);
}

GSUB_LAZY_BODY result<ansor_record> parse_ansor_record(std::string_view line) {
    return capture([&] { return detail::read_ansor_record(parse_json_value(line).value()); });
}

GSUB_LAZY_BODY std::string to_string(ansor_record const& r) {
    using list = std::vector<json_value>;
    list task{r.workload, r.target};
    if (r.hardware) {
        list numbers;
        for (auto const n : *r.hardware) numbers.push_back(json_number::integer(n));
        task.push_back(std::move(numbers));
    }
    if (r.hardware && r.target_host && r.layout_rewrite) {
        task.insert(task.end(), {*r.target_host, json_number::integer(*r.layout_rewrite)});
        if (r.input_names) task.push_back(list(r.input_names->begin(), r.input_names->end()));
    }
    list steps;
    for (auto const& s : r.steps) {
        list step{s.code};
        step.insert(step.end(), s.fields.begin(), s.fields.end());
        steps.push_back(std::move(step));
    }
    auto line = json_value::object();
    line.add("i", list{std::move(task), list{list{}, std::move(steps)}});
    line.add("r", detail::result_of(r.costs, r.error, r.all_cost, r.timestamp));
    line.add("v", r.version);
    return to_string(line);
}

} // namespace gsub::tune
