#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include "codegen/function_errors.hpp"
#include "codegen/kernel_program.hpp"
#include "codegen/random_kernel.hpp"
#include "loop/random_schedule.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/codegen/x86/emit_x86.hpp>
#include <gsub/codegen/x86/impl/machine_lowering.hpp>
#include <gsub/codegen/x86/impl/scratch_registers.hpp>
#include <gsub/codegen/x86/impl/sse_scratch_registers.hpp>
#include <gsub/codegen/x86/impl/sse_temporaries.hpp>
#include <gsub/codegen/x86/impl/x86_encoder.hpp>
#include <gsub/codegen/x86/instruction_stream.hpp>
#include <gsub/ir/types/tensor.hpp>
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/kernels/knobs.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

namespace emit_x86_test {

using namespace gsub;
using codegen::emit_x86;
using codegen::lower;
using gsub::isa;

// The instruction sets that it knows and that run here.
std::vector<isa const*> sets() {
    auto all = compiled_kernel::sets();
    std::erase(all, &isa::baseline);
    if (all.empty()) WARN("nothing runs: this machine has no SSE4.2");
    return all;
}

TEST_CASE("any legal schedule becomes machine code that computes the expression, within its buffers") {
    for (auto const* isa : sets()) {
        CAPTURE(isa->name);
        auto taken = 0, refused = 0;
        for (std::uint64_t seed = 0; seed < 150; ++seed) {
            random_stream r{seed + 1000};
            auto const what = random_schedule::computation(r, isa->lanes());
            auto const nest = random_schedule::nest(what, r, {.lanes = isa->lanes()});
            compiled_kernel::batch kernels{*isa};
            kernels.add(lower(nest, "k", {.max_ranges = static_cast<std::int32_t>(1 + r.below(8))}).value());
            auto const made = emit_x86(kernels[0], *isa);
            if (!made) {
                CHECK(made.error().code() == error_code::unsupported);
                ++refused;
                continue;
            }
            ++taken;
            kernels.set_function(0, made->entry);
            CAPTURE(seed, to_string(kernels[0]));
            CHECK(kernels.difference(0, what, seed) == "");
        }
        CAPTURE(refused);
        CHECK(taken > 2 * refused);
    }
}

// Checks that machine code of a kernel computes what its instructions say. False: it is refused.
bool check_meaning(codegen::kernel const& k, isa const& isa) {
    auto const made = emit_x86(k, isa);
    if (!made) return false;
    interpret::arrays data;
    for (auto const& b : k.buffers) {
        random_stream r{static_cast<std::uint64_t>(data.size())};
        auto& array = data.emplace_back(static_cast<std::size_t>(b.elements()));
        for (auto& x : array)
            x = b.written || b.workspace                             ? 0
                : b.element == dtype::f32                            ? r.uniform(-1, 1)
                : b.element == dtype::i32 || b.element == dtype::i64 ? static_cast<double>(r.below(7)) - 3
                                                                     : static_cast<double>(r.below(7));
    }
    auto expected = data;
    interpreted_kernel::machine{k, expected}.run(0, k.parallel_extent);
    compiled_kernel::batch kernels{isa};
    kernels.add(k);
    kernels.set_function(0, made->entry);
    kernels.run(0, data, compiled_kernel::guarded::side::end, {0, k.parallel_extent});
    auto wrong = 0;
    for (std::size_t b = 0; b < data.size(); ++b)
        for (std::size_t e = 0; e < data[b].size() && !k.buffers[b].workspace; ++e) {
            auto const x = data[b][e], y = expected[b][e];
            auto const same = std::abs(x - y) <= 1e-4 * (1 + std::abs(y)) || x == y || (x != x && y != y);
            wrong += !same;
        }
    CAPTURE(isa.name, to_string(k));
    CHECK(wrong == 0);
    return true;
}

TEST_CASE("kernels of every kind compute as machine code what their instructions say") {
    for (auto const* isa : sets()) {
        auto const all = kernel_program::grid(*isa);
        for (auto const& k : all) CHECK((check_meaning(k, *isa) || k.name.starts_with("cast of")));
    }
}

TEST_CASE("kernels of any statements compute as machine code what their instructions say") {
    for (auto const* isa : sets()) {
        auto taken = 0;
        for (std::uint64_t seed = 0; seed < 400; ++seed) {
            CAPTURE(seed);
            taken += check_meaning(random_kernel::maker{seed, isa->lanes()}.run(), *isa);
        }
        CHECK(taken == 400);
    }
}

TEST_CASE("numbers divided by a root in a loop are what they would be, zero, infinite and NaN ones too") {
    using codegen::opcode;
    constexpr auto infinity = std::numeric_limits<float>::infinity();
    float const numbers[] = {0, -0.0f, 1, -3, 1e-40f, 1e38f, infinity, -infinity, std::nanf("")};
    for (auto const* isa : sets())
        for (auto const square : {0.0f, 1e-45f, 1e-38f, 4.0f, 1e38f, infinity, -1.0f, std::nanf("")}) {
            auto const l = isa->lanes();
            codegen::kernel k;
            k.name = "roots", k.lanes = l, k.registers = 4, k.names = {"i"};
            k.buffers = {{.name = "x", .dims = {20 * l}},
                         {.name = "square", .dims = {1}},
                         {.name = "y", .dims = {20 * l}, .written = true}};
            k.body.emplace_back().code = {{.op = opcode::broadcast, .result = 0, .buffer = 1, .offset = 0},
                                          {.op = opcode::compute,
                                           .function = loop::scalar_op::square_root,
                                           .result = 1,
                                           .operands = {0, -1, -1},
                                           .offset = 0}};
            auto& loop = k.body.emplace_back();
            loop.kind = codegen::statement_kind::loop, loop.var = 0, loop.begin = {{0}}, loop.end = {{20}};
            auto const at = codegen::affine::of(0, l);
            loop.body.emplace_back().code = {
                {.op = opcode::load, .result = 2, .buffer = 0, .offset = at, .lanes = l},
                {.op = opcode::compute,
                 .function = loop::scalar_op::divide,
                 .result = 3,
                 .operands = {2, 1, -1},
                 .offset = 0},
                {.op = opcode::store, .operands = {3, -1, -1}, .buffer = 2, .offset = at, .lanes = l}};
            auto const made = emit_x86(k, *isa).value();
            std::vector<float> x(static_cast<std::size_t>(20 * l)), y(x.size());
            for (std::size_t n = 0; n < x.size(); ++n) x[n] = numbers[n % std::size(numbers)];
            auto by = square;
            void* addresses[] = {x.data(), &by, y.data()};
            reinterpret_cast<codegen::kernel_function>(made.entry)(addresses, 0, 1);
            auto wrong = 0;
            for (std::size_t n = 0; n < x.size(); ++n) {
                auto const expected = x[n] / std::sqrt(square);
                wrong += !(y[n] == expected || (std::isnan(y[n]) && std::isnan(expected)) ||
                           std::abs(y[n] - expected) <= 2e-7f * std::abs(expected));
            }
            CAPTURE(square);
            CHECK(wrong == 0);
        }
}

// What a disassembler sees up to the return: of instructions whose name has a word, all and those that read memory.
struct seen_instructions {
    int all = 0, of_memory = 0;
};
std::map<std::string, seen_instructions> disassembled(codegen::machine_code const& code,
                                                      std::vector<std::string> const& words) {
    auto const file = std::filesystem::temp_directory_path() / ("gsub_emit_x86_" + std::to_string(::getpid()));
    auto const text = file.string() + ".txt";
    auto const* const first = static_cast<char const*>(code.entry);
    std::ofstream{file, std::ios::binary}.write(first, static_cast<std::streamsize>(code.bytes));
    std::map<std::string, seen_instructions> out;
    auto const done =
        std::system(("objdump -D -b binary -mi386:x86-64 '" + file.string() + "' > '" + text + "'").c_str());
    std::ifstream in{text};
    for (std::string line; done == 0 && std::getline(in, line) && line.find("\tret") == line.npos;)
        for (auto const& word : words)
            if (line.find("\t" + word) != line.npos)
                ++out[word].all, out[word].of_memory += line.find('(') != line.npos;
    std::filesystem::remove(file), std::filesystem::remove(text);
    return out;
}

TEST_CASE("a stream has the multiply-adds and broadcasts of the machine code, and what they read of memory") {
    if (std::system("objdump --version > /dev/null 2>&1") != 0) {
        WARN("there is no objdump");
        return;
    }
    for (auto const* isa : sets()) {
        if (!isa->runs(isa::avx2)) continue;
        for (auto const function : {loop::scalar_op::exponential, loop::scalar_op::erf, loop::scalar_op::tanh}) {
            kernels::matmul_shape s;
            s.m = 12, s.n = 4 * isa->lanes(), s.k = 5, s.bias = s.constant = true;
            s.epilogue = {{loop::scalar_op::multiply, 0, -1, 0.7}, {function, 1}, {loop::scalar_op::multiply, 0, 2}};
            auto const k = lower(kernels::matmul_nest(s, kernels::default_config(s, *isa), *isa), "k").value();
            auto const seen = disassembled(emit_x86(k, *isa).value(), {"vf", "vbroadcastss"});
            auto const stream = codegen::instructions_of(k, *isa).value();
            seen_instructions fma, broadcasts;
            for (auto const& i : stream.code) {
                fma.all += i.what == instruction_class::fma, broadcasts.all += i.what == instruction_class::broadcast;
                fma.of_memory += i.what == instruction_class::fma && i.folds_load();
            }
            CAPTURE(isa->name, to_string(function));
            REQUIRE(seen.contains("vf"));
            CHECK(seen.at("vf").all == fma.all);
            CHECK(seen.at("vf").of_memory == fma.of_memory);
            CHECK((seen.contains("vbroadcastss") ? seen.at("vbroadcastss").all : 0) == broadcasts.all);
        }
    }
}

TEST_CASE("a small kernel saves no registers: its first instruction is none of a frame") {
    for (auto const* isa : sets()) {
        auto const made = emit_x86(
            lower(kernels::elementwise_nest(isa->lanes(), 1, std::vector<kernels::elementwise_op>{{}}, *isa), "k")
                .value(),
            *isa);
        auto const first = *static_cast<std::uint8_t const*>(made.value().entry);
        CHECK((first < 0x50 || first > 0x57)); // push
        CHECK(first != 0x41);                  // push of r8 and above
    }
}

TEST_CASE("functions of what many registers accumulate are right, whatever goes to memory") {
    using loop::scalar_op;
    for (auto const* isa : sets())
        for (auto const function : function_errors::all_functions)
            for (std::int64_t const n : {isa->lanes() + 3, 4 * isa->lanes()}) {
                kernels::matmul_shape s;
                s.m = 14, s.n = n, s.k = 5, s.bias = s.constant = true;
                s.epilogue = {{scalar_op::multiply, 0, -1, 0.7}, {function, 1}, {scalar_op::multiply, 0, 2}};
                auto const nest = kernels::matmul_nest(s, kernels::default_config(s, *isa), *isa);
                CHECK(check_meaning(lower(nest, "k").value(), *isa));
            }
}

TEST_CASE("more values than there are registers are read again where they were, parts of vectors too") {
    for (auto const* isa : sets())
        for (auto const lanes : {1, 3, isa->lanes() / 2, isa->lanes()}) {
            auto const count = 40;
            codegen::kernel k;
            k.name = "sums", k.lanes = isa->lanes();
            k.buffers = {{.name = "x", .dims = {count * lanes}},
                         {.name = "y", .dims = {isa->lanes()}, .written = true}};
            auto& code = k.body.emplace_back().code;
            auto const add = [&](codegen::instruction i) {
                i.result = i.op == codegen::opcode::store ? -1 : k.registers++;
                code.push_back(i);
                return i.result;
            };
            for (auto i = 0; i < count; ++i)
                add({.op = codegen::opcode::load, .buffer = 0, .offset = (count - 1 - i) * lanes, .lanes = lanes});
            auto sum = 0;
            for (auto i = count; i-- > 1;)
                sum = add({.op = codegen::opcode::compute,
                           .function = i % 2 == 0 ? loop::scalar_op::add : loop::scalar_op::subtract,
                           .operands = {i, sum, -1},
                           .offset = 0});
            add({.op = codegen::opcode::store,
                 .operands = {sum, -1, -1},
                 .buffer = 1,
                 .offset = 0,
                 .lanes = isa->lanes()});
            CHECK(check_meaning(k, *isa));
        }
}

TEST_CASE("copies of what is read again where it was take no register of others") {
    // Sums begin as copies of a few vectors, in a loop that needs all registers.
    auto const d =
        kernels::parse_descriptor("conv2d{in_channels=16 out_channels=64 in=[55,55] bias=true low=0}").value();
    for (auto const* isa : sets()) {
        auto const space = kernels::space_of(d, *isa);
        auto const wide = isa == &isa::avx512;
        auto const at =
            space.parse(wide                ? "tile_ow=4 tile_oh=1 tile_oc=4 unroll_ic=16 chunk=5 unroll_kh=false "
                                              "oc_inner=false tile_ic=0"
                        : isa == &isa::avx2 ? "tile_ow=3 tile_oh=1 tile_oc=3 unroll_ic=8 chunk=5 unroll_kh=false "
                                              "oc_inner=false tile_ic=0"
                                            : "tile_ow=3 tile_oh=1 tile_oc=3 unroll_ic=4 chunk=5 unroll_kh=false "
                                              "oc_inner=false tile_ic=0");
        CHECK(check_meaning(lower(kernels::nest_of(d, at, *isa), "k").value(), *isa));
    }
}

// Machine code of a kernel whose values get so few vector registers, and its instructions the last ones.
std::shared_ptr<Xbyak::CodeGenerator> code_within(codegen::kernel const& k, isa const& isa, std::int32_t registers) {
    using namespace codegen::detail;
    auto const masks = k.lanes == 16, legacy = !isa.runs(isa::avx2);
    auto f = machine_lowering<>{k, masks}.run();
    if (legacy) sse_temporaries<>::drop(f);
    auto vectors = linear_scan<>{f, true, legacy}.run(registers);
    if (legacy) sse_temporaries<>::reuse_factors(f, vectors);
    scratch_registers<> const scratch{vectors, k.lanes};
    sse_scratch_registers<> const scratch_of_two{f, vectors, k.lanes};
    auto needed = 0;
    for (auto const& i : f.code)
        if (on_vectors(i.op)) needed = std::max(needed, legacy ? scratch_of_two.of(i) : scratch.of(i));
    linear_scan<> scan{f, false};
    scan.note_homes(vectors);
    auto integers = scan.run(integer_registers);
    // Values are moved up, so that a register too much is one that there is not.
    auto const all = legacy ? isa.registers - 1 : isa.registers;
    for (auto& r : vectors.registers)
        if (r >= 0) r += all - registers - needed;
    auto const made = std::make_shared<Xbyak::CodeGenerator>(std::size_t{1} << 14, Xbyak::AutoGrow);
    auto const values = all - needed;
    if (legacy)
        x86_encoder<sse_arithmetic<>>{*made, f, std::move(integers), std::move(vectors), k.lanes, masks, values}.run();
    else
        x86_encoder<>{*made, f, std::move(integers), std::move(vectors), k.lanes, masks, values}.run();
    made->readyRE();
    return made;
}

TEST_CASE("functions are right with few registers, and take no more for values in memory than is said") {
    for (auto const* isa : sets())
        for (auto const function : function_errors::all_functions)
            for (auto const registers : {0, 1, 2, 3, 4, 5, 6, 8}) {
                auto const n = 2 * isa->lanes() + 3;
                kernels::elementwise_op const ops[] = {{function, 0}, {loop::scalar_op::multiply, 1, 0}};
                auto const k = lower(kernels::elementwise_nest(n, 1, ops, *isa), "k").value();
                auto const few = code_within(k, *isa, registers);
                auto const all = emit_x86(k, *isa).value();
                std::vector<float> x(static_cast<std::size_t>(n));
                for (std::size_t i = 0; i < x.size(); ++i)
                    x[i] = std::ldexp(i % 2 ? 1.5f : -1.5f, static_cast<int>(i) - 15);
                CAPTURE(isa->name, to_string(function), registers);
                auto const as_function = [](void const* code) {
                    return reinterpret_cast<codegen::kernel_function>(const_cast<void*>(code));
                };
                auto const y = function_errors::run(as_function(few->getCode()), k, x),
                           expected = function_errors::run(as_function(all.entry), k, x);
                CHECK(std::equal(y.begin(), y.end(), expected.begin(), function_errors::same));
            }
}

TEST_CASE("what a function reads is accumulated further") {
    using codegen::opcode;
    for (auto const* isa : sets()) {
        auto const l = isa->lanes();
        codegen::kernel k;
        k.name = "sums", k.lanes = l, k.registers = 4, k.names = {"i", "j"};
        k.buffers = {{.name = "x", .dims = {3}}, {.name = "y", .dims = {5, l}, .written = true}};
        auto const block = [](std::vector<codegen::statement>& to, std::vector<codegen::instruction> code) {
            to.emplace_back().code = std::move(code);
        };
        auto const repeat = [](std::vector<codegen::statement> & to, codegen::variable v, std::int64_t turns) -> auto& {
            auto& made = to.emplace_back();
            made.kind = codegen::statement_kind::loop, made.var = v;
            made.begin = {{0}}, made.end = {{turns}};
            return made.body;
        };
        block(k.body, {{.op = opcode::splat, .result = 2, .offset = 0, .value = 0.5},
                       {.op = opcode::copy, .result = 0, .operands = {2, -1, -1}, .offset = 0}});
        auto& rows = repeat(k.body, 0, 5);
        auto const i = codegen::affine::of(0, l), j = codegen::affine::of(1);
        block(rows, {{.op = opcode::compute,
                      .function = loop::scalar_op::tanh,
                      .result = 3,
                      .operands = {0, -1, -1},
                      .offset = 0},
                     {.op = opcode::store, .operands = {3, -1, -1}, .buffer = 1, .offset = i, .lanes = l}});
        block(repeat(rows, 1, 3),
              {{.op = opcode::broadcast, .result = 1, .buffer = 0, .offset = j},
               {.op = opcode::accumulate, .result = 0, .operands = {1, -1, -1}, .offset = 0, .lanes = l}});
        CHECK(check_meaning(k, *isa));
    }
}

TEST_CASE("loads in any order of lanes are right, in vectors of any length") {
    for (auto const* isa : sets())
        for (auto const lanes : {isa->lanes(), isa->lanes() / 2})
            for (std::uint64_t seed = 0; seed < 20; ++seed) {
                random_stream r{seed};
                auto const in_one_vector = seed % 2 == 0;
                std::vector<std::int64_t> table;
                for (auto l = 0; l < lanes; ++l)
                    table.push_back(static_cast<std::int64_t>(
                        r.below(static_cast<std::uint64_t>(in_one_vector ? lanes : 3 * lanes + 1))));
                if (seed % 5 == 3) // each element in two lanes
                    for (auto l = 0; l < lanes; ++l) table[static_cast<std::size_t>(l)] = l / 2;
                auto const row = in_one_vector ? lanes : 5;
                loop::expression_builder e{"ordered"};
                auto const i = e.spatial("i", 4), x = e.spatial("x", lanes);
                auto const a = e.input("a", {row * 4 + (in_one_vector ? 0 : 3 * lanes)}), y = e.output("y", {4, lanes});
                auto const what = e.store(y, {i, x}, exp(e.at(a, {i * row}, loop::lookup{x, table})));
                loop::schedule plan{what};
                plan.vectorize(plan.loop_of("x"));
                CAPTURE(seed, lanes);
                CHECK(check_meaning(lower(plan.finish(), "k").value(), *isa));
            }
}

TEST_CASE("loads that read a tile together give its columns, whatever their order and however few rows there are") {
    using codegen::opcode;
    for (auto const* isa : sets())
        for (auto const type : {dtype::u32, dtype::f32})
            for (auto const rows : {1, 3, isa->lanes() / 2, isa->lanes() - 1, isa->lanes()})
                for (std::int64_t const stride : {std::int64_t{isa->lanes()}, std::int64_t{37}}) {
                    auto const l = isa->lanes();
                    codegen::kernel k;
                    k.name = "tile", k.lanes = l, k.registers = l, k.names = {"i"};
                    k.buffers = {{"x", type, {4 + l + stride * (l - 1)}}, {"y", type, {l * l}}};
                    k.buffers[1].written = true;
                    random_stream r{static_cast<std::uint64_t>(rows)};
                    std::vector<std::int32_t> order;
                    for (auto n = 0; n < l; ++n)
                        order.insert(order.begin() + static_cast<std::ptrdiff_t>(r.below(order.size() + 1)), n);
                    std::swap(order[0], *std::find(order.begin(), order.end(), 0)); // the first element first
                    codegen::statement block;
                    for (auto const n : order) {
                        block.code.push_back({.op = opcode::load,
                                              .type = type,
                                              .result = n,
                                              .buffer = 0,
                                              .offset = 4 + n,
                                              .lanes = rows,
                                              .stride = stride});
                        block.code.push_back({.op = opcode::store,
                                              .type = type,
                                              .operands = {n, -1, -1},
                                              .buffer = 1,
                                              .offset = n * l,
                                              .lanes = l});
                    }
                    k.body = {block};
                    CAPTURE(rows, stride);
                    CHECK(check_meaning(k, *isa));
                }
}

TEST_CASE("integers choose the entry of a load, and tell of one that is not there") {
    for (auto const* isa : sets())
        for (auto const integers : {dtype::i32, dtype::i64})
            for (std::int64_t const entries : {2, 9}) { // with 2, some are out of range
                auto const n = 2 * isa->lanes() + 3;
                loop::expression_builder e{"gather"};
                auto const i = e.spatial("i", 12), x = e.spatial("x", n);
                auto const from = e.input("from", {entries * (n + 2)}), chosen = e.input("chosen", {12}, integers);
                auto const y = e.output("y", {12, n}), status = e.output("status", {1}, dtype::i32);
                auto const what = e.store(y, {i, x}, e.at(from, {x + 1}, e.at(chosen, {i}), entries, n + 2, status));
                loop::schedule plan{what};
                plan.vectorize(plan.split(plan.loop_of("x"), isa->lanes()).second);
                auto const k = lower(plan.finish(), "k").value();
                CHECK(check_meaning(k, *isa));
            }
}

TEST_CASE("integers choose where rows and elements are stored, and tell of one that is not there") {
    for (auto const* isa : sets())
        for (auto const integers : {dtype::i32, dtype::i64})
            for (std::int64_t const entries : {1, 2, 9}) // with few, some are out of range
                for (std::int64_t const n : {1, 2 * isa->lanes() + 3})
                    for (auto const adds : {false, true}) {
                        loop::expression_builder e{"scatter"};
                        auto const p = e.spatial("p", 3), i = e.spatial("i", 12), x = e.spatial("x", n);
                        auto const from = e.input("from", {12, n}), at = e.input("at", {12}, integers);
                        auto const y = e.output("y", {entries * n}), status = e.output("status", {1}, dtype::i32);
                        auto const row = e.choose(at, {i}, entries, status);
                        e.restrict_domain({row - p * 3, 3});
                        auto const to = row * n + x;
                        auto const update = e.at(from, {i, x});
                        loop::schedule plan{e.store(y, {to}, adds ? e.at(y, {to}) + update : update)};
                        plan.parallel(plan.loop_of("p"));
                        plan.vectorize(plan.split(plan.loop_of("x"), isa->lanes()).second);
                        CHECK(check_meaning(lower(plan.finish(), "k").value(), *isa));
                    }
}

TEST_CASE("loaded integers are numbers as they are in text") {
    for (auto const* isa : sets())
        for (auto const& [integers, lanes] :
             {std::pair{dtype::i32, isa->lanes()}, std::pair{dtype::i64, isa->lanes() / 2}})
            for (auto n = 1; n <= 2 * lanes + 1; ++n) {
                loop::expression_builder e{"numbers"};
                auto const x = e.spatial("x", n);
                auto const a = e.input("a", {n}, integers), y = e.output("y", {n});
                loop::schedule plan{e.store(y, {x}, tanh(cast(e.at(a, {x}), dtype::f32)))};
                plan.vectorize(plan.split(plan.loop_of("x"), lanes).second);
                CHECK(check_meaning(lower(plan.finish(), "k").value(), *isa));
            }
}

TEST_CASE("numbers of f16 are read, computed in f32, rounded and stored, whole vectors and parts") {
    for (auto const* isa : sets()) {
        if (isa == &isa::sse42) continue; // it has no instructions for them
        for (std::int64_t n = 1; n <= 2 * isa->lanes() + 1; ++n) {
            loop::expression_builder e{"halves"};
            auto const r = e.spatial("r", 3), x = e.spatial("x", n);
            auto const a = e.input("a", {3, n}, dtype::f16), b = e.input("b", {3}, dtype::f16),
                       c = e.input("c", {3, n});
            auto const y = e.output("y", {3, n}, dtype::f16), z = e.output("z", {3, n});
            auto const half = e.at(a, {r, x});
            auto const p = cast(half, dtype::f32), q = cast(e.at(b, {r}), dtype::f32) * e.at(c, {r, x});
            auto const sum = cast(p * e.constant(0.3) + q, dtype::f16);
            e.also_store(z, {r, x}, cast(sum, dtype::f32) - p);
            loop::schedule plan{e.store(y, {r, x}, select(apply(loop::scalar_op::less, p, q), sum, half))};
            plan.vectorize(plan.split(plan.loop_of("x"), isa->lanes()).second);
            CHECK(check_meaning(lower(plan.finish(), "k").value(), *isa));
        }
    }
}

TEST_CASE("numbers of f32 are rounded to halves between operations, bit by bit as tensors are") {
    // Every exponent with the last bits around what is kept of either type, and what is no number.
    std::vector<float> x;
    for (std::uint32_t top = 0; top < 512; ++top)
        for (std::uint32_t const kept : {0u, 1u, 2u, 3u, 0x3eu, 0x3ffu, 0x3u << 16, 0x7fu << 16})
            for (std::uint32_t const rest :
                 {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x2000u, 0x3000u, 0x7fffu, 0x8000u, 0x8001u})
                x.push_back(std::bit_cast<float>(top << 23 | ((kept << 13 | rest) & 0x7fffff)));
    auto const count = static_cast<std::int64_t>(x.size());
    for (auto const* isa : sets())
        for (auto const half : {dtype::bf16, dtype::f16}) {
            if (half == dtype::f16 && isa == &isa::sse42) continue; // it has no instructions for them
            CAPTURE(isa->name, to_string(half));
            kernels::elementwise_op const ops[] = {{.op = loop::scalar_op::cast, .left = 0, .type = half},
                                                   {.op = loop::scalar_op::cast, .left = 1, .type = dtype::f32}};
            auto const k = lower(kernels::elementwise_nest(count, 1, ops, *isa), "rounded").value();
            auto const made = emit_x86(k, *isa).value();
            auto const got = function_errors::run(reinterpret_cast<codegen::kernel_function>(made.entry), k, x);
            auto const want =
                tensor::from(ints{count}, std::span<float const>{x}).converted_to(half).converted_to(dtype::f32);
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < x.size(); ++i) {
                auto const a = got[i], b = want.data<float>()[i];
                wrong +=
                    std::isnan(b) ? !std::isnan(a) : std::bit_cast<std::uint32_t>(a) != std::bit_cast<std::uint32_t>(b);
            }
            CHECK(wrong == 0);
        }
}

TEST_CASE("choices by conditions on numbers are what they are in text") {
    using loop::scalar_op;
    for (auto const* isa : sets())
        for (auto const op : {scalar_op::less, scalar_op::less_equal, scalar_op::equal})
            for (auto const join : {scalar_op::logical_and, scalar_op::logical_or, scalar_op::logical_xor})
                for (std::int64_t n = 1; n <= 2 * isa->lanes() + 1; n += 3) {
                    loop::expression_builder e{"choices"};
                    auto const x = e.spatial("x", n);
                    auto const a = e.input("a", {n}), b = e.input("b", {n}), y = e.output("y", {n});
                    auto const p = e.at(a, {x}), q = e.at(b, {x}), half = e.constant(0.5);
                    auto const first = apply(op, apply(scalar_op::round, p), apply(scalar_op::round, q));
                    auto const second = apply(scalar_op::logical_not, apply(op, p, half));
                    auto const chosen = select(apply(join, first, second), p * q, select(first, p, half));
                    loop::schedule plan{e.store(y, {x}, chosen)};
                    plan.vectorize(plan.split(plan.loop_of("x"), isa->lanes()).second);
                    CHECK(check_meaning(lower(plan.finish(), "k").value(), *isa));
                }
}

TEST_CASE("conditions that are stored, and those on other numbers, are named as not taken") {
    for (auto const* isa : sets()) {
        auto const n = std::int64_t{isa->lanes()};
        for (auto const type : {dtype::f32, dtype::i32}) {
            loop::expression_builder e{"e"};
            auto const x = e.spatial("x", n);
            auto const a = e.input("a", {n}, type);
            auto const y = e.output("y", {n}, type == dtype::f32 ? dtype::boolean : type);
            auto const holds = apply(loop::scalar_op::less, e.at(a, {x}), e.number(1, 1, type));
            auto const v = type == dtype::f32 ? holds : select(holds, e.at(a, {x}), e.number(1, 1, type));
            loop::schedule plan{e.store(y, {x}, v)};
            plan.vectorize(plan.loop_of("x"));
            CHECK_FALSE(emit_x86(lower(plan.finish(), "k").value(), *isa));
        }
    }
}

// Functions over n elements by machine code, for each instruction set.
std::vector<function_errors::evaluator> emitted() {
    std::vector<function_errors::evaluator> out;
    for (auto const* isa : sets())
        out.push_back({std::string{isa->name}, [isa](loop::scalar_op op, std::vector<float>& x) {
                           auto const k = function_errors::kernel_of(op, static_cast<std::int64_t>(x.size()), *isa);
                           auto const made = emit_x86(k, *isa).value();
                           return function_errors::run(reinterpret_cast<codegen::kernel_function>(made.entry), k, x);
                       }});
    return out;
}

TEST_CASE("functions are as near to the exact value as stated in machine code as in text") {
    function_errors::check_bounds(emitted(), function_errors::every(32749));
    function_errors::check_approximations(emitted(), function_errors::every(32749));
    function_errors::check_limits(emitted());
}

TEST_CASE("what machine code does not take is named") {
    for (auto const* isa : sets()) {
        loop::expression_builder e{"e"};
        auto const x = e.spatial("x", isa->lanes());
        auto const a = e.input("a", {isa->lanes()}), y = e.output("y", {isa->lanes()});
        loop::schedule plan{e.store(y, {x}, apply(loop::scalar_op::power, e.at(a, {x}), e.at(a, {x})))};
        plan.vectorize(plan.loop_of("x"));
        auto const k = lower(plan.finish(), "k").value();
        CHECK(emit_x86(k, *isa).error().message().find("pow") != std::string::npos);
        CHECK(emit_x86(k, isa::neon).error().message().find("neon") != std::string::npos);
    }
}

TEST_CASE("machine code lives as long as one copy of it") {
    for (auto const* isa : sets()) {
        auto const copy = kernels::elementwise_nest(3, 2, std::vector<kernels::elementwise_op>{{}}, *isa);
        auto first = emit_x86(lower(copy, "k").value(), *isa);
        REQUIRE(first);
        auto const second = *first;
        first = codegen::machine_code{};
        CHECK(second.bytes > 0);
        CHECK(second.memory.use_count() == 1);
    }
}

} // namespace emit_x86_test
