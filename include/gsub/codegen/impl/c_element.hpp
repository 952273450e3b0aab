// c_element: how elements of each type are stored and computed with in generated C++.
#pragma once

#include <gsub/ir/types/dtype.hpp>

#include <string_view>

namespace gsub::codegen::detail {

/// A row of the table of C types.
struct c_element {
    dtype type;
    std::string_view c, name, vector, unaligned, without_sign, mask;
};
inline constexpr c_element c_elements[] = {
    {dtype::f64, "double", "f64", "v_f64", "u_f64", "", "v_i64"},
    {dtype::f32, "float", "f32", "vf", "uf", "", "v_i32"},
    {dtype::f16, "unsigned short", "f16", "v_u16", "u_u16", "v_u16", "v_i16"},
    {dtype::bf16, "unsigned short", "bf16", "v_u16", "u_u16", "v_u16", "v_i16"},
    {dtype::i64, "long", "i64", "v_i64", "u_i64", "v_u64", "v_i64"},
    {dtype::i32, "int", "i32", "v_i32", "u_i32", "v_u32", "v_i32"},
    {dtype::i16, "short", "i16", "v_i16", "u_i16", "v_u16", "v_i16"},
    {dtype::i8, "signed char", "i8", "v_i8", "u_i8", "v_u8", "v_i8"},
    {dtype::u64, "unsigned long", "u64", "v_u64", "u_u64", "v_u64", "v_i64"},
    {dtype::u32, "unsigned", "u32", "v_u32", "u_u32", "v_u32", "v_i32"},
    {dtype::u16, "unsigned short", "u16", "v_u16", "u_u16", "v_u16", "v_i16"},
    {dtype::u8, "unsigned char", "u8", "v_u8", "u_u8", "v_u8", "v_i8"},
    {dtype::boolean, "unsigned char", "bool", "v_u8", "u_u8", "v_u8", "v_i8"},
};
[[nodiscard]] constexpr c_element const& c_element_of(dtype t) noexcept {
    for (auto const& e : c_elements)
        if (e.type == t) return e;
    return c_elements[1]; // no other type is in a kernel
}

[[nodiscard]] constexpr bool is_half(dtype t) noexcept {
    return t == dtype::f16 || t == dtype::bf16;
}

} // namespace gsub::codegen::detail
