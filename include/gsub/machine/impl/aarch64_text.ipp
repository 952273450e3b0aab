// Operands and tables of AArch64, for the parser of assembly.
#pragma once

#include <gsub/machine/impl/assembly_text.ipp>

namespace gsub::machine::detail::aarch64 {

using enum instruction_class;
inline constexpr register_id fp = 29, lr = 30, sp = 31;

// clang-format off
inline constexpr mnemonic_row vector_rows[] = {
    {"fmla fmls fmadd fmsub fnmadd fnmsub fmlal fmlal2 fmlsl fmlsl2 mla mls smlal smlal2 umlal umlal2 smlsl smlsl2 umlsl umlsl2 "
     "sdot udot usdot sudot bfdot bfmmla smmla ummla usmmla fcmla bfmlalb bfmlalt fmad fmsb fnmla fnmls fnmad fnmsb mad msb", "-", fma},
    {"fmul fmulx fnmul mul pmul pmull pmull2 smull smull2 umull umull2 sqdmulh sqrdmulh sqdmull frecpe frecps frecpx frsqrte "
     "frsqrts smulh umulh", "-", multiply},
    {"fadd fsub fsubr fabd faddp fadda faddv fcadd", "-", add},
    {"fmax fmin fmaxnm fminnm", "- v p", maximum}, {"fcmp fcmpe fccmp fccmpe fcmeq fcmgt fcmge fcmlt fcmle fcmne fcmuo facge facgt", "-", maximum},
    {"fdiv fdivr", "-", divide}, {"fsqrt", "-", square_root},
    {"mov movi mvni movprfx fmov and orr eor eor3 bic orn not mvn bsl bit bif bcax add sub neg abs fabs fneg shl sshl ushl sshr "
     "ushr srshr urshr srshl urshl ssra usra srsra ursra sli sri lsl lsr asr cmeq cmgt cmge cmhi cmhs cmlt cmle cmtst smax "
     "smin umax umin sabd uabd saba uaba sabal uabal sabdl uabdl sqadd uqadd sqsub uqsub shadd uhadd srhadd urhadd "
     "shsub uhsub sqshl uqshl fcsel sel cnt clz cls rbit saddl saddl2 uaddl uaddl2 saddw saddw2 uaddw uaddw2 ssubl ssubl2 usubl "
     "usubl2 ssubw usubw sqabs sqneg suqadd usqadd cmpeq cmpne cmpgt cmpge cmphi cmphs cmplt cmple cmplo cmpls", "-", logic},
    {"dup ins ext zip1 zip2 uzp1 uzp2 trn1 trn2 tbl tbx rev16 rev32 rev64 rev addp addv saddlv uaddlv smaxv umaxv sminv uminv "
     "smaxp umaxp sminp uminp smov umov saddlp uaddlp sadalp uadalp saddv uaddv compact splice lasta lastb clasta clastb index insr", "-", shuffle},
    {"fcvt", "- as au ms mu ns nu ps pu zs zu l l2 n n2 xn xn2", convert}, {"frint", "a i m n p x z", convert},
    {"scvtf ucvtf bfcvt bfcvtn bfcvtn2 bfcvtnt xtn xtn2 sxtl sxtl2 uxtl uxtl2 sshll sshll2 ushll ushll2 shll shll2 shrn shrn2 "
     "rshrn rshrn2 addhn raddhn subhn sqxtn sqxtn2 uqxtn uqxtn2 sqxtun sqxtun2 sqshrn sqrshrn uqshrn uqrshrn sqshrun sqrshrun sunpklo "
     "sunpkhi uunpklo uunpkhi sxtb sxth sxtw uxtb uxth uxtw", "-", convert},
};
inline constexpr std::string_view mask_names = "whilelo whilels whilelt whilele ptrue pfalse ptest ptrues rdffr setffr brka brkb "
    "brkn cntp incp decp punpklo punpkhi and ands orr orrs eor bic not mov movs sel pnext pfirst cmpeq cmpne cmpgt cmpge";
inline constexpr mnemonic_row integer_rows[] = {
    {"add sub and bic adc sbc neg ngc", "- s", integer},
    {"mov movz movn movk cmp cmn tst orr orn eor eon mvn mul madd msub mneg smull umull smaddl umaddl smsubl umsubl smulh "
     "umulh sdiv udiv lsl lsr asr ror lslv lsrv asrv rorv csel cset csetm csinc csinv csneg cinc cinv cneg ccmp ccmn adr adrp sxtb sxth "
     "sxtw uxtb uxth uxtw sbfiz ubfiz sbfx ubfx bfi bfxil bfm sbfm ubfm bfc extr clz cls rbit rev rev16 rev32 cnt abs smax smin "
     "umax umin crc32b mrs msr addvl rdvl addpl", "-", integer},
    {"inc dec cnt", "b h w d", integer},
};
inline constexpr std::string_view nothing = "nop hint bti paciasp autiasp pacibsp autibsp dmb dsb isb yield brk udf csdb xpaclri";
// Those whose first operand is also read.
inline constexpr std::string_view accumulating = "fmla fmls fmlal fmlal2 fmlsl fmlsl2 mla mls smlal smlal2 umlal umlal2 smlsl smlsl2 "
    "umlsl umlsl2 sdot udot usdot sudot bfdot bfmmla smmla ummla usmmla fcmla bfmlalb bfmlalt fmad fmsb fnmla fnmls fnmad fnmsb mad msb bsl "
    "bit bif ssra usra srsra ursra sli sri tbx xtn2 fcvtn2 bfcvtn2 shrn2 rshrn2 sqxtn2 uqxtn2 sqxtun2 sadalp uadalp saba uaba sabal uabal ins "
    "movk bfi bfxil bfc bfm";

struct condition_row { std::string_view names; line_condition what; };
inline constexpr condition_row conditions[] = {
    {"eq none", line_condition::equal}, {"ne any", line_condition::not_equal},
    {"lt lo cc mi", line_condition::less}, {"le ls", line_condition::less_equal},
    {"gt hi", line_condition::greater}, {"ge hs cs pl", line_condition::greater_equal},
    {"vs vc first last nfrst nlast tcont plast pmore", line_condition::other}, {"al nv", line_condition::always},
};
inline constexpr std::string_view shifts = "lsl lsr asr ror uxtb uxth uxtw uxtx sxtb sxth sxtw sxtx msl mul";
// clang-format on

[[nodiscard]] inline std::optional<line_condition> condition_of(std::string_view name) noexcept {
    for (auto const& row : conditions)
        if (in_list(row.names, name)) return row.what;
    return std::nullopt;
}

[[nodiscard]] inline std::int32_t element_bytes(char letter) noexcept {
    switch (letter) {
    case 'b':
        return 1;
    case 'h':
        return 2;
    case 's':
        return 4;
    case 'd':
        return 8;
    case 'q':
        return 16;
    default:
        return 0;
    }
}

// Register: x0 w0 sp lr xzr, q0 d0 s0 h0 b0, v0.4s, v0.s[1], z0.s, p0/z.
[[nodiscard]] inline bool read_register(std::string_view s, text_operand& out) noexcept {
    auto const integer = [&](register_id r, std::int32_t bytes) {
        return out.kind = operand_kind::integer, out.reg = r, out.bytes = bytes, true;
    };
    if (s == "sp" || s == "wsp") return integer(sp, 8);
    if (s == "xzr" || s == "wzr") return integer(no_register, s[0] == 'x' ? 8 : 4);
    if (s == "lr" || s == "fp") return integer(s == "lr" ? lr : fp, 8);
    if (s.size() < 2 || s[1] < '0' || s[1] > '9') return false;
    std::size_t digits = 1;
    while (digits < s.size() && s[digits] >= '0' && s[digits] <= '9') ++digits;
    if (digits > 3) return false;
    auto const n = number_of(s.substr(1, digits - 1)).value_or(99);
    auto const rest = s.substr(digits);
    if ((s[0] == 'x' || s[0] == 'w') && rest.empty() && n <= 30)
        return integer(static_cast<register_id>(n), s[0] == 'x' ? 8 : 4);
    if (s[0] == 'p' && n < 16)
        return out.kind = operand_kind::mask, out.reg = static_cast<register_id>(first_mask + n), out.bytes = 8,
               rest.empty() || rest[0] == '.' || rest[0] == '/';
    if (n > 31) return false;
    out.kind = operand_kind::vector, out.reg = static_cast<register_id>(first_vector + n);
    if (s[0] != 'v' && s[0] != 'z') return out.bytes = out.element = element_bytes(s[0]), out.bytes > 0 && rest.empty();
    out.bytes = 16;
    if (rest.empty()) return true;
    if (rest.front() != '.' || rest.size() < 2) return false;
    auto what = rest.substr(1);
    auto const bracket = std::min(what.find('['), what.size());
    if (bracket < what.size() && what.back() != ']') return false;
    out.by_element = bracket < what.size();
    what = what.substr(0, bracket);
    if (what.empty()) return false;
    out.element = element_bytes(what.back());
    auto const lanes = number_of(what.substr(0, what.size() - 1)).value_or(0);
    if (out.element == 0 || lanes < 0 || lanes > 16 || (lanes == 0 && what.size() > 1)) return false;
    if (lanes > 0) out.bytes = static_cast<std::int32_t>(lanes) * out.element;
    return true;
}

// {v0.4s - v3.4s}, {v0.4s, v1.4s}, {v0.s}[1].
[[nodiscard]] inline bool read_list(std::string_view s, text_operand& out) noexcept {
    auto const close = s.find('}');
    if (close == std::string_view::npos) return false;
    auto const inside = trimmed(s.substr(1, close - 1));
    auto const cut = std::min(inside.find_first_of(",-"), inside.size());
    if (!read_register(trimmed(inside.substr(0, cut)), out) || !out.is(operand_kind::vector)) return false;
    if (cut < inside.size()) {
        text_operand last;
        auto const behind = inside.find_last_of(",-");
        if (!read_register(trimmed(inside.substr(behind + 1)), last) || !last.is(operand_kind::vector)) return false;
        out.count = (last.reg - out.reg + 32) % 32 + 1; // v31 is followed by v0
        if (out.count > 4) return false;
    }
    auto const lane = trimmed(s.substr(close + 1));
    if (!lane.empty() && (lane.front() != '[' || lane.back() != ']')) return false;
    out.by_element = !lane.empty();
    return true;
}

[[nodiscard]] inline std::optional<std::int64_t> immediate_of(std::string_view s) noexcept {
    if (s.starts_with('#')) s.remove_prefix(1);
    return number_of(trimmed(s));
}

// A shift or extension: `lsl 2`, `sxtw #3`, `mul vl`; its factor where it is a left one.
[[nodiscard]] inline bool read_shift(std::string_view s, text_operand& out) noexcept {
    auto const end = std::min(s.find_first_of(" \t"), s.size());
    if (!in_list(shifts, s.substr(0, end))) return false;
    out.kind = operand_kind::other, out.text = s.substr(0, end);
    auto const by = immediate_of(trimmed(s.substr(end))).value_or(end == s.size() ? 0 : -1);
    auto const left = in_list("lsl uxtw uxtx sxtw sxtx", out.text);
    out.constant = left && by >= 0 && by < 64;
    out.value = by, out.scale = out.constant ? std::int64_t{1} << std::min<std::int64_t>(by, 62) : 0;
    return true;
}

// [x0], [x0, 16], [x0, x1, lsl 2], [x0, 16]!, [x0, :lo12:name].
[[nodiscard]] inline bool read_memory(std::string_view s, text_operand& out) {
    out.kind = operand_kind::memory;
    if (s.back() == '!') out.before = true, s = trimmed(s.substr(0, s.size() - 1));
    if (s.size() < 3 || s.back() != ']') return false;
    auto const parts = split_operands(s.substr(1, s.size() - 2));
    text_operand base;
    if (parts.empty() || parts.size() > 3 || !read_register(parts[0], base) || base.is(operand_kind::mask))
        return false;
    out.base = base.reg;
    if (parts.size() == 1) return true;
    text_operand index, shift;
    if (read_register(parts[1], index))
        out.index = index.reg, out.constant = false;
    else if (auto const n = immediate_of(parts[1]))
        out.value = *n;
    else
        out.constant = false; // the low bits of a symbol
    if (parts.size() == 3 && !read_shift(parts[2], shift)) return false;
    if (parts.size() == 3 && shift.text == "mul") out.constant = false;
    return true;
}

// *Returns* whether it is an operand of the syntax.
[[nodiscard]] inline bool read_operand(std::string_view s, text_operand& out) {
    if (s.empty()) return false;
    out.text = s;
    if (s.front() == '{') return read_list(s, out);
    if (s.front() == '[') return read_memory(s, out);
    if (read_register(s, out)) return true;
    out = {};
    if (read_shift(s, out)) return true;
    out = {};
    out.text = s;
    if (auto const n = immediate_of(s)) return out.kind = operand_kind::immediate, out.value = *n, true;
    out.constant = false;
    out.kind = s.front() == '#' || s.front() == '-' || (s.front() >= '0' && s.front() <= '9') ? operand_kind::immediate
                                                                                              : operand_kind::name;
    auto const fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view{"_.$:+-#=()/* \"@"}.find(c) != std::string_view::npos;
    };
    return std::all_of(s.begin(), s.end(), fits);
}

} // namespace gsub::machine::detail::aarch64
