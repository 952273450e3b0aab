// What an executable consists of before its kernels are loaded: values, the steps that compute them, and the sources.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/ir/tensor.hpp>
#include <gsub/runtime/jit.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gsub::runtime {

/// Where a value of a program is stored.
enum class residence : std::uint8_t {
    temporary, ///< in the arena of a run
    constant,  ///< with the program
    input,     ///< the caller's memory, read
    output,    ///< the caller's memory, written
};

struct program_value {
    residence where = residence::temporary;
    std::size_t size = 0;      ///< in bytes
    std::size_t position = 0;  ///< of an input or output in the signature
    tensor data{};             ///< of a constant
    std::int32_t part_of = -1; ///< the value that this one is a piece of, which is none itself; its residence counts
    std::size_t offset = 0;    ///< of the piece, in bytes
};

/// What a step does as a text: called as kernels are, it needs nothing of gsub.
struct step_source {
    kernel_source code{};
    std::int64_t positions = 1; ///< of its parallel loop
    bool checks = false;        ///< has one more buffer, an `int` that becomes 1 where an input is invalid
};

/// Work of a step that is no generated kernel.
class host_step {
public:
    host_step() = default;
    host_step(host_step const&) = delete;
    host_step& operator=(host_step const&) = delete;
    virtual ~host_step() = default;
    /// `values` are those of the step. *Errors* throws `error`.
    virtual void run(std::span<void* const> values, executor& threads) const = 0;
    /// The same work, bit for bit, for programs without gsub; nothing where it cannot be told so.
    [[nodiscard]] virtual std::optional<step_source> source() const { return std::nullopt; }
};

/// One kernel call.
struct program_step {
    std::string name{};         ///< of the graph's node or nodes, for reports
    std::string kind{};         ///< e.g. `conv2d`, `reference Softmax`
    std::int32_t kernel = -1;   ///< number of its source; -1: `host`
    std::int64_t positions = 1; ///< of the kernel's parallel loop
    std::shared_ptr<host_step const> host{};
    std::vector<std::int32_t> values{}; ///< in the order of the kernel's buffers, those that are written last
    std::size_t scratch = 0;            ///< bytes that a thread lends the kernel, as one buffer after `values`
    double operations = 0;              ///< floating-point
};

/// Steps in the order in which they run.
struct program {
    std::vector<program_value> values;
    std::vector<program_step> steps;
    std::vector<kernel_source> kernels;
    std::vector<tensor_type> inputs, outputs; ///< static types
    std::vector<std::string> input_names, output_names;
};

/// The number of the value in whose storage a value lies: its own, or that of the one it is a piece of.
[[nodiscard]] inline std::size_t whole_of(program const& p, std::int32_t value) noexcept {
    auto const part_of = p.values[static_cast<std::size_t>(value)].part_of;
    return static_cast<std::size_t>(part_of < 0 ? value : part_of);
}

/// Whether a kernel's work is worth waking other threads for.
[[nodiscard]] inline bool worth_threads(program_step const& s) noexcept {
    return s.operations >= 2e5;
}

/// Where the temporaries of a program lie.
struct arena_plan {
    std::vector<std::size_t> offsets{}; ///< of each value that is no piece of another, in bytes; 0 outside of the arena
    std::size_t size = 0;               ///< of the arena, in bytes
};

/// Places the temporaries by the steps that use them: what runs a program, here or elsewhere, uses these places.
/// *Complexity* as `plan_memory`.
GSUB_LAZY [[nodiscard]] arena_plan plan_arena(program const& p);

/// Copies a tensor `[N, C, ...]` into blocks of channels `[N, C/l, ..., l]`, filled up with zeros, or back.
GSUB_LAZY [[nodiscard]] std::shared_ptr<host_step const> make_blocking_step(std::span<std::int64_t const> dims,
                                                                            std::int64_t lanes, bool to_blocks);
/// Copies so many bytes.
GSUB_LAZY [[nodiscard]] std::shared_ptr<host_step const> make_copy_step(std::size_t size);
/// Joins arrays: each time so many bytes of each, one after the other.
GSUB_LAZY [[nodiscard]] std::shared_ptr<host_step const> make_join_step(std::size_t times,
                                                                        std::vector<std::size_t> sizes);
/// Entries along an axis of `[outer, size, inner]`, so many bytes each, chosen by `count` integers, i32 or i64;
/// negative ones count from the end. *Errors* of a run: `invalid_input` for one that is out of range.
GSUB_LAZY [[nodiscard]] std::shared_ptr<host_step const>
make_gather_step(std::size_t outer, std::int64_t size, std::size_t inner, std::size_t count, dtype integers);
/// Computes a graph on the reference runtime: its inputs are the first values of the step, its outputs the last. It has
/// a text where the graph is one operator that moves or converts elements: views, Transpose, Slice, Pad, Split, Concat,
/// Gather, Cast, ConstantOfShape, Shape.
GSUB_LAZY [[nodiscard]] std::shared_ptr<host_step const> make_reference_step(any_graph g,
                                                                             std::span<eval_row const> meaning);

} // namespace gsub::runtime

#ifndef GSUB_COMPILED
#include <gsub/runtime/impl/cast_source.ipp>
#include <gsub/runtime/impl/operator_source.ipp>
#include <gsub/runtime/impl/program.ipp>
#include <gsub/runtime/impl/step_source.ipp>
#endif
