// Parts of the parser of PTX: words of an opcode, what they say of an instruction, and names of registers.
#pragma once

#include <gsub/machine/impl/assembly_text.ipp>
#include <gsub/machine/ptx.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace gsub::machine::detail::ptx {

// The words of an opcode, which points separate: `ld`, `global`, `v4`, `f32`.
class opcode_words {
public:
    explicit opcode_words(std::string_view opcode) {
        while (!opcode.empty()) {
            auto const end = std::min(opcode.find('.'), opcode.size());
            words_.push_back(opcode.substr(0, end));
            opcode.remove_prefix(std::min(end + 1, opcode.size()));
        }
    }
    [[nodiscard]] std::string_view name() const noexcept { return words_.empty() ? std::string_view{} : words_[0]; }
    [[nodiscard]] bool has(std::string_view word) const noexcept {
        return std::find(words_.begin(), words_.end(), word) != words_.end();
    }
    [[nodiscard]] std::vector<std::string_view> const& all() const noexcept { return words_; }

private:
    std::vector<std::string_view> words_;
};

// Type of an operand.
struct operand_type {
    std::int32_t bits = 0;
    bool is_signed = false, is_float = false;
};
[[nodiscard]] inline std::optional<operand_type> type_of(std::string_view word) noexcept {
    if (word == "pred") return operand_type{1, false, false};
    if (word == "f16x2" || word == "bf16x2") return operand_type{32, false, true};
    if (word == "bf16") return operand_type{16, false, true};
    if (word == "tf32") return operand_type{32, false, true};
    if (word == "e4m3x2" || word == "e5m2x2") return operand_type{16, false, true};
    if (word.size() < 2 || !in_list("s u b f", word.substr(0, 1))) return std::nullopt;
    auto const bits = number_of(word.substr(1));
    if (!bits || !in_list("8 16 32 64 128", word.substr(1))) return std::nullopt;
    return operand_type{static_cast<std::int32_t>(*bits), word[0] == 's', word[0] == 'f'};
}

// Row of the table of instructions: names, and what they are where the type is of integers and of floats.
struct instruction_row {
    std::string_view names;
    ptx_class integers, floats;
    ptx_operation does = ptx_operation::other;
};
inline constexpr instruction_row instruction_rows[] = {
    {"fma", ptx_class::fma, ptx_class::fma},
    {"mad", ptx_class::integer, ptx_class::fma, ptx_operation::multiply_add},
    {"add", ptx_class::integer, ptx_class::floating, ptx_operation::add},
    {"sub", ptx_class::integer, ptx_class::floating, ptx_operation::subtract},
    {"mul", ptx_class::integer, ptx_class::floating, ptx_operation::multiply},
    {"min", ptx_class::integer, ptx_class::floating, ptx_operation::minimum},
    {"max", ptx_class::integer, ptx_class::floating, ptx_operation::maximum},
    {"neg", ptx_class::integer, ptx_class::floating, ptx_operation::negate},
    {"abs", ptx_class::integer, ptx_class::floating, ptx_operation::absolute},
    {"div", ptx_class::integer, ptx_class::special, ptx_operation::divide},
    {"rem", ptx_class::integer, ptx_class::integer, ptx_operation::remainder},
    {"setp", ptx_class::integer, ptx_class::floating, ptx_operation::compare},
    {"selp", ptx_class::integer, ptx_class::floating, ptx_operation::select},
    {"and", ptx_class::integer, ptx_class::integer, ptx_operation::bit_and},
    {"or", ptx_class::integer, ptx_class::integer, ptx_operation::bit_or},
    {"xor", ptx_class::integer, ptx_class::integer, ptx_operation::bit_xor},
    {"not", ptx_class::integer, ptx_class::integer, ptx_operation::bit_not},
    {"shl", ptx_class::integer, ptx_class::integer, ptx_operation::shift_left},
    {"shr", ptx_class::integer, ptx_class::integer, ptx_operation::shift_right},
    {"cvta", ptx_class::integer, ptx_class::integer, ptx_operation::copy},
    {"mov", ptx_class::move, ptx_class::move, ptx_operation::copy},
    {"cvt", ptx_class::convert, ptx_class::convert, ptx_operation::copy},
    {"mad24 mul24 addc subc madc sad lop3 shf bfe bfi bfind brev clz popc prmt cnot bmsk szext fns dp4a dp2a isspacep "
     "mapa getctarank vadd vsub vmin vmax vset",
     ptx_class::integer, ptx_class::integer},
    {"set slct copysign testp", ptx_class::integer, ptx_class::floating},
    {"rcp sqrt rsqrt sin cos lg2 ex2 tanh", ptx_class::special, ptx_class::special},
    {"ld ldu ldmatrix tex tld4 suld", ptx_class::load, ptx_class::load},
    {"st stmatrix sust", ptx_class::store, ptx_class::store},
    {"atom red", ptx_class::atomic, ptx_class::atomic},
    {"cp", ptx_class::copy_async, ptx_class::copy_async},
    {"mma wgmma wmma", ptx_class::matrix, ptx_class::matrix},
    {"shfl vote match redux activemask elect", ptx_class::shuffle, ptx_class::shuffle},
    {"bar barrier membar fence mbarrier griddepcontrol setmaxnreg nanosleep", ptx_class::barrier, ptx_class::barrier},
    {"bra brx call ret exit trap brkpt", ptx_class::branch, ptx_class::branch},
    {"prefetch prefetchu applypriority discard createpolicy pmevent stacksave stackrestore alloca", ptx_class::other,
     ptx_class::other},
};
// Instructions whose first operand is no result.
inline constexpr std::string_view without_result =
    "st red bra brx call ret exit trap brkpt bar barrier membar fence cp prefetch prefetchu applypriority discard "
    "nanosleep setmaxnreg griddepcontrol stmatrix sust pmevent stackrestore";

[[nodiscard]] inline instruction_row const* row_of(std::string_view name) noexcept {
    for (auto const& row : instruction_rows)
        if (in_list(row.names, name)) return &row;
    return nullptr;
}

[[nodiscard]] inline ptx_space space_of(opcode_words const& words) noexcept {
    for (auto const w : words.all()) {
        auto const of = [&](std::string_view name) {
            return w == name || (w.starts_with(name) && w.substr(name.size()).starts_with("::"));
        };
        if (of("global")) return ptx_space::global;
        if (of("shared")) return ptx_space::shared;
        if (of("local")) return ptx_space::local;
        if (of("param")) return ptx_space::parameter;
        if (of("const")) return ptx_space::constant;
    }
    return ptx_space::generic;
}

// The product of the three numbers of a shape such as `m16n8k8`; 0: the word is none.
[[nodiscard]] inline std::int64_t products_of_shape(std::string_view word) noexcept {
    std::int64_t product = 1;
    for (auto const letter : {'m', 'n', 'k'}) {
        if (word.empty() || word.front() != letter) return 0;
        word.remove_prefix(1);
        auto const end = std::min(word.find_first_not_of("0123456789"), word.size());
        auto const n = number_of(word.substr(0, end));
        if (!n || *n <= 0 || *n > 4096) return 0;
        product *= *n;
        word.remove_prefix(end);
    }
    return word.empty() ? product : 0;
}

// The comparison of `setp`: signed and unsigned ones alike; `other` where a second predicate takes part.
[[nodiscard]] inline line_condition condition_of(opcode_words const& words) noexcept {
    struct row {
        std::string_view name;
        line_condition when;
    };
    using enum line_condition;
    static constexpr row rows[] = {{"eq", equal},         {"ne", not_equal},    {"lt", less},    {"lo", less},
                                   {"le", less_equal},    {"ls", less_equal},   {"gt", greater}, {"hi", greater},
                                   {"ge", greater_equal}, {"hs", greater_equal}};
    if (words.has("and") || words.has("or") || words.has("xor")) return other;
    for (auto const& r : rows)
        if (words.has(r.name)) return r.when;
    return other;
}

// Bytes that a thread reads or writes: elements of the type, as many as the vector or the matrices have.
[[nodiscard]] inline std::int32_t bytes_of(opcode_words const& words, std::int32_t bits) noexcept {
    std::int32_t count = 1;
    for (auto const w : words.all())
        if (in_list("v2 v4 v8 x1 x2 x4", w)) count = w[1] - '0';
    // A matrix of 8 by 8 has two elements of 16 bits a thread.
    if (words.name() == "ldmatrix" || words.name() == "stmatrix") return 4 * count;
    return bits / 8 * count;
}

// What the opcode says; `known`: whether the table has it.
[[nodiscard]] inline ptx_instruction instruction_of(opcode_words const& words, bool& known) {
    ptx_instruction i;
    auto const* const row = row_of(words.name());
    known = row != nullptr;
    std::vector<operand_type> types;
    for (auto const w : words.all())
        if (auto const t = type_of(w)) types.push_back(*t);
    auto const type = types.empty() ? operand_type{32, false, false} : types.back();
    i.bits = type.bits, i.is_signed = type.is_signed;
    i.is_float = std::any_of(types.begin(), types.end(), [](auto const& t) { return t.is_float; });
    if (!row) return i;
    i.what = i.is_float ? row->floats : row->integers;
    i.does = i.is_float ? ptx_operation::other : row->does;
    i.wide = words.has("wide");
    if (words.has("hi") && in_list("mul mad", words.name())) i.does = ptx_operation::other;
    if (i.does == ptx_operation::compare) i.when = condition_of(words);
    if (words.name() == "cvt" && (words.has("sat") || (types.size() == 2 && types[0].bits < 32)))
        i.does = ptx_operation::other; // bits may be lost; counters fit into 32
    if (words.name() == "cvta") i.bits = 64;
    auto const moves = i.what == ptx_class::load || i.what == ptx_class::store || i.what == ptx_class::atomic;
    if (moves) i.space = space_of(words), i.bytes = bytes_of(words, type.bits);
    if (in_list("tex tld4 suld sust", words.name())) i.space = ptx_space::global;
    if (i.what == ptx_class::copy_async) i.space = ptx_space::global;
    if (i.what == ptx_class::copy_async &&
        (words.has("commit_group") || words.has("wait_group") || words.has("wait_all") || words.has("mbarrier")))
        i.what = ptx_class::barrier, i.space = ptx_space::none;
    if (i.what == ptx_class::matrix) {
        if (words.has("fence") || words.has("commit_group") || words.has("wait_group")) i.what = ptx_class::barrier;
        if (words.has("load")) i.what = ptx_class::load;
        if (words.has("store")) i.what = ptx_class::store;
        for (auto const w : words.all()) i.multiply_adds = std::max(i.multiply_adds, products_of_shape(w));
        if (i.what != ptx_class::matrix) i.multiply_adds = 0;
        if (i.what == ptx_class::load || i.what == ptx_class::store) i.space = space_of(words), i.bytes = 32;
    }
    if (i.what == ptx_class::branch) {
        i.flow = in_list("ret exit trap brkpt brx", words.name()) ? line_flow::leave
                 : words.name() == "bra"                          ? line_flow::jump
                                                                  : line_flow::next;
    }
    return i;
}

[[nodiscard]] inline std::optional<ptx_special> special_of(std::string_view name) noexcept {
    static constexpr std::string_view names[ptx_specials] = {
        "%tid.x",   "%tid.y",   "%tid.z",    "%ntid.x",   "%ntid.y",   "%ntid.z", "%ctaid.x",
        "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid"};
    for (std::size_t i = 0; i < ptx_specials; ++i)
        if (name == names[i]) return static_cast<ptx_special>(i);
    constexpr std::string_view others =
        "%warpid %nwarpid %smid %nsmid %gridid %clock %clock_hi %clock64 %globaltimer %globaltimer_lo %globaltimer_hi "
        "%lanemask_eq %lanemask_le %lanemask_lt %lanemask_ge %lanemask_gt %dynamic_smem_size %total_smem_size "
        "%clusterid.x %clusterid.y %clusterid.z %nclusterid.x %nclusterid.y %nclusterid.z %cluster_ctaid.x "
        "%cluster_ctaid.y %cluster_ctaid.z %cluster_nctaid.x %cluster_nctaid.y %cluster_nctaid.z %cluster_ctarank "
        "%cluster_nctarank %is_explicit_cluster";
    if (in_list(others, name)) return ptx_special::other;
    return std::nullopt;
}

} // namespace gsub::machine::detail::ptx
