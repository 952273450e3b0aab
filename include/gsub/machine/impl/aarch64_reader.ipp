// aarch64_reader: reads instructions of AArch64 into lines of assembly.
#pragma once

#include <gsub/machine/impl/aarch64_text.ipp>

namespace gsub::machine::detail {

// Reads instructions of AArch64.
template <class = void>
class aarch64_reader {
public:
    void begin_function() { slots_.clear(); }

    // Reads an instruction into a line. *Returns* what is no operand, or nothing.
    [[nodiscard]] std::optional<std::string_view> read(std::string_view statement, line_maker& out) {
        auto const end = std::min(statement.find_first_of(" \t"), statement.size());
        auto const name = statement.substr(0, end);
        out.line.mnemonic = name;
        ops_.clear();
        for (auto const text : split_operands(trimmed(statement.substr(end)))) {
            text_operand o;
            if (ops_.size() == most_operands || !aarch64::read_operand(text, o)) return text;
            ops_.push_back(o);
        }
        out_ = &out;
        if (in_list(aarch64::nothing, name) || control(name)) return std::nullopt;
        auto const any = [&](operand_kind k) {
            return std::any_of(ops_.begin(), ops_.end(), [&](auto const& o) { return o.is(k); });
        };
        if (any(operand_kind::memory) || (name == "ldr" && !ops_.empty()))
            memory(name);
        else if (any(operand_kind::vector))
            vector(name);
        else if (any(operand_kind::mask))
            mask(name);
        else
            integer(name);
        return std::nullopt;
    }

private:
    using cls = instruction_class;

    bool control(std::string_view name) {
        auto& line = out_->line;
        auto const by_register = in_list("cbz cbnz tbz tbnz", name);
        auto when = name.starts_with("b.")                    ? aarch64::condition_of(name.substr(2))
                    : name.size() == 3 && name.front() == 'b' ? aarch64::condition_of(name.substr(1))
                                                              : std::nullopt;
        auto const jump = name == "b", call = name == "bl" || name == "blr";
        if (!by_register && !when && !jump && !call && !in_list("br ret retaa", name)) return false;
        auto& i = out_->add(cls::branch, 8);
        line.calls = call;
        if (call) return true;
        line.flow = when || by_register ? line_flow::branch : jump ? line_flow::jump : line_flow::leave;
        line.when = when.value_or(line_condition::other);
        if (when) line_maker::use(i, flags_register);
        if (by_register && !ops_.empty()) {
            line_maker::use(i, ops_[0].reg);
            if (name == "cbz" || name == "cbnz") {
                line.when = name == "cbz" ? line_condition::equal : line_condition::not_equal;
                line.compares = {ops_[0].reg, no_register, 0};
            }
        }
        if (name == "br") out_->note = "where it jumps is not known";
        if (line.flow == line_flow::leave) return true;
        if (!ops_.empty() && ops_.back().is(operand_kind::name))
            out_->target = ops_.back().text;
        else
            line.flow = line_flow::leave, out_->note = "where it jumps is not known";
        return true;
    }

    // Loads and stores, of which a line may have several; what stands behind the address moves it afterwards.
    void memory(std::string_view name) {
        auto const at =
            std::find_if(ops_.begin(), ops_.end(), [](auto const& o) { return o.is(operand_kind::memory); });
        auto const stores = name.starts_with("st");
        if (!stores && !name.starts_with("ld")) {
            out_->unknown = !name.starts_with("prf");
            line_maker::address(out_->add(cls::load, 64), *at, 64);
            for (auto const& o : ops_)
                if (o.is(operand_kind::integer)) out_->writes(o.reg);
            return;
        }
        auto const one =
            name.starts_with("ld") && name.size() == 4 && name.back() == 'r' && name[2] >= '1' && name[2] <= '4';
        auto const broadcasts = one || name.starts_with("ld1r");
        for (auto o = ops_.begin(); o != at; ++o)
            for (std::int32_t k = 0; k < o->count && !o->is(operand_kind::mask); ++k) {
                if (!o->is(operand_kind::integer) && !o->is(operand_kind::vector)) continue;
                auto const what = stores ? cls::store : broadcasts ? cls::broadcast : cls::load;
                auto& i = out_->add(what, o->bytes);
                auto const reg = o->is(operand_kind::vector) ? vector_behind(o->reg, k) : o->reg;
                if (stores || (o->by_element && !broadcasts)) line_maker::use(i, reg);
                for (auto const& m : ops_)
                    if (m.is(operand_kind::mask)) line_maker::use(i, m.reg);
                if (at != ops_.end()) line_maker::address(i, *at, bytes_of(name, *o, broadcasts), broadcasts);
                if (at == ops_.end()) i.memory.bytes = o->bytes;
                if (!stores) line_maker::define(i, reg);
            }
        // Lines such as `stlxr w0, x1, [x2]` define what they seem to store: rare, and not followed.
        out_->unknown = out_->code.size() == out_->line.first;
        if (out_->unknown) out_->add(stores ? cls::store : cls::load, 8).memory.bytes = 8;
        move_values(stores, name, at);
        if (at != ops_.end()) move_base(at);
    }
    [[nodiscard]] static register_id vector_behind(register_id first, std::int32_t k) noexcept {
        return static_cast<register_id>(first_vector + (first - first_vector + k) % 32);
    }
    [[nodiscard]] static std::int32_t bytes_of(std::string_view name, text_operand const& o, bool broadcasts) noexcept {
        if (broadcasts || o.by_element) return std::max(o.element, 1);
        if (o.is(operand_kind::vector)) return o.bytes;
        return name.ends_with('b') ? 1 : name.ends_with('h') ? 2 : name.ends_with("sw") ? 4 : o.bytes;
    }
    // Integers that go to and come from the stack.
    void move_values(bool stores, std::string_view name, typename text_operands::iterator at) {
        auto const whole =
            in_list("ldr ldur str stur ldp stp", name) && at != ops_.end() && !at->before && at + 1 == ops_.end();
        std::int64_t behind = 0;
        for (auto o = ops_.begin(); o != at; behind += (o++)->bytes) {
            auto place = at == ops_.end() ? text_operand{} : *at;
            place.value += behind;
            auto const slot = whole ? slots_.slot(place, aarch64::sp) : no_register;
            if (!o->is(operand_kind::integer)) continue;
            if (slot == no_register)
                out_->writes(stores ? no_register : o->reg);
            else if (stores) // the zero register stores a zero
                out_->effect({slot, o->reg, no_register, 1, 1, 0});
            else if (o->reg != no_register)
                out_->effect({o->reg, slot, no_register, 1, 1, 0});
        }
    }
    // [x0], 16 and [x0, 16]!
    void move_base(typename text_operands::iterator at) {
        auto const after = at + 1 != ops_.end();
        if (!after && !at->before) return;
        auto const& by = after ? *(at + 1) : *at;
        auto const number = after ? by.is(operand_kind::immediate) && by.constant : by.constant;
        if (number)
            out_->effect({at->base, at->base, no_register, 1, 1, by.value});
        else if (after && by.is(operand_kind::integer))
            out_->effect({at->base, at->base, by.reg, 1, 1, 0});
        else
            out_->writes(at->base);
        line_maker::define(out_->code.back(), at->base);
    }

    void vector(std::string_view name) {
        auto const m = match_mnemonic(aarch64::vector_rows, name);
        out_->unknown = !m.row;
        auto what = m.row ? m.row->what : cls::logic;
        std::int32_t bytes = ops_[0].is(operand_kind::vector) && !ops_[0].by_element ? ops_[0].bytes : 0;
        for (auto const& o : ops_)
            if (bytes == 0 && o.is(operand_kind::vector)) bytes = o.by_element ? 16 : o.bytes;
        if (name == "mov" && (ops_[0].by_element || ops_.back().by_element)) what = cls::shuffle;
        auto& i = out_->add(what, bytes);
        auto const compares = in_list("fcmp fcmpe fccmp fccmpe", name);
        auto const scalar =
            in_list("fmadd fmsub fnmadd fnmsub", name) && ops_.size() == 4 && !ops_[1].is(operand_kind::mask);
        if (scalar) line_maker::use(i, ops_[3].reg); // the addend first
        auto const keeps = compares || ops_[0].by_element || (in_list(aarch64::accumulating, name) && !scalar);
        if (keeps) line_maker::use(i, ops_[0].reg);
        for (std::size_t o = 1; o < ops_.size() - (scalar ? 1 : 0); ++o) line_maker::use(i, ops_[o].reg);
        if (name == "fcsel" || name.starts_with("fccmp")) line_maker::use(i, flags_register);
        if (compares) return out_->line.sets_flags = true, line_maker::define(i, flags_register);
        line_maker::define(i, ops_[0].reg);
        if (ops_[0].is(operand_kind::integer)) out_->writes(ops_[0].reg);
    }

    void mask(std::string_view name) {
        out_->unknown = !in_list(aarch64::mask_names, name);
        auto& i = out_->add(cls::logic, 16);
        for (std::size_t o = 1; o < ops_.size(); ++o) line_maker::use(i, ops_[o].reg);
        line_maker::define(i, ops_[0].reg);
        if (ops_[0].is(operand_kind::integer)) out_->writes(ops_[0].reg);
        out_->line.sets_flags = true;
    }

    void integer(std::string_view name) {
        auto const m = match_mnemonic(aarch64::integer_rows, name);
        out_->unknown = !m.row;
        auto const compares = in_list("cmp cmn tst ccmp ccmn", name);
        auto& i = out_->add(cls::integer, ops_.empty() ? 8 : std::max(ops_[0].bytes, 4));
        auto const keeps = compares || in_list(aarch64::accumulating, name);
        for (std::size_t o = keeps ? 0 : 1; o < ops_.size(); ++o) line_maker::use(i, ops_[o].reg);
        if (in_list("csel cset csetm csinc csinv csneg cinc cinv cneg ccmp ccmn adc sbc", name))
            line_maker::use(i, flags_register);
        if (compares || m.suffix == "s") out_->line.sets_flags = true, line_maker::define(i, flags_register);
        if (ops_.empty()) return;
        if (compares) return comparison(name);
        line_maker::define(i, ops_[0].reg);
        if (ops_[0].is(operand_kind::integer) && !linear_effect(m)) out_->writes(ops_[0].reg);
        if (m.suffix == "s" && in_list("add sub", m.stem) && ops_[0].reg != no_register)
            out_->compare(ops_[0].reg, no_register, 0);
    }

    // Whether the operand behind a register only scales it.
    [[nodiscard]] bool scales(std::size_t behind) const noexcept {
        return behind >= ops_.size() || ops_[behind].constant;
    }
    [[nodiscard]] std::int64_t scale(std::size_t behind) const noexcept {
        return behind < ops_.size() ? ops_[behind].scale : 1;
    }

    [[nodiscard]] bool linear_effect(mnemonic_match const& m) {
        if (ops_.size() < 2) return false;
        auto const to = ops_[0].reg, a = ops_[1].reg;
        auto const number = [&](std::size_t o) {
            return o < ops_.size() && ops_[o].is(operand_kind::immediate) && ops_[o].constant;
        };
        if (in_list("mov movz movn sxtw uxtw", m.stem)) {
            if (m.stem != "movz" && ops_[1].is(operand_kind::integer))
                return out_->effect({to, a, no_register, 1, 1, 0}), true;
            if (!number(1) || !scales(2)) return false;
            auto const value = static_cast<std::int64_t>(static_cast<std::uint64_t>(ops_[1].value) *
                                                         static_cast<std::uint64_t>(scale(2)));
            return out_->effect({to, no_register, no_register, 1, 1, m.stem == "movn" ? ~value : value}), true;
        }
        if (in_list("lsl sbfiz ubfiz", m.stem) && number(2) && ops_[2].value >= 0 && ops_[2].value < 32)
            return out_->effect({to, a, no_register, std::int64_t{1} << ops_[2].value, 1, 0}), true;
        if (m.stem == "neg" && scales(2)) return out_->effect({to, no_register, a, 1, -scale(2), 0}), true;
        if (!in_list("add sub", m.stem) || !scales(3) || ops_.size() < 3 || !ops_[1].is(operand_kind::integer))
            return false;
        auto const sign = m.stem == "add" ? 1 : -1;
        if (number(2) && ops_[2].value > -(std::int64_t{1} << 31) && ops_[2].value < std::int64_t{1} << 31 &&
            scale(3) <= 4096)
            out_->effect({to, a, no_register, 1, 1, sign * ops_[2].value * scale(3)});
        else if (ops_[2].is(operand_kind::integer))
            out_->effect({to, a, ops_[2].reg, 1, sign * scale(3), 0});
        else
            return false;
        if (to == aarch64::fp && a == aarch64::sp) slots_.frame(aarch64::fp);
        return true;
    }

    void comparison(std::string_view name) {
        if (ops_.size() != 2 || !ops_[0].is(operand_kind::integer) || ops_[0].reg == no_register) return;
        auto const& to = ops_[1];
        if (name == "cmp" && (to.is(operand_kind::integer) || (to.is(operand_kind::immediate) && to.constant)))
            out_->compare(ops_[0].reg, to.reg, to.is(operand_kind::immediate) ? to.value : 0);
        else if (name == "cmn" && to.is(operand_kind::immediate) && to.constant && to.value < std::int64_t{1} << 31)
            out_->compare(ops_[0].reg, no_register, -to.value);
        else if (name == "tst" && to.is(operand_kind::integer) && to.reg == ops_[0].reg)
            out_->compare(to.reg, no_register, 0);
    }

    text_operands ops_;
    stack_slots slots_;
    line_maker* out_ = nullptr;
};

} // namespace gsub::machine::detail
