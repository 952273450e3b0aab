#pragma once

#include <gsub/core/message.hpp>
#include <gsub/target/target.hpp>

#include <fstream>
#include <sched.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace gsub {

namespace detail {

// Linux describes caches as files; a machine without them has caches of unknown size.
GSUB_INLINE std::uint64_t cache_bytes(int level) {
    for (int index = 0; index < 8; ++index) {
        auto const folder = message({"/sys/devices/system/cpu/cpu0/cache/index", index, "/"});
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

} // namespace detail

GSUB_INLINE std::string target::key() const {
    return message(
        {name, " l1=", l1_bytes, " l2=", l2_bytes, " l3=", l3_bytes, avx2 ? " avx2" : "", avx512 ? " avx512" : ""});
}

GSUB_INLINE target host() {
    target t;
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d)) {
        auto const family = ((a >> 8) & 15) + ((a >> 20) & 255);
        auto const model = ((a >> 4) & 15) + ((a >> 12) & 0xf0);
        t.name = message({"x86_64 family ", family, " model ", model, " stepping ", a & 15});
    }
    t.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    t.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#elif defined(__aarch64__)
    t.name = "aarch64";
#endif
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) t.threads = static_cast<unsigned>(CPU_COUNT(&allowed));
    t.l1_bytes = detail::cache_bytes(1);
    t.l2_bytes = detail::cache_bytes(2);
    t.l3_bytes = detail::cache_bytes(3);
    return t;
}

} // namespace gsub
