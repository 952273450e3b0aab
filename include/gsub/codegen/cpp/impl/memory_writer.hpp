// memory_writer: how instructions of a kernel read and write buffers in C++.
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

/// Writes loads and stores. Blocks address memory by pointers to the part that varies, with numbers added: what
/// compilers fold into the instruction. Where a condition does not hold nothing is read, and the value is a number.
class memory_writer {
public:
    /// Vectors of f32 have functions of their own; those of any type are `typed`.
    enum class functions_of { f32, typed };

    memory_writer(kernel const& k, indented_text& text, typed_functions& functions)
        : k_(k), text_(text), functions_(functions) {}

    /// Begins a block, which declares its own pointers.
    void begin_block() { pointers_.clear(), lanes_read_.clear(); }

    GSUB_LAZY void load(instruction const& i, functions_of which);
    GSUB_LAZY void broadcast(instruction const& i, functions_of which);
    GSUB_LAZY void store(instruction const& i, functions_of which);
    GSUB_LAZY void choose(instruction const& i);
    GSUB_LAZY void choose(statement const& n);
    GSUB_LAZY void gather(instruction const& i);

    /// Loads from `code[first]` on with one stride that begin one element after another: as many vectors as they have
    /// lanes are read, and exchanged in registers. Marks them as written; false where there are none.
    GSUB_LAZY bool transposed_loads(std::vector<instruction> const& code, std::size_t first,
                                    std::vector<char>& written);

    /// A broadcast from `code[at]` on, one of as many as a register has lanes that read one element after another:
    /// where a product takes a lane (`lane_operands`), they are read as one vector. False where it stands alone.
    GSUB_LAZY bool lane_broadcast(std::vector<instruction> const& code, std::size_t at);

private:
    struct pointer {
        std::int32_t buffer;
        affine offset;
        int id;
    };

    [[nodiscard]] loop::buffer const& buffer_of(instruction const& i) const {
        return k_.buffers[static_cast<std::size_t>(i.buffer)];
    }
    GSUB_LAZY void define_guarded(instruction const& i, std::string const& value, std::string_view outside);
    GSUB_LAZY [[nodiscard]] std::string vector_of(instruction const& i, functions_of which);
    GSUB_LAZY [[nodiscard]] std::string ordered_lanes(instruction const& i);
    GSUB_LAZY [[nodiscard]] std::string shuffled_vectors(instruction const& i);
    GSUB_LAZY [[nodiscard]] bool reads_whole_vectors(instruction const& i) const;
    GSUB_LAZY [[nodiscard]] std::string place_of(instruction const& i, std::int64_t further = 0);
    GSUB_LAZY [[nodiscard]] std::string place_in_first_entry(std::int32_t buffer, affine const& offset);

    kernel const& k_;
    indented_text& text_;
    typed_functions& functions_;
    struct lane_read {
        std::size_t at; // of the broadcast
        int vector;
        std::int32_t lane;
    };

    std::vector<pointer> pointers_;     // of the block
    std::vector<lane_read> lanes_read_; // those of the block that are lanes of a vector which is read
    int next_pointer_ = 0, next_tile_ = 0, next_vector_ = 0;
};

} // namespace gsub::codegen::detail

#ifndef GSUB_COMPILED
#include <gsub/codegen/cpp/impl/memory_writer.ipp>
#endif
