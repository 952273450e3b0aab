// Assembled times: a source of kernel times that compiles kernels for a machine, which need not be this one, and
// predicts them from their assembly.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/cost/kernel_time.hpp>
#include <gsub/machine/assembly.hpp>
#include <gsub/runtime/compiler/assembly_text.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gsub::cost {

/// Options of `assembled_times`.
struct assembled_options {
    std::size_t batch = 8; ///< kernels that one run of the compiler is given at most; at least 1
    runtime::assembly_options compiling{};
};

/// What assembled times have come to.
struct assembled_statistics {
    std::size_t predicted = 0; ///< kernels, by their assembly
    std::size_t guessed = 0;   ///< of these: with a loop that was not mapped, or a warning
    std::size_t refused = 0;   ///< that there is no time for
    std::size_t runs = 0;      ///< of the compiler
    std::size_t unknown = 0;   ///< lines with a mnemonic that the tables lack
    /// The first ten reasons why a kernel was refused or something guessed, with the lines of the assembly.
    std::vector<std::string> notes{};
};

/// Source of assembled times: emits the C++ of kernels, has a compiler make assembly of it, and takes
/// `assembled_time_of`. Kernels of which `prepare` has told are compiled together, several runs at a time; what was
/// compiled is kept until it is asked for. Deterministic for a compiler: the same kernel has the same time in any
/// company. *Errors* `unsupported` of `time_of`: what the compiler refuses or does not finish in time, those of
/// `parse_assembly` and `assembled_time_of`. *Complexity* some hundred milliseconds of a compiler a kernel.
class assembled_times final : public kernel_time_source {
public:
    explicit assembled_times(runtime::compiler with, assembled_options options = {})
        : with_(std::move(with)), options_(std::move(options)) {}

    [[nodiscard]] result<kernel_time> time_of(codegen::kernel const& k, isa const& isa, microarchitecture const& core,
                                              kernel_setting const& setting) override;
    void prepare(std::span<codegen::kernel const> kernels, isa const& isa, executor& threads) override;

    [[nodiscard]] runtime::compiler const& with() const noexcept { return with_; }
    [[nodiscard]] assembled_statistics statistics() const;

private:
    struct wanted { // a kernel that is to be compiled
        hash128 key;
        runtime::kernel_source source;
    };
    struct compiled { // a function, or why there is none
        std::shared_ptr<machine::assembly_function const> function{};
        std::string fault{};
    };
    static constexpr std::size_t kept = 256; // functions that were prepared and not asked for

    static wanted wanted_of(codegen::kernel const& k, isa const& isa);
    void compile(std::span<wanted const> batch, isa const& isa);
    std::optional<compiled> take(hash128 key);
    void note(std::string text);

    runtime::compiler with_;
    assembled_options options_;
    mutable std::mutex mutex_;
    std::map<hash128, compiled> compiled_;
    assembled_statistics statistics_;
};

/// The kernel time model of such a source, for `lowered_options::model`.
[[nodiscard]] inline kernel_time_model assembled_cycles(std::shared_ptr<assembled_times> source) {
    return {"assembled", nullptr, std::move(source)};
}

} // namespace gsub::cost

#ifndef GSUB_COMPILED
#include <gsub/cost/impl/assembled_times.ipp>
#endif
