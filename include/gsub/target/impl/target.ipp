#pragma once

#include <gsub/core/format.hpp>
#include <gsub/target/feature.hpp>
#include <gsub/target/microarchitecture.hpp>
#include <gsub/target/target.hpp>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sched.h>
#include <utility>
#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace gsub {

namespace detail {

// Linux describes caches as files; a machine without them has caches of unknown size.
GSUB_INLINE std::uint64_t cache_bytes(int level) {
    for (int index = 0; index < 8; ++index) {
        auto const folder = format_text("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
        int found_level = 0;
        std::string type, size;
        if (!(std::ifstream(folder + "level") >> found_level) || found_level != level) continue;
        if (!(std::ifstream(folder + "type") >> type) || type == "Instruction") continue;
        if (!(std::ifstream(folder + "size") >> size) || size.empty()) continue;
        auto const unit = size.back() == 'K' ? 1024u : size.back() == 'M' ? 1024u * 1024u : 1u;
        return std::strtoull(size.c_str(), nullptr, 10) * unit;
    }
    return 0;
}

// Of the row of the processor, by the name that it reports or that the row has.
GSUB_INLINE std::int32_t fma_per_cycle_of(target const& t) {
    for (auto const& row : microarchitectures())
        if (row.isa == t.isa && (t.name == row.name || row.reported_as(t.name))) return row.fma_per_cycle;
    return 0;
}

// Whether the processor has all features of a set.
GSUB_INLINE bool host_runs(isa const& isa) {
    for (auto words = isa.features; !words.empty();) {
        auto const end = std::min(words.find(' '), words.size());
        if (!host_has(words.substr(0, end))) return false;
        words.remove_prefix(std::min(end + 1, words.size()));
    }
    return true;
}

GSUB_INLINE std::string size_text(std::uint64_t count) {
    for (auto [shift, unit] : {std::pair{30, "G"}, std::pair{20, "M"}, std::pair{10, "K"}})
        if (count >> shift << shift == count && count > 0) return format_text("{}{}", count >> shift, unit);
    return format_text("{}", count);
}

// Digits, and a unit where there may be one.
GSUB_INLINE std::optional<std::uint64_t> number_of(std::string_view text, bool units) {
    std::uint64_t value = 0;
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    auto const unit = std::string_view{end, static_cast<std::size_t>(text.data() + text.size() - end)};
    auto const shift = unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 0;
    if (failed != std::errc{} || (!unit.empty() && (shift == 0 || !units))) return std::nullopt;
    if (value << shift >> shift != value) return std::nullopt;
    return value << shift;
}

GSUB_INLINE std::string base_text(isa const& isa) {
    return isa.architecture.empty() ? std::string{isa.name} : format_text("{}-{}", isa.architecture, isa.name);
}

// Sets one fact; the reason where that is wrong.
GSUB_INLINE std::string set_fact(target& t, std::string_view key, std::string_view value) {
    if (key == "cpu") {
        t.name = value;
        return {};
    }
    auto* const size = key == "l1" ? &t.l1_bytes : key == "l2" ? &t.l2_bytes : key == "l3" ? &t.l3_bytes : nullptr;
    auto const number = number_of(value, size != nullptr);
    constexpr std::uint64_t most = 1 << 16;
    if (size) {
        if (!number) return format_text("{} is a number of bytes such as 32768, 32K or 1M", key);
        *size = *number;
    } else if (key == "threads") {
        if (!number || *number < 1 || *number > most) return "threads is a number from 1 to 65536";
        t.threads = static_cast<unsigned>(*number);
    } else if (key == "fma") {
        if (!number || *number > 64) return "fma is a number of vectors a cycle, at most 64; 0: as the set says";
        t.fma_per_cycle = static_cast<std::int32_t>(*number);
    } else {
        return "a target has threads, l1, l2, l3, fma and cpu";
    }
    return {};
}

} // namespace detail

GSUB_INLINE std::string target::key() const {
    if (gpu) return std::string{gpu->name};
    // The words of earlier versions, so that what was measured by them counts.
    return format_text("{} l1={} l2={} l3={}{}{}", name, l1_bytes, l2_bytes, l3_bytes,
                       has(gsub::isa::avx2)    ? " avx2"
                       : has(gsub::isa::sse42) ? " sse42"
                                               : "",
                       has(gsub::isa::avx512) ? " avx512" : "");
}

GSUB_INLINE target host() {
    target t;
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d)) {
        auto const family = ((a >> 8) & 15) + ((a >> 20) & 255);
        auto const model = ((a >> 4) & 15) + ((a >> 12) & 0xf0);
        t.name = format_text("x86_64 family {} model {} stepping {}", family, model, a & 15);
        constexpr unsigned amx_tile = 1u << 24;
        if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & amx_tile) != 0) t.name += " amx";
    }
    constexpr std::string_view architecture = "x86-64";
#elif defined(__aarch64__)
    t.name = "aarch64";
    constexpr std::string_view architecture = "aarch64";
#else
    constexpr std::string_view architecture = "";
#endif
    for (auto const* isa : instruction_sets())
        if (isa->architecture == architecture && detail::host_runs(*isa)) {
            t.isa = isa;
            break;
        }
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) t.threads = static_cast<unsigned>(CPU_COUNT(&allowed));
    t.l1_bytes = detail::cache_bytes(1);
    t.l2_bytes = detail::cache_bytes(2);
    t.l3_bytes = detail::cache_bytes(3);
    t.fma_per_cycle = detail::fma_per_cycle_of(t);
    return t;
}

GSUB_INLINE std::string to_string(target const& t) {
    if (t.gpu) return std::string{t.gpu->name};
    auto out = format_text("{},threads={}", detail::base_text(*t.isa), t.threads);
    auto const size = [&](std::string_view key, std::uint64_t count) {
        if (count > 0) out += format_text(",{}={}", key, detail::size_text(count));
    };
    size("l1", t.l1_bytes), size("l2", t.l2_bytes), size("l3", t.l3_bytes);
    if (t.fma_per_cycle > 0) out += format_text(",fma={}", t.fma_per_cycle);
    if (!t.name.empty()) out += format_text(",cpu={}", t.name);
    return out;
}

GSUB_INLINE result<target> parse_target(std::string_view text) {
    auto const wrong = [&](std::string_view part, std::string_view reason) {
        return error{errors::unknown_target, format_text("target {}: {}: {}", quoted{text}, quoted{part}, reason)};
    };
    auto next = [rest = text]() mutable {
        auto const end = std::min(rest.find(','), rest.size());
        auto const part = rest.substr(0, end);
        rest = end < rest.size() ? rest.substr(end + 1) : std::string_view{};
        return std::pair{part, rest.data() == nullptr};
    };
    auto [base, last] = next();
    if (base == "host") {
        if (!last) return wrong(base, "the host is as it is found");
        return host();
    }
    if (auto const* const device = find_gpu(base)) {
        if (!last) return wrong(base, "a GPU is as its row of the table says");
        return target_of(*device);
    }
    target t;
    t.isa = nullptr;
    std::string all = "host";
    for (auto const* isa : instruction_sets()) {
        auto const name = detail::base_text(*isa);
        if (base == name) t.isa = isa;
        all += ", " + name;
    }
    for (auto const& row : gpus()) all += format_text(", {}", row.name);
    for (auto const& row : gpu_architectures()) all += format_text(", {}", row.name);
    if (!t.isa) return wrong(base, format_text("a target is one of {}", all));
    std::string seen = ",";
    while (!last) {
        auto const [part, is_last] = next();
        last = is_last;
        auto const equal = part.find('=');
        if (equal == part.npos) return wrong(part, "what is known of a target is told as key=value");
        auto const key = part.substr(0, equal);
        if (seen.find(format_text(",{},", key)) != seen.npos) return wrong(part, "it is told twice");
        seen += format_text("{},", key);
        if (auto const reason = detail::set_fact(t, key, part.substr(equal + 1)); !reason.empty())
            return wrong(part, reason);
    }
    if (seen.find(",fma,") == seen.npos) t.fma_per_cycle = detail::fma_per_cycle_of(t);
    return t;
}

} // namespace gsub
