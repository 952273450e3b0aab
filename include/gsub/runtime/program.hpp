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

/// Work of a step that is no generated kernel.
class host_step {
public:
    host_step() = default;
    host_step(host_step const&) = delete;
    host_step& operator=(host_step const&) = delete;
    virtual ~host_step() = default;
    /// `values` are those of the step. *Errors* throws `error`.
    virtual void run(std::span<void* const> values, executor& threads) const = 0;
};

/// One kernel call.
struct program_step {
    std::string name{};         ///< of the graph's node or nodes, for reports
    std::string kind{};         ///< e.g. `conv2d`, `reference Softmax`
    std::int32_t kernel = -1;   ///< number of its source; -1: `host`
    std::int64_t positions = 1; ///< of the kernel's parallel loop
    std::shared_ptr<host_step const> host{};
    std::vector<std::int32_t> values{}; ///< in the order of the kernel's buffers, those that are written last
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

/// Copies a tensor `[N, C, ...]` into blocks of channels `[N, C/l, ..., l]`, filled up with zeros, or back.
[[nodiscard]] std::shared_ptr<host_step const> make_blocking_step(std::span<std::int64_t const> dims,
                                                                  std::int64_t lanes, bool to_blocks);
/// Copies so many bytes.
[[nodiscard]] std::shared_ptr<host_step const> make_copy_step(std::size_t size);
/// Joins arrays: each time so many bytes of each, one after the other.
[[nodiscard]] std::shared_ptr<host_step const> make_join_step(std::size_t times, std::vector<std::size_t> sizes);
/// Computes a graph on the reference runtime: its inputs are the first values of the step, its outputs the last.
[[nodiscard]] std::shared_ptr<host_step const> make_reference_step(any_graph g, std::span<eval_row const> meaning);

} // namespace gsub::runtime

#ifndef GSUB_COMPILED
#include <gsub/runtime/impl/program.ipp>
#endif
