#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/core/message.hpp>
#include <gsub/driver/compile.hpp>
#include <gsub/driver/impl/compile_text.ipp>
#include <gsub/io/file.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <utility>

namespace gsub {

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

// Options whose presence a processor can be asked for, by the compiler's word for it; those of an empty word need no
// asking.
struct asked_feature {
    std::string_view option, word;
};
inline constexpr asked_feature asked_features[] = {
    {"-mavx", "avx"},
    {"-mavx2", "avx2"},
    {"-mfma", "fma"},
    {"-mavx512f", "avx512f"},
    {"-mavx512bw", "avx512bw"},
    {"-mavx512dq", "avx512dq"},
    {"-mavx512vl", "avx512vl"},
    {"-mavx512cd", "avx512cd"},
    {"-mavx512vnni", "avx512vnni"},
    {"-msse4.1", "sse4.1"},
    {"-msse4.2", "sse4.2"},
    {"-mprefer-vector-width=256", ""},
    {"-mprefer-vector-width=512", ""},
};

// As `runtime::load_kernels` compiles them.
inline constexpr std::string_view kernel_options =
    "-O3;-fno-exceptions;-fno-rtti;-ffp-contract=fast;-fno-math-errno;-fno-trapping-math;-fno-stack-protector;-w";

inline constexpr std::uint64_t weights_magic = 0x0a1a73746d627367; // "gsbmts", then what a transfer as text changes
inline constexpr std::uint64_t weights_version = 1;

// `digest` of the generated sources.
class weights_digest {
public:
    weights_digest() {
        for (std::uint64_t i = 0; i < 8; ++i) lanes_[i] = 0xcbf29ce484222325u + i;
    }
    // The last piece of fewer than 64 bytes counts as filled up with zeros.
    void add(std::span<std::byte const> data) {
        for (std::size_t at = 0; at < data.size(); at += 64) {
            std::uint64_t words[8] = {};
            std::memcpy(words, data.data() + at, std::min<std::size_t>(64, data.size() - at));
            for (std::size_t i = 0; i < 8; ++i) lanes_[i] = mixed(lanes_[i] ^ words[i]);
            size_ += 64;
        }
    }
    std::uint64_t finish() const {
        auto all = size_;
        for (auto l : lanes_) all = mixed(all ^ l);
        return all;
    }

private:
    static std::uint64_t mixed(std::uint64_t word) { return std::rotl(word, 29) * 0x9e3779b97f4a7c15u; }
    std::uint64_t lanes_[8], size_ = 0;
};

// The text with each `@key@` replaced by its value.
GSUB_INLINE std::string filled_in(std::string_view text,
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

// Any bytes as a literal of C: what is not plain becomes octal digits, always three.
GSUB_INLINE std::string c_literal(std::string_view text) {
    std::string out = "\"";
    for (char c : text) {
        auto const plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                           std::string_view{" _.,:;/+-()[]{}=<>"}.find(c) != std::string_view::npos;
        auto const code = static_cast<unsigned char>(c);
        if (plain)
            out += c;
        else
            out += {'\\', static_cast<char>('0' + (code >> 6)), static_cast<char>('0' + (code >> 3 & 7)),
                    static_cast<char>('0' + (code & 7))};
    }
    return out + '"';
}

GSUB_INLINE std::string upper_case(std::string text) {
    for (auto& c : text)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return text;
}

class standalone_writer {
public:
    standalone_writer(runtime::program const& p, std::string const& folder, standalone_options const& options)
        : p_(p), folder_(folder), options_(options), upper_(upper_case(options.name)) {}

    standalone_report run() {
        if (options_.name != standalone_name(options_.name))
            throw error{problem{error_code::usage,
                                {},
                                {},
                                message({in_quotes(options_.name), " is no name for a model in C and CMake"}),
                                standalone_name(options_.name)}};
        collect_kernels();
        place_constants();
        prepare_folder();
        write_weights();
        for (std::size_t i = 0; i < kernels_.size(); ++i)
            write(message({"kernel-", i, ".cpp"}), message({"// Made by gsub compile.\n#define ", kernels_[i].symbol,
                                                            " ", kernel_name(i), "\n", kernels_[i].text}));
        write(options_.name + ".h", text(standalone_header));
        write(options_.name + ".cpp", source());
        write("main.c", text(standalone_demo));
        write("README.txt", readme());
        write("CMakeLists.txt", cmake());
        remove_other_kernels();
        report_.kernels = kernels_.size();
        report_.steps = p_.steps.size();
        report_.weight_bytes = weights_size_;
        report_.arena_bytes = arena_.size;
        return std::move(report_);
    }

private:
    static std::size_t rounded(std::size_t n) { return (n + 63) / 64 * 64; }
    std::string kernel_name(std::size_t i) const { return message({options_.name, "_kernel_", i}); }
    std::string text(std::string_view form) const {
        return filled_in(form, {{"name", options_.name}, {"NAME", upper_}});
    }
    void write(std::string file, std::string_view contents) {
        io::write_file((std::filesystem::path{folder_} / file).string(), contents).value();
        report_.files.push_back(std::move(file));
    }

    // ---- kernels

    struct call {
        std::size_t kernel = 0;
        std::int64_t positions = 1;
        bool parallel = false;
    };

    void collect_kernels() {
        std::vector<problem> open;
        std::map<std::string, std::size_t> known;
        auto const number_of = [&](runtime::kernel_source const& k) {
            auto const [found, is_new] =
                known.emplace(message({k.symbol, " ", k.isa_flags, "\n", k.text}), kernels_.size());
            if (is_new) {
                for (auto& problem : check_options(k)) open.push_back(std::move(problem));
                kernels_.push_back(k);
            }
            return found->second;
        };
        for (auto const& s : p_.steps) {
            call c;
            c.positions = s.positions;
            if (s.kernel >= 0) {
                c.kernel = number_of(p_.kernels[static_cast<std::size_t>(s.kernel)]);
                c.parallel = s.operations >= 2e5; // as the executable does
            } else if (auto const own = s.host->source()) {
                c.kernel = number_of(own->code);
                c.positions = own->positions;
                std::size_t moved = 0;
                for (auto v : s.values) moved += p_.values[static_cast<std::size_t>(v)].size;
                c.parallel = moved >= std::size_t{1} << 18;
            } else {
                auto const reference = s.kind.starts_with("reference ");
                open.push_back({error_code::unsupported, s.name, reference ? s.kind.substr(10) : s.kind,
                                "there is no kernel for it, and what computes it is part of gsub",
                                "optimize the model first, which may remove it"});
            }
            calls_.push_back(c);
        }
        if (!open.empty()) throw error{std::move(open)};
    }

    // Collects the words to ask the processor for.
    std::vector<problem> check_options(runtime::kernel_source const& k) {
        std::vector<problem> open;
        GSUB_ASSERT(!k.symbol.empty() && (k.symbol[0] < '0' || k.symbol[0] > '9') &&
                        k.symbol.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos,
                    "a kernel's symbol is of [a-z0-9_] and begins with no digit");
        for (auto const& option : options_of(k)) {
            auto const* const found = std::find_if(std::begin(asked_features), std::end(asked_features),
                                                   [&](auto const& f) { return f.option == option; });
            if (found == std::end(asked_features))
                open.push_back(
                    {error_code::unsupported,
                     k.symbol,
                     {},
                     message({"option ", in_quotes(option), ": what it needs cannot be asked of a processor"}),
                     "another instruction set"});
            else if (!found->word.empty() && std::find(words_.begin(), words_.end(), found->word) == words_.end())
                words_.push_back(found->word);
        }
        return open;
    }
    static std::vector<std::string> options_of(runtime::kernel_source const& k) {
        std::vector<std::string> out{std::string{}};
        for (char c : k.isa_flags)
            if (c != ' ')
                out.back() += c;
            else if (!out.back().empty())
                out.emplace_back();
        if (out.back().empty()) out.pop_back();
        return out;
    }

    // ---- weights

    void place_constants() {
        arena_ = runtime::plan_arena(p_);
        std::map<std::pair<std::byte const*, std::size_t>, std::size_t> stored; // tensors may share their elements
        places_.assign(p_.values.size(), 0);
        for (auto const& s : p_.steps)
            for (auto v : s.values) {
                auto const whole = owner(v);
                auto const& value = p_.values[whole];
                if (value.where != runtime::residence::constant) continue;
                auto const raw = value.data.raw();
                auto const [found, is_new] = stored.emplace(std::pair{raw.data(), raw.size()}, weights_end_);
                places_[whole] = found->second;
                if (!is_new) continue;
                constants_.push_back(whole);
                weights_end_ += rounded(raw.size());
            }
        weights_size_ = 64 + weights_end_;
        // Of what addresses them, not of their values: weights trained further are accepted, those of other sources
        // are not.
        hasher h{weights_version};
        for (auto const& k : kernels_) h.add(std::string_view{k.text}).add(std::string_view{k.isa_flags});
        for (std::size_t i = 0; i < p_.steps.size(); ++i) {
            h.add(calls_[i].kernel).add(static_cast<std::uint64_t>(calls_[i].positions));
            for (auto v : p_.steps[i].values) h.add(places_[owner(v)]).add(p_.values[owner(v)].size);
        }
        model_ = h.finish().low;
    }
    std::size_t owner(std::int32_t v) const { return runtime::whole_of(p_, v); }

    void write_weights() {
        weights_digest digest;
        for (auto v : constants_) digest.add(p_.values[v].data.raw());
        std::uint64_t const head[8] = {weights_magic, weights_version, weights_size_, model_, digest.finish(), 0, 0, 0};
        io::output_file file{(std::filesystem::path{folder_} / "weights.bin").string()};
        file.write(std::as_bytes(std::span{head}));
        std::byte const zeros[64] = {};
        for (auto v : constants_) {
            auto const raw = p_.values[v].data.raw();
            file.write(raw);
            file.write(std::span{zeros}.first(rounded(raw.size()) - raw.size()));
        }
        file.commit();
        report_.files.emplace_back("weights.bin");
    }

    // ---- the folder

    void prepare_folder() {
        std::error_code failed;
        auto const refuse = [&](std::string const& why) {
            throw error{error_code::environment, message({folder_, ": ", why})};
        };
        std::filesystem::create_directories(folder_, failed);
        if (failed) refuse(failed.message());
        auto const empty = std::filesystem::is_empty(folder_, failed);
        if (failed) refuse(failed.message());
        if (empty) return;
        auto const before = io::read_file((std::filesystem::path{folder_} / "CMakeLists.txt").string(), 1 << 24);
        if (!before || !before.value().starts_with(standalone_mark))
            throw error{
                problem{error_code::usage, {}, {}, message({folder_, " has other things in it"}), "a new folder"}};
    }
    // Those of a larger model that was here before.
    void remove_other_kernels() const {
        std::error_code ignored;
        for (auto i = kernels_.size();; ++i)
            if (!std::filesystem::remove(std::filesystem::path{folder_} / message({"kernel-", i, ".cpp"}), ignored))
                break;
    }

    // ---- texts

    std::string tensors(std::string_view table, std::span<tensor_type const> types,
                        std::span<std::string const> names) const {
        std::string dims, rows;
        for (std::size_t i = 0; i < types.size(); ++i) {
            auto const& t = types[i];
            auto const own = message({table, "dims_", i});
            dims += message({"std::int64_t const ", own, "[] = {"});
            for (auto d : t.sizes()) dims += message({d, ", "});
            dims += "0};\n";
            auto const kind = upper_case(std::string{t.element == dtype::boolean ? "bool" : to_string(t.element)});
            auto const size = static_cast<std::size_t>(*t.elements()) * byte_size(t.element);
            rows += message({"    {", c_literal(names[i]), ", ", upper_, "_", kind, ", ", t.rank(), ", ", own, ", ",
                             size, "u},\n"});
        }
        return message({dims, options_.name, "_tensor const ", table, "[] = {\n", rows, "    {nullptr, ", upper_,
                        "_F32, 0, nullptr, 0},\n};\n"});
    }

    std::string processor_fits() const {
        std::string all;
        for (auto w : words_) all += message({all.empty() ? "" : " && ", "__builtin_cpu_supports(\"", w, "\")"});
        return all.empty() ? "true" : message({"(__builtin_cpu_init(), ", all, ")"});
    }

    std::string source() const {
        std::string out = message({"// Made by gsub compile.\n#ifndef GSUB_THREADS\n#define GSUB_THREADS ",
                                   options_.threads ? 1 : 0, "\n#endif\n#define GSUB_PROCESSOR_FITS ", processor_fits(),
                                   "\n#include \"", options_.name, ".h\"\n"});
        out += R"(
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>
#if GSUB_THREADS
#include <condition_variable>
#include <mutex>
#include <thread>
#endif

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(long) == 8, "weights and kernels are for such machines");

extern "C" {
)";
        for (std::size_t i = 0; i < kernels_.size(); ++i)
            out += message({"void ", kernel_name(i), "(void* const*, long, long);\n"});
        out += R"(}

namespace {

struct step {
    void (*kernel)(void* const* buffers, long begin, long end);
    std::int64_t positions;
    bool parallel;
    unsigned first_slot, slots;
    bool scratch; // a thread lends it memory, as one more buffer
};
enum : unsigned char { in_arena, in_weights, in_input, in_output };
struct slot {
    unsigned char where;
    unsigned position;
    std::size_t offset;
};

)";
        out += tensors("inputs_", p_.inputs, p_.input_names) + tensors("outputs_", p_.outputs, p_.output_names);
        std::string steps, slots;
        std::size_t first = 0, most = 1, scratch = 0;
        for (std::size_t i = 0; i < p_.steps.size(); ++i) {
            auto const& s = p_.steps[i];
            auto const count = s.values.size();
            steps += message({"    {", kernel_name(calls_[i].kernel), ", ", calls_[i].positions, ", ",
                              calls_[i].parallel ? "true" : "false", ", ", first, ", ", count, ", ",
                              s.scratch > 0 ? "true" : "false", "},\n"});
            for (auto v : s.values) slots += slot_of(v);
            first += count;
            if (s.scratch > 0) most = std::max(most, count + 1);
            scratch = std::max(scratch, rounded(s.scratch));
        }
        out += message({"step const steps[] = {\n", steps,
                        "    {nullptr, 0, false, 0, 0, false},\n};\nslot const slots[] = {\n", slots,
                        "    {in_arena, 0, 0},\n};\n"});
        auto const number = [&](std::string_view name, std::uint64_t value) {
            out += message({"constexpr std::size_t ", name, " = ", value, "u;\n"});
        };
        number("step_count", p_.steps.size());
        number("slot_count", first);
        number("most_slots", most);
        number("input_count", p_.inputs.size());
        number("output_count", p_.outputs.size());
        number("arena_bytes", arena_.size);
        number("scratch_bytes", scratch);
        number("weights_size", weights_size_);
        number("weights_magic", weights_magic);
        number("weights_version", weights_version);
        number("weights_model", model_);
        return out + text(standalone_runner);
    }
    std::string slot_of(std::int32_t v) const {
        using runtime::residence;
        auto const whole = owner(v);
        auto const& value = p_.values[whole];
        auto const offset = p_.values[static_cast<std::size_t>(v)].offset;
        auto const row = [](char const* where, std::size_t position, std::size_t at) {
            return message({"    {", where, ", ", position, ", ", at, "u},\n"});
        };
        switch (value.where) {
        case residence::temporary:
            return row("in_arena", 0, arena_.offsets[whole] + offset);
        case residence::constant:
            return row("in_weights", 0, places_[whole] + offset);
        case residence::input:
            return row("in_input", value.position, offset);
        case residence::output:
            return row("in_output", value.position, offset);
        }
        return {};
    }

    std::string cmake() const {
        std::string kernels, flags;
        std::map<std::string, std::string> groups; // options to files
        for (std::size_t i = 0; i < kernels_.size(); ++i) {
            auto const file = message({"kernel-", i, ".cpp"});
            kernels += message({"\n  ", file});
            std::string own{kernel_options};
            for (auto const& o : options_of(kernels_[i])) own += message({";", o});
            groups[own] += message({"\n  ", file});
        }
        for (auto const& [own, files] : groups)
            flags +=
                message({"set_source_files_properties(", files, "\n  PROPERTIES COMPILE_OPTIONS \"", own, "\")\n"});
        auto const threads = options_.threads ? message({"find_package(Threads REQUIRED)\ntarget_link_libraries(",
                                                         options_.name, " PRIVATE Threads::Threads)\n"})
                                              : std::string{};
        return standalone_mark +
               filled_in(standalone_cmake,
                         {{"name", options_.name}, {"kernels", kernels}, {"flags", flags}, {"threads", threads}});
    }

    std::string readme() const {
        std::string signature, processor;
        auto const list = [&](std::string_view what, std::span<tensor_type const> types,
                              std::span<std::string const> names) {
            for (std::size_t i = 0; i < types.size(); ++i)
                signature += message({what, " ", i, "  ", c_literal(names[i]), "  ", to_string(types[i]), "\n"});
        };
        list("input ", p_.inputs, p_.input_names);
        list("output", p_.outputs, p_.output_names);
        for (auto w : words_) processor += message({processor.empty() ? "a processor with " : ", ", w});
        auto const title = message({options_.name, ": a model as C++, made by gsub compile"});
        return filled_in(standalone_readme, {{"name", options_.name},
                                             {"rule", std::string(title.size(), '=') + "\n"},
                                             {"signature", signature},
                                             {"arena", message({arena_.size})},
                                             {"weights", message({weights_size_})},
                                             {"processor", processor.empty() ? "any processor" : processor}});
    }

    runtime::program const& p_;
    std::string const& folder_;
    standalone_options const& options_;
    std::string upper_;
    std::vector<runtime::kernel_source> kernels_;
    std::vector<call> calls_; // of each step
    std::vector<std::string_view> words_;
    runtime::arena_plan arena_;
    std::vector<std::size_t> places_;    // of each constant behind the header of the weights
    std::vector<std::size_t> constants_; // values, in the order of the file
    std::size_t weights_end_ = 0, weights_size_ = 0;
    std::uint64_t model_ = 0;
    standalone_report report_;
};

} // namespace detail

GSUB_INLINE std::string standalone_name(std::string_view text) {
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

GSUB_INLINE result<standalone_report> write_standalone(runtime::program const& p, std::string const& folder,
                                                       standalone_options const& options) {
    try {
        return detail::standalone_writer{p, folder, options}.run();
    } catch (error const& e) { return e; }
}

} // namespace gsub
