// arithmetic_writer: how instructions of a kernel compute, accumulate and reduce in C++.
#pragma once

#include <gsub/codegen/cpp/typed_functions.hpp>
#include <gsub/codegen/impl/indented_text.hpp>
#include <gsub/codegen/ir/kernel_ir.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::codegen::detail {

/// Whether vectors of f32 have a text of their own for an operation.
GSUB_LAZY [[nodiscard]] bool is_f32_function(loop::scalar_op op);

/// Writes arithmetic on vectors of f32, which has operators where C++ has them.
class f32_arithmetic {
public:
    f32_arithmetic(kernel const& k, indented_text& text) : lanes_(k.lanes), text_(text) {}

    GSUB_LAZY void compute(instruction const& i);
    GSUB_LAZY void multiply_add(instruction const& i);
    GSUB_LAZY void accumulate(instruction const& i);
    GSUB_LAZY void reduce(instruction const& i);

private:
    std::int32_t lanes_;
    indented_text& text_;
};

/// Writes arithmetic on vectors of any element type, by functions. Scalars become vectors before anything is computed
/// of them: C++ would promote them.
class typed_arithmetic {
public:
    typed_arithmetic(kernel const& k, indented_text& text, typed_functions& functions)
        : lanes_(k.lanes),
          text_(text),
          functions_(functions),
          types_(static_cast<std::size_t>(k.registers), dtype::f32) {}

    /// Notes the type of a register before what reads it is written.
    void set_type(reg r, dtype t) { types_[static_cast<std::size_t>(r)] = t; }

    GSUB_LAZY void compute(instruction const& i);
    GSUB_LAZY void multiply_add(instruction const& i);
    GSUB_LAZY void accumulate(instruction const& i);
    GSUB_LAZY void reduce(instruction const& i);

private:
    [[nodiscard]] dtype type_of(reg r) const { return types_[static_cast<std::size_t>(r)]; }
    GSUB_LAZY [[nodiscard]] std::string function(instruction const& i);
    GSUB_LAZY [[nodiscard]] std::string combination(instruction const& i);
    GSUB_LAZY void step(instruction const& i, std::string_view value);

    std::int32_t lanes_;
    indented_text& text_;
    typed_functions& functions_;
    std::vector<dtype> types_; // of registers
};

} // namespace gsub::codegen::detail

#ifndef GSUB_COMPILED
#include <gsub/codegen/cpp/impl/arithmetic_writer.ipp>
#endif
