#pragma once

#include <gsub/aot/export.hpp>
#include <gsub/aot/impl/name.ipp>
#include <gsub/aot/impl/source.ipp>
#include <gsub/core/format.hpp>

#include <filesystem>
#include <utility>

namespace gsub::aot {

namespace detail {

GSUB_LAZY void check_model_name(std::string const& name) {
    if (name != exported_name(name))
        throw error{problem{errors::export_request,
                            {},
                            {},
                            format_text("{} is no name for a model in C and CMake", quoted{name}),
                            exported_name(name)}};
}

// A folder that is there must be empty, or that of an export before.
GSUB_LAZY void check_folder(std::string const& folder) {
    std::error_code failed;
    auto const refuse = [&](std::string const& why) {
        throw error{errors::file_access, format_text("{}: {}", folder, why)};
    };
    if (!std::filesystem::exists(folder, failed)) {
        if (failed) refuse(failed.message());
        return;
    }
    if (!std::filesystem::is_directory(folder, failed)) refuse("is no folder");
    auto const empty = std::filesystem::is_empty(folder, failed);
    if (failed) refuse(failed.message());
    if (empty) return;
    auto const project = std::filesystem::path{folder} / "CMakeLists.txt";
    auto const before = io::read_file(project.string(), 1 << 24);
    if (!before && std::filesystem::exists(project, failed)) throw before.error(); // cannot be read: nothing is known
    if (!before || !before.value().starts_with(export_mark))
        throw error{
            problem{errors::export_request, {}, {}, format_text("{} has other things in it", folder), "a new folder"}};
}

// A model to be written: its kernels, weights and sources. Refers to the program and the options.
template <class = void>
struct exported_model {
    exported_model(runtime::program const& p, export_options const& options)
        : program(p), kernels(p), weights(p, kernels), source(p, options, kernels, weights) {}
    exported_model(exported_model const&) = delete;

    runtime::program const& program;
    exported_kernels<> kernels;
    exported_weights<> weights;
    exported_source<> source;
};

// The folder of an exported model.
template <class = void>
class export_folder {
public:
    export_folder(std::string const& folder, export_report& report) : folder_(folder), report_(report) {}

    // Makes it, with folders below it, or checks that they may be written. Until the last file is there they build
    // nothing; where writing fails, another export may take their place.
    void prepare(std::vector<std::string> const& below = {}) const {
        check_folder(folder_);
        for (auto const& name : below) check_folder(at(name));
        begin({});
        for (auto const& name : below) begin(name + "/");
    }
    void write(std::string file, std::string_view contents) {
        io::write_file(at(file), contents).value();
        report_.files.push_back(std::move(file));
    }
    // The library, in a folder below this one or (empty) in itself.
    void write_library(exported_model<> const& m, std::string const& name, std::string const& below) {
        auto const count = m.kernels.sources().size();
        auto const own = below.empty() ? std::string{} : below + "/";
        for (std::size_t i = 0; i < count; ++i) write(format_text("{}kernel-{}.cpp", own, i), m.source.kernel(i));
        write(format_text("{}{}.h", own, name), m.source.text(export_header));
        write(format_text("{}{}.cpp", own, name), m.source.source());
        write(own + "CMakeLists.txt", m.source.cmake(!below.empty()));
        remove_kernels_from(own, count);
        report_.kernels += count;
        report_.steps = m.program.steps.size();
        report_.arena_bytes = std::max(report_.arena_bytes, m.source.arena_size());
    }
    // The weights of models one after another, each where a part of a file can be mapped; where they begin, and the
    // size of all.
    std::vector<std::size_t> write_weights(std::vector<exported_model<> const*> const& models) {
        constexpr std::size_t page = 1 << 16; // the largest that Linux has for files
        io::output_file file{at("weights.bin")};
        std::vector<std::size_t> places;
        for (auto const* const m : models) {
            auto const size = static_cast<std::size_t>(file.written());
            auto const place = (size + page - 1) / page * page;
            file.write(std::string(place - size, '\0'));
            places.push_back(place);
            m->weights.write(file);
        }
        report_.weight_bytes = static_cast<std::size_t>(file.written());
        places.push_back(report_.weight_bytes);
        file.commit();
        report_.files.emplace_back("weights.bin");
        return places;
    }

private:
    void begin(std::string const& below) const {
        std::error_code failed;
        std::filesystem::create_directories(at(below), failed);
        if (failed) throw error{errors::file_access, format_text("{}: {}", at(below), failed.message())};
        auto const unfinished =
            format_text("{}\nmessage(FATAL_ERROR \"files are missing: run gsub compile again\")\n", export_mark);
        io::write_file(at(below + "CMakeLists.txt"), unfinished).value();
    }
    std::string at(std::string_view file) const { return (std::filesystem::path{folder_} / file).string(); }
    // Those of a larger model that was here before.
    void remove_kernels_from(std::string const& below, std::size_t i) const {
        std::error_code ignored;
        for (;; ++i)
            if (!std::filesystem::remove(at(format_text("{}kernel-{}.cpp", below, i)), ignored)) break;
    }

    std::string const& folder_;
    export_report& report_;
};

} // namespace detail

GSUB_LAZY_BODY result<void> check_export(std::string const& folder, export_options const& options) {
    try {
        detail::check_model_name(options.name);
        detail::check_folder(folder);
        return {};
    } catch (error const& e) { return e; }
}

GSUB_LAZY_BODY result<export_report> export_program(runtime::program const& p, std::string const& folder,
                                                    export_options const& options) {
    try {
        detail::check_model_name(options.name);
        detail::exported_model<> const model{p, options};
        export_report report;
        detail::export_folder<> to{folder, report};
        to.prepare();
        to.write_weights({&model});
        to.write("main.c", model.source.text(detail::export_demo));
        to.write("README.txt", model.source.readme());
        to.write_library(model, options.name, {});
        return report;
    } catch (error const& e) { return e; }
}

} // namespace gsub::aot
