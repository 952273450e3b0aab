// `exported_name`: names that are safe wherever those of an exported model occur.
#pragma once

#include <gsub/aot/export.hpp>

#include <algorithm>

namespace gsub::aot {

namespace detail {

// Words that name something else for a C compiler's include path, a linker or CMake. Sorted.
inline constexpr std::string_view taken_names[] = {"aio",         "all",      "assert",    "c",
                                                   "clean",       "complex",  "cpio",      "ctype",
                                                   "depend",      "dirent",   "dl",        "dlfcn",
                                                   "edit_cache",  "errno",    "fcntl",     "fenv",
                                                   "float",       "fmtmsg",   "fnmatch",   "ftw",
                                                   "gcc",         "glob",     "grp",       "help",
                                                   "iconv",       "install",  "inttypes",  "iso646",
                                                   "langinfo",    "libgen",   "limits",    "locale",
                                                   "m",           "main",     "malloc",    "math",
                                                   "memory",      "monetary", "mqueue",    "ndbm",
                                                   "netdb",       "nl_types", "package",   "package_source",
                                                   "poll",        "pthread",  "pwd",       "rebuild_cache",
                                                   "regex",       "rt",       "sched",     "search",
                                                   "semaphore",   "setjmp",   "signal",    "spawn",
                                                   "stdalign",    "stdarg",   "stdatomic", "stdbool",
                                                   "stddef",      "stdint",   "stdio",     "stdlib",
                                                   "stdnoreturn", "string",   "strings",   "stropts",
                                                   "syslog",      "tar",      "termios",   "test",
                                                   "tgmath",      "threads",  "time",      "trace",
                                                   "uchar",       "ulimit",   "unistd",    "util",
                                                   "utime",       "utmpx",    "wchar",     "wctype",
                                                   "wordexp"};

} // namespace detail

GSUB_LAZY_BODY std::string exported_name(std::string_view text) {
    constexpr std::size_t longest = 64;
    std::string out;
    for (char c : text.substr(0, 4 * longest)) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            out += c;
        else if (!out.empty() && out.back() != '_')
            out += '_';
    }
    if (!out.empty() && out[0] <= '9') out = "model_" + out;
    out.resize(std::min(out.size(), longest));
    while (!out.empty() && out.back() == '_') out.pop_back();
    if (out.empty()) return "model";
    if (std::binary_search(std::begin(detail::taken_names), std::end(detail::taken_names), std::string_view{out}))
        out += "_model";
    return out;
}

} // namespace gsub::aot
