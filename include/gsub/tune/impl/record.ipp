#pragma once

#include <gsub/core/format.hpp>
#include <gsub/tune/impl/record_members.ipp>
#include <gsub/tune/record.hpp>

#include <algorithm>
#include <iterator>

namespace gsub::tune {

namespace detail {

inline constexpr std::string_view entity_words[] = {"sp", "re", "an", "ot"};

// The version says which form all the rest has.
GSUB_LAZY void check_version(json_value const& line) {
    auto const* version = line.find("version");
    if (!version) version = line.find("v");
    if (!version) refuse_member("version", "is missing");
    auto const refuse = [](std::string_view found, std::string_view hint) {
        throw error{problem{
            errors::record_form, {}, {}, format_text("a record of version {}", quoted{found}), std::string{hint}}};
    };
    if (version->kind() == json_kind::text && version->text().starts_with('v'))
        refuse(version->text(), "parse_ansor_record, which reads records of Ansor");
    if (version->kind() != json_kind::number || version->number().value() != 0.2)
        refuse(to_string(*version), "records of AutoTVM's version 0.2");
}

GSUB_LAZY [[nodiscard]] knob_value read_knob(json_value const& value) {
    auto const items = list_of(value, "a knob", 3, 3);
    knob_value out;
    out.name = text_of_member(items[0], "the name of a knob");
    auto const named = format_text("knob {}", quoted{out.name});
    auto const& kind = text_of_member(items[1], format_text("the kind of {}", named));
    auto const found = std::find(std::begin(entity_words), std::end(entity_words), kind);
    if (found == std::end(entity_words))
        refuse_member(named, format_text("is of kind {}, not sp, re, an or ot", quoted{kind}));
    out.kind = static_cast<entity_kind>(found - std::begin(entity_words));
    out.value = items[2];
    if (out.kind == entity_kind::other) {
        if (out.value.kind() == json_kind::list || out.value.kind() == json_kind::object)
            refuse_member(named, "has a list where a number, a truth value or a word stands");
        return out;
    }
    auto const elements = list_of(out.value, named);
    if (out.kind == entity_kind::split && elements.empty()) refuse_member(named, "is a split into no parts");
    for (auto const& e : elements)
        if (out.kind == entity_kind::annotation)
            static_cast<void>(text_of_member(e, named));
        else
            static_cast<void>(integer_of(e, named, out.kind == entity_kind::split ? -1 : 0));
    return out;
}

GSUB_LAZY void read_config(json_value const& config, record& out) {
    if (config.kind() != json_kind::object) refuse_member("config", "is no object");
    out.index = static_cast<std::uint64_t>(integer_of(member_of(config, "index"), "index", 0));
    if (auto const& hash = member_of(config, "code_hash"); hash.kind() != json_kind::null)
        out.code_hash = text_of_member(hash, "code_hash");
    for (auto const& knob : list_of(member_of(config, "entity"), "entity")) {
        out.entity.push_back(read_knob(knob));
        for (std::size_t i = 0; i + 1 < out.entity.size(); ++i)
            if (out.entity[i].name == out.entity.back().name)
                refuse_member(format_text("knob {}", quoted{out.entity[i].name}), "stands there twice");
    }
    for (auto const& key : config.keys())
        if (key != "index" && key != "code_hash" && key != "entity") out.config_others.add(key, *config.find(key));
}

GSUB_LAZY [[nodiscard]] record read_record(json_value const& line) {
    if (line.kind() != json_kind::object) refuse_member("record", "is no JSON object");
    check_version(line);
    record out;
    auto const input = list_of(member_of(line, "input"), "input", 4, 4);
    out.target = text_of_member(input[0], "target");
    out.task = text_of_member(input[1], "task");
    auto const args = list_of(input[2], "arguments");
    out.args.assign(args.begin(), args.end());
    out.kwargs = input[3];
    if (out.kwargs.kind() != json_kind::object) refuse_member("keyword arguments", "are no object");
    read_config(member_of(line, "config"), out);
    auto measured = read_result(member_of(line, "result"));
    out.costs = std::move(measured.costs);
    out.error = measured.error;
    out.all_cost = std::move(measured.all_cost);
    out.timestamp = std::move(measured.timestamp);
    constexpr std::string_view known[] = {"input", "config", "result", "version"};
    for (std::size_t i = 0; i < line.keys().size(); ++i) {
        auto const& key = line.keys()[i];
        if (key == "tvm_version")
            out.tvm_version = text_of_member(line.items()[i], "tvm_version");
        else if (std::find(std::begin(known), std::end(known), key) == std::end(known))
            out.others.add(key, line.items()[i]);
    }
    return out;
}

} // namespace detail

GSUB_LAZY_BODY std::string_view to_string(measure_error e) noexcept {
    constexpr std::string_view words[] = {"none",           "instantiation",  "compile host",
                                          "compile device", "runtime device", "wrong answer",
                                          "build timeout",  "run timeout",    "unknown"};
    auto const number = static_cast<std::size_t>(e);
    return words[number < std::size(words) ? number : std::size(words) - 1];
}

GSUB_LAZY_BODY double record::mean_cost() const noexcept {
    return detail::mean_of(costs);
}

GSUB_LAZY_BODY result<record> parse_record(std::string_view line) {
    return capture([&] { return detail::read_record(parse_json_value(line).value()); });
}

GSUB_LAZY_BODY std::string to_string(record const& r) {
    std::vector<json_value> entity;
    for (auto const& k : r.entity)
        entity.push_back(std::vector<json_value>{
            k.name, std::string{detail::entity_words[static_cast<std::size_t>(k.kind)]}, k.value});
    auto config = json_value::object();
    config.add("index", json_number::integer(static_cast<std::int64_t>(r.index)));
    config.add("code_hash", r.code_hash ? json_value{*r.code_hash} : json_value{});
    config.add("entity", std::move(entity));
    detail::add_members(config, r.config_others);
    auto line = json_value::object();
    line.add("input", std::vector<json_value>{r.target, r.task, r.args, r.kwargs});
    line.add("config", std::move(config));
    line.add("result", detail::result_of(r.costs, r.error, r.all_cost, r.timestamp));
    line.add("version", json_number{0.2});
    if (r.tvm_version) line.add("tvm_version", *r.tvm_version);
    detail::add_members(line, r.others);
    return to_string(line);
}

GSUB_LAZY_BODY std::string target_key(std::string_view target) {
    constexpr std::string_view old = "-target", now = "-mtriple";
    std::string key{target};
    for (auto at = key.find(old); at != key.npos; at = key.find(old, at + now.size())) key.replace(at, old.size(), now);
    return key;
}

GSUB_LAZY_BODY std::string task_key(std::string_view task, std::vector<json_value> const& args) {
    return to_string(json_value{std::vector<json_value>{std::string{task}, args}});
}

} // namespace gsub::tune
