#pragma once

#include <gsub/codegen/emit_cpp.hpp>
#include <gsub/codegen/vector_math.hpp>
#include <gsub/core/executor.hpp>
#include <gsub/core/message.hpp>

#include <algorithm>
#include <utility>

namespace gsub::codegen {

namespace detail {

template <class = void>
class cpp_writer {
public:
    cpp_writer(kernel const& k, isa const& set) : k_(k) {
        GSUB_ASSERT(k.lanes == set.lanes(), "a kernel's vectors are as wide as the instruction set's");
        prelude();
    }

    std::string run(std::string const& symbol) {
        if (!k_.rescue.empty()) {
            std::string parameters;
            for (std::size_t i = 0; i < k_.buffers.size(); ++i)
                parameters += message({i ? ", " : "", type_of(i), " __restrict b", i});
            for (auto v : k_.rescue_parameters) parameters += message({", long ", name(v)});
            line(message({"static __attribute__((noinline, cold)) void rescue(", parameters, ") {"}));
            indent_ += "  ";
            write(k_.rescue);
            indent_.resize(indent_.size() - 2);
            line("}");
        }
        line(message({"extern \"C\" __attribute__((visibility(\"default\"))) void ", symbol,
                      "(void* const* b, long begin, long end) {"}));
        indent_ += "  ";
        if (k_.parallel < 0) line("(void)begin, (void)end;");
        std::size_t given = 0;
        auto const scratch = std::count_if(k_.buffers.begin(), k_.buffers.end(), [](auto& b) { return !b.scratch; });
        for (std::size_t i = 0; i < k_.buffers.size(); ++i) {
            auto const type = type_of(i);
            auto const from = k_.buffers[i].scratch
                                  ? message({"((char*)b[", scratch, "] + ", scratch_offset(k_, i), ")"})
                                  : message({"b[", given++, "]"});
            line(message({type, " __restrict b", i, " = (", type, ")", from, ";"}));
        }
        write(k_.body);
        indent_.resize(indent_.size() - 2);
        line("}");
        return std::move(text_);
    }

private:
    std::string_view type_of(std::size_t buffer) const {
        return k_.buffers[buffer].written ? "float*" : "const float*";
    }
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
        if (uses([](auto& i) { return i.stride != 1; }))
            line("static inline vf strided(const float* p, long s, int n) { vf v = {}; for (int i = 0; i < n; ++i) "
                 "v[i] = p[i * s]; return v; }");
        if (uses([&](auto& i) { return is_step(i.op) && i.lanes != k_.lanes; }))
            line("static inline vf first(vf a, vf b, int n) { for (int i = 0; i < n; ++i) b[i] = a[i]; return b; }");
        if (uses([](auto& i) { return i.op == opcode::reduce_add || i.op == opcode::reduce_maximum; })) {
            std::string add, max;
            for (auto half = k_.lanes / 2; half > 0; half /= 2) {
                std::string order;
                for (std::int32_t l = 0; l < k_.lanes; ++l) order += message({l ? ", " : "", (l + half) % k_.lanes});
                add += message({" v += __builtin_shufflevector(v, v, ", order, ");"});
                max += message({" v = vmaxnan(v, __builtin_shufflevector(v, v, ", order, "));"});
            }
            line(message({"static inline float sum_of(vf v) {", add, " return v[0]; }"}));
            line(message({"static inline float max_of(vf v) {", max, " return v[0]; }"}));
        }
        line("static inline void keep(float* p, vf v, int n) { for (int i = 0; i < n; ++i) p[i] = v[i]; }");
        std::vector<opcode> functions;
        uses([&](auto& i) {
            if (!vector_function(i.op).empty()) functions.push_back(i.op);
            return false;
        });
        text_ += vector_math_text(k_.lanes, as_span(functions));
    }

    static bool is_step(opcode op) {
        return op == opcode::multiply_add || op == opcode::accumulate_add || op == opcode::accumulate_maximum;
    }
    bool uses(function_ref<bool(instruction const&)> what) const {
        auto const of_body = uses(k_.body, what); // both are visited
        return uses(k_.rescue, what) || of_body;
    }
    static bool uses(std::vector<node> const& nodes, function_ref<bool(instruction const&)> what) {
        return std::any_of(nodes.begin(), nodes.end(), [&](auto& n) {
            return std::any_of(n.code.begin(), n.code.end(), what) || uses(n.body, what) || uses(n.otherwise, what);
        });
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
            case node_kind::check: {
                std::string arguments;
                for (std::size_t i = 0; i < k_.buffers.size(); ++i) arguments += message({i ? ", b" : "b", i});
                for (auto const& a : n.arguments) arguments += ", " + text_of(a);
                auto const finite = message({"r", n.checked, " - r", n.checked, " == 0.0f"});
                line(message({"if (__builtin_expect(!(", finite, "), 0)) rescue(", arguments, ");"}));
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
                define(guarded(i, i.stride != 1 ? message({"strided(", place_of(i), ", ", i.stride, ", ", i.lanes, ")"})
                                  : i.lanes == k_.lanes ? message({"(vf)*(const uf*)(", place_of(i), ")"})
                                                        : message({"part(", place_of(i), ", ", i.lanes, ")"})));
                break;
            case opcode::broadcast:
                define(guarded(i, message({"*(", place_of(i), ")"})));
                break;
            case opcode::store:
                line(where(i) + (i.lanes == k_.lanes
                                     ? message({"*(uf*)(", place_of(i), ") = wide(", operand(0), ");"})
                                     : message({"keep(", place_of(i), ", wide(", operand(0), "), ", i.lanes, ");"})));
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
            case opcode::negate:
                define(message({"-", operand(0)}));
                break;
            case opcode::absolute:
            case opcode::floor:
            case opcode::exponential:
            case opcode::logarithm:
            case opcode::tanh:
            case opcode::erf:
            case opcode::sigmoid:
                define(message({vector_function(i.op), "(wide(", operand(0), "))"}));
                break;
            case opcode::multiply_add:
                step(i, message({r, " + ", operand(0), " * ", operand(1)}),
                     message({r, " += ", operand(0), " * ", operand(1)}));
                break;
            case opcode::accumulate_add:
                step(i, message({r, " + ", operand(0)}), message({r, " += ", operand(0)}));
                break;
            case opcode::accumulate_maximum: {
                auto const value = message({"vmaxnan(", r, ", wide(", operand(0), "))"});
                step(i, value, message({r, " = ", value}));
                break;
            }
            case opcode::reduce_add:
                define(message({"sum_of(", operand(0), ")"}));
                break;
            case opcode::reduce_maximum:
                define(message({"max_of(", operand(0), ")"}));
                break;
            }
        }
    }

    // One step of an accumulator: lanes beyond those of the step stay.
    void step(instruction const& i, std::string const& value, std::string const& all) {
        line(i.lanes == k_.lanes ? all + ";"
                                 : message({"r", i.result, " = first(", value, ", r", i.result, ", ", i.lanes, ");"}));
    }
    // A value that is zero where a condition does not hold; nothing is read there.
    static std::string where(instruction const& i) {
        return i.within.empty() ? std::string{} : message({"if (", conditions(i.within), ") "});
    }
    static std::string conditions(std::vector<loop::bound> const& bounds) {
        std::string all;
        for (auto const& c : bounds)
            all += message({all.empty() ? "" : " && ", "(unsigned long)(", text_of(c.value), ") < ", c.extent, "UL"});
        return all;
    }
    static std::string guarded(instruction const& i, std::string const& value) {
        if (i.within.empty()) return value;
        return message({conditions(i.within), " ? ", value, i.op == opcode::broadcast ? " : 0.0f" : " : vf{}"});
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

GSUB_LAZY_BODY std::string emit_cpp(kernel const& k, isa const& set, std::string const& symbol) {
    return detail::cpp_writer{k, set}.run(symbol);
}

} // namespace gsub::codegen
