// Machine instructions on random values, wherever these are: against what `machine_ir.hpp` says of each.
#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include "codegen/kernel_program.hpp"
#include <gsub/codegen/x86/emit_x86.hpp>
#include <gsub/codegen/x86/impl/scratch_registers.hpp>
#include <gsub/codegen/x86/impl/sse_scratch_registers.hpp>
#include <gsub/codegen/x86/impl/sse_temporaries.hpp>
#include <gsub/codegen/x86/impl/x86_encoder.hpp>
#include <gsub/core/random.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <unistd.h>
#include <vector>

namespace x86_encoder_test {

using namespace gsub;
using namespace gsub::codegen::detail;
using gsub::isa;

using lanes_of = std::array<float, 16>;

std::uint32_t bits(float x) {
    return std::bit_cast<std::uint32_t>(x);
}
float number(std::uint32_t b) {
    return std::bit_cast<float>(b);
}

// ---- what instructions say

struct semantics {
    std::int32_t lanes;
    bool fuses; // products are rounded with their sums

    float binary(lane_function f, float a, float b) const {
        switch (f) {
        case lane_function::add:
            return a + b;
        case lane_function::subtract:
            return a - b;
        case lane_function::multiply:
            return a * b;
        case lane_function::divide:
            return a / b;
        case lane_function::maximum:
            return a > b ? a : b;
        case lane_function::minimum:
            return a < b ? a : b;
        case lane_function::add_bits:
            return number(bits(a) + bits(b));
        case lane_function::subtract_bits:
            return number(bits(a) - bits(b));
        default:
            return number(bits(a) & bits(b));
        }
    }
    static float unary(lane_function f, float a, std::int64_t immediate) {
        switch (f) {
        case lane_function::square_root:
            return std::sqrt(a);
        case lane_function::negate:
            return number(bits(a) ^ 0x80000000u);
        case lane_function::absolute:
            return number(bits(a) & 0x7fffffffu);
        case lane_function::floor:
            return std::floor(a);
        case lane_function::round:
            return std::nearbyint(a);
        case lane_function::shift_left:
            return number(bits(a) << immediate);
        default:
            return static_cast<float>(static_cast<std::int32_t>(bits(a)));
        }
    }
    static bool holds(lane_function f, float x, std::int64_t immediate) {
        auto const than = number(static_cast<std::uint32_t>(immediate));
        return f == lane_function::less ? x < than : f == lane_function::greater ? x > than : x == than;
    }
    float product_sum(lane_function f, float a, float b, float c) const {
        if (f == lane_function::subtract) c = -c;
        if (f == lane_function::subtract_from) a = -a;
        auto const product = a * b; // a variable of its own: the compiler contracts within expressions alone
        return fuses ? std::fma(a, b, c) : product + c;
    }
    static float greatest(float a, float b) { return a != a || b != b ? a + b : std::max(a, b); }

    lanes_of unpacked(lane_function f, lanes_of const& a, lanes_of const& b) const {
        lanes_of out{};
        auto const pairs = f >= lane_function::unpack_low_pairs;
        auto const from = f == lane_function::unpack_low || f == lane_function::unpack_low_pairs ? 0u : 2u;
        for (std::size_t l = 0; l < static_cast<std::size_t>(lanes); ++l) {
            auto const of_second = pairs ? l % 4 >= 2 : l % 2 == 1;
            auto const at = l / 4 * 4 + from + (pairs ? l % 2 : l % 4 / 2);
            out[l] = (of_second ? b : a)[at];
        }
        return out;
    }
    void run(machine_instruction const& i, std::vector<lanes_of>& values) const {
        auto const operand = [&](int o) { return values[static_cast<std::size_t>(i.operands[o])]; };
        auto out = i.result >= 0 ? values[static_cast<std::size_t>(i.result)] : operand(0);
        auto const before = operand(0);
        if (i.op == machine_op::binary && i.function >= lane_function::unpack_low) {
            values[static_cast<std::size_t>(i.result)] = unpacked(i.function, before, operand(1));
            return;
        }
        for (std::size_t l = 0; l < static_cast<std::size_t>(lanes); ++l) switch (i.op) {
            case machine_op::copy:
                out[l] = before[l];
                break;
            case machine_op::binary:
                out[l] = binary(i.function, before[l], operand(1)[l]);
                break;
            case machine_op::unary:
                out[l] = unary(i.function, before[l], i.immediate);
                break;
            case machine_op::fused:
                out[l] = product_sum(i.function, before[l], operand(1)[l], operand(2)[l]);
                break;
            case machine_op::blend:
                out[l] = operand(holds(i.function, before[l], i.immediate) ? 2 : 1)[l];
                break;
            case machine_op::add_bits_unless:
                out[l] =
                    holds(i.function, before[l], i.immediate) ? 0 : number(bits(operand(1)[l]) + bits(operand(2)[l]));
                break;
            case machine_op::multiply_unless:
                out[l] = holds(i.function, before[l], i.immediate) ? operand(1)[l] : before[l] * operand(2)[l];
                break;
            case machine_op::multiply_add:
                if (l < static_cast<std::size_t>(i.lanes))
                    out[l] = product_sum(lane_function::add, operand(1)[l], operand(2)[l], before[l]);
                break;
            case machine_op::combine:
                if (l < static_cast<std::size_t>(i.lanes))
                    out[l] = i.function == lane_function::add ? before[l] + operand(1)[l]
                                                              : greatest(before[l], operand(1)[l]);
                break;
            default: {
                out = before;
                for (auto half = static_cast<std::size_t>(lanes) / 2; half > 0; half /= 2) {
                    auto const now = out;
                    for (std::size_t k = 0; k < static_cast<std::size_t>(lanes); ++k)
                        out[k] =
                            i.function == lane_function::add ? now[k] + now[k ^ half] : greatest(now[k], now[k ^ half]);
                }
                l = static_cast<std::size_t>(lanes) - 1;
            }
            }
        values[static_cast<std::size_t>(i.result >= 0 ? i.result : i.operands[0])] = out;
    }
};

// ---- random functions

// Reads buffer 0 and stores each of its values, in their order, as a row of buffer 1.
struct random_function {
    static constexpr std::int32_t from = 1, to = 2; // integers: the buffers
    machine_function made;
    std::vector<lanes_of> values;
    std::vector<std::pair<std::size_t, lanes_of>> rows; // what is stored of which value
    std::vector<float> x;

    random_function(random_stream& r, std::int32_t lanes, bool masks, bool fuses)
        : r_(r), lanes_(lanes), masks_(masks), rules_{lanes, fuses} {
        for (int n = 0; n < 100; ++n) x.push_back(static_cast<float>(r.uniform(-2, 2)));
        x[17] = x[31] = std::numeric_limits<float>::quiet_NaN();
        made.in_memory = {true, false, false}, made.integers = 3;
        add({.op = machine_op::argument, .result = 0});
        add({.op = machine_op::load_pointer, .result = from, .operands = {0, -1, -1}});
        add({.op = machine_op::load_pointer, .result = to, .operands = {0, -1, -1}, .immediate = 1});
        for (int n = 0; n < 6; ++n) source();
        for (auto n = 4 + r.below(12); n-- > 0;) step();
        for (std::size_t v = 0; v < stored_.size(); ++v)
            if (!stored_[v]) store(v);
        add({.op = machine_op::leave});
    }

private:
    static std::size_t index(std::int32_t v) { return static_cast<std::size_t>(v); }
    void add(machine_instruction const& i) { made.code.push_back(i); }
    bool one_in(std::uint64_t n) { return r_.below(n) == 0; }
    std::int32_t any() { return own_[r_.below(own_.size())]; }
    // Of those of which nothing computes: their bits are the same anywhere.
    std::int32_t any_source() { return own_[r_.below(6)]; }
    std::int32_t part() { return one_in(2) ? lanes_ : 1 + static_cast<std::int32_t>(r_.below(index(lanes_))); }
    std::int32_t new_value() {
        own_.push_back(made.vectors);
        values.push_back({}), stored_.push_back(false);
        return made.vectors++;
    }
    std::int32_t temporary() { // no value that is stored
        values.push_back({}), stored_.push_back(true);
        return made.vectors++;
    }
    // Of the first lanes; the others are zero.
    void store(std::size_t v) {
        auto const lanes = part();
        auto& row = rows.emplace_back(v, values[v]).second;
        std::fill(row.begin() + lanes, row.end(), 0.0f);
        add({.op = machine_op::store,
             .operands = {static_cast<std::int32_t>(v), -1, -1},
             .temporaries = {lanes != lanes_ && !masks_ ? temporary() : -1, -1},
             .lanes = lanes,
             .at = {to, 4 * lanes_ * static_cast<std::int32_t>(v)}});
        stored_[v] = true;
    }
    void source() {
        auto const v = new_value();
        auto& of = values.back();
        if (one_in(3)) {
            auto const what = bits(static_cast<float>(r_.uniform(-2, 2)));
            add({.op = machine_op::splat, .result = v, .immediate = static_cast<std::int32_t>(what)});
            of.fill(number(what));
            return;
        }
        auto const first = r_.below(80);
        machine_instruction i{
            .op = machine_op::load, .result = v, .lanes = part(), .at = {from, 4 * static_cast<std::int32_t>(first)}};
        if (one_in(4)) i.op = machine_op::broadcast;
        if (one_in(4)) {
            i.op = machine_op::gather, i.temporaries[0] = lanes_ > 4 ? temporary() : -1;
            i.immediate = static_cast<std::int64_t>(made.tables.size());
            auto& table = made.tables.emplace_back();
            for (auto l = 0; l < lanes_; ++l) table.push_back(static_cast<std::uint32_t>(r_.below(20)));
        }
        if (one_in(5)) i.op = machine_op::load_twice, i.lanes = lanes_, i.temporaries[0] = -1;
        i.constant_memory = i.op == machine_op::broadcast || (i.op == machine_op::load && i.lanes == lanes_);
        add(i);
        auto& to_fill = values[index(v)];
        for (std::size_t l = 0; l < index(lanes_); ++l)
            to_fill[l] = i.op == machine_op::broadcast    ? x[first]
                         : l >= index(i.lanes)            ? 0
                         : i.op == machine_op::gather     ? x[first + made.tables.back()[l]]
                         : i.op == machine_op::load_twice ? x[first + l / 2]
                                                          : x[first + l];
    }
    void step() {
        constexpr machine_op ops[] = {
            machine_op::binary,       machine_op::unary,           machine_op::fused,
            machine_op::blend,        machine_op::add_bits_unless, machine_op::multiply_unless,
            machine_op::multiply_add, machine_op::combine,         machine_op::reduce};
        machine_instruction i{.op = ops[r_.below(std::size(ops))], .lanes = lanes_};
        for (auto& o : i.operands) o = any();
        switch (i.op) {
        case machine_op::binary: {
            constexpr lane_function of[] = {lane_function::add,
                                            lane_function::subtract,
                                            lane_function::multiply,
                                            lane_function::divide,
                                            lane_function::maximum,
                                            lane_function::minimum,
                                            lane_function::add_bits,
                                            lane_function::subtract_bits,
                                            lane_function::and_bits,
                                            lane_function::unpack_low,
                                            lane_function::unpack_high,
                                            lane_function::unpack_low_pairs,
                                            lane_function::unpack_high_pairs};
            i.function = of[r_.below(std::size(of) - (lanes_ < 4 ? 4 : 0))]; // the last four are of four lanes
            auto const on_bits = i.function >= lane_function::add_bits && i.function <= lane_function::and_bits;
            if (on_bits) i.operands[0] = any_source();
            if (i.function == lane_function::divide || on_bits) i.operands[1] = any_source();
            // AVX-512 would take a number from memory as one pair: pairs are of what is computed.
            if (i.function >= lane_function::unpack_low_pairs) {
                auto const computed = own_.size() - 6;
                if (computed > 0) i.operands[1] = own_[6 + r_.below(computed)];
                if (computed == 0) i.function = lane_function::unpack_low;
            }
            i.operands[2] = -1;
            break;
        }
        case machine_op::unary: {
            constexpr lane_function of[] = {
                lane_function::square_root, lane_function::negate,     lane_function::absolute,    lane_function::floor,
                lane_function::round,       lane_function::shift_left, lane_function::from_integer};
            i.function = of[r_.below(std::size(of))];
            if (i.function >= lane_function::shift_left) i.operands[0] = any_source();
            i.operands[1] = i.operands[2] = -1, i.immediate = static_cast<std::int64_t>(r_.below(24));
            break;
        }
        case machine_op::fused: {
            constexpr lane_function of[] = {lane_function::add, lane_function::subtract, lane_function::subtract_from};
            i.function = of[r_.below(3)];
            break;
        }
        case machine_op::blend:
        case machine_op::add_bits_unless:
        case machine_op::multiply_unless: {
            constexpr lane_function of[] = {lane_function::less, lane_function::greater, lane_function::equal};
            i.function = of[r_.below(3)];
            if (i.op == machine_op::add_bits_unless) i.operands[1] = any_source(), i.operands[2] = any_source();
            auto const first = values[index(i.operands[0])][0];
            i.immediate = static_cast<std::int32_t>(bits(one_in(2) ? first : static_cast<float>(r_.uniform(-2, 2))));
            if (!masks_) i.temporaries[0] = temporary();
            if (!masks_ && i.op == machine_op::multiply_unless) i.temporaries[1] = temporary();
            break;
        }
        default:
            accumulate(i);
        }
        if (i.op != machine_op::multiply_add && i.op != machine_op::combine) i.result = new_value();
        finish(i);
    }
    // In place of a copy; or of all lanes.
    void accumulate(machine_instruction& i) {
        i.function = one_in(2) ? lane_function::add : lane_function::maximum;
        if (i.op == machine_op::reduce) {
            i.operands[1] = i.operands[2] = -1;
            i.temporaries[0] = temporary();
            if (i.function == lane_function::maximum && !masks_) i.temporaries[1] = temporary();
            return;
        }
        auto const own = new_value();
        add({.op = machine_op::copy, .result = own, .operands = {i.operands[0], -1, -1}});
        rules_.run(made.code.back(), values);
        i.operands[0] = own, i.lanes = part();
        if (i.op == machine_op::multiply_add) {
            i.function = lane_function::add;
            if (i.lanes != lanes_ && !masks_) i.temporaries[0] = temporary();
            if (i.lanes == lanes_ && one_in(3)) { // a factor in memory
                auto const first = r_.below(80);
                auto const read = temporary();
                for (std::size_t l = 0; l < index(lanes_); ++l) values[index(read)][l] = x[first + l];
                i.operands[2] = read;
                rules_.run(i, values);
                i.operands[2] = -1, i.at = {from, 4 * static_cast<std::int32_t>(first)};
            }
        } else {
            i.operands[2] = -1;
            if (i.function == lane_function::maximum && !masks_) i.temporaries[0] = temporary();
            if (i.lanes != lanes_) i.temporaries[1] = temporary();
        }
    }
    void finish(machine_instruction const& i) {
        add(i);
        if (i.at.base < 0) rules_.run(i, values);
        auto const v = index(i.result >= 0 ? i.result : i.operands[0]);
        // What is stored at once dies where it is used for the last time, and leaves its register to others.
        if (!one_in(3)) store(v);
        auto const other = index(any());
        if (one_in(2) && !stored_[other]) store(other);
    }

    random_stream& r_;
    std::int32_t lanes_;
    bool masks_;
    semantics rules_;
    std::vector<bool> stored_;
    std::vector<std::int32_t> own_; // values but temporaries
};

// Runs it with so many registers for values, those below the last ones; says which value is wrong.
std::string fault_of(random_function f, std::int32_t lanes, isa const& isa, std::int32_t registers) {
    auto const masks = lanes == 16, legacy = !isa.runs(isa::avx2);
    auto const all = masks ? 32 : legacy ? 15 : 16;
    if (legacy) sse_temporaries<>::drop(f.made);
    auto vectors = linear_scan<>{f.made, true, legacy}.run(registers);
    if (legacy) sse_temporaries<>::reuse_factors(f.made, vectors);
    scratch_registers<> const scratch{vectors, lanes};
    sse_scratch_registers<> const scratch_of_two{f.made, vectors, lanes};
    auto needed = 0;
    for (auto const& i : f.made.code)
        if (on_vectors(i.op)) needed = std::max(needed, legacy ? scratch_of_two.of(i) : scratch.of(i));
    if (needed + registers > all) return {};
    for (auto& r : vectors.registers)
        if (r >= 0) r += all - registers - needed;
    linear_scan<> scan{f.made, false};
    scan.note_homes(vectors);
    auto integers = scan.run(integer_registers);
    Xbyak::CodeGenerator code{std::size_t{1} << 16};
    if (legacy)
        x86_encoder<sse_arithmetic<>>{code, f.made, integers, vectors, lanes, masks, all - needed}.run();
    else
        x86_encoder<>{code, f.made, integers, vectors, lanes, masks, all - needed}.run();
    std::vector<float> y(f.values.size() * static_cast<std::size_t>(lanes));
    void* const buffers[] = {f.x.data(), y.data()};
    code.getCode<codegen::kernel_function>()(buffers, 0, 1);
    for (auto const& [v, row] : f.rows)
        for (std::size_t l = 0; l < static_cast<std::size_t>(lanes); ++l) {
            auto const is = y[v * static_cast<std::size_t>(lanes) + l], want = row[l];
            if (bits(is) != bits(want) && is != want && (is == is || want == want))
                return "lane " + std::to_string(l) + " of value " + std::to_string(v) + " is " + std::to_string(is) +
                       ", not " + std::to_string(want);
        }
    return {};
}

TEST_CASE("each machine instruction computes what it says, wherever its operands are") {
    for (auto const* isa : compiled_kernel::sets()) {
        if (isa == &isa::baseline) continue;
        for (auto const lanes : {isa->lanes(), isa->lanes() / 2})
            for (std::uint64_t seed = 0; seed < 400; ++seed) {
                random_stream r{seed};
                random_function const f{r, lanes, lanes == 16, isa->runs(isa::avx2)};
                auto const registers = static_cast<std::int32_t>(r.below(15));
                CAPTURE(isa->name, lanes, seed, registers);
                CHECK(fault_of(f, lanes, *isa, registers) == "");
            }
    }
}

// Whether a command of the shell succeeds.
bool succeeds(std::string const& command) {
    return std::system((command + " > /dev/null 2>&1").c_str()) == 0;
}

// Sanitizers place their memory where the emulator does not.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
constexpr bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool sanitized = false;
#endif

TEST_CASE("machine code for SSE4.2 runs on an emulated processor that has no more") {
    if (sanitized) {
        WARN("sanitizers are not emulated");
        return;
    }
    if (!host().has(isa::avx2)) return; // this is such a processor
    if (!succeeds("qemu-x86_64 --version")) {
        WARN("qemu-x86_64 is not here");
        return;
    }
    std::array<char, 4096> self{};
    REQUIRE(::readlink("/proc/self/exe", self.data(), self.size() - 1) > 0);
    CHECK(succeeds("qemu-x86_64 -cpu Nehalem " + kernel_program::quoted(self.data()) +
                   " 'each machine instruction computes what it says*,kernels of every kind compute as machine*'"));
}

} // namespace x86_encoder_test
