// Operands and tables of AT&T x86-64, for the parser of assembly.
#pragma once

#include <gsub/machine/impl/assembly_text.ipp>

namespace gsub::machine::detail::x86 {

using enum instruction_class;
inline constexpr register_id ax = 0, cx = 1, dx = 2, sp = 4, bp = 5;

// clang-format off
inline constexpr std::string_view floats = "ps pd ss sd ph sh", widths = "b w d q", sized = "- b w l q";
// Of vectors, without the `v` in front; those from `movs` on are read by what they move.
inline constexpr mnemonic_row vector_rows[] = {
    {"fmadd132 fmadd213 fmadd231 fmsub132 fmsub213 fmsub231 fnmadd132 fnmadd213 fnmadd231 fnmsub132 fnmsub213 fnmsub231 "
     "fmaddsub132 fmaddsub213 fmaddsub231 fmsubadd132 fmsubadd213 fmsubadd231", floats, fma},
    {"pdpbusd pdpwssd dpbf16p", "- s", fma},
    {"mul rcp rsqrt rcp14 rsqrt14 scalef getexp getmant dp", floats, multiply},
    {"pmull pmulhu pmulh pmulu pmul pmulhr pmadd", "w d q dq sw ubsw wd", multiply},
    {"add sub addsub hadd hsub", floats, add}, {"psadbw mpsadbw", "-", add},
    {"max min cmp ucomi comi range", floats, maximum},
    {"cmpeq cmplt cmple cmpunord cmpneq cmpnlt cmpnle cmpord cmpgt cmpge", floats, maximum},
    {"div", floats, divide}, {"sqrt", floats, square_root},
    {"and andn or xor blend blendv blendm", floats, logic}, {"pand pandn por pxor", "- d q", logic},
    {"padd psub pabs pcmpeq pcmpgt psll psrl psra psllv psrlv psrav pmaxs pmaxu pmins pminu pavg psign pcmp pcmpu "
     "padds paddus psubs psubus prolv prorv prol pror ptestm ptestnm pcmpneq pcmpnlt pcmplt pcmple", widths, logic},
    {"pblendvb pblendw pblendd pternlogd pternlogq ptest", "-", logic}, {"test fpclass", floats, logic},
    {"pblendm pconflict plzcnt pmovm2", widths, logic},
    {"movmskps movmskpd pmovmskb pmovb2m pmovw2m pmovd2m pmovq2m", "-", logic},
    {"shuf perm permil unpckl unpckh movddup movshdup movsldup expand compress insert", "ps pd - ps2 w d q", shuffle},
    {"perm2f128 perm2i128 permt2 permi2 perm permb pshuf pshufl pshufh punpckl punpckh", "- ps pd b w d q bw wd dq qdq", shuffle},
    {"packss packus", "wb dw", shuffle}, {"palignr pslldq psrldq movhlps movlhps pshufb", "-", shuffle},
    {"align pexpand pcompress pinsr pextr", widths, shuffle}, {"extractps", "-", shuffle},
    {"insertf128 inserti128 extractf128 extracti128 insertf32x4 inserti32x4 extractf32x4 extracti32x4 insertf64x2 "
     "inserti64x2 extractf64x2 extracti64x2 insertf32x8 inserti32x8 extractf32x8 extracti32x8 insertf64x4 inserti64x4 "
     "extractf64x4 extracti64x4 shuff32x4 shufi32x4 shuff64x2 shufi64x2", "-", shuffle},
    {"phadd phsub", "w d sw", shuffle},
    {"pmovsx pmovzx pmovs pmovus pmov", "bw bd bq wd wq dq wb db dw qb qw qd", convert},
    {"round rndscale", floats, convert},
    {"broadcast", "ss sd f128 i128 f32x2 f32x4 f64x2 f32x8 f64x4 i32x2 i32x4 i64x2 i32x8 i64x4", broadcast},
    {"pbroadcast", widths, broadcast},
    {"mova movu movnt movl movh", "ps pd", load}, {"movdqa movdqu", "- 8 16 32 64", load},
    {"movntdq movntdqa lddqu movss movsd movsh movd movq maskmovps maskmovpd pmaskmovd pmaskmovq", "-", load},
    {"gatherdps gatherdpd gatherqps gatherqpd pgatherdd pgatherdq pgatherqd pgatherqq", "-", load},
    {"scatterdps scatterdpd scatterqps scatterqpd pscatterdd pscatterdq pscatterqd pscatterqq", "-", store},
};
inline constexpr mnemonic_row mask_rows[] = {
    {"kmov kand kandn kor kxor kxnor knot kadd kshiftl kshiftr kortest ktest kunpck", "b w d q bw wd dq", logic},
};
// Of integers; those whose last operand is only written stand in `write_only`.
inline constexpr mnemonic_row integer_rows[] = {
    {"add sub and or xor adc sbb inc dec neg not cmp test imul mul div idiv shl sal shr sar rol ror shld shrd xchg xadd bt "
     "bts btr btc lea mov movabs bswap cmpxchg bsf bsr tzcnt lzcnt popcnt shlx shrx sarx rorx mulx andn blsr blsi blsmsk "
     "bzhi bextr pdep pext", sized, integer},
    {"movz movs", "bw bl bq wl wq lq", integer}, {"cltq cqto cltd cwtl cbtw cwtd cdqe cqo cdq cwde lahf sahf cmc clc stc rdtsc cpuid xgetbv", "-", integer},
    {"set cmov", "e ne z nz l le g ge nl nle ng nge b be a ae nb nbe na nae c nc s ns o no p np pe po", integer},
    {"cmovl cmovle cmovg cmovge cmove cmovne cmovb cmovbe cmova cmovae cmovs cmovns cmovz cmovnz cmovc cmovnc cmovp cmovnp cmovo cmovno", "w l q", integer},
};
inline constexpr std::string_view write_only = "mov movabs lea movz movs bsf bsr tzcnt lzcnt popcnt shlx shrx sarx rorx "
    "mulx andn blsr blsi blsmsk bzhi bextr pdep pext set";
inline constexpr std::string_view nothing = "nop nopw nopl endbr64 vzeroupper vzeroall pause mfence lfence sfence ud2 hlt "
    "emms cld std data16 cs";
inline constexpr std::string_view prefixes = "rep repe repz repne repnz lock notrack bnd data16";

struct condition_row { std::string_view names; line_condition what; };
inline constexpr condition_row conditions[] = {
    {"e z", line_condition::equal}, {"ne nz", line_condition::not_equal},
    {"l nge b c nae s", line_condition::less}, {"le ng be na", line_condition::less_equal},
    {"g nle a nbe", line_condition::greater}, {"ge nl ae nb nc ns", line_condition::greater_equal},
    {"o no p np pe po cxz ecxz rcxz", line_condition::other},
};
inline constexpr std::string_view legacy_names = "ax cx dx bx sp bp si di";
// clang-format on

[[nodiscard]] inline std::optional<line_condition> condition_of(std::string_view name) noexcept {
    for (auto const& row : conditions)
        if (in_list(row.names, name)) return row.what;
    return std::nullopt;
}

// Number of a register of the eight old ones by its two letters, e.g. `cx`.
[[nodiscard]] inline std::optional<register_id> old_register(std::string_view letters) noexcept {
    for (std::size_t i = 0; letters.size() == 2 && i < 8; ++i)
        if (legacy_names.substr(3 * i, 2) == letters) return static_cast<register_id>(i);
    return std::nullopt;
}
[[nodiscard]] inline std::optional<std::int64_t> small_number(std::string_view digits, std::int64_t below) noexcept {
    if (digits.empty() || digits.size() > 2 || digits.front() == '-' || digits.front() == '+') return std::nullopt;
    auto const n = number_of(digits);
    return n && *n < below ? n : std::nullopt;
}

// Vectors and masks: xmm0, ymm15, zmm31, k7.
[[nodiscard]] inline bool read_vector(std::string_view name, text_operand& out) noexcept {
    auto const wide = name.size() > 3 ? name.substr(0, 3) : std::string_view{};
    if (auto const bytes = wide == "xmm" ? 16 : wide == "ymm" ? 32 : wide == "zmm" ? 64 : 0) {
        auto const n = small_number(name.substr(3), 32);
        if (!n) return false;
        out.kind = operand_kind::vector, out.bytes = bytes, out.reg = static_cast<register_id>(first_vector + *n);
        return true;
    }
    auto const n = name.starts_with('k') ? small_number(name.substr(1), 8) : std::nullopt;
    if (n) out.kind = operand_kind::mask, out.bytes = 8, out.reg = static_cast<register_id>(first_mask + *n);
    return n.has_value();
}

// Integer registers: rax, eax, ax, al, ah, sil, r8, r8d, r8w, r8b.
[[nodiscard]] inline bool read_integer(std::string_view name, text_operand& out) noexcept {
    out.kind = operand_kind::integer;
    if (name.size() == 3 && (name[0] == 'r' || name[0] == 'e'))
        if (auto const r = old_register(name.substr(1))) return out.reg = *r, out.bytes = name[0] == 'r' ? 8 : 4, true;
    if (auto const r = old_register(name)) return out.reg = *r, out.bytes = 2, true;
    if (name.size() == 3 && name[2] == 'l')
        if (auto const r = old_register(name.substr(0, 2)); r && *r >= sp) return out.reg = *r, out.bytes = 1, true;
    if (name.size() == 2 && (name[1] == 'l' || name[1] == 'h')) {
        char const letters[] = {name[0], 'x'};
        if (auto const r = old_register({letters, 2})) return out.reg = *r, out.bytes = 1, true;
    }
    if (name.size() < 2 || name[0] != 'r') return false;
    auto const last = name.back();
    out.bytes = last == 'd' ? 4 : last == 'w' ? 2 : last == 'b' ? 1 : 8;
    auto const n = small_number(name.substr(1, name.size() - (out.bytes == 8 ? 1 : 2)), 16);
    if (!n || *n < 8) return false;
    out.reg = static_cast<register_id>(*n);
    return true;
}

[[nodiscard]] inline bool read_register(std::string_view name, text_operand& out) noexcept {
    if (!name.starts_with('%')) return false;
    name.remove_prefix(1);
    if (name == "rip" || name == "eip" || in_list("cs ds es fs gs ss", name) || name.starts_with("st")) {
        out.kind = operand_kind::other; // x87 and segments: known, and followed by nothing
        return name.size() < 6;
    }
    return read_vector(name, out) || read_integer(name, out);
}

// What stands in braces behind an operand: {%k1}, {z}, {1to8}, {sae}.
[[nodiscard]] inline bool read_braces(std::string_view s, text_operand& out) noexcept {
    while (!s.empty()) {
        auto const end = s.find('}');
        if (s.front() != '{' || end == std::string_view::npos) return false;
        auto const what = s.substr(1, end - 1);
        text_operand mask;
        if (what == "z")
            out.zeroing = true;
        else if (what == "sae" || what.ends_with("-sae"))
            out.constant = false; // rounding: nothing to follow
        else if (what.starts_with("1to"))
            out.broadcast = true;

        else if (read_register(what, mask) && mask.is(operand_kind::mask))
            out.mask = mask.reg;
        else
            return false;
        s = trimmed(s.substr(end + 1));
    }
    return true;
}

// disp(base,index,scale), a symbol, or an address relative to a segment.
[[nodiscard]] inline bool read_memory(std::string_view s, text_operand& out) noexcept {
    if (s.starts_with('%')) { // %fs:40
        auto const colon = s.find(':');
        text_operand segment;
        if (colon == std::string_view::npos || !read_register(s.substr(0, colon), segment)) return false;
        s.remove_prefix(colon + 1), out.constant = false;
    }
    out.kind = operand_kind::memory;
    auto const open = s.find('(');
    if (auto const before = trimmed(s.substr(0, open)); !before.empty()) {
        auto const n = number_of(before);
        out.constant = out.constant && n.has_value();
        out.value = n.value_or(0), out.text = before;
    }
    constexpr std::string_view signs = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$@+-*/\" ";
    if (out.text.find_first_not_of(signs) != std::string_view::npos) return false;
    if (open == std::string_view::npos) return out.kind = operand_kind::name, !s.empty();
    if (s.back() != ')') return false;
    auto inside = s.substr(open + 1, s.size() - open - 2);
    for (int part = 0; part < 3; ++part) {
        auto const end = std::min(inside.find(','), inside.size());
        auto const word = trimmed(inside.substr(0, end));
        text_operand r;
        if (part == 2) {
            auto const n = word.empty() ? 1 : number_of(word).value_or(0);
            if (n != 1 && n != 2 && n != 4 && n != 8) return false;
            out.scale = n;
        } else if (!word.empty()) {
            if (!read_register(word, r) || r.is(operand_kind::mask)) return false;
            if (r.reg == no_register) out.constant = false; // %rip
            (part == 0 ? out.base : out.index) = r.reg;
        }
        if (end == inside.size()) return true;
        inside.remove_prefix(end + 1);
    }
    return false;
}

// *Returns* whether it is an operand of the syntax.
[[nodiscard]] inline bool read_operand(std::string_view s, text_operand& out) noexcept {
    if (s.starts_with('*')) s = trimmed(s.substr(1)), out.constant = false;
    if (s.empty()) return false;
    if (s.front() == '$') {
        auto const n = number_of(s.substr(1));
        out.kind = operand_kind::immediate, out.value = n.value_or(0), out.constant = n.has_value();
        return s.size() > 1;
    }
    auto const brace = std::min(s.find('{'), s.size());
    if (!read_braces(s.substr(brace), out)) return false;
    s = trimmed(s.substr(0, brace));
    if (s.empty()) return out.kind = operand_kind::other, true; // {sae}, {rn-sae} alone
    if (s.front() == '%' && s.find(':') == std::string_view::npos) return read_register(s, out);
    return read_memory(s, out);
}

} // namespace gsub::machine::detail::x86
