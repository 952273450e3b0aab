// loop_unroller: loop unrolling: short loops become the turns that they have.
#pragma once

#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/codegen/x86/impl/turn_writer.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace gsub::codegen::detail {

/// Unrolls the innermost loops of a kernel of few turns, as far as code stays small. Registers that a turn defines have
/// a name of their own in each. Longer loops stay as they are: processors that foresee what an instruction reads next
/// do so the better the fewer instructions read a stream.
template <class = void>
class loop_unroller {
public:
    static constexpr std::int64_t most_turns = 16, most_instructions = 160; ///< of the turns together

    explicit loop_unroller(kernel made) : made_(std::move(made)) {}

    kernel run() {
        made_.body = unrolled(std::move(made_.body));
        made_.fallback = unrolled(std::move(made_.fallback));
        return std::move(made_);
    }

    /// Whether `run` unrolled a loop.
    [[nodiscard]] bool has_unrolled() const noexcept { return has_unrolled_; }

private:
    using list = std::vector<statement>;

    list unrolled(list statements) {
        list out;
        for (auto& s : statements) {
            s.body = unrolled(std::move(s.body));
            s.otherwise = unrolled(std::move(s.otherwise));
            auto const turns = turns_of(s, made_.parallel);
            if (turns < 2 || has_loop(s.body) || multiplies(s.body) || !gains(s.body)) {
                out.push_back(std::move(s));
                continue;
            }
            if (turns <= most_turns && turns * size_of(s.body) <= most_instructions) {
                has_unrolled_ = true;
                turn_writer<>{made_}.write(s.body, s.var, affine{number_of(s.begin, 0)}, turns, out);
                continue;
            }
            out.push_back(std::move(s));
        }
        return out;
    }
    // Schedules say how many turns of a product are written: more of them share more than registers hold.
    static bool multiplies(list const& statements) {
        return std::any_of(statements.begin(), statements.end(), [](auto const& s) {
            return multiplies(s.body) || multiplies(s.otherwise) ||
                   std::any_of(s.code.begin(), s.code.end(),
                               [](auto const& i) { return i.op == opcode::multiply_add; });
        });
    }
    // Turns that decide nothing and store nothing only read a stream.
    static bool gains(list const& statements) {
        return std::any_of(statements.begin(), statements.end(), [](auto const& s) {
            return s.kind != statement_kind::block || std::any_of(s.code.begin(), s.code.end(), [](auto const& i) {
                       return i.op == opcode::store || !i.predicate.empty();
                   });
        });
    }
    static bool has_loop(list const& statements) {
        return std::any_of(statements.begin(), statements.end(), [](auto const& s) {
            return s.kind == statement_kind::loop || s.kind == statement_kind::guard || has_loop(s.body) ||
                   has_loop(s.otherwise);
        });
    }
    kernel made_;
    bool has_unrolled_ = false;
};

} // namespace gsub::codegen::detail
