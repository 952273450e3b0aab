// block_writer: blocks of a kernel as C++, one instruction after another.
#pragma once

#include <gsub/codegen/cpp/impl/arithmetic_writer.hpp>
#include <gsub/codegen/cpp/impl/memory_writer.hpp>
#include <gsub/codegen/cpp/typed_functions.hpp>
#include <gsub/codegen/impl/indented_text.hpp>
#include <gsub/codegen/ir/kernel_ir.hpp>

#include <string>
#include <vector>

namespace gsub::codegen::detail {

/// Writes blocks, and knows what functions they call.
class block_writer {
public:
    block_writer(kernel const& k, indented_text& text)
        : text_(text), functions_(k.lanes), memory_(k, text, functions_), f32_(k, text), typed_(k, text, functions_) {}

    GSUB_LAZY void write(std::vector<instruction> const& code);
    /// Writes the definition of a chosen index.
    GSUB_LAZY void choose(statement const& n);
    /// Text of types and functions of other elements than f32; empty where none was written.
    GSUB_LAZY [[nodiscard]] std::string functions() const;

private:
    GSUB_LAZY void write(instruction const& i);
    template <class Arithmetic>
    static void compute(Arithmetic& by, instruction const& i);

    indented_text& text_;
    typed_functions functions_;
    memory_writer memory_;
    f32_arithmetic f32_;
    typed_arithmetic typed_;
    bool has_typed_ = false;
};

} // namespace gsub::codegen::detail

#ifndef GSUB_COMPILED
#include <gsub/codegen/cpp/impl/block_writer.ipp>
#endif
