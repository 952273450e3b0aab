// schedule_table: schedules and algorithms from a text, kernel by kernel.
//
//     target avx512
//     winograd{conv={in_channels=64 ...} m=4} = rows=1 columns=14 tile=14 vectors=2 unroll_ic=4 parts=1 ...
//     matmul{m=128 n=768 k=768 ...} = tile_m=8 tile_n=3 unroll_k=4
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/lower/kernel_task.hpp>
#include <gsub/lower/schedule.hpp>
#include <gsub/lower/select.hpp>

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace gsub {

/// Schedule source and algorithm choice from a table: a kernel in it gets the point that it lists, all others the
/// counted one. Of the algorithms of a convolution the listed one is taken.
class schedule_table {
public:
    /// An empty table: everything is counted.
    explicit schedule_table(kernels::winograd_options const& winograd = {}) : counted_{winograd} {}

    /// Parses a table: `target` and the name of an instruction set, then a line for each kernel: its descriptor, `=`,
    /// and a value for each knob of its space. Blank lines and those that begin with `#` are ignored. *Errors*
    /// `invalid_input` with all lines that are wrong, by number: what is no descriptor or no kernel, unknown, missing
    /// and repeated knobs, values that a knob does not have, points that are not allowed, a kernel that stands twice,
    /// or another instruction set than `isa`. *Complexity* that of a space a line; texts may come from strangers.
    GSUB_LAZY [[nodiscard]] static result<schedule_table> parse(std::string_view text, isa const& isa,
                                                                kernels::winograd_options const& winograd = {});
    /// Prints tasks with their schedules as a table, which `parse` reads.
    GSUB_LAZY [[nodiscard]] static std::string to_text(std::span<kernel_task const> tasks, isa const& isa);

    [[nodiscard]] std::size_t size() const noexcept { return points_.size(); }

    GSUB_LAZY [[nodiscard]] loop::configuration choose(kernels::descriptor const& d, isa const& isa,
                                                       loop::config_space const& space) const;
    GSUB_LAZY [[nodiscard]] std::size_t choose(std::span<kernels::descriptor const> alternatives, isa const& isa) const;

private:
    counting_heuristic counted_;
    std::map<hash128, std::string> points_; // by descriptor, as texts: a point belongs to one space
    std::set<hash128> algorithms_;          // of these kernels, however their images lie
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/lower/impl/schedule_table.ipp>
#endif
