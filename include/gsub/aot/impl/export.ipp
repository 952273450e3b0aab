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
        throw error{problem{error_code::usage,
                            {},
                            {},
                            format_text("{} is no name for a model in C and CMake", quoted{name}),
                            exported_name(name)}};
}

// A folder that is there must be empty, or that of an export before.
GSUB_LAZY void check_folder(std::string const& folder) {
    std::error_code failed;
    auto const refuse = [&](std::string const& why) {
        throw error{error_code::environment, format_text("{}: {}", folder, why)};
    };
    if (!std::filesystem::exists(folder, failed)) {
        if (failed) refuse(failed.message());
        return;
    }
    if (!std::filesystem::is_directory(folder, failed)) refuse("is no folder");
    auto const empty = std::filesystem::is_empty(folder, failed);
    if (failed) refuse(failed.message());
    if (empty) return;
    auto const before = io::read_file((std::filesystem::path{folder} / "CMakeLists.txt").string(), 1 << 24);
    if (!before || !before.value().starts_with(export_mark))
        throw error{
            problem{error_code::usage, {}, {}, format_text("{} has other things in it", folder), "a new folder"}};
}

// The folder of an exported model.
template <class = void>
class export_folder {
public:
    export_folder(runtime::program const& p, std::string const& folder, export_options const& options)
        : p_(p), folder_(folder), options_(options) {}

    export_report run() {
        check_model_name(options_.name);
        exported_kernels<> const kernels{p_};
        exported_weights<> const weights{p_, kernels};
        exported_source<> const source{p_, options_, kernels, weights};
        prepare_folder();
        weights.write(at("weights.bin"));
        report_.files.emplace_back("weights.bin");
        report_.kernels = kernels.sources().size();
        for (std::size_t i = 0; i < report_.kernels; ++i) write(format_text("kernel-{}.cpp", i), source.kernel(i));
        write(options_.name + ".h", source.text(export_header));
        write(options_.name + ".cpp", source.source());
        write("main.c", source.text(export_demo));
        write("README.txt", source.readme());
        write("CMakeLists.txt", source.cmake());
        remove_kernels_from(report_.kernels);
        report_.steps = p_.steps.size();
        report_.weight_bytes = weights.size();
        report_.arena_bytes = source.arena_size();
        return std::move(report_);
    }

private:
    std::string at(std::string_view file) const { return (std::filesystem::path{folder_} / file).string(); }
    void write(std::string file, std::string_view contents) {
        io::write_file(at(file), contents).value();
        report_.files.push_back(std::move(file));
    }

    void prepare_folder() {
        std::error_code failed;
        std::filesystem::create_directories(folder_, failed);
        if (failed) throw error{error_code::environment, format_text("{}: {}", folder_, failed.message())};
        check_folder(folder_);
    }
    // Those of a larger model that was here before.
    void remove_kernels_from(std::size_t i) const {
        std::error_code ignored;
        for (;; ++i)
            if (!std::filesystem::remove(std::filesystem::path{folder_} / format_text("kernel-{}.cpp", i), ignored))
                break;
    }

    runtime::program const& p_;
    std::string const& folder_;
    export_options const& options_;
    export_report report_;
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
        return detail::export_folder<>{p, folder, options}.run();
    } catch (error const& e) { return e; }
}

} // namespace gsub::aot
