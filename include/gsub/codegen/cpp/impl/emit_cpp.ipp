#pragma once

#include <gsub/codegen/cpp/emit_cpp.hpp>
#include <gsub/codegen/cpp/typed_functions.hpp>
#include <gsub/codegen/cpp/vector_math.hpp>
#include <gsub/core/executor.hpp>
#include <gsub/core/format.hpp>

#include <algorithm>
#include <utility>

namespace gsub::codegen {

namespace detail {

template <class = void>
class cpp_writer {
public:
    explicit cpp_writer(kernel const& k) : k_(k), functions_(k.lanes) {
        GSUB_ASSERT(k.lanes > 0 && (k.lanes & (k.lanes - 1)) == 0, "a kernel's vectors have 1, 2, 4, ... lanes");
        prelude();
    }

    std::string run(std::string const& symbol) {
        auto before = std::exchange(text_, {});
        if (!k_.fallback.empty()) {
            std::string parameters;
            for (std::size_t i = 0; i < k_.buffers.size(); ++i)
                parameters += fmt::format("{}{} __restrict b{}", i ? ", " : "", type_of(i), i);
            for (auto v : k_.fallback_parameters) parameters += fmt::format(", long {}", name(v));
            line(fmt::format("static __attribute__((noinline, cold)) void fallback({}) {{", parameters));
            indent_ += "  ";
            write(k_.fallback);
            indent_.resize(indent_.size() - 2);
            line("}");
        }
        line(fmt::format(
            "extern \"C\" __attribute__((visibility(\"default\"))) void {}(void* const* b, long begin, long end) {{",
            symbol));
        indent_ += "  ";
        if (k_.parallel < 0) line("(void)begin, (void)end;");
        std::size_t given = 0;
        auto const workspace =
            std::count_if(k_.buffers.begin(), k_.buffers.end(), [](auto& b) { return !b.workspace; });
        for (std::size_t i = 0; i < k_.buffers.size(); ++i) {
            auto const type = type_of(i);
            auto const from = k_.buffers[i].workspace
                                  ? fmt::format("((char*)b[{}] + {})", workspace, workspace_offset(k_, i))
                                  : fmt::format("b[{}]", given++);
            line(fmt::format("{} __restrict b{} = ({}){};", type, i, type, from));
        }
        write(k_.body);
        indent_.resize(indent_.size() - 2);
        line("}");
        if (typed_) before += functions_.text();
        return before + text_;
    }

private:
    std::string type_of(std::size_t buffer) const {
        auto const& b = k_.buffers[buffer];
        return fmt::format("{}{}*", b.written ? "" : "const ", c_type(b.element));
    }
    void line(std::string_view what) { text_ += fmt::format("{}{}\n", indent_, what); }

    void prelude() {
        auto const width = k_.lanes * 4;
        line(fmt::format("typedef float vf __attribute__((vector_size({})));", width));
        line(fmt::format("typedef float uf __attribute__((vector_size({}), aligned(4), may_alias));", width));
        // A scalar less zero is itself, signed zeros and NaN included.
        line("static inline vf wide(float s) { return s - vf{}; }");
        line("static inline vf wide(vf v) { return v; }");
        // Where instructions have masks, and a maximum whose second operand counts where one is NaN or both are zeros,
        // compilers are told so: they compare and choose, and take a part element by element.
        auto const wide_text = [&](std::string_view head, std::string_view with_mask, std::string_view otherwise) {
            line(head);
            if (width == 64) {
                line("#ifdef __AVX512F__");
                line(with_mask);
                line("#else");
            }
            line(otherwise);
            if (width == 64) line("#endif");
            line("}");
        };
        auto const extreme = [&](std::string_view function, std::string_view builtin, std::string_view otherwise) {
            wide_text(fmt::format("static inline vf {}(vf a, vf b) {{", function),
                      fmt::format("#ifdef __clang__\n  return (vf)__builtin_ia32_{}ps512(b, a, 4);\n#else\n  return "
                                  "(vf)__builtin_ia32_{}ps512_mask(b, a, a, (unsigned short)-1, 4);\n#endif",
                                  builtin, builtin),
                      otherwise);
        };
        extreme("vmax", "max", "  return a < b ? b : a;");
        extreme("vmin", "min", "  return b < a ? b : a;");
        line("static inline vf vmaxnan(vf a, vf b) { vf m = vmax(a, b); return b != b ? b : m; }");
        wide_text("static inline vf part(const float* p, int n) {",
                  "  return (vf)__builtin_ia32_loadups512_mask(p, vf{}, (unsigned short)((1u << n) - 1));",
                  "  vf v = {}; for (int i = 0; i < n; ++i) v[i] = p[i]; return v;");
        if (uses([](auto& i) { return i.stride != 1; }))
            line("static inline vf strided(const float* p, long s, int n) { vf v = {}; for (int i = 0; i < n; ++i) "
                 "v[i] = p[i * s]; return v; }");
        if (uses([&](auto& i) { return is_step(i.op) && i.lanes != k_.lanes; }))
            wide_text("static inline vf first(vf a, vf b, int n) {",
                      "  return (vf)__builtin_ia32_blendmps_512_mask(b, a, (unsigned short)((1u << n) - 1));",
                      "  for (int i = 0; i < n; ++i) b[i] = a[i]; return b;");
        if (uses([](auto& i) { return i.op == opcode::reduce; })) {
            std::string add, max;
            for (auto half = k_.lanes / 2; half > 0; half /= 2) {
                std::string order;
                for (std::int32_t l = 0; l < k_.lanes; ++l)
                    order += fmt::format("{}{}", l ? ", " : "", (l + half) % k_.lanes);
                add += fmt::format(" v += __builtin_shufflevector(v, v, {});", order);
                max += fmt::format(" o = __builtin_shufflevector(v, v, {}); v = o > v ? o : v;", order);
            }
            line(fmt::format("static inline float sum_of(vf v) {{{} return v[0]; }}", add));
            // As integers of that order, NaN the greatest: their maximum is one instruction.
            line(fmt::format("typedef int max_bits __attribute__((vector_size({})));", width));
            line(fmt::format(
                "static inline float max_of(vf x) {{ max_bits v = (max_bits)x, o; v ^= (v >> 31) & 0x7fffffff; v = x "
                "!= x ? max_bits{{}} + 0x7fc00000 : v;{} v ^= (v >> 31) & 0x7fffffff; return ((vf)v)[0]; }}",
                max));
        }
        wide_text(
            "static inline void keep(float* p, vf v, int n) {",
            "  if (n == 1) *p = v[0]; else __builtin_ia32_storeups512_mask(p, v, (unsigned short)((1u << n) - 1));",
            "  for (int i = 0; i < n; ++i) p[i] = v[i];");
        std::vector<loop::scalar_op> functions;
        uses([&](auto& i) {
            auto const computes = i.op == opcode::compute && i.type == dtype::f32;
            if (computes && !vector_function(i.function).empty()) functions.push_back(i.function);
            return false;
        });
        text_ += vector_math_text(k_.lanes, as_span(functions));
    }

    static bool is_step(opcode op) { return op == opcode::multiply_add || op == opcode::accumulate; }
    bool uses(function_ref<bool(instruction const&)> what) const {
        auto const of_body = uses(k_.body, what); // both are visited
        return uses(k_.fallback, what) || of_body;
    }
    static bool uses(std::vector<statement> const& statements, function_ref<bool(instruction const&)> what) {
        return std::any_of(statements.begin(), statements.end(), [&](auto& n) {
            return std::any_of(n.code.begin(), n.code.end(), what) || uses(n.body, what) || uses(n.otherwise, what);
        });
    }

    static std::string name(variable v) { return fmt::format("i{}", v); }
    static std::string number(std::int64_t v) { return fmt::format("{}L", v); }
    static std::string number_of(std::int64_t v) { return number(v); } // where `number` is something else
    static std::string text_of(affine const& a) {
        std::string out;
        for (auto const& t : a.terms())
            out += fmt::format("{}{}{}", out.empty() ? "" : " + ", name(t.of),
                               t.factor == 1 ? "" : fmt::format(" * {}", number(t.factor)));
        if (a.constant() != 0 || out.empty())
            out += fmt::format("{}{}{}{}", out.empty() ? "" : " + ", a.constant() < 0 ? "(" : "", number(a.constant()),
                               a.constant() < 0 ? ")" : "");
        return out;
    }

    // A limit declared before its loop, where it is more than a number.
    std::string limit_of(std::vector<limit> const& limits, bool greatest, variable v) {
        if (limits.size() == 1 && limits[0].divisor == 1) return text_of(limits[0].value);
        auto const which = fmt::format("{}{}", greatest ? "lo" : "hi", v);
        auto const clean = [](limit const& l) {
            auto const value = text_of(l.value);
            if (l.divisor == 1) return value;
            // ceil for values of either sign: the truncation of a negative quotient is its ceiling
            return fmt::format("(({}) > 0 ? (({}) + {}) / {} : ({}) / {})", value, value, number(l.divisor - 1),
                               number(l.divisor), value, number(l.divisor));
        };
        line(fmt::format("long {} = {};", which, clean(limits[0])));
        for (std::size_t i = 1; i < limits.size(); ++i) {
            auto const other = fmt::format("{}_{}", which, i);
            line(fmt::format("const long {} = {};", other, clean(limits[i])));
            line(fmt::format("{} = {}{}{} ? {} : {};", which, which, greatest ? " < " : " > ", other, other, which));
        }
        return which;
    }

    void write(std::vector<statement> const& statements) {
        for (auto const& n : statements) switch (n.kind) {
            case statement_kind::block:
                write(n.code);
                break;
            case statement_kind::fused_index:
                line(n.divisor == 1 ? fmt::format("const long {} = {} % {};", name(n.var), name(n.of), number(n.extent))
                                    : fmt::format("const long {} = {} / {} % {};", name(n.var), name(n.of),
                                                  number(n.divisor), number(n.extent)));
                break;
            case statement_kind::branch: {
                std::string all;
                for (auto const& c : n.conditions)
                    all += fmt::format("{}(unsigned long)({}) < {}UL", all.empty() ? "" : " && ", text_of(c.value),
                                       c.extent);
                line(fmt::format("if ({}) {{", all));
                scope(n.body);
                if (!n.otherwise.empty()) {
                    line("} else {");
                    scope(n.otherwise);
                }
                line("}");
                break;
            }
            case statement_kind::guard: {
                std::string arguments;
                for (std::size_t i = 0; i < k_.buffers.size(); ++i)
                    arguments += fmt::format("{}{}", i ? ", b" : "b", i);
                for (auto const& a : n.arguments) arguments += ", " + text_of(a);
                auto const finite = fmt::format("r{} - r{} == 0.0f", n.guarded, n.guarded);
                line(fmt::format("if (__builtin_expect(!({}), 0)) fallback({});", finite, arguments));
                break;
            }
            case statement_kind::loop: {
                line("{");
                indent_ += "  ";
                auto const own = n.var == k_.parallel;
                auto const begin = own ? "begin" : limit_of(n.begin, true, n.var);
                auto const end = own ? "end" : limit_of(n.end, false, n.var);
                line(fmt::format("for (long {} = {}; {} < {}; ++{}) {{", name(n.var), begin, name(n.var), end,
                                 name(n.var)));
                scope(n.body);
                line("}");
                indent_.resize(indent_.size() - 2);
                line("}");
                break;
            }
            }
    }
    void scope(std::vector<statement> const& statements) {
        indent_ += "  ";
        write(statements);
        indent_.resize(indent_.size() - 2);
    }

    // Blocks address memory by pointers to the part that varies, with numbers added: what compilers fold into the
    // instruction.
    void write(std::vector<instruction> const& code) {
        pointers_.clear();
        std::vector<char> written(code.size(), 0);
        for (std::size_t at = 0; at < code.size(); ++at) {
            auto const& i = code[at];
            if (i.result >= 0) {
                types_.resize(static_cast<std::size_t>(k_.registers), dtype::f32);
                types_[static_cast<std::size_t>(i.result)] = i.type;
            }
            if (written[at] || write_transposed(code, at, written)) continue;
            if (is_f32(i))
                write_f32(i);
            else
                write_typed(i);
        }
    }
    // Loads with one stride that begin one element after another: as many vectors as they have lanes are read, and
    // exchanged in registers.
    static bool is_strided(instruction const& i) {
        return i.op == opcode::load && i.type != dtype::f32 && i.stride != 1 && i.predicate.empty() &&
               i.operands[0] < 0;
    }
    bool write_transposed(std::vector<instruction> const& code, std::size_t first, std::vector<char>& written) {
        auto const& i = code[first];
        auto const lanes = static_cast<std::size_t>(k_.lanes);
        if (!is_strided(i) || lanes < 2 || k_.buffers[static_cast<std::size_t>(i.buffer)].written) return false;
        std::vector<std::size_t> group(lanes, code.size());
        for (auto at = first; at < code.size(); ++at) {
            auto const& o = code[at];
            if (!is_strided(o) || o.buffer != i.buffer || o.stride != i.stride || o.lanes != i.lanes) continue;
            auto const distance = o.offset - i.offset;
            if (!distance.is_constant() || distance.constant() < 0 || distance.constant() >= k_.lanes) continue;
            group[static_cast<std::size_t>(distance.constant())] = at;
        }
        if (std::find(group.begin(), group.end(), code.size()) != group.end()) return false;
        typed_ = true;
        auto const tile = fmt::format("t{}", next_tile_++);
        auto const type = vector_type(i.type);
        line(fmt::format("{} {}[{}] = {{}};", type, tile, lanes));
        auto row = i;
        for (std::int32_t l = 0; l < i.lanes; ++l) {
            line(fmt::format("{}[{}] = ({})*(const {}*)({});", tile, l, type, unaligned_type(i.type), place_of(row)));
            row.offset += affine{i.stride};
        }
        line(fmt::format("{}({});", functions_.transpose(i.type), tile));
        for (std::size_t l = 0; l < lanes; ++l) {
            define(code[group[l]].result, fmt::format("{}[{}]", tile, l));
            written[group[l]] = 1;
        }
        return true;
    }

    static std::string name_of(reg r) { return fmt::format("r{}", r); }
    void define(reg r, std::string_view value) { line(fmt::format("const auto {} = {};", name_of(r), value)); }
    dtype type_of(reg r) const { return types_[static_cast<std::size_t>(r)]; }
    static std::string operand(instruction const& i, int o) { return name_of(i.operands[o]); }
    static std::string wide(instruction const& i, int o) { return fmt::format("wide({})", operand(i, o)); }
    // Whether an instruction has f32 operands and a result of f32, and is none that came with other types.
    bool is_f32(instruction const& i) const {
        using loop::scalar_op;
        if (i.type != dtype::f32 || i.integer != 0 || i.op == opcode::gather) return false;
        if (i.op != opcode::compute) return i.value == 0 || i.op == opcode::splat;
        // What vectors of f32 have a text for; the rest is computed as elements of any type are.
        constexpr scalar_op plain[] = {scalar_op::maximum, scalar_op::minimum, scalar_op::square_root,
                                       scalar_op::negate};
        return std::find(std::begin(plain), std::end(plain), i.function) != std::end(plain) ||
               !info(i.function).infix.empty() || !vector_function(i.function).empty();
    }

    void write_f32(instruction const& i) {
        auto const r = name_of(i.result);
        auto const infix = [&] {
            define(i.result, fmt::format("{}{}{}", operand(i, 0), info(i.function).infix, operand(i, 1)));
        };
        switch (i.op) {
        case opcode::splat:
            define(i.result, literal(i.value, 0, dtype::f32));
            break;
        case opcode::load:
            define(i.result,
                   guarded(i,
                           !i.order.empty()      ? ordered(i, "vf", "uf")
                           : i.stride != 1       ? fmt::format("strided({}, {}, {})", place_of(i), i.stride, i.lanes)
                           : i.lanes == k_.lanes ? fmt::format("(vf)*(const uf*)({})", place_of(i))
                                                 : fmt::format("part({}, {})", place_of(i), i.lanes),
                           "vf{}"));
            break;
        case opcode::broadcast:
            define(i.result, guarded(i, fmt::format("*({})", place_of(i)), "0.0f"));
            break;
        case opcode::store:
            line(where(i) + (i.lanes == k_.lanes
                                 ? fmt::format("*(uf*)({}) = wide({});", place_of(i), operand(i, 0))
                                 : fmt::format("keep({}, wide({}), {});", place_of(i), operand(i, 0), i.lanes)));
            break;
        case opcode::copy:
            line(fmt::format("vf {} = {};", r, wide(i, 0)));
            break;
        case opcode::compute:
            switch (i.function) {
            case loop::scalar_op::maximum:
                define(i.result, fmt::format("vmax({}, {})", wide(i, 0), wide(i, 1)));
                break;
            case loop::scalar_op::minimum:
                define(i.result, fmt::format("vmin({}, {})", wide(i, 0), wide(i, 1)));
                break;
            case loop::scalar_op::square_root:
                line(fmt::format("vf {} = {};", r, wide(i, 0)));
                line(fmt::format("for (int l = 0; l < {}; ++l) {}[l] = __builtin_sqrtf({}[l]);", k_.lanes, r, r));
                break;
            case loop::scalar_op::negate:
                define(i.result, fmt::format("-{}", operand(i, 0)));
                break;
            default:
                if (!info(i.function).infix.empty())
                    infix();
                else
                    define(i.result, fmt::format("{}({})", vector_function(i.function), wide(i, 0)));
            }
            break;
        case opcode::multiply_add:
            step(i, fmt::format("{} + {} * {}", r, operand(i, 0), operand(i, 1)),
                 fmt::format("{} += {} * {}", r, operand(i, 0), operand(i, 1)), "first");
            break;
        case opcode::accumulate:
            if (i.function == loop::scalar_op::add) {
                step(i, fmt::format("{} + {}", r, operand(i, 0)), fmt::format("{} += {}", r, operand(i, 0)), "first");
            } else {
                auto const value = fmt::format("vmaxnan({}, {})", r, wide(i, 0));
                step(i, value, fmt::format("{} = {}", r, value), "first");
            }
            break;
        case opcode::reduce:
            define(i.result,
                   fmt::format("{}{})", i.function == loop::scalar_op::add ? "sum_of(" : "max_of(", operand(i, 0)));
            break;
        case opcode::choose:
        case opcode::gather: // typed
            break;
        }
    }

    // Scalars become vectors before anything is computed of them: C++ would promote them.
    void write_typed(instruction const& i) {
        typed_ = true;
        auto const r = name_of(i.result);
        auto const type = vector_type(i.type), unaligned = unaligned_type(i.type);
        auto const number = [&] { return literal(i.value, i.integer, i.type); };
        auto const combined = [&](std::string const& value) { // with what has been accumulated
            return fmt::format("{}({}, {})",
                               i.function == loop::scalar_op::add ? functions_.call(loop::scalar_op::add, i.type)
                                                                  : functions_.maximum_or_nan(i.type),
                               r, value);
        };
        switch (i.op) {
        case opcode::splat:
            define(i.result, number());
            break;
        case opcode::load:
            define(i.result,
                   guarded(i,
                           !i.order.empty() ? ordered(i, type, unaligned)
                           : i.stride != 1
                               ? fmt::format("strided_of<{}>({}, {}, {})", type, place_of(i), i.stride, i.lanes)
                           : i.lanes == k_.lanes ? fmt::format("({})*(const {}*)({})", type, unaligned, place_of(i))
                                                 : fmt::format("part_of<{}>({}, {})", type, place_of(i), i.lanes),
                           fmt::format("wide({})", number())));
            break;
        case opcode::broadcast:
            define(i.result, guarded(i, fmt::format("*({})", place_of(i)), number()));
            break;
        case opcode::store:
            line(where(i) + (i.lanes == k_.lanes
                                 ? fmt::format("*({}*)({}) = {};", unaligned, place_of(i), wide(i, 0))
                                 : fmt::format("keep_of({}, {}, {});", place_of(i), wide(i, 0), i.lanes)));
            break;
        case opcode::copy:
            line(fmt::format("{} {} = {};", type, r, wide(i, 0)));
            break;
        case opcode::compute: {
            if (i.function == loop::scalar_op::cast) {
                define(i.result, fmt::format("{}({})", functions_.cast(type_of(i.operands[0]), i.type), wide(i, 0)));
                break;
            }
            auto const selects = i.function == loop::scalar_op::select;
            auto const count = info(i.function).operands;
            std::string operands;
            for (int o = 0; o < count; ++o) operands += fmt::format("{}{}", o ? ", " : "", wide(i, o));
            define(i.result,
                   fmt::format("{}({})", functions_.call(i.function, type_of(i.operands[selects ? 1 : 0])), operands));
            break;
        }
        case opcode::multiply_add: {
            auto const value = combined(
                fmt::format("{}({}, {})", functions_.call(loop::scalar_op::multiply, i.type), wide(i, 0), wide(i, 1)));
            step(i, value, fmt::format("{} = {}", r, value), "first_of");
            break;
        }
        case opcode::accumulate: {
            auto const value = combined(wide(i, 0));
            step(i, value, fmt::format("{} = {}", r, value), "first_of");
            break;
        }
        case opcode::reduce: {
            auto const sums = i.function == loop::scalar_op::add;
            auto const call = sums ? functions_.call(loop::scalar_op::add, i.type) : functions_.maximum_or_nan(i.type);
            line(fmt::format("{} s{} = {};", type, r, wide(i, 0)));
            if (sums && is_floating(i.type)) { // rounded one lane after another
                line(fmt::format("const {} v{} = s{};", type, r, r));
                line(fmt::format("for (int l = 1; l < {}; ++l) s{} = {}(s{}, wide(v{}[l]));", k_.lanes, r, call, r, r));
            } else {
                for (auto half = k_.lanes / 2; half > 0; half /= 2) {
                    std::string order;
                    for (std::int32_t l = 0; l < k_.lanes; ++l) order += fmt::format(", {}", (l + half) % k_.lanes);
                    line(fmt::format("s{} = {}(s{}, __builtin_shufflevector(s{}, s{}{}));", r, call, r, r, r, order));
                }
            }
            define(i.result, fmt::format("s{}[0]", r));
            break;
        }
        case opcode::choose:
            functions_.choices();
            define(i.result,
                   fmt::format("entry_of({}, {}, b{}, {})", operand(i, 0), number_of(i.integer), i.buffer, i.lanes));
            break;
        case opcode::gather:
            functions_.choices();
            define(i.result, guarded(i,
                                     fmt::format("gathered<{}>({}, {}, {}, {}, {})", type, place_of(i), operand(i, 0),
                                                 number_of(i.entry), number_of(i.stride), i.lanes),
                                     fmt::format("wide({})", number())));
            break;
        }
    }

    // One step of an accumulator: lanes beyond those of the step stay.
    void step(instruction const& i, std::string const& value, std::string const& all, std::string_view first) {
        line(i.lanes == k_.lanes ? all + ";"
                                 : fmt::format("r{} = {}({}, r{}, {});", i.result, first, value, i.result, i.lanes));
    }
    // A value that is a number where a condition does not hold; nothing is read there.
    static std::string where(instruction const& i) {
        return i.predicate.empty() ? std::string{} : fmt::format("if ({}) ", conditions(i.predicate));
    }
    static std::string conditions(std::vector<loop::bound> const& bounds) {
        std::string all;
        for (auto const& c : bounds)
            all += fmt::format("{}(unsigned long)({}) < {}UL", all.empty() ? "" : " && ", text_of(c.value), c.extent);
        return all;
    }
    static std::string guarded(instruction const& i, std::string const& value, std::string_view outside) {
        if (i.predicate.empty()) return value;
        return fmt::format("{} ? {} : {}", conditions(i.predicate), value, outside);
    }

    // A load whose lanes read anywhere: whole vectors shuffled, where each is known to be within the buffer.
    std::string ordered(instruction const& i, std::string_view type, std::string_view unaligned) {
        auto const blocks = [&](std::int64_t n) { return n % k_.lanes == 0; };
        auto const& terms = i.offset.terms();
        auto const in_blocks = blocks(k_.buffers[static_cast<std::size_t>(i.buffer)].elements()) &&
                               blocks(i.offset.constant()) &&
                               std::all_of(terms.begin(), terms.end(), [&](auto& t) { return blocks(t.factor); });
        auto const at = [&](std::int64_t offset) {
            auto one = i;
            one.offset += affine{offset};
            return place_of(one);
        };
        std::string text;
        if (!in_blocks) {
            for (auto o : i.order) text += fmt::format("{}*({})", text.empty() ? "{" : ", ", at(o));
            return fmt::format("({}){}}}", type, text);
        }
        std::vector<std::int64_t> from; // the vectors that lanes come from
        for (auto o : i.order) from.push_back(o >= 0 ? o / k_.lanes : (o + 1) / k_.lanes - 1);
        auto left = from;
        std::sort(left.begin(), left.end());
        left.erase(std::unique(left.begin(), left.end()), left.end());
        for (std::size_t v = 0; v < left.size(); v += v == 0 && left.size() > 1 ? 2 : 1) {
            auto const vector_at = [&](std::size_t n) {
                return fmt::format("({})*(const {}*)({})", type, unaligned, at(left[n] * k_.lanes));
            };
            std::string lanes;
            for (std::size_t l = 0; l < from.size(); ++l) {
                auto const n = static_cast<std::size_t>(std::find(left.begin(), left.end(), from[l]) - left.begin());
                auto const within = i.order[l] - from[l] * k_.lanes;
                auto const index = v == 0 && n == 0        ? within
                                   : n == (v == 0 ? 1 : v) ? within + k_.lanes
                                                           : static_cast<std::int64_t>(l); // as before, or later
                lanes += fmt::format(", {}", index);
            }
            text = v == 0 ? fmt::format("__builtin_shufflevector({}, {}{})", vector_at(0),
                                        vector_at(left.size() > 1 ? 1 : 0), lanes)
                          : fmt::format("__builtin_shufflevector({}, {}{})", text, vector_at(v), lanes);
        }
        return text;
    }

    std::string place_of(instruction const& i) {
        auto const first = place_in_first(i);
        auto const entry = i.op != opcode::gather && i.op != opcode::store && i.operands[0] >= 0;
        return entry ? fmt::format("{} + {} * {}", first, operand(i, 0), number(i.entry)) : first;
    }
    // Of what an entry is chosen of, the place in the first one.
    std::string place_in_first(instruction const& i) {
        auto const varying = i.offset - affine{i.offset.constant()};
        auto const constant = i.offset.constant();
        auto const added = constant == 0  ? std::string{}
                           : constant < 0 ? fmt::format(" - {}", number(-constant))
                                          : fmt::format(" + {}", number(constant));
        if (varying.is_constant()) return fmt::format("b{}{}", i.buffer, added);
        for (auto const& p : pointers_)
            if (p.buffer == i.buffer && p.offset == varying) return fmt::format("p{}{}", p.id, added);
        auto const& buffer = k_.buffers[static_cast<std::size_t>(i.buffer)];
        line(fmt::format("{}{}* const p{} = b{} + ({});", buffer.written ? "" : "const ", c_type(buffer.element),
                         next_pointer_, i.buffer, text_of(varying)));
        pointers_.push_back({i.buffer, varying, next_pointer_});
        return fmt::format("p{}{}", next_pointer_++, added);
    }

    struct pointer {
        std::int32_t buffer;
        affine offset;
        int id;
    };
    kernel const& k_;
    typed_functions functions_;
    bool typed_ = false;       // has more than f32
    std::vector<dtype> types_; // of registers
    std::string text_, indent_;
    std::vector<pointer> pointers_;
    int next_pointer_ = 0, next_tile_ = 0;
};

} // namespace detail

GSUB_LAZY_BODY std::string emit_cpp(kernel const& k, std::string const& symbol) {
    return detail::cpp_writer{k}.run(symbol);
}

} // namespace gsub::codegen
