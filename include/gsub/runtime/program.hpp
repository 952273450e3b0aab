// program: values, the steps that compute them, and sources: an executable before its kernels are loaded.
#pragma once

#include <gsub/core/executor.hpp>
#include <gsub/core/hash.hpp>
#include <gsub/core/interface.hpp>
#include <gsub/core/strong.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/ir/graph.hpp>
#include <gsub/ir/types/tensor.hpp>
#include <gsub/kernels/descriptor.hpp>
#include <gsub/runtime/compiler/jit.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace gsub {
struct isa;
namespace codegen {
struct kernel;
}
} // namespace gsub

namespace gsub::runtime {

// ---- values

/// Device number of a program; 0 is the host's CPU. Nothing runs on any other one as yet.
using device_id = strong_id<struct device_tag>;
inline constexpr device_id host_cpu{0};

/// Memory role of a value: whose memory it lies in, and what may be done with it.
enum class memory_role : std::uint8_t {
    temporary, ///< in the arena of a run
    constant,  ///< with the program
    input,     ///< the caller's memory, read
    output,    ///< the caller's memory, written
};

/// Memory space of a value of a program.
struct memory_space {
    device_id device = host_cpu;
    memory_role role = memory_role::temporary;
    friend constexpr bool operator==(memory_space, memory_space) = default;
};
[[nodiscard]] constexpr memory_space on_host(memory_role role) noexcept {
    return {host_cpu, role};
}

struct program_value {
    memory_space where{};
    std::size_t size = 0;      ///< in bytes; 0 where `open`
    std::size_t position = 0;  ///< of an input or output in the signature
    tensor data{};             ///< of a constant
    std::int32_t part_of = -1; ///< the value that this one is a piece of, which is none itself; its space counts
    std::size_t offset = 0;    ///< of the piece, in bytes
    bool open = false;         ///< data decide its sizes: a run makes it, and calls of the evaluator alone read it
};

// ---- kernels

/// A generated kernel. Calls share those of equal text.
struct program_kernel {
    kernel_source source{};
    std::shared_ptr<codegen::kernel const> ir{}; ///< what the text was made of; null for a text from elsewhere
};

/// Emitter of kernels in memory: gives the function of a kernel, or `unsupported` for one that the compiler takes.
using kernel_emitter = result<loaded_kernel> (*)(codegen::kernel const& k, isa const& isa);

/// Kernel sources, in order, as `load_kernels` takes them.
GSUB_LAZY [[nodiscard]] std::vector<kernel_source> sources_of(std::span<program_kernel const> kernels);

/// Launch shape: the range that a kernel is called over. On a CPU it is one loop, cut into work items; the grid and
/// block of a device that has them belong here.
struct launch_shape {
    std::int64_t positions = 1;
};

// ---- steps

/// A call of a generated kernel.
struct kernel_call {
    std::int32_t kernel = 0; ///< number in `program::kernels`
    launch_shape launch{};
    std::size_t workspace = 0; ///< bytes that a thread lends the kernel, as one buffer after the step's values
    /// Whether the last value is an i32 status that the kernel sets to 1 where an integer chooses what is not there: it
    /// is zero before, and a run that sets it is an error.
    bool checks = false;
    /// Descriptor of this call: kernels of equal text may compute different things. Nothing for a text from elsewhere.
    std::optional<kernels::descriptor> computes{};
};

/// Strided copy: `size` bytes, `times` over, from places of one value that are a step apart to such places of another.
struct strided_move {
    std::size_t from = 0; ///< number among the values of the step
    std::size_t from_at = 0, from_step = 0;
    std::size_t to = 0; ///< the same
    std::size_t to_at = 0, to_step = 0;
    std::size_t size = 0; ///< each time
};

/// Copy between values of the step. *Requires* moves within their values that write no byte twice, nor one that is
/// read.
struct copy_call {
    std::int64_t times = 1;
    std::vector<strided_move> moves{};

    /// Bytes that all moves read together; as many are written.
    [[nodiscard]] std::size_t bytes() const noexcept {
        std::size_t each = 0;
        for (auto const& m : moves) each += m.size;
        return each * static_cast<std::size_t>(times);
    }
};
/// Copy of `size` bytes from the first value of a step to its second one.
[[nodiscard]] inline copy_call copy_of(std::size_t size) {
    return {1, {{.from = 0, .to = 1, .size = size}}};
}
/// Copy of `size` bytes, the first value of a step, to its second one, so many times one after another.
[[nodiscard]] inline copy_call repeated_copy(std::size_t size, std::size_t times) {
    return {static_cast<std::int64_t>(times), {{.from = 0, .to = 1, .to_step = size, .size = size}}};
}
/// Concatenation of the first values of a step in the one behind them: each time so many bytes of each in turn.
GSUB_LAZY [[nodiscard]] copy_call concat_of(std::int64_t times, std::span<std::size_t const> sizes);

/// Host op: work of a step that is no generated kernel.
class host_op : public interface {
public:
    /// Runs the op on the values of the step. *Errors* throws `error`.
    virtual void run(std::span<void* const> values, executor& threads) const = 0;
};

/// Call of a kernel of the application.
struct external_call {
    std::string op{}; ///< qualified, e.g. `app.Swish`
    std::shared_ptr<host_op const> host{};
};

/// Call of the reference evaluator on a graph: its inputs are the first values of the step, its outputs the last. It
/// alone takes and makes values whose sizes data decide.
struct reference_call {
    any_graph graph;
    eval_table evaluators{};                            ///< outlives the program
    std::shared_ptr<branch_functions const> branches{}; ///< what an `If` runs; null where the graph has none
};
/// Names of the graph's operators in its order, e.g. `Softmax`, `Add+Relu`.
GSUB_LAZY [[nodiscard]] std::string operators_of(reference_call const& c);

/// Step of a program: a call of a kernel, a copy, a call of the application or of the evaluator.
struct program_step {
    std::string name{}; ///< of the graph's node or nodes, for reports
    std::variant<kernel_call, copy_call, external_call, reference_call> what{};
    std::vector<std::int32_t> values{}; ///< in the order of the kernel's buffers, those that are written last
    double operations = 0;              ///< floating-point
};

/// Kind of a step in words for reports: those of a kernel's descriptor; `concat` and `copy`; `extern app.Swish`;
/// `reference Softmax`; `kernel` for a text from elsewhere. Nothing parses them.
GSUB_LAZY [[nodiscard]] std::string kind_of(program_step const& s);

/// Program: values, kernels, and steps in the order in which they run.
struct program {
    std::vector<program_value> values;
    std::vector<program_step> steps;
    std::vector<program_kernel> kernels;
    std::vector<tensor_type> inputs;  ///< static
    std::vector<tensor_type> outputs; ///< static, but for sizes that data decide
    std::vector<std::string> input_names, output_names;
};

/// Hash of what a program does and where values lie: kernels' texts, steps, sizes and places. Neither names nor the
/// numbers in weights count, so that two programs of one hash are the same code. *Complexity* linear in the texts.
GSUB_LAZY [[nodiscard]] hash128 hash_of(program const& p);

/// The number of the value in whose storage a value lies: its own, or that of the one it is a piece of.
[[nodiscard]] inline std::size_t whole_of(program const& p, std::int32_t value) noexcept {
    auto const part_of = p.values[static_cast<std::size_t>(value)].part_of;
    return static_cast<std::size_t>(part_of < 0 ? value : part_of);
}

/// Bytes, read and written together, that are worth waking other threads for.
inline constexpr std::size_t bytes_worth_threads = std::size_t{1} << 18;
/// Whether a kernel's work is worth waking other threads for: its operations, or the bytes that it moves.
[[nodiscard]] inline bool worth_threads(kernels::descriptor const* computes, double operations) noexcept {
    auto const moves = [](std::int64_t elements, dtype t) {
        return 2 * static_cast<std::size_t>(elements) * byte_size(t) >= bytes_worth_threads;
    };
    if (auto const* const moved = computes ? std::get_if<kernels::movement_shape>(computes) : nullptr)
        return moves(moved->target.elements, moved->element);
    if (auto const* const scatter = computes ? std::get_if<kernels::scatter_shape>(computes) : nullptr)
        return moves(scatter->elements(), scatter->element);
    return operations >= 2e5;
}
/// Whether a step's work is worth waking other threads for.
[[nodiscard]] inline bool worth_threads(program_step const& s) noexcept {
    if (auto const* const copy = std::get_if<copy_call>(&s.what)) return 2 * copy->bytes() >= bytes_worth_threads;
    auto const* const call = std::get_if<kernel_call>(&s.what);
    return worth_threads(call && call->computes ? &*call->computes : nullptr, s.operations);
}

// ---- memory

/// Arena plan: where the temporaries of a program lie.
struct arena_plan {
    std::vector<std::size_t> offsets{}; ///< of each value that is no piece of another, in bytes; 0 outside of the arena
    std::size_t size = 0;               ///< of the arena, in bytes
};

/// Plans the arena: places the temporaries by the steps that use them. Whatever runs a program, here or elsewhere, uses
/// these places. *Complexity* as `plan_memory`.
GSUB_LAZY [[nodiscard]] arena_plan plan_arena(program const& p);

} // namespace gsub::runtime

#ifndef GSUB_COMPILED
#include <gsub/runtime/impl/program.ipp>
#endif
