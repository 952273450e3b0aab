// Kernels as a program of their own: compiled with any compiler and options, run by any command. Its buffers are on the
// heap and have exactly the sizes that the kernels state, so a sanitizer sees each access beside them.
#pragma once

#include "io/scratch_folder.hpp"
#include "oracles/interpreted_kernel.hpp"
#include <gsub/codegen/cpp/emit_cpp.hpp>
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/kernels/conv2d.hpp>
#include <gsub/kernels/elementwise.hpp>
#include <gsub/kernels/matmul.hpp>
#include <gsub/kernels/pool2d.hpp>
#include <gsub/kernels/row_reduction.hpp>
#include <gsub/kernels/winograd.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace kernel_program {

using namespace gsub;
using codegen::kernel;
using gsub::isa;

/// Emits the text of a kernel, whose function has this name and is called as `codegen::kernel_function` is.
using emitter = std::string (*)(kernel const& k, std::string const& symbol);

/// Kernels of every kind, for sizes around the lanes: tails of every length.
inline std::vector<kernel> grid(isa const& isa) {
    using loop::scalar_op;
    std::int64_t const l = isa.lanes();
    std::vector<kernel> out;
    auto const add = [&](auto const& nest, std::string const& name) {
        out.push_back(codegen::lower(nest, name).value());
    };

    for (std::int64_t n = 1; n <= 2 * l + 1; ++n) { // every operation that a chain knows, one or two of them each
        constexpr scalar_op kinds[] = {
            scalar_op::add,     scalar_op::subtract,  scalar_op::multiply,    scalar_op::divide,
            scalar_op::maximum, scalar_op::minimum,   scalar_op::negate,      scalar_op::absolute,
            scalar_op::floor,   scalar_op::logarithm, scalar_op::exponential, scalar_op::tanh,
            scalar_op::erf,     scalar_op::sigmoid,   scalar_op::square_root, scalar_op::round};
        auto const one = kinds[static_cast<std::size_t>(n) % std::size(kinds)],
                   two = kinds[static_cast<std::size_t>(n + l) % std::size(kinds)];
        std::vector<kernels::elementwise_op> const ops{{one, 0, loop::is_unary(one) ? -1 : 1, 0}, {two, 2, -1, 0.75}};
        add(kernels::elementwise_nest(n, 2, ops, isa), "elementwise " + std::to_string(n));
    }
    for (auto const n : {std::int64_t{1}, l - 1, l, l + 1, 3 * l + 2}) {
        // Rows of a matrix that is stored transposed, from its third element on: softmax, and the means.
        kernels::row_reduction_shape p;
        p.dims = {3, n};
        p.arrays = {{3 * n + 2, 2, {1, 3}}};
        auto const reduced = kernels::reduction_step::sum, greatest = kernels::reduction_step::maximum;
        p.ops = {{greatest, {scalar_op::add, 0, -1, 0}},
                 {kernels::reduction_step::elementwise, {scalar_op::subtract, 0, 1, 0}},
                 {kernels::reduction_step::elementwise, {scalar_op::exponential, 2, -1, 0}},
                 {reduced, {scalar_op::add, 3, -1, 0}},
                 {kernels::reduction_step::elementwise, {scalar_op::divide, 3, 4, 0}}};
        p.results = {{5, true}, {4, false}};
        add(kernels::row_reduction_nest(p, isa), "softmax " + std::to_string(n));
        p.arrays = {kernels::array_view::contiguous(p.dims)}; // layer normalisation
        auto const count = static_cast<double>(n);
        p.ops = {{reduced, {scalar_op::add, 0, -1, 0}},
                 {kernels::reduction_step::elementwise, {scalar_op::divide, 1, -1, count}},
                 {kernels::reduction_step::elementwise, {scalar_op::subtract, 0, 2, 0}},
                 {kernels::reduction_step::elementwise, {scalar_op::multiply, 3, 3, 0}},
                 {reduced, {scalar_op::add, 4, -1, 0}},
                 {kernels::reduction_step::elementwise, {scalar_op::add, 5, -1, 1e-3}},
                 {kernels::reduction_step::elementwise, {scalar_op::square_root, 6, -1, 0}},
                 {kernels::reduction_step::elementwise, {scalar_op::divide, 3, 7, 0}}};
        p.results = {{8, true}};
        add(kernels::row_reduction_nest(p, isa), "layer norm " + std::to_string(n));
    }
    for (auto const n : {std::int64_t{1}, l - 1, l + 1, 2 * l + 3})
        for (auto const constant : {true, false}) {
            kernels::matmul_shape s;
            s.m = n == 1 ? 1 : 7, s.n = n, s.k = 5, s.constant = constant, s.bias = constant;
            if (!constant) s.batch = {2}, s.b = {2 * 5 * n, 0, {5 * n, 1, 5}}; // stored transposed
            s.epilogue = {{scalar_op::maximum, 0, -1, 0}};
            add(kernels::matmul_nest(s, kernels::default_config(s, isa), isa),
                std::string{constant ? "matmul " : "matmul of variables "} + std::to_string(n));
        }
    for (auto const width : {std::int64_t{1}, std::int64_t{5}, 2 * l + 3}) {
        kernels::conv2d_shape s;
        s.in_channels = 3, s.out_channels = l + 1, s.in = {3, width}, s.kernel = {3, 3}, s.pads = {1, 1, 1, 1};
        s.bias = s.residual = true, s.low = 0;
        auto const conv = [&](std::string const& name) {
            add(kernels::conv2d_nest(s, kernels::default_config(s, isa), isa), name + " " + std::to_string(width));
        };
        conv("conv2d");
        s.input = kernels::image_layout::planar, s.stride = {2, 2}, s.residual = false;
        conv("conv2d of NCHW");
        s.input = kernels::image_layout::blocked, s.in_channels = s.groups = s.out_channels;
        conv("depthwise");
        for (auto const average : {false, true}) {
            kernels::pool2d_shape p;
            p.channels = l + 1, p.in = {3, width}, p.kernel = {3, 3}, p.stride = {2, 2}, p.pads = p.pads_end = {1, 1};
            p.out = {2, (width - 1) / 2 + 1}, p.average = average;
            add(kernels::pool2d_nest(p, isa), "pool2d " + std::to_string(width));
        }
        s.groups = 1, s.in_channels = l, s.out_channels = l, s.stride = {1, 1};
        if (width > 1)
            for (std::int32_t const m : {2, 4})
                add(kernels::winograd_nest(s, kernels::default_winograd(s, isa, m), isa),
                    "winograd " + std::to_string(m) + " " + std::to_string(width));
    }
    for (auto const from : stored_dtypes) // every type as every other, and back where that is read
        for (auto const n : {l - 1, 2 * l + 1}) {
            loop::expression_builder e{"cast"};
            auto const i = e.spatial("i", n);
            auto const x = e.input("x", {n}, from);
            std::vector<std::int32_t> y;
            for (auto const to : stored_dtypes) y.push_back(e.output("y", {n}, to));
            auto const v = e.at(x, {i});
            for (std::size_t t = 1; t < std::size(stored_dtypes); ++t)
                e.also_store(y[t], {i}, cast(v, stored_dtypes[t]));
            loop::schedule plan{e.store(y[0], {i}, cast(v, stored_dtypes[0]))};
            plan.vectorize(plan.split(plan.loop_of("i"), l).second);
            add(plan.finish(), std::string{"cast of "} + std::string{to_string(from)} + " " + std::to_string(n));
        }
    return out;
}

/// Contents of all buffers: small whole numbers, no element of what is written, nothing known of scratch memory.
inline interpret::arrays contents(kernel const& k, std::uint64_t seed) {
    random_stream r{seed};
    interpret::arrays out;
    for (auto const& b : k.buffers) {
        auto const mark = b.workspace ? std::numeric_limits<double>::quiet_NaN() : interpret::untouched_of(b.element);
        auto& a = out.emplace_back(static_cast<std::size_t>(b.elements()), mark);
        if (!b.written && !b.workspace)
            for (auto& v : a) v = interpret::small_number(r, b.element);
    }
    return out;
}

/// The text of a program that runs each kernel on numbers of one file, its range whole and then in pieces, and writes
/// all its buffers to another.
inline std::string text_of(std::vector<kernel> const& kernels, std::string const& header, emitter emit) {
    auto text = "#include <cstdio>\n#include <cstdlib>\n" + header;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        auto const n = std::to_string(i);
        text += "namespace space_" + n + " {\n" + emit(kernels[i], "kernel_" + n) + "}\n";
    }
    text += "typedef void (*function)(void* const*, long, long);\n"
            "static bool run(function f, long last, unsigned long scratch, int count, const unsigned long* sizes,\n"
            "                const unsigned long* bytes, FILE* in, FILE* out) {\n"
            "    void* at[16];\n"
            "    for (int i = 0; i < count; ++i)\n"
            "        if (!(at[i] = malloc(sizes[i] * bytes[i])) || fread(at[i], bytes[i], sizes[i], in) != sizes[i]) "
            "return false;\n"
            "    if (!(at[count] = aligned_alloc(64, scratch))) return false;\n"
            "    f(at, 0, last);\n"
            "    f(at, 0, last / 3), f(at, last / 3, last / 3), f(at, last / 3, last);\n"
            "    for (int i = 0; i < count; ++i)\n"
            "        if (fwrite(at[i], bytes[i], sizes[i], out) != sizes[i]) return false;\n"
            "    for (int i = 0; i <= count; ++i) free(at[i]);\n"
            "    return true;\n"
            "}\n"
            "int main(int, char** argv) {\n"
            "    FILE *in = fopen(argv[1], \"rb\"), *out = fopen(argv[2], \"wb\");\n"
            "    if (!in || !out) return 2;\n";
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        auto const& k = kernels[i];
        std::string sizes, bytes;
        auto count = 0;
        for (auto const& b : k.buffers) {
            if (b.workspace) continue;
            sizes += std::to_string(b.elements()) + ", ", ++count;
            bytes += std::to_string(byte_size(b.element)) + ", ";
        }
        auto const n = std::to_string(i);
        text += "    { const unsigned long sizes[] = {" + sizes + "}, bytes[] = {" + bytes + "};\n    if (!run(space_" +
                n + "::kernel_" + n + ", " + std::to_string(k.parallel_extent) + ", " +
                std::to_string(std::max<std::size_t>((codegen::workspace_bytes(k) + 63) / 64 * 64, 64)) + ", " +
                std::to_string(count) + ", sizes, bytes, in, out)) return 3; }\n";
    }
    return text + "    return fclose(in) || fclose(out);\n}\n";
}

inline std::string quoted(std::string const& path) {
    return "'" + path + "'";
}

/// What is wrong with the program that `compile` makes of the kernels and `run` starts: what they said, or a difference
/// from the kernels as they are read; empty where nothing is. Both are words of a shell. `header` stands before the
/// texts of all kernels.
inline std::string fault(std::vector<kernel> const& kernels, std::string const& compile, std::string const& run,
                         std::string const& header = {}, emitter emit = &codegen::emit_cpp) {
    scratch_folder const folder;
    auto const source = folder.file("kernels.cpp", text_of(kernels, header, emit)), program = folder / "kernels",
               log = folder / "log";
    std::vector<interpret::arrays> data;
    {
        std::ofstream in{folder / "in", std::ios::binary};
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            data.push_back(contents(kernels[i], i));
            for (std::size_t b = 0; b < data[i].size(); ++b)
                if (!kernels[i].buffers[b].workspace)
                    for (auto const v : data[i][b]) {
                        char element[8];
                        interpret::put(v, kernels[i].buffers[b].element, element);
                        in.write(element, static_cast<std::streamsize>(byte_size(kernels[i].buffers[b].element)));
                    }
        }
    }
    auto const command = "( " + compile + " " + quoted(source) + " -o " + quoted(program) + " && " + run + " " +
                         quoted(program) + " " + quoted(folder / "in") + " " + quoted(folder / "out") + " ) > " +
                         quoted(log) + " 2>&1";
    if (std::system(command.c_str()) != 0) {
        std::ifstream said{log};
        return std::string{std::istreambuf_iterator<char>{said}, {}}.substr(0, 4000) + "\nended by an error";
    }
    std::ifstream out{folder / "out", std::ios::binary};
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        auto const& k = kernels[i];
        interpreted_kernel::machine m{k, data[i]};
        m.run(0, k.parallel_extent);
        for (std::size_t b = 0; b < data[i].size(); ++b) {
            if (k.buffers[b].workspace) continue;
            double largest = 1;
            for (auto const v : data[i][b])
                if (std::abs(v) < std::numeric_limits<double>::infinity()) largest = std::max(largest, std::abs(v));
            for (std::size_t e = 0; e < data[i][b].size(); ++e) {
                char element[8];
                auto const type = k.buffers[b].element;
                if (!out.read(element, static_cast<std::streamsize>(byte_size(type)))) return "too little was written";
                auto const x = interpret::get(type, element), y = data[i][b][e];
                if (!(std::abs(x - y) <= 1e-5 * largest || x == y || (x != x && y != y)))
                    return k.name + ": element " + std::to_string(e) + " of buffer " + std::to_string(b) + " is " +
                           std::to_string(x) + ", not " + std::to_string(y);
            }
        }
    }
    return {};
}

} // namespace kernel_program
