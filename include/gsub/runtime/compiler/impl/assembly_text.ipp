#pragma once

#include <gsub/core/format.hpp>
#include <gsub/runtime/compiler/assembly_text.hpp>
#include <gsub/runtime/compiler/impl/jit.ipp>
#include <gsub/runtime/compiler/impl/jit_cache.ipp>
#include <gsub/runtime/compiler/impl/jit_process.ipp>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <set>
#include <utility>

namespace gsub::runtime {

namespace detail {

// Whether a compiler makes code of an architecture, by the machine that it names.
GSUB_LAZY bool compiles_for(compiler const& c, isa const& isa) {
    if (isa.architecture.empty()) return true;
    auto const line = c.identity.find('\n');
    auto machine = line == std::string::npos ? std::string{} : c.identity.substr(line + 1);
    std::replace(machine.begin(), machine.end(), '_', '-');
    return machine.starts_with(isa.architecture);
}

// Functions of several sources in one text: each has a namespace of its own, as they name their helpers alike.
GSUB_LAZY std::string joined_text(std::span<kernel_source const> sources) {
    std::string out;
    std::set<std::string_view> symbols;
    for (auto const& s : sources) {
        check(s, {});
        if (s.isa_flags != sources.front().isa_flags || !symbols.insert(s.symbol).second)
            throw usage_error(s.symbol, "kernels that are compiled together have the same options and other symbols");
        out += format_text("namespace in_{} {{\n{}\n}}\n", s.symbol, s.text);
    }
    return out;
}

} // namespace detail

GSUB_LAZY_BODY result<compiler> find_compiler_for(isa const& isa, std::string_view wanted) {
    std::string tried;
    auto const fits = [&](result<compiler> const& found) {
        auto const fit = found && detail::compiles_for(*found, isa);
        if (!fit)
            tried += format_text("{}{}", tried.empty() ? "" : "; ",
                                 found ? format_text("{} compiles for {}", found->path,
                                                     found->identity.substr(found->identity.find('\n') + 1))
                                       : found.error().message());
        return fit;
    };
    if (auto const found = find_compiler(wanted); fits(found)) return found;
    auto name = std::string{isa.architecture};
    std::replace(name.begin(), name.end(), '-', '_');
    name += "-linux-gnu-g++";
    if (wanted.empty())
        if (auto const found = find_compiler(name); fits(found)) return found;
    return error{problem{errors::compiler_failed,
                         {},
                         {},
                         format_text("no C++ compiler for {}: {}", isa.architecture, tried),
                         format_text("install {}", name)}};
}

GSUB_LAZY_BODY result<std::string> assembly_text_of(std::span<kernel_source const> sources, compiler const& with,
                                                    assembly_options const& options) {
    return capture([&]() -> std::string {
        if (sources.empty()) return {};
        auto const text = detail::joined_text(sources);
        auto const name = sources.size() == 1
                              ? sources.front().symbol
                              : format_text("{} and {} others", sources.front().symbol, sources.size() - 1);
        auto const fault = [&](error_id id, std::string_view reason, std::string_view output = {}) {
            auto const lines = detail::first_lines(output);
            return error{
                problem{id,
                        name,
                        {},
                        format_text("compiler {} {}{}{}", with.path, reason, lines.empty() ? "" : ":\n", lines),
                        {}}};
        };
        if (text.size() > options.source_bytes)
            throw fault(error_code::unsupported,
                        format_text("gets {} bytes of source, of at most {}", text.size(), options.source_bytes));
        detail::private_folder<> const folder;
        auto const from = folder.path() + "/kernels.cpp", to = folder.path() + "/kernels.s";
        detail::descriptor file{::open(from.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
        auto const number = !file                             ? errno
                            : !detail::may_write(text.size()) ? EFBIG
                                                              : detail::write_all(file.get(), text);
        if (number)
            throw fault(errors::compiler_failed, format_text("gets no source: {}", detail::system_text(number)));
        file.reset();
        std::vector<std::string> arguments{with.path, "-std=c++20", "-S"};
        for (auto const* f : kernel_flags) arguments.emplace_back(f);
        // Which way of a branch stands first costs a core little, and a reader of the text much; and each kernel keeps
        // a function of its own, where others are equal too.
        arguments.insert(arguments.end(), {"-fno-reorder-blocks", "-fno-ipa-icf"});
        for (auto& f : detail::split_flags(sources.front())) arguments.push_back(std::move(f));
        arguments.insert(arguments.end(), {"-o", to, from});
        auto const end = detail::run_child(arguments, folder.path(), options.timeout_s);
        if (end.failed()) throw fault(errors::compiler_failed, end.text(), end.output);
        std::error_code missing;
        auto const size = std::filesystem::file_size(to, missing);
        if (missing) throw fault(errors::compiler_failed, "wrote no output", end.output);
        if (size > options.text_bytes)
            throw fault(error_code::unsupported,
                        format_text("wrote {} bytes, of at most {}", size, options.text_bytes));
        auto made = detail::read_object(AT_FDCWD, to, false);
        if (!made) throw fault(errors::compiler_failed, "wrote something that cannot be read", end.output);
        return *std::move(made);
    });
}

} // namespace gsub::runtime
