// gsub cache and gsub doctor: the kernels on disk, and what this machine has for making and running them.
#include "commands.hpp"
#include <gsub/core/format.hpp>
#include <gsub/report/table.hpp>
#include <gsub/report/units.hpp>
#include <gsub/runtime/compiler/jit.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>
#include <gsub/runtime/device.hpp>
#include <gsub/target/target.hpp>

#include <algorithm>
#include <ctime>

namespace cli {

namespace {

std::string bytes_text(std::uint64_t n) {
    return gsub::report::human(static_cast<double>(n), "B");
}

std::string date_of(std::int64_t nanoseconds) {
    auto const seconds = static_cast<std::time_t>(nanoseconds / 1'000'000'000);
    std::tm parts{};
    char text[32] = "";
    if (gmtime_r(&seconds, &parts)) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
    return text;
}

} // namespace

answer cache(cache_request const& r, session const&) {
    auto const folder = r.folder.empty() ? gsub::runtime::default_cache_folder() : r.folder;
    if (folder.empty())
        throw gsub::error{gsub::error_code::environment,
                          "there is no cache: none of GSUB_CACHE, XDG_CACHE_HOME and HOME is set"};
    answer a;
    a.data["folder"] = folder;
    if (r.action == "ls") {
        gsub::report::table t{{"entry", "size", "used (UTC)"}};
        auto entries = gsub::io::json::array();
        std::uint64_t all = 0;
        auto const found = gsub::runtime::cache_entries(folder).value();
        for (auto const& e : found) {
            t.add({e.name, bytes_text(e.size), date_of(e.used)});
            entries.push_back({{"name", e.name}, {"size", e.size}, {"used_ns", e.used}});
            all += e.size;
        }
        a.data["entries"] = std::move(entries);
        a.text = gsub::format_text("{}{} kernels, {} in {}\n", t.text(), found.size(), bytes_text(all), folder);
        return a;
    }
    auto const done = r.action == "gc" ? gsub::runtime::cache_collect(folder, r.limit_bytes).value()
                                       : gsub::runtime::cache_verify(folder).value();
    a.data["kept"] = done.kept;
    a.data["removed"] = done.removed;
    a.data["kept_bytes"] = done.kept_bytes;
    a.data["removed_bytes"] = done.removed_bytes;
    a.text = gsub::format_text("{} kernels removed, {}; {} kept, {}\n", done.removed, bytes_text(done.removed_bytes),
                               done.kept, bytes_text(done.kept_bytes));
    return a;
}

answer doctor(session const& s) {
    answer a;
    gsub::report::table t{{"", "", ""}};
    auto const line = [&](std::string_view what, std::string const& value, std::string const& note) {
        t.add({std::string{what}, value, note});
        a.data[std::string{what}] = value;
    };
    auto const machine = gsub::host();
    line("processor", machine.name.empty() ? "unknown" : machine.name, "");
    auto const& isa = gsub::isa_of(machine);
    line("instruction set", std::string{isa.name},
         &isa == &gsub::isa::baseline || &isa == &gsub::isa::sse42 ? "neither AVX2 nor AVX-512: kernels are slow" : "");
    line("target", to_string(machine), "as --target takes it");
    line("caches",
         gsub::format_text("{}, {}, {}", bytes_text(machine.l1_bytes), bytes_text(machine.l2_bytes),
                           bytes_text(machine.l3_bytes)),
         "");
    line("processors", gsub::format_text("{}", gsub::runtime::available_cpus()),
         gsub::format_text("{} threads are used", s.threads->concurrency()));
    auto const with = gsub::runtime::find_compiler();
    auto identity = with ? with->identity : with.error().message();
    std::replace(identity.begin(), identity.end(), '\n', ' ');
    line("compiler", with ? with->path : "none", identity);
    auto const emits = emitter_in_memory() != nullptr && isa.runs(gsub::isa::sse42);
    line("emitter in memory", emits ? "on" : "off",
         emits ? "kernels that it takes need no compiler" : "this program was built without Xbyak, or has no vectors");
    if (!with && !emits) line("backend simd", "off", "without a compiler the reference runtime computes");
    auto const folder = gsub::runtime::default_cache_folder();
    if (folder.empty()) {
        line("cache", "off", "none of GSUB_CACHE, XDG_CACHE_HOME and HOME is set");
    } else if (auto const entries = gsub::runtime::cache_entries(folder)) {
        std::uint64_t all = 0;
        for (auto const& e : *entries) all += e.size;
        line("cache", folder, gsub::format_text("{} kernels, {}", entries->size(), bytes_text(all)));
    } else {
        line("cache", "off", entries.error().message());
    }
    auto const devices = gsub::runtime::list_devices();
    for (auto const& [id, title] : devices.devices) line(id, "on", title);
    for (auto const& reason : devices.missing) line("device", "none", reason);
    a.text = t.text();
    a.positive = with.has_value() || emits;
    return a;
}

} // namespace cli
