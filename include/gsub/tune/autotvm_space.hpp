// autotvm_space: the config spaces of AutoTVM's templates for x86 processors, and what their points are in ours.
//
//     descriptor ── of ──► autotvm_space ─┬─ task, space: as AutoTVM's logs name and number them
//                                         └─ ours, theirs: points that compute with the same tiles
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/kernels/descriptor.hpp>
#include <gsub/loop/config_space.hpp>
#include <gsub/target/isa.hpp>
#include <gsub/tune/database.hpp>
#include <gsub/tune/kernel_record.hpp>
#include <gsub/tune/record.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::tune {

/// Template of AutoTVM for x86 processors. It has none for Winograd convolutions, groups, images of three dimensions,
/// or kernels that are neither convolutions nor products.
enum class autotvm_template : std::uint8_t { conv2d, depthwise, dense_nopack, dense_pack, batch_matmul };
/// Name of a template in logs: `conv2d_NCHWc.x86`.
GSUB_LAZY [[nodiscard]] std::string_view to_string(autotvm_template t) noexcept;

/// Config space of a kernel in a template of AutoTVM, and its points in the kernel's own space (`kernels::space_of`).
///
///     conv2d         tile_ic tile_oc tile_ow, and tile_oh of 1x1 kernels or unroll_kw of others
///     depthwise      tile_ic tile_oc tile_ow unroll_kw
///     dense_nopack   tile_y tile_x tile_k
///     dense_pack     tile_y tile_x tile_k tile_inner
///     batch_matmul   tile_y tile_x tile_k
///
/// A point and its configuration have the same tile of results in registers and the same block of the reduction in the
/// innermost loop: l lanes of a vector times `tile_oc` are AutoTVM's inner `tile_oc`, `tile_ow` is its inner one,
/// `unroll_ic` the inner `tile_ic`, and for products `tile_m`, l times `tile_n` and `unroll_k` the inner `tile_y`,
/// `tile_x` and `tile_k`. The maps are one-to-one, so a point has no configuration where it has more than that: taps of
/// a row that are not unrolled; a block that is no whole number of vectors, or of more input channels than a vector
/// has; several vectors of channels of a depthwise kernel; two levels of tiles of a packed product. A configuration has
/// no point where it stores sums (`tile_ic`, `tile_k` above 0), shares rows of taps, lets channels vary fastest, or
/// cuts positions for threads otherwise. Two kernels of equal tiles still differ: `dense_nopack` and `batch_matmul`
/// sum vectors of the reduction, where ours hold columns; rows of 1x1 kernels that ours join are cut without regard to
/// their ends. *Source* AutoTVM, TVM v0.9, x86.
class autotvm_space {
public:
    /// The spaces of a kernel: none, one, or for a product with a constant operand two, `dense_nopack` first.
    /// *Requires* a shape that has a kernel. *Complexity* O(values of all knobs).
    GSUB_LAZY [[nodiscard]] static std::vector<autotvm_space> of(kernels::descriptor const& d, isa const& isa);

    [[nodiscard]] autotvm_template what() const noexcept { return what_; }
    /// Task and arguments of AutoTVM's logs. What is fused behind the kernel is no part of them.
    [[nodiscard]] task_name const& task() const noexcept { return task_; }
    /// Its points are numbered as AutoTVM's, but for `tile_ow` of conv2d, of policy `verbose`.
    [[nodiscard]] loop::config_space const& space() const noexcept { return *space_; }

    /// The configuration of our kernel with the tiles of a point; nothing where there is none, or the space does not
    /// allow it. It points to the space, which must outlive it. *Requires* a point of `space()`, and the space of the
    /// descriptor and the instruction set. *Errors* throws `error` (`usage`) for a space that lacks a knob.
    GSUB_LAZY [[nodiscard]] std::optional<loop::configuration> ours(loop::configuration const& point,
                                                                    loop::config_space const& space) const;
    /// The point that `ours` maps to a configuration; nothing where there is none. Lives no longer than `space()`.
    GSUB_LAZY [[nodiscard]] std::optional<loop::configuration> theirs(loop::configuration const& ours) const;
    /// The configuration of our kernel with a point's tile of results alone: that of the point, else of a point like
    /// it with one level of tiles, unrolled taps, and as great a block of the reduction as has one. Not one-to-one.
    GSUB_LAZY [[nodiscard]] std::optional<loop::configuration> nearest(loop::configuration const& point,
                                                                       loop::config_space const& space) const;
    /// The configuration nearest to what a record of AutoTVM measured. *Errors* `invalid_input` for a record of another
    /// task, and those of `configuration_of`; `unsupported` where our template has no kernel with its tile of results.
    GSUB_LAZY [[nodiscard]] result<loop::configuration> recorded(record const& r,
                                                                 loop::config_space const& space) const;

private:
    autotvm_space() = default;
    GSUB_LAZY [[nodiscard]] static autotvm_space of_conv2d(kernels::conv2d_shape const& s, isa const& isa);
    GSUB_LAZY [[nodiscard]] static autotvm_space of_matmul(kernels::matmul_shape const& s, autotvm_template what,
                                                           isa const& isa);
    GSUB_LAZY [[nodiscard]] std::optional<kernels::conv2d_config> conv2d_of(loop::configuration const& point,
                                                                            loop::config_space const& space) const;
    GSUB_LAZY [[nodiscard]] std::optional<kernels::matmul_config> matmul_of(loop::configuration const& point,
                                                                            loop::config_space const& space) const;
    GSUB_LAZY [[nodiscard]] loop::configuration simplified(loop::configuration point) const;
    GSUB_LAZY void set_conv2d(loop::configuration& point, kernels::conv2d_config const& c) const;
    GSUB_LAZY void set_matmul(loop::configuration& point, kernels::matmul_config const& c) const;
    [[nodiscard]] bool is_matmul() const noexcept { return what_ >= autotvm_template::dense_nopack; }

    autotvm_template what_ = autotvm_template::conv2d;
    task_name task_{};
    std::shared_ptr<loop::config_space const> space_{};
    std::int64_t lanes_ = 1, columns_ = 1;  ///< of a vector; of a row of results
    bool one_tap_ = false, joined_ = false; ///< a kernel of 1x1; rows that our template joins
};

/// The configuration of a kernel by the cheapest of AutoTVM's records on a target, as TVM writes it, that our template
/// has a kernel for; nothing where there is none. For `build_options::schedules`, through `schedule_function`.
/// *Complexity* O(records of the task).
GSUB_LAZY [[nodiscard]] std::optional<loop::configuration>
recorded_by_autotvm(database const& records, std::string_view target, kernels::descriptor const& d, isa const& isa,
                    loop::config_space const& space);

} // namespace gsub::tune

#ifndef GSUB_COMPILED
#include <gsub/tune/impl/autotvm_space.ipp>
#endif
