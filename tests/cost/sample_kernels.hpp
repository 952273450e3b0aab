// Sample kernels of the tests of predicted times: rows by name, small products and convolutions, and their kernel IR.
#pragma once

#include "catch.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/target/microarchitecture.hpp>

#include <cstdint>
#include <string_view>

namespace sample_kernels {

inline gsub::microarchitecture const& named(std::string_view name) {
    for (auto const& row : gsub::microarchitectures())
        if (row.name == name) return row;
    FAIL("no row " << name);
    return gsub::microarchitectures().back();
}

inline gsub::kernels::matmul_shape product(std::int64_t m, std::int64_t n, std::int64_t k) {
    gsub::kernels::matmul_shape s;
    s.m = m, s.n = n, s.k = k;
    return s;
}
/// As many channels out as in, and as many pixels.
inline gsub::kernels::conv2d_shape convolution(std::int64_t channels, std::int64_t pixels, std::int64_t kernel,
                                               std::int64_t groups = 1) {
    gsub::kernels::conv2d_shape s;
    s.in_channels = s.out_channels = channels, s.groups = groups;
    s.in = {pixels, pixels}, s.kernel = {kernel, kernel};
    s.pads = {kernel / 2, kernel / 2, kernel / 2, kernel / 2};
    return s;
}

inline gsub::codegen::kernel kernel_of(gsub::kernels::descriptor const& d, gsub::loop::configuration const& knobs,
                                       gsub::isa const& isa = gsub::isa::avx512) {
    return gsub::codegen::lower(gsub::kernels::nest_of(d, knobs, isa), "k").value();
}
inline gsub::codegen::kernel kernel_of(gsub::kernels::descriptor const& d, std::string_view knobs,
                                       gsub::isa const& isa = gsub::isa::avx512) {
    auto const space = gsub::kernels::space_of(d, isa);
    return kernel_of(d, space.parse(knobs), isa);
}
/// By the knobs that its template counts.
inline gsub::codegen::kernel counted(gsub::kernels::descriptor const& d, gsub::isa const& isa = gsub::isa::avx512) {
    auto const space = gsub::kernels::space_of(d, isa);
    return kernel_of(d, gsub::kernels::counted(d, isa, space), isa);
}

} // namespace sample_kernels
