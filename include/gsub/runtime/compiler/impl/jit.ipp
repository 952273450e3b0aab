#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/hash.hpp>
#include <gsub/runtime/compiler/impl/jit_cache.ipp>
#include <gsub/runtime/compiler/impl/jit_process.ipp>
#include <gsub/runtime/compiler/jit.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <map>
#include <optional>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace gsub::runtime {

namespace detail {

// Without start files and libraries there is less to link; a kernel's calls of
// memcpy or expf are bound to the libraries of the host program.
inline constexpr char const* object_flags[] = {"-std=c++20", "-shared", "-fPIC", "-nostdlib",
                                               "-fno-semantic-interposition"};

GSUB_LAZY [[nodiscard]] error usage_error(std::string const& symbol, std::string reason) {
    return error{problem{error_code::usage, symbol, {}, std::move(reason), {}}};
}

/// The options between the blanks. *Errors* throws `usage`.
GSUB_LAZY [[nodiscard]] std::vector<std::string> split_flags(kernel_source const& source) {
    std::vector<std::string> out;
    std::string_view const text = source.isa_flags;
    for (std::size_t at = 0; at < text.size();) {
        auto const end = std::min(text.find(' ', at), text.size());
        auto const flag = text.substr(at, end - at);
        at = end + 1;
        if (flag.empty()) continue;
        auto const plain = std::all_of(flag.begin(), flag.end(), [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   std::string_view{"=.+-_,"}.find(c) != std::string_view::npos;
        });
        if (!plain || flag.size() < 3 || flag.substr(0, 2) != "-m")
            throw usage_error(source.symbol,
                              format_text("instruction set option {}: -m options are allowed alone", quoted{flag}));
        out.emplace_back(flag);
    }
    return out;
}

GSUB_LAZY void check(kernel_source const& source, jit_options const& options) {
    auto const& name = source.symbol;
    if (name.empty() || name.size() > 200 || (name[0] >= '0' && name[0] <= '9') ||
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos)
        throw usage_error(in_quotes(name.substr(0, 200)), "symbol: up to 200 of [a-z0-9_], no digit first");
    // What a cached kernel runs on must not depend on where it was compiled.
    auto flags = split_flags(source);
    flags.insert(flags.end(), options.flags.begin(), options.flags.end());
    for (auto const& f : flags)
        if (f.size() >= 7 && f.substr(f.size() - 7) == "=native")
            throw usage_error(name, format_text("option {}: name the instruction set", quoted{f}));
}

GSUB_LAZY [[nodiscard]] hash128 key_of(kernel_source const& source, compiler const& with, jit_options const& options) {
    hasher h{entry_format};
    for (auto const* f : object_flags) h.add(std::string_view{f});
    for (auto const* f : kernel_flags) h.add(std::string_view{f});
    h.add(options.flags.size());
    for (auto const& f : options.flags) h.add(std::string_view{f});
    h.add(std::string_view{with.identity}).add(std::string_view{source.symbol}).add(std::string_view{source.isa_flags});
    h.add(source.text.size()).add(hash_bytes(std::as_bytes(std::span{source.text.data(), source.text.size()})));
    return h.finish();
}

/// Whether all that the loader will map lies inside: a shared object that was cut off would end the process by SIGBUS.
GSUB_LAZY [[nodiscard]] bool is_shared_object(std::string_view bytes) {
    ElfW(Ehdr) head;
    if (bytes.size() < sizeof head) return false;
    std::memcpy(&head, bytes.data(), sizeof head);
    auto const inside = [&](std::uint64_t offset, std::uint64_t size) {
        return offset <= bytes.size() && size <= bytes.size() - offset;
    };
    if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_type != ET_DYN ||
        head.e_phentsize != sizeof(ElfW(Phdr)) ||
        !inside(head.e_phoff, std::uint64_t{head.e_phnum} * sizeof(ElfW(Phdr))))
        return false;
    for (std::size_t i = 0; i < head.e_phnum; ++i) {
        ElfW(Phdr) part;
        std::memcpy(&part, bytes.data() + head.e_phoff + i * sizeof part, sizeof part);
        if (!inside(part.p_offset, part.p_filesz)) return false;
    }
    return true;
}

/// Loads an object from memory: nothing on disk can change between check and use, and no folder needs to allow
/// execution. *Errors* throws `environment`.
GSUB_LAZY [[nodiscard]] loaded_kernel load_object(std::string_view object, std::string const& symbol) {
    auto const fault = [&](std::string reason, std::string hint = {}) {
        reason.insert(0, "cannot be loaded: ");
        return error{problem{errors::compiler_failed, symbol, {}, std::move(reason), std::move(hint)}};
    };
    static std::atomic<std::uint64_t> counter{0};
    void* handle = nullptr;
    std::string reason;
    if (!may_write(object.size())) throw fault(system_text(EFBIG));
    if (descriptor const file{::memfd_create(format_text("gsub-{}", symbol).c_str(), MFD_CLOEXEC)}; file) {
        if (auto const number = write_all(file.get(), object)) throw fault(system_text(number));
        // The loader takes a path that it has seen for the object it knows, and descriptors come again. So each path is
        // spelt in its own way: the bits of a counter as `/` and `./`.
        std::string path = "/proc/self/fd/";
        auto const number = counter++;
        for (int bit = 0; bit < 48; ++bit) path += number >> bit & 1 ? "./" : "/";
        path += std::to_string(file.get());
        handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!handle) reason = ::dlerror();
    }
    if (!handle) { // no memory files, no /proc, or execution forbidden: through a file
        private_folder<> const folder;
        auto const path = format_text("{}/{}.so", folder.path(), symbol);
        descriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
        if (auto const number = file ? write_all(file.get(), object) : errno) throw fault(system_text(number));
        file.reset();
        handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
            if (reason.empty()) reason = ::dlerror();
            struct statvfs system {};
            if (::statvfs(folder.path().c_str(), &system) != 0 || !(system.f_flag & ST_NOEXEC)) throw fault(reason);
            throw fault(format_text("{} is on a file system that forbids execution: {}", folder.path(), reason),
                        "set TMPDIR to a folder on another");
        }
    }
    std::shared_ptr<void> shared(handle, [](void* h) { ::dlclose(h); });
    auto* const function = ::dlsym(handle, symbol.c_str());
    if (!function) throw fault("the object does not define the symbol");
    return {std::move(shared), function};
}

/// The object that a compiler makes of a kernel. *Errors* throws `environment`.
GSUB_LAZY [[nodiscard]] std::string compile(kernel_source const& source, compiler const& with,
                                            jit_options const& options, private_folder<> const& folder,
                                            std::size_t number) {
    auto const stem = format_text("{}/{}", folder.path(), number);
    auto const fault = [&](std::string_view reason, std::string_view output) {
        auto const lines = first_lines(output);
        return error{problem{errors::compiler_failed,
                             source.symbol,
                             {},
                             format_text("compiler {} {}{}{}", with.path, reason, lines.empty() ? "" : ":\n", lines),
                             {}}};
    };
    descriptor file{::open((stem + ".cpp").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
    auto const number_of_fault = !file                            ? errno
                                 : !may_write(source.text.size()) ? EFBIG
                                                                  : write_all(file.get(), source.text);
    if (number_of_fault) throw fault(format_text("gets no source: {}", system_text(number_of_fault)), {});
    file.reset();

    std::vector<std::string> arguments{with.path};
    for (auto const* f : object_flags) arguments.emplace_back(f);
    for (auto const* f : kernel_flags) arguments.emplace_back(f);
    arguments.insert(arguments.end(), options.flags.begin(), options.flags.end());
    for (auto& f : split_flags(source)) arguments.push_back(std::move(f));
    arguments.insert(arguments.end(), {"-o", stem + ".so", stem + ".cpp"});
    // Arithmetic that the processor lacks. Clang may come with a library of another name.
    if (with.identity.find("clang") == std::string::npos) arguments.emplace_back("-lgcc");

    auto const end = run_child(arguments, folder.path(), options.timeout_s);
    if (end.failed()) throw fault(end.text(), end.output);
    auto object = read_object(AT_FDCWD, stem + ".so", false);
    if (!object) throw fault("wrote no output", end.output);
    if (!is_shared_object(*object)) throw fault("wrote something that is no shared object", end.output);
    static_cast<void>(::unlink((stem + ".so").c_str()));
    return *std::move(object);
}

/// The cache of one call: off, with the reason noted, as soon as it fails.
template <class = void>
struct kernel_cache {
    descriptor folder{};
    std::string note{};

    kernel_cache(jit_options const& options) {
        if (!options.use_cache) return;
        auto const path = options.cache_folder.empty() ? default_cache_folder() : options.cache_folder;
        try {
            folder = open_cache(path, true);
        } catch (error const& e) { note = format_text("kernels are not cached: {}", e.message()); }
    }
    [[nodiscard]] std::optional<loaded_kernel> find(hash128 key, std::string const& symbol) const {
        if (!folder) return {};
        auto bytes = read_object(folder.get(), entry_name(key), true);
        if (!bytes || !open_entry(*bytes, entry_name(key)) || !is_shared_object(*bytes)) return {};
        try {
            return load_object(*bytes, symbol);
        } catch (error const&) { return {}; } // it is built anew, and the reason comes again if it stays
    }
};

} // namespace detail

GSUB_LAZY_BODY result<std::vector<loaded_kernel>> load_kernels(std::span<kernel_source const> sources,
                                                               compiler const& with, jit_options const& options) {
    return capture([&] {
        std::map<hash128, std::size_t> first; // source of each distinct kernel
        std::vector<std::size_t> same(sources.size()), missing;
        std::vector<hash128> keys(sources.size());
        for (std::size_t i = 0; i < sources.size(); ++i) {
            detail::check(sources[i], options);
            keys[i] = detail::key_of(sources[i], with, options);
            same[i] = first.emplace(keys[i], i).first->second;
        }
        std::vector<loaded_kernel> kernels(sources.size());
        if (sources.empty()) return kernels;
        detail::kernel_cache<> cache{options};
        for (std::size_t i = 0; i < sources.size(); ++i) {
            if (same[i] != i) continue;
            if (auto found = cache.find(keys[i], sources[i].symbol))
                kernels[i] = *std::move(found);
            else
                missing.push_back(i);
        }
        auto& observe = options.observe ? *options.observe : silent();
        std::vector<int> not_stored(missing.size());
        if (!missing.empty()) {
            observe.on_progress({"compiling kernels", 0, missing.size(), {}});
            detail::private_folder<> const folder;
            std::vector<std::optional<error>> faults(missing.size());
            std::atomic<bool> failed{false};
            auto const build = [&](std::size_t k) {
                auto const i = missing[k];
                if (failed) return;
                try {
                    auto const object = detail::compile(sources[i], with, options, folder, k);
                    kernels[i] = detail::load_object(object, sources[i].symbol);
                    if (cache.folder) not_stored[k] = detail::store(cache.folder.get(), keys[i], object);
                } catch (error const& e) { faults[k] = e, failed = true; }
            };
            inline_executor serial;
            (options.threads ? *options.threads : static_cast<executor&>(serial)).parallel_for(missing.size(), build);
            for (auto const& f : faults)
                if (f) throw *f;
            if (cache.folder) static_cast<void>(detail::collect(cache.folder.get(), options.cache_limit_bytes));
            observe.on_progress({"compiling kernels", missing.size(), missing.size(), {}});
        }
        for (auto fault : not_stored)
            if (fault && cache.note.empty())
                cache.note = format_text("kernels are not cached: {}", detail::system_text(fault));
        if (!cache.note.empty()) observe.on_note(cache.note);
        for (std::size_t i = 0; i < sources.size(); ++i) kernels[i] = kernels[same[i]];
        return kernels;
    });
}

} // namespace gsub::runtime
