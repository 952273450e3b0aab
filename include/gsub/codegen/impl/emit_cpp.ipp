#pragma once

#include <gsub/codegen/emit_cpp.hpp>
#include <gsub/core/message.hpp>

#include <utility>

namespace gsub::codegen {

namespace detail {

class cpp_writer {
public:
    cpp_writer(kernel const& k, isa const& set) : k_(k) {
        GSUB_ASSERT(k.lanes == set.lanes(), "a kernel's vectors are as wide as the instruction set's");
        prelude();
    }

    std::string run(std::string const& symbol) {
        line(message({"extern \"C\" __attribute__((visibility(\"default\"))) void ", symbol,
                      "(void* const* b, long begin, long end) {"}));
        indent_ += "  ";
        if (k_.parallel < 0) line("(void)begin, (void)end;");
        for (std::size_t i = 0; i < k_.buffers.size(); ++i)
            line(message({k_.buffers[i].written ? "float* " : "const float* ", "__restrict b", i,
                          k_.buffers[i].written ? " = (float*)b[" : " = (const float*)b[", i, "];"}));
        write(k_.body);
        indent_.resize(indent_.size() - 2);
        line("}");
        return std::move(text_);
    }

private:
    void line(std::string_view what) { text_ += message({indent_, what, "\n"}); }

    void prelude() {
        auto const width = k_.lanes * 4;
        line(message({"typedef float vf __attribute__((vector_size(", width, ")));"}));
        line(message({"typedef float uf __attribute__((vector_size(", width, "), aligned(4), may_alias));"}));
        // A scalar less zero is itself, signed zeros and NaN included.
        line("static inline vf wide(float s) { return s - vf{}; }");
        line("static inline vf wide(vf v) { return v; }");
        line("static inline vf vmax(vf a, vf b) { return a < b ? b : a; }");
        line("static inline vf vmaxnan(vf a, vf b) { vf m = a < b ? b : a; return b != b ? b : m; }");
        line("static inline vf vmin(vf a, vf b) { return b < a ? b : a; }");
        line("static inline vf part(const float* p, int n) { vf v = {}; for (int i = 0; i < n; ++i) v[i] = p[i]; "
             "return v; }");
        line("static inline void keep(float* p, vf v, int n) { for (int i = 0; i < n; ++i) p[i] = v[i]; }");
    }

    static std::string name(variable v) { return message({"i", v}); }
    static std::string number(std::int64_t v) { return message({v, "L"}); }
    static std::string text_of(affine const& a) {
        std::string out;
        for (auto const& t : a.terms())
            out += message(
                {out.empty() ? "" : " + ", name(t.of), t.factor == 1 ? "" : message({" * ", number(t.factor)})});
        if (a.constant() != 0 || out.empty())
            out += message({out.empty() ? "" : " + ", a.constant() < 0 ? "(" : "", number(a.constant()),
                            a.constant() < 0 ? ")" : ""});
        return out;
    }

    // A limit declared before its loop, where it is more than a number.
    std::string limit_of(std::vector<limit> const& limits, bool greatest, variable v) {
        if (limits.size() == 1 && limits[0].divisor == 1) return text_of(limits[0].value);
        auto const which = message({greatest ? "lo" : "hi", v});
        auto const clean = [](limit const& l) {
            auto const value = text_of(l.value);
            if (l.divisor == 1) return value;
            // ceil for values of either sign: the truncation of a negative quotient is its ceiling
            return message({"((", value, ") > 0 ? ((", value, ") + ", number(l.divisor - 1), ") / ", number(l.divisor),
                            " : (", value, ") / ", number(l.divisor), ")"});
        };
        line(message({"long ", which, " = ", clean(limits[0]), ";"}));
        for (std::size_t i = 1; i < limits.size(); ++i) {
            auto const other = message({which, "_", i});
            line(message({"const long ", other, " = ", clean(limits[i]), ";"}));
            line(message({which, " = ", which, greatest ? " < " : " > ", other, " ? ", other, " : ", which, ";"}));
        }
        return which;
    }

    void write(std::vector<node> const& nodes) {
        for (auto const& n : nodes) switch (n.kind) {
            case node_kind::block:
                write(n.code);
                break;
            case node_kind::part:
                line(n.divisor == 1
                         ? message({"const long ", name(n.var), " = ", name(n.of), " % ", number(n.extent), ";"})
                         : message({"const long ", name(n.var), " = ", name(n.of), " / ", number(n.divisor), " % ",
                                    number(n.extent), ";"}));
                break;
            case node_kind::branch: {
                std::string all;
                for (auto const& c : n.conditions)
                    all += message(
                        {all.empty() ? "" : " && ", "(unsigned long)(", text_of(c.value), ") < ", c.extent, "UL"});
                line(message({"if (", all, ") {"}));
                scope(n.body);
                if (!n.otherwise.empty()) {
                    line("} else {");
                    scope(n.otherwise);
                }
                line("}");
                break;
            }
            case node_kind::loop: {
                line("{");
                indent_ += "  ";
                auto const own = n.var == k_.parallel;
                auto const begin = own ? "begin" : limit_of(n.begin, true, n.var);
                auto const end = own ? "end" : limit_of(n.end, false, n.var);
                line(message({"for (long ", name(n.var), " = ", begin, "; ", name(n.var), " < ", end, "; ++",
                              name(n.var), ") {"}));
                scope(n.body);
                line("}");
                indent_.resize(indent_.size() - 2);
                line("}");
                break;
            }
            }
    }
    void scope(std::vector<node> const& nodes) {
        indent_ += "  ";
        write(nodes);
        indent_.resize(indent_.size() - 2);
    }

    // Blocks address memory by pointers to the part that varies, with numbers added: what compilers fold into the
    // instruction.
    void write(std::vector<instruction> const& code) {
        pointers_.clear();
        for (auto const& i : code) {
            auto const r = message({"r", i.result});
            auto const operand = [&](int o) { return message({"r", i.operands[o]}); };
            auto const define = [&](std::string_view value) { line(message({"const auto ", r, " = ", value, ";"})); };
            switch (i.op) {
            case opcode::splat:
                define(float_text(i.value));
                break;
            case opcode::load:
                define(i.lanes == k_.lanes ? message({"(vf)*(const uf*)(", place_of(i), ")"})
                                           : message({"part(", place_of(i), ", ", i.lanes, ")"}));
                break;
            case opcode::broadcast:
                define(message({"*(", place_of(i), ")"}));
                break;
            case opcode::store:
                line(i.lanes == k_.lanes
                         ? message({"*(uf*)(", place_of(i), ") = wide(", operand(0), ");"})
                         : message({"keep(", place_of(i), ", wide(", operand(0), "), ", i.lanes, ");"}));
                break;
            case opcode::copy:
                line(message({"vf ", r, " = wide(", operand(0), ");"}));
                break;
            case opcode::add:
                define(message({operand(0), " + ", operand(1)}));
                break;
            case opcode::subtract:
                define(message({operand(0), " - ", operand(1)}));
                break;
            case opcode::multiply:
                define(message({operand(0), " * ", operand(1)}));
                break;
            case opcode::divide:
                define(message({operand(0), " / ", operand(1)}));
                break;
            case opcode::maximum:
                define(message({"vmax(wide(", operand(0), "), wide(", operand(1), "))"}));
                break;
            case opcode::minimum:
                define(message({"vmin(wide(", operand(0), "), wide(", operand(1), "))"}));
                break;
            case opcode::square_root:
                line(message({"vf ", r, " = wide(", operand(0), ");"}));
                line(message({"for (int l = 0; l < ", k_.lanes, "; ++l) ", r, "[l] = __builtin_sqrtf(", r, "[l]);"}));
                break;
            case opcode::multiply_add:
                line(message({r, " += ", operand(0), " * ", operand(1), ";"}));
                break;
            case opcode::accumulate_add:
                line(message({r, " += ", operand(0), ";"}));
                break;
            case opcode::accumulate_maximum:
                line(message({r, " = vmaxnan(", r, ", wide(", operand(0), "));"}));
                break;
            }
        }
    }

    std::string place_of(instruction const& i) {
        auto const varying = i.offset - affine{i.offset.constant()};
        auto const constant = i.offset.constant();
        auto const added = constant == 0  ? std::string{}
                           : constant < 0 ? message({" - ", number(-constant)})
                                          : message({" + ", number(constant)});
        if (varying.is_constant()) return message({"b", i.buffer, added});
        for (auto const& p : pointers_)
            if (p.buffer == i.buffer && p.offset == varying) return message({"p", p.id, added});
        auto const& buffer = k_.buffers[static_cast<std::size_t>(i.buffer)];
        line(message({buffer.written ? "float* const p" : "const float* const p", next_pointer_, " = b", i.buffer,
                      " + (", text_of(varying), ");"}));
        pointers_.push_back({i.buffer, varying, next_pointer_});
        return message({"p", next_pointer_++, added});
    }

    // Exact, and a float whatever it looks like.
    static std::string float_text(double v) {
        auto const f = static_cast<float>(v);
        if (f != f) return "__builtin_nanf(\"\")";
        if (f > 3.4028235e38f) return "__builtin_inff()";
        if (f < -3.4028235e38f) return "-__builtin_inff()";
        auto text = message({static_cast<double>(f)});
        if (text.find_first_of(".e") == std::string::npos) text += ".0"; // no integer: it would lose the sign of zero
        return "(float)" + text;
    }

    struct pointer {
        std::int32_t buffer;
        affine offset;
        int id;
    };
    kernel const& k_;
    std::string text_, indent_;
    std::vector<pointer> pointers_;
    int next_pointer_ = 0;
};

} // namespace detail

GSUB_INLINE std::string emit_cpp(kernel const& k, isa const& set, std::string const& symbol) {
    return detail::cpp_writer{k, set}.run(symbol);
}

} // namespace gsub::codegen
