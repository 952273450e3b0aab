// AOT sources: assembles the files of an exported model.
#pragma once

#include <gsub/aot/export.hpp>
#include <gsub/aot/impl/literal.ipp>
#include <gsub/aot/impl/text_api.ipp>
#include <gsub/aot/impl/text_project.ipp>
#include <gsub/aot/impl/text_prologue.ipp>
#include <gsub/aot/impl/text_runner.ipp>
#include <gsub/aot/impl/text_weights.ipp>
#include <gsub/aot/impl/weights.ipp>
#include <gsub/core/executor.hpp>
#include <gsub/core/format.hpp>

#include <initializer_list>

namespace gsub::aot::detail {

// The text with each `@key@` replaced by its value.
GSUB_LAZY std::string filled_in(std::string_view text,
                                std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        auto const mark = std::min(text.find('@', at), text.size());
        out += text.substr(at, mark - at);
        at = mark;
        if (at == text.size()) break;
        auto const end = text.find('@', at + 1);
        GSUB_ASSERT(end != std::string_view::npos, "a place in a template ends");
        auto const key = text.substr(at + 1, end - at - 1);
        auto const* const found =
            std::find_if(values.begin(), values.end(), [&](auto const& v) { return v.first == key; });
        GSUB_ASSERT(found != values.end(), "a template names values that there are");
        out += found->second;
        at = end + 1;
    }
    return out;
}

GSUB_LAZY std::string upper_case(std::string text) {
    for (auto& c : text)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return text;
}

template <class = void>
class exported_source {
public:
    exported_source(runtime::program const& p, export_options const& options, exported_kernels<> const& kernels,
                    exported_weights<> const& weights)
        : p_(p),
          options_(options),
          kernels_(kernels),
          weights_(weights),
          upper_(upper_case(options.name)),
          arena_(runtime::plan_arena(p)) {}

    [[nodiscard]] std::size_t arena_size() const noexcept { return arena_.size; }

    // A template with the model's name.
    std::string text(std::string_view form) const {
        return filled_in(form, {{"name", options_.name}, {"NAME", upper_}});
    }

    std::string kernel(std::size_t i) const {
        auto const& k = kernels_.sources()[i];
        return format_text("// Made by gsub compile.\n#define {} {}\n{}", k.symbol, kernel_name(i), k.text);
    }

    std::string source() const {
        auto out = format_text("// Made by gsub compile.\n#ifndef GSUB_THREADS\n#define GSUB_THREADS "
                               "{}\n#endif\n#define GSUB_PROCESSOR_FITS {}\n#include \"{}.h\"\n{}",
                               options_.threads ? 1 : 0, processor_fits(), options_.name, export_includes);
        out += "extern \"C\" {\n";
        for (std::size_t i = 0; i < kernels_.sources().size(); ++i)
            out += format_text("void {}(void* const*, long, long);\n", kernel_name(i));
        out += "}\n";
        out += export_step_types;
        return out + tensors() + steps() + text(export_weights_reader) + text(export_runner);
    }

    // The tables `inputs_` and `outputs_`, with a row more.
    std::string tensors() const {
        return tensors("inputs_", p_.inputs, p_.input_names) + tensors("outputs_", p_.outputs, p_.output_names);
    }

    // `is_part`: of a library with other variants.
    std::string cmake(bool is_part) const {
        std::string kernels, flags;
        std::map<std::string, std::string> groups; // options to files
        for (std::size_t i = 0; i < kernels_.sources().size(); ++i) {
            auto const file = format_text("kernel-{}.cpp", i);
            kernels += format_text("\n  {}", file);
            std::string own;
            for (auto const* o : runtime::kernel_flags) own += format_text("{}{}", own.empty() ? "" : ";", o);
            for (auto const& o : options_of(kernels_.sources()[i])) own += format_text(";{}", o);
            groups[own] += format_text("\n  {}", file);
        }
        for (auto const& [own, files] : groups)
            flags += format_text("set_source_files_properties({}\n  PROPERTIES COMPILE_OPTIONS \"{}\")\n", files, own);
        auto const threads =
            options_.threads
                ? format_text("find_package(Threads REQUIRED)\ntarget_link_libraries({} PRIVATE Threads::Threads)\n",
                              options_.name)
                : std::string{};
        auto const functions =
            kernels_.functions().empty()
                ? std::string{}
                : filled_in(export_functions, {{"name", options_.name}, {"functions", functions_text()}});
        return export_mark + filled_in(export_cmake, {{"name", options_.name},
                                                      {"kind", is_part ? " STATIC" : ""},
                                                      {"kernels", kernels},
                                                      {"flags", flags},
                                                      {"threads", threads},
                                                      {"functions", functions}});
    }

    std::string readme() const {
        std::string signature, processor;
        auto const list = [&](std::string_view what, std::span<tensor_type const> types,
                              std::span<std::string const> names) {
            for (std::size_t i = 0; i < types.size(); ++i)
                signature += format_text("{} {}  {}  {}\n", what, i, c_literal(names[i]), to_string(types[i]));
        };
        list("input ", p_.inputs, p_.input_names);
        list("output", p_.outputs, p_.output_names);
        for (auto w : kernels_.words())
            processor += format_text("{}{}", processor.empty() ? "a processor with " : ", ", w);
        auto const functions = functions_text();
        auto const title = format_text("{}: a model as C++, made by gsub compile", options_.name);
        return filled_in(
            export_readme,
            {{"name", options_.name},
             {"rule", std::string(title.size(), '=') + "\n"},
             {"signature", signature},
             {"functions",
              functions.empty()
                  ? ""
                  : format_text("\nCalls {}, which the application has (gsub/runtime/extern_kernel.h).\n", functions)},
             {"arena", format_text("{}", arena_.size)},
             {"weights", format_text("{}", weights_.size())},
             {"processor", processor.empty() ? "any processor" : processor}});
    }

    // The functions of the application, separated by commas.
    std::string functions_text() const {
        std::string out;
        for (auto const& f : kernels_.functions()) out += format_text("{}{}", out.empty() ? "" : ", ", f);
        return out;
    }

private:
    // Steps and the slots that they take, and numbers that the runner knows by their names.
    std::string steps() const {
        std::string rows, slots;
        std::size_t first = 0, most = 1, scratch = 0;
        for (std::size_t i = 0; i < p_.steps.size(); ++i) {
            auto const& s = p_.steps[i];
            auto const& call = kernels_.calls()[i];
            auto const count = s.values.size() + call.may_fail;
            rows += format_text("    {{{}, {}, {}, {}, {}, {}}},\n", kernel_name(call.kernel), call.positions,
                                call.parallel ? "true" : "false", first, count, call.workspace > 0 ? "true" : "false");
            for (auto const& v : s.values) // a step that checks tells the context
                slots += call.checks && &v == &s.values.back() ? "    {in_context, 0, 0},\n" : slot_of(v);
            if (call.may_fail) slots += "    {in_context, 0, 0},\n";
            first += count;
            if (call.workspace > 0) most = std::max(most, count + 1);
            scratch = std::max(scratch, exported_weights<>::rounded(call.workspace));
        }
        auto out = format_text("step const steps[] = {{\n{}    {{nullptr, 0, false, 0, 0, false}},\n}};\nslot const "
                               "slots[] = {{\n{}    {{in_arena, 0, 0}},\n}};\n",
                               rows, slots);
        auto const number = [&](std::string_view name, std::uint64_t value) {
            out += format_text("constexpr std::size_t {} = {}u;\n", name, value);
        };
        number("step_count", p_.steps.size());
        number("slot_count", first);
        number("most_slots", most);
        number("input_count", p_.inputs.size());
        number("output_count", p_.outputs.size());
        number("arena_bytes", arena_.size);
        number("workspace_bytes", scratch);
        number("work_items_per_thread", static_cast<std::uint64_t>(work_items_per_thread));
        number("weights_size", weights_.size());
        number("weights_magic", weights_magic);
        number("weights_version", weights_version);
        number("weights_model", weights_.model());
        return out;
    }
    std::string kernel_name(std::size_t i) const { return format_text("{}_kernel_{}", options_.name, i); }

    std::string tensors(std::string_view table, std::span<tensor_type const> types,
                        std::span<std::string const> names) const {
        std::string dims, rows;
        for (std::size_t i = 0; i < types.size(); ++i) {
            auto const& t = types[i];
            auto const own = format_text("{}dims_{}", table, i);
            dims += format_text("std::int64_t const {}[] = {{", own);
            for (auto d : t.sizes()) dims += format_text("{}, ", d);
            dims += "0};\n";
            auto const kind = upper_case(std::string{t.element == dtype::boolean ? "bool" : to_string(t.element)});
            auto const size = static_cast<std::size_t>(*t.elements()) * byte_size(t.element);
            rows += format_text("    {{{}, {}_{}, {}, {}, {}u}},\n", c_literal(names[i]), upper_, kind, t.rank(), own,
                                size);
        }
        return format_text("{}{}_tensor const {}[] = {{\n{}    {{nullptr, {}_F32, 0, nullptr, 0}},\n}};\n", dims,
                           options_.name, table, rows, upper_);
    }

    std::string processor_fits() const {
        std::string all;
        for (auto w : kernels_.words())
            all += format_text("{}__builtin_cpu_supports(\"{}\")", all.empty() ? "" : " && ", w);
        return all.empty() ? "true" : format_text("(__builtin_cpu_init(), {})", all);
    }

    std::string slot_of(std::int32_t v) const {
        using runtime::memory_role;
        auto const whole = runtime::whole_of(p_, v);
        auto const& value = p_.values[whole];
        auto const offset = p_.values[static_cast<std::size_t>(v)].offset;
        auto const row = [](char const* where, std::size_t position, std::size_t at) {
            return format_text("    {{{}, {}, {}u}},\n", where, position, at);
        };
        switch (value.where.role) {
        case memory_role::temporary:
            return row("in_arena", 0, arena_.offsets[whole] + offset);
        case memory_role::constant:
            return row("in_weights", 0, weights_.place(whole) + offset);
        case memory_role::input:
            return row("in_input", value.position, offset);
        case memory_role::output:
            return row("in_output", value.position, offset);
        }
        return {};
    }

    runtime::program const& p_;
    export_options const& options_;
    exported_kernels<> const& kernels_;
    exported_weights<> const& weights_;
    std::string upper_;
    runtime::arena_plan arena_;
};

} // namespace gsub::aot::detail
