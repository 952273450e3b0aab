#pragma once

#include <gsub/aot/impl/export.ipp>
#include <gsub/aot/impl/text_variants.ipp>

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

namespace gsub::aot {

namespace detail {

// Variants as a library that chooses one of them.
template <class = void>
class variants_export {
public:
    variants_export(std::span<export_variant const> variants, export_options const& options)
        : options_(options), order_(variants.begin(), variants.end()) {
        check_model_name(options.name);
        check_variants();
        // The widest first, as the first that fits is taken.
        std::stable_sort(order_.begin(), order_.end(),
                         [](auto const& a, auto const& b) { return a.set != b.set && a.set->runs(*b.set); });
        for (auto const& v : order_) {
            auto& own = options_of_.emplace_back(options);
            own.name = format_text("{}_{}", options.name, v.set->name);
            check_model_name(own.name);
            models_.emplace_back(*v.what, own);
        }
    }

    export_report write(std::string const& folder) {
        export_report report;
        export_folder<> to{folder, report};
        std::vector<std::string> names;
        for (auto const& o : options_of_) names.push_back(o.name);
        to.prepare(names);
        std::vector<exported_model<> const*> models;
        for (auto const& m : models_) models.push_back(&m);
        auto const places = to.write_weights(models);
        for (std::size_t i = 0; i < models_.size(); ++i)
            to.write_library(models_[i], options_of_[i].name, options_of_[i].name);
        to.write(options_.name + ".h", text(export_header));
        to.write(options_.name + ".cpp", source(places));
        to.write("main.c", text(export_demo));
        to.write("README.txt", readme(places.back()));
        to.write("CMakeLists.txt", cmake());
        return report;
    }

private:
    void check_variants() const {
        auto const refuse = [](std::string reason) { throw error{errors::export_request, std::move(reason)}; };
        if (order_.empty()) refuse("a model is exported for one instruction set at least");
        for (std::size_t i = 0; i < order_.size(); ++i) {
            auto const& v = order_[i];
            for (auto const& o : order_)
                if (!o.set->architecture.empty() && !v.set->architecture.empty() &&
                    o.set->architecture != v.set->architecture)
                    refuse(format_text("{} and {} are of two architectures: a compiler makes kernels for one",
                                       o.set->name, v.set->name));
            for (std::size_t k = 0; k < i; ++k)
                if (order_[k].set == v.set) refuse(format_text("{} is there twice", v.set->name));
            if (v.what->inputs != order_[0].what->inputs || v.what->outputs != order_[0].what->outputs ||
                v.what->input_names != order_[0].what->input_names ||
                v.what->output_names != order_[0].what->output_names)
                refuse(format_text("{} and {} have other inputs or outputs", order_[0].set->name, v.set->name));
        }
    }

    std::string text(std::string_view form) const {
        return filled_in(form, {{"name", options_.name}, {"NAME", upper_case(options_.name)}});
    }
    std::string of_variant(std::string_view form, std::string const& variant) const {
        return filled_in(form, {{"name", options_.name}, {"v", variant}});
    }

    std::string source(std::vector<std::size_t> const& places) const {
        auto out = format_text("// Made by gsub compile.\n#include \"{}.h\"\n", options_.name);
        for (auto const& o : options_of_) out += format_text("#include \"{}/{}.h\"\n", o.name, o.name);
        out += "\n#include <cstddef>\n#include <cstdint>\n#include <fcntl.h>\n#include <memory>\n#include "
               "<sys/mman.h>\n#include <sys/stat.h>\n#include "
               "<unistd.h>\n";
        out += text(export_variant_types);
        std::string rows;
        for (std::size_t i = 0; i < options_of_.size(); ++i) {
            auto const& v = options_of_[i].name;
            out += of_variant(export_variant_calls, v);
            rows += format_text("    {{create_{0}, run_{0}, message_{0}, destroy_{0}, {0}_memory, {1}u, {2}u}},\n", v,
                                places[i], models_[i].weights.size());
        }
        out += format_text("variant const variants[] = {{\n{}}};\nconstexpr std::size_t weights_size = {}u;\n", rows,
                           places.back());
        exported_source<> const tables{models_[0].program, options_, models_[0].kernels, models_[0].weights};
        out += tables.tensors();
        return out + filled_in(export_dispatcher, {{"name", options_.name},
                                                   {"NAME", upper_case(options_.name)},
                                                   {"first", options_of_[0].name}});
    }

    std::string names(std::string_view between) const {
        std::string out;
        for (auto const& o : options_of_) out += format_text("{}{}", between, o.name);
        return out;
    }
    std::string cmake() const {
        auto const functions = models_[0].source.functions_text();
        return export_mark +
               filled_in(
                   export_variants_cmake,
                   {{"name", options_.name},
                    {"variants", names(" ")},
                    {"functions", functions.empty() ? std::string{}
                                                    : filled_in(export_functions_of_variants,
                                                                {{"name", options_.name}, {"functions", functions}})}});
    }
    std::string readme(std::size_t weight_bytes) const {
        exported_source<> const whole{models_[0].program, options_, models_[0].kernels, models_[0].weights};
        return whole.readme() + filled_in(export_readme_of_variants, {{"variants", names(" ").substr(1)},
                                                                      {"weights", format_text("{}", weight_bytes)}});
    }

    export_options const& options_;
    std::vector<export_variant> order_;
    std::deque<export_options> options_of_; // of each variant
    std::deque<exported_model<>> models_;
};

} // namespace detail

GSUB_LAZY_BODY result<export_report> export_variants(std::span<export_variant const> variants,
                                                     std::string const& folder, export_options const& options) {
    try {
        return detail::variants_export<>{variants, options}.write(folder);
    } catch (error const& e) { return e; }
}

} // namespace gsub::aot
