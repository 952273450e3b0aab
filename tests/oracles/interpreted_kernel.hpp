// Runs kernel IR in double, checking each access: what generated code must do, without a compiler.
#pragma once

#include "oracles/interpret.hpp"
#include <gsub/codegen/ir/kernel_ir.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace interpreted_kernel {

using namespace gsub;
using codegen::kernel;
using codegen::opcode;

/// One run over a range of the parallel loop. Throws `std::logic_error` for an access out of bounds, a write to an
/// input, or a variable or register that has no value.
class machine {
public:
    machine(kernel const& k, interpret::arrays& data)
        : k_(k),
          data_(data),
          values_(k.names.size(), 0),
          defined_(k.names.size(), false),
          registers_(static_cast<std::size_t>(k.registers)),
          written_(data.size()) {
        for (std::size_t b = 0; b < data.size(); ++b) written_[b].assign(data[b].size(), 0);
    }
    void run(std::int64_t begin, std::int64_t end) {
        begin_ = begin, end_ = end;
        run(k_.body);
    }
    /// How often each element of a buffer was stored.
    [[nodiscard]] std::vector<int> const& written(std::size_t buffer) const { return written_.at(buffer); }

private:
    using vector = std::vector<double>;

    static void require(bool what, char const* sentence) {
        if (!what) throw std::logic_error{sentence};
    }
    [[nodiscard]] std::int64_t at(codegen::affine const& a) const {
        for (auto const& t : a.terms()) require(defined_.at(static_cast<std::size_t>(t.of)), "a variable has no value");
        return interpret::at(a, values_);
    }
    [[nodiscard]] std::int64_t at(codegen::limit const& l) const {
        auto const v = at(l.value), q = v / l.divisor;
        return q + (v % l.divisor > 0);
    }
    [[nodiscard]] vector& value(codegen::reg r) {
        auto& v = registers_.at(static_cast<std::size_t>(r));
        require(!v.empty(), "a register has no value");
        return v;
    }

    void run(std::vector<codegen::statement> const& statements);
    void set(codegen::variable v, std::int64_t to) {
        values_.at(static_cast<std::size_t>(v)) = to;
        defined_.at(static_cast<std::size_t>(v)) = true;
    }

    void run(codegen::instruction const& i);

    kernel const& k_;
    interpret::arrays& data_;
    interpret::positions values_;
    std::vector<bool> defined_;
    std::vector<vector> registers_;
    std::vector<dtype> types_;
    std::vector<std::vector<int>> written_;
    std::int64_t begin_ = 0, end_ = 0;
};

/// What differs between a kernel and an expression on the same inputs; empty where nothing does.
std::string difference(kernel const& k, loop::tensor_expression const& what, std::uint64_t seed);

} // namespace interpreted_kernel
