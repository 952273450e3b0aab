// x86_reader: reads instructions of AT&T x86-64 into lines of assembly.
#pragma once

#include <gsub/machine/impl/x86_text.ipp>

#include <utility>

namespace gsub::machine::detail {

// Reads instructions of AT&T x86-64.
template <class = void>
class x86_reader {
public:
    void begin_function() { slots_.clear(); }

    // Reads an instruction into a line. *Returns* what is no operand, or nothing.
    [[nodiscard]] std::optional<std::string_view> read(std::string_view statement, line_maker& out) {
        auto name = take_word(statement);
        bool repeated = false;
        while (in_list(x86::prefixes, name) && !statement.empty()) {
            repeated = repeated || name.starts_with("rep");
            name = take_word(statement);
        }
        out.line.mnemonic = name;
        ops_.clear();
        for (auto const text : split_operands(statement)) {
            text_operand o;
            if (ops_.size() == most_operands || !x86::read_operand(text, o)) return text;
            if (o.is(operand_kind::name)) o.text = text;
            ops_.push_back(o);
        }
        out_ = &out;
        if (in_list(x86::nothing, name) || control(name) || stack(name)) return std::nullopt;
        auto const any = [&](operand_kind k) {
            return std::any_of(ops_.begin(), ops_.end(), [&](auto const& o) { return o.is(k); });
        };
        if (name.starts_with("prefetch")) {
            line_maker::address(out.add(instruction_class::load, 64), last(), 64);
        } else if (repeated || ((name.starts_with("stos") || name.starts_with("movs")) && ops_.empty())) {
            string_operation(name, repeated);
        } else if (any(operand_kind::vector)) {
            vector(name);
        } else if (any(operand_kind::mask)) {
            mask(name);
        } else {
            integer(name);
        }
        return std::nullopt;
    }

private:
    using cls = instruction_class;

    [[nodiscard]] static std::string_view take_word(std::string_view& s) noexcept {
        auto const end = std::min(s.find_first_of(" \t"), s.size());
        return trimmed(std::exchange(s, trimmed(s.substr(end))).substr(0, end));
    }
    [[nodiscard]] text_operand const& last() const noexcept {
        static text_operand const none;
        return ops_.empty() ? none : ops_.back();
    }
    [[nodiscard]] register_id slot(text_operand const& o) {
        if (o.is(operand_kind::integer)) return o.bytes >= 4 ? o.reg : no_register;
        return o.is(operand_kind::memory) ? slots_.slot(o, x86::sp) : no_register;
    }

    // Jumps, branches, calls and returns.
    bool control(std::string_view name) {
        auto const jump = in_list("jmp jmpq", name), call = in_list("call callq", name);
        auto const leaves = in_list("ret retq", name);
        auto const when = name.starts_with('j') && !jump ? x86::condition_of(name.substr(1)) : std::nullopt;
        if (!jump && !call && !leaves && !when) return false;
        auto& i = out_->add(cls::branch, 8);
        auto& line = out_->line;
        line.calls = call;
        if (when) line_maker::use(i, flags_register);
        line.flow = call ? line_flow::next : when ? line_flow::branch : jump ? line_flow::jump : line_flow::leave;
        line.when = when.value_or(line_condition::always);
        if (jump || when) {
            if (last().is(operand_kind::name) && last().constant == false && last().text.front() != '*')
                out_->target = last().text;
            else
                line.flow = line_flow::leave, out_->note = "where it jumps is not known";
        }
        return true;
    }

    bool stack(std::string_view name) {
        auto const push = in_list("push pushq", name), pop = in_list("pop popq", name);
        if (!push && !pop && !in_list("leave leaveq", name)) return false;
        auto& i = out_->add(push ? cls::store : cls::load, 8);
        i.memory = {-1, 8, false};
        line_maker::use(i, x86::sp);
        if (push) line_maker::use(i, last().is(operand_kind::integer) ? last().reg : no_register);
        auto const to = pop ? (last().is(operand_kind::integer) ? last().reg : no_register) : x86::bp;
        if (!push) line_maker::define(i, to), out_->writes(to);
        out_->writes(x86::sp);
        return true;
    }

    void string_operation(std::string_view name, bool repeated) {
        if (!name.starts_with("stos")) out_->add(cls::load, 8).memory = {-1, 8, false};
        auto& i = out_->add(cls::store, 8);
        i.memory = {-1, 8, false}, i.uses = {register_id{7}, x86::ax};
        for (auto const r : {x86::cx, register_id{6}, register_id{7}}) out_->writes(r);
        out_->unknown = !name.starts_with("stos") && !name.starts_with("movs");
        if (repeated) out_->note = "how often it repeats is not known: it is counted once";
    }

    // Bytes that a vector instruction works on.
    [[nodiscard]] std::int32_t width_of(std::string_view stem, instruction_class what) const noexcept {
        if (what != cls::broadcast && !stem.starts_with("cvt") && !stem.starts_with("pa")) {
            if (stem.ends_with("ss") || stem == "movd") return 4;
            if ((stem.ends_with("sd") && stem != "pmulhrsd") || in_list("movq movlps movhps movlpd movhpd", stem))
                return 8;
        }
        std::int32_t widest = 0;
        for (auto const& o : ops_)
            if (o.is(operand_kind::vector)) widest = std::max(widest, o.bytes);
        return widest;
    }
    // Bytes that it reads or writes in memory.
    [[nodiscard]] static std::int32_t bytes_at(text_operand const& at, std::string_view stem, mnemonic_match const& m,
                                               std::int32_t width) noexcept {
        if (at.broadcast) return stem.ends_with('d') && !stem.ends_with("dd") && !stem.ends_with("md") ? 8 : 4;
        if (m.row && m.row->what == cls::broadcast) {
            constexpr std::string_view sizes[] = {"b", "w", "ss d", "sd q f32x2 i32x2",
                                                  "f128 i128 f32x4 i32x4 f64x2 i64x2"};
            for (int i = 0; i < 5; ++i)
                if (in_list(sizes[i], m.suffix)) return 1 << i;
            return 32;
        }
        if (stem.starts_with("pmov"))
            return width / (m.suffix == "bq" || m.suffix == "qb" ? 8 : in_list("bd wq db qw", m.suffix) ? 4 : 2);
        if (stem.starts_with("extract") || stem.starts_with("insert"))
            return stem.find("32x8") != stem.npos || stem.find("64x4") != stem.npos ? 32
                   : stem.ends_with("ps")                                           ? 4
                                                                                    : 16;
        if (stem.starts_with("pinsr") || stem.starts_with("pextr"))
            return stem.back() == 'b' ? 1 : stem.back() == 'w' ? 2 : stem.back() == 'd' ? 4 : 8;
        if (stem.starts_with("cvt")) return stem.find("ss") != stem.npos ? 4 : stem.find("sd") != stem.npos ? 8 : width;
        return width;
    }

    void vector(std::string_view name) {
        auto const avx = name.starts_with('v');
        auto const stem = name.substr(avx ? 1 : 0);
        auto const m = match_mnemonic(x86::vector_rows, stem);
        auto const converts = !m.row && stem.starts_with("cvt");
        out_->unknown = !m.row && !converts;
        auto what = m.row ? m.row->what : converts ? cls::convert : cls::logic;
        text_operand const* memory = nullptr;
        for (auto const& o : ops_)
            if (o.is(operand_kind::memory) || o.is(operand_kind::name)) memory = &o;
        auto const compares = stem.starts_with("ucomi") || stem.starts_with("comi") || stem.starts_with("ptest") ||
                              stem.starts_with("test");
        auto const stores = memory == &last() && !compares;
        auto const moves = m.row && (what == cls::load || what == cls::store);
        auto const width = width_of(stem, what);
        if (moves) what = stores ? cls::store : memory ? cls::load : cls::logic;
        if (what == cls::broadcast && !memory) what = cls::shuffle;
        auto& i = out_->add(what, width);
        auto const bytes = memory ? bytes_at(*memory, stem, m, width) : 0;
        vector_uses(i, stem, avx && m.row, compares);
        if (memory && (!stores || moves)) {
            line_maker::address(i, *memory, bytes, memory->broadcast || what == cls::broadcast);
        } else if (stores) { // computes, then stores
            line_maker::define(i, no_result);
            auto& store = out_->add(cls::store, bytes);
            line_maker::use(store, no_result);
            line_maker::address(store, *memory, bytes);
        }
        if (compares) out_->line.sets_flags = true, line_maker::define(out_->code.back(), flags_register);
        if (stores || compares) return;
        line_maker::define(i, last().reg);
        if (last().is(operand_kind::integer)) out_->writes(last().reg);
    }

    // Registers that a vector instruction reads: of an fma its addend first.
    void vector_uses(instruction& i, std::string_view stem, bool avx, bool compares) {
        auto const n = ops_.size();
        auto const fused = i.what == cls::fma && stem.find_first_of("123") != stem.npos && n >= 3;
        if (fused) {
            auto const digit = stem.find_first_of("123");
            auto const addend = stem[digit] == '2' && stem[digit + 1] == '3' ? n - 1
                                : stem[digit] == '2'                         ? n - 3
                                                                             : n - 2;
            line_maker::use(i, ops_[addend].reg);
            for (auto o = n - 3; o < n; ++o)
                if (o != addend) line_maker::use(i, ops_[o].reg);
        } else {
            auto const zero = n >= 2 && ops_[0].reg == ops_[1].reg && ops_[0].reg != no_register &&
                              last().mask == no_register &&
                              (stem.starts_with("xorp") || stem.starts_with("pxor") || stem.starts_with("psub") ||
                               stem.starts_with("pcmpeq"));
            for (std::size_t o = 0; o + 1 < n && !zero; ++o) line_maker::use(i, ops_[o].reg);
            auto const keeps = last().mask != no_register && !last().zeroing;
            auto const replaces = avx ||
                                  in_list("mov cvt pshuf pabs pmov sqrt rcp rsqr round broa", stem.substr(0, 3)) ||
                                  in_list("pshu pabs pmov sqrt rsqr roun", stem.substr(0, 4));
            auto const also = i.what == cls::fma || stem.starts_with("permi2") || stem.starts_with("permt2") ||
                              stem.starts_with("pternlog");
            if (!zero && (compares || keeps || also || !replaces) && !last().is(operand_kind::memory))
                line_maker::use(i, last().reg);
        }
        for (auto const& o : ops_) line_maker::use(i, o.mask);
    }

    void mask(std::string_view name) {
        auto const m = match_mnemonic(x86::mask_rows, name);
        out_->unknown = !m.row;
        auto const& to = last();
        auto const what = to.is(operand_kind::memory)        ? cls::store
                          : ops_[0].is(operand_kind::memory) ? cls::load
                                                             : cls::logic;
        auto& i = out_->add(what, 8);
        for (std::size_t o = 0; o + 1 < ops_.size(); ++o) line_maker::use(i, ops_[o].reg);
        for (auto const& o : ops_)
            if (o.is(operand_kind::memory)) line_maker::address(i, o, 8);
        if (m.stem == "kortest" || m.stem == "ktest") {
            line_maker::use(i, to.reg), line_maker::define(i, flags_register);
            out_->line.sets_flags = true;
        } else {
            line_maker::define(i, to.reg);
            if (to.is(operand_kind::integer)) out_->writes(to.reg);
        }
    }

    void integer(std::string_view name);
    void integer_effects(std::string_view stem, std::string_view suffix);
    [[nodiscard]] bool linear_effect(std::string_view stem, std::string_view suffix, register_id to);
    void comparison(std::string_view stem);

    static constexpr register_id no_result = first_mask + 23; // what an instruction computes that then is stored
    text_operands ops_;
    stack_slots slots_;
    line_maker* out_ = nullptr;
};

template <class T>
void x86_reader<T>::integer(std::string_view name) {
    auto const m = match_mnemonic(x86::integer_rows, name);
    out_->unknown = !m.row;
    auto const stem = m.row ? m.stem : name;
    auto const& to = last();
    auto const n = ops_.size();
    std::int32_t bytes = 0;
    for (auto const& o : ops_) bytes = std::max(bytes, o.is(operand_kind::integer) ? o.bytes : 0);
    if (bytes == 0) bytes = m.suffix == "b" ? 1 : m.suffix == "w" ? 2 : m.suffix == "l" ? 4 : 8;
    auto const at_memory = [](text_operand const& o) { return o.is(operand_kind::memory) || o.is(operand_kind::name); };
    auto const only_reads = in_list("cmp test bt", stem), moves = in_list("mov movabs movz movs", stem);
    auto const writes_only = in_list(x86::write_only, stem) || stem == "imul" ? n != 2 || stem != "imul" : false;
    auto const to_memory = n > 0 && at_memory(to) && !only_reads && stem != "lea";
    auto const from = std::find_if(ops_.begin(), ops_.end(), at_memory);
    auto const reads_memory = from != ops_.end() && stem != "lea" && !(to_memory && (writes_only || !m.row));
    auto const what = to_memory && (writes_only || !m.row) ? cls::store
                      : reads_memory && (moves || !m.row)  ? cls::load
                                                           : cls::integer;
    auto& i = out_->add(what, bytes);
    auto const zero =
        (stem == "xor" || stem == "sub") && n == 2 && to.is(operand_kind::integer) && ops_[0].reg == to.reg;
    for (std::size_t o = 0; o + 1 < n && !zero; ++o) line_maker::use(i, ops_[o].reg);
    if (n > 0 && !writes_only && !zero) line_maker::use(i, to.reg);
    if (in_list("set cmov adc sbb", stem) || stem.starts_with("cmov")) line_maker::use(i, flags_register);
    if (stem == "lea" && from != ops_.end()) line_maker::use(i, from->base), line_maker::use(i, from->index);
    if (reads_memory || what == cls::store) line_maker::address(i, *from, bytes);
    auto const keeps_flags =
        in_list("mov movabs lea movz movs not set cmov shlx shrx sarx rorx mulx bswap xchg pdep pext "
                "cltq cqto cltd cwtl cbtw cwtd",
                stem) ||
        stem.starts_with("cmov");
    if (!keeps_flags) out_->line.sets_flags = true, line_maker::define(i, flags_register);
    if (!only_reads && n > 0) line_maker::define(i, to.is(operand_kind::integer) ? to.reg : no_register);
    if (to_memory && what != cls::store) {
        line_maker::define(i, no_result);
        auto& store = out_->add(cls::store, bytes);
        line_maker::use(store, no_result), line_maker::address(store, to, bytes);
    }
    integer_effects(stem, m.suffix);
}

// What the instruction does to registers that are followed.
template <class T>
void x86_reader<T>::integer_effects(std::string_view stem, std::string_view suffix) {
    if (in_list("cmp test bt", stem)) return comparison(stem);
    auto const n = ops_.size();
    if (n == 0) { // cltd, rdtsc: of rax and rdx; cltq keeps the value
        if (stem != "cltq" && stem != "cdqe") out_->writes(x86::ax), out_->writes(x86::dx);
        return;
    }
    auto const to = slot(last());
    if (n == 1 && in_list("mul imul div idiv", stem)) return out_->writes(x86::ax), out_->writes(x86::dx);
    if (to != no_register && linear_effect(stem, suffix, to)) return;
    out_->writes(to == no_register && last().is(operand_kind::integer) ? last().reg : to);
    if (in_list("xchg xadd mulx cmpxchg", stem)) {
        for (auto const& o : ops_) out_->writes(o.is(operand_kind::integer) ? o.reg : slot(o));
        out_->writes(x86::ax);
    }
}

template <class T>
bool x86_reader<T>::linear_effect(std::string_view stem, std::string_view suffix, register_id to) {
    auto const& from = ops_[0];
    auto const number = from.is(operand_kind::immediate) && from.constant;
    auto const source = slot(from);
    auto const with_result = [&] { return out_->compare(to, no_register, 0), true; };
    auto const one = ops_.size() == 1;
    if (stem == "mov" || stem == "movabs" || (stem == "movs" && suffix == "lq")) {
        if (!number && source == no_register) return false;
        out_->effect({to, number ? no_register : source, no_register, 1, 1, number ? from.value : 0});
        if (to == x86::bp && source == x86::sp) slots_.frame(x86::bp);
        return true;
    }
    if (stem == "lea" && from.is(operand_kind::memory) && (from.constant || from.text.empty())) {
        if (!from.constant) return false;
        return out_->effect({to, from.base, from.index, 1, from.scale, from.value}), true;
    }
    if (in_list("add sub", stem) && !one) {
        auto const sign = stem == "add" ? 1 : -1;
        if (!number && source == no_register) return false;
        if (sign < 0 && source == to)
            out_->effect({to, no_register, no_register, 1, 1, 0});
        else
            out_->effect({to, to, number ? no_register : source, 1, sign, number ? sign * from.value : 0});
        return with_result();
    }
    if (in_list("inc dec", stem))
        return out_->effect({to, to, no_register, 1, 1, stem == "inc" ? 1 : -1}), with_result();
    if (stem == "neg") return out_->effect({to, to, no_register, -1, 1, 0}), true;
    if (stem == "xor" && !one && source == to && source < flags_register)
        return out_->effect({to, no_register, no_register, 1, 1, 0}), true;
    if (in_list("shl sal", stem) && (one || (number && from.value >= 0 && from.value < 32)))
        return out_->effect({to, to, no_register, std::int64_t{1} << (one ? 1 : from.value), 1, 0}), true;
    if (stem == "imul" && number && from.value > -(1 << 30) && from.value < 1 << 30) {
        auto const a = ops_.size() == 3 ? slot(ops_[1]) : to;
        return a != no_register && (out_->effect({to, a, no_register, from.value, 1, 0}), true);
    }
    return false;
}

template <class T>
void x86_reader<T>::comparison(std::string_view stem) {
    if (ops_.size() != 2) return;
    auto const left = slot(ops_[1]), right = slot(ops_[0]);
    auto const number = ops_[0].is(operand_kind::immediate) && ops_[0].constant;
    if (stem == "test" && left == right && left != no_register) return out_->compare(left, no_register, 0);
    if (stem != "cmp" || left == no_register || (!number && right == no_register)) return;
    out_->compare(left, number ? no_register : right, number ? ops_[0].value : 0);
}

} // namespace gsub::machine::detail
