#pragma once

#include <gsub/codegen/ir/kernel_loops.hpp>
#include <gsub/core/format.hpp>
#include <gsub/cost/assembled_time.hpp>
#include <gsub/cost/impl/assembly_regions.ipp>
#include <gsub/cost/impl/kernel_time.ipp>
#include <gsub/cost/impl/kernel_work.ipp>
#include <gsub/cost/impl/loop_ties.ipp>
#include <gsub/machine/loop_map.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace gsub::cost {

GSUB_LAZY_BODY result<assembled_time> assembled_time_of(codegen::kernel const& k, machine::assembly_function const& f,
                                                        microarchitecture const& core, kernel_setting const& setting) {
    constexpr double near = 0.05, far = 2; // compilers fuse some multiply-adds, and compute some once
    auto const refused = [&](std::string const& why) {
        return error{problem{
            error_code::unsupported,
            {},
            {},
            format_text("function {}, line {}: {}", quoted{f.name}, f.lines.empty() ? 0 : f.lines.front().line, why),
            "the counted model takes the kernel"}};
    };
    if (f.code.empty()) return refused("no instruction");
    auto const own = codegen::loops_of(k);
    auto map = machine::map_loops(f, own.sources);
    if (!map) return map.error();
    detail::loop_ties<>{f, own, *map}.settle();
    detail::kernel_work<> const work{k, core};
    auto made = work.counted();
    auto walked = work.loops();
    detail::assembly_regions<> const laid_out{k, f, *map, own.sources, walked};
    assembled_time out;
    out.multiply_adds = laid_out.multiply_adds, out.loops = map->loops.size();
    for (auto const& l : map->loops) out.unmatched += l.how == machine::loop_match::unmatched;
    out.warnings = std::move(map->warnings);
    auto const found = out.multiply_adds, wanted = made.multiply_adds;
    auto const told = [&] { return format_text("{:.0f} multiply-adds, where the kernel has {:.0f}", found, wanted); };
    if (found > far * wanted || wanted > far * found)
        return refused(told() + ": some loop is not what it was taken for");
    auto const scale = found > 0 ? wanted / found : 1;
    if (std::abs(found - wanted) > near * wanted)
        out.warnings.push_back({f.lines.front().line, told() + ": its cycles are scaled"});
    detail::region_cycles<>{laid_out.code, laid_out.regions, core, walked.stage_cycles}.run();
    made.compute = made.control = 0;
    for (auto& cycles : walked.stage_cycles) made.compute += cycles *= scale;
    out.time = detail::with_memory(made, k, core, setting, walked, true);
    return out;
}

} // namespace gsub::cost
