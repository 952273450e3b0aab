#pragma once

#include <gsub/codegen/ir/impl/transposable_loads.hpp>
#include <gsub/codegen/ir/kernel_ir.hpp>
#include <gsub/core/format.hpp>

#include <algorithm>

namespace gsub::codegen {

GSUB_LAZY_BODY std::string_view to_string(opcode op) noexcept {
    constexpr std::string_view names[] = {"splat",        "load",       "broadcast", "store",  "copy",  "compute",
                                          "multiply_add", "accumulate", "reduce",    "choose", "gather"};
    return names[static_cast<std::size_t>(op)];
}
GSUB_LAZY_BODY std::string to_string(instruction const& i) {
    if (i.op == opcode::compute) return std::string{to_string(i.function)};
    if (i.op == opcode::accumulate || i.op == opcode::reduce)
        return format_text("{}_{}", to_string(i.op), to_string(i.function));
    return std::string{to_string(i.op)};
}

GSUB_LAZY_BODY std::size_t workspace_offset(kernel const& k, std::size_t buffer) noexcept {
    std::size_t at = 0;
    for (std::size_t i = 0; i < buffer; ++i)
        if (k.buffers[i].workspace)
            at += (static_cast<std::size_t>(k.buffers[i].elements()) * byte_size(k.buffers[i].element) + 63) / 64 * 64;
    return at;
}
GSUB_LAZY_BODY std::size_t workspace_bytes(kernel const& k) noexcept {
    return workspace_offset(k, k.buffers.size());
}

namespace detail {

GSUB_LAZY std::string limits_text(std::vector<limit> const& limits, std::string_view how, kernel const& k) {
    std::string text;
    for (auto const& l : limits) {
        auto one = loop::to_string(l.value, k.names);
        if (l.divisor != 1) one = format_text("ceil(({}) / {})", one, l.divisor);
        text = text.empty() ? one : format_text("{}({}, {})", how, text, one);
    }
    return text;
}

GSUB_LAZY void print(std::vector<statement> const& statements, std::string const& indent, kernel const& k,
                     std::string& out) {
    auto const name = [&](variable v) -> std::string const& { return k.names[static_cast<std::size_t>(v)]; };
    for (auto const& n : statements) switch (n.kind) {
        case statement_kind::loop:
            out += format_text("{}for {} in {} .. {}:\n", indent, name(n.var), limits_text(n.begin, "max", k),
                               limits_text(n.end, "min", k));
            print(n.body, indent + "  ", k, out);
            break;
        case statement_kind::fused_index:
            out += format_text("{}{} = {} / {} % {}\n", indent, name(n.var), name(n.of), n.divisor, n.extent);
            break;
        case statement_kind::chosen_index:
            out += format_text("{}{} = {}[{}] below {}:\n", indent, name(n.var),
                               k.buffers[static_cast<std::size_t>(n.code[0].buffer)].name,
                               loop::to_string(n.code[0].offset, k.names), n.extent);
            print(n.body, indent + "  ", k, out);
            break;
        case statement_kind::branch:
            out += indent + "if";
            for (auto const& c : n.conditions)
                out += format_text(" 0 <= {} < {}", loop::to_string(c.value, k.names), c.extent);
            out += ":\n";
            print(n.body, indent + "  ", k, out);
            if (!n.otherwise.empty()) {
                out += indent + "else:\n";
                print(n.otherwise, indent + "  ", k, out);
            }
            break;
        case statement_kind::guard:
            out += format_text("{}unless finite r{}: fallback", indent, n.guarded);
            for (auto const& a : n.arguments) out += format_text(" {}", loop::to_string(a, k.names));
            out += "\n";
            break;
        case statement_kind::block:
            for (auto const& i : n.code) {
                out += indent;
                if (i.result >= 0) out += format_text("r{} = ", i.result);
                out += to_string(i);
                if (i.type != dtype::f32) out += format_text(".{}", to_string(i.type));
                if (i.op == opcode::splat)
                    out += is_floating(i.type) ? format_text(" {}", shortest{i.value}) : format_text(" {}", i.integer);
                for (auto o : i.operands)
                    if (o >= 0) out += format_text(" r{}", o);
                if (i.buffer >= 0)
                    out += format_text(" {}[{}]", k.buffers[static_cast<std::size_t>(i.buffer)].name,
                                       loop::to_string(i.offset, k.names));
                if (i.lanes > 0 && i.lanes < k.lanes) out += format_text(" lanes {}", i.lanes);
                if (i.op == opcode::choose) out += format_text(" of {}", i.integer);
                if (i.entry != 0) out += format_text(" entries of {}", i.entry);
                if (i.stride != 1) out += format_text(" by {}", i.stride);
                if (!i.order.empty()) out += " at";
                for (auto o : i.order) out += format_text(" {}", o);
                for (auto const& b : i.predicate)
                    out += format_text(" if 0 <= {} < {}", loop::to_string(b.value, k.names), b.extent);
                out += "\n";
            }
            break;
        }
}

} // namespace detail

GSUB_LAZY_BODY std::string to_string(kernel const& k) {
    std::string text = format_text("kernel {}, {} lanes\n", k.name, k.lanes);
    detail::print(k.body, "  ", k, text);
    if (!k.fallback.empty()) {
        text += "  fallback";
        for (auto v : k.fallback_parameters) text += format_text(" {}", k.names[static_cast<std::size_t>(v)]);
        text += ":\n";
        detail::print(k.fallback, "    ", k, text);
    }
    return text;
}

namespace detail {

// Those among the instructions from `first` on that read like it, one element after another: one for each lane. Empty
// where some are missing.
template <class Alike>
std::vector<std::size_t> neighbours(kernel const& k, std::vector<instruction> const& code, std::size_t first,
                                    Alike const& alike) {
    auto const& i = code[first];
    std::vector<std::size_t> reads(static_cast<std::size_t>(k.lanes), code.size());
    for (auto at = first; at < code.size(); ++at) {
        auto const& o = code[at];
        if (!alike(o) || o.type != i.type || o.buffer != i.buffer) continue;
        auto const distance = o.offset - i.offset;
        if (!distance.is_constant() || distance.constant() < 0 || distance.constant() >= k.lanes) continue;
        reads[static_cast<std::size_t>(distance.constant())] = at;
    }
    if (std::find(reads.begin(), reads.end(), code.size()) != reads.end()) reads.clear();
    return reads;
}

GSUB_LAZY_BODY std::vector<std::size_t> transposable_loads(kernel const& k, std::vector<instruction> const& code,
                                                           std::size_t first) {
    auto const is_strided = [](instruction const& i) {
        return i.op == opcode::load && i.stride != 1 && i.order.empty() && i.predicate.empty() && i.operands[0] < 0;
    };
    auto const& i = code[first];
    if (!is_strided(i) || k.lanes < 2 || k.buffers[static_cast<std::size_t>(i.buffer)].written) return {};
    return neighbours(k, code, first, [&](instruction const& o) {
        return is_strided(o) && o.stride == i.stride && o.lanes == i.lanes;
    });
}

GSUB_LAZY_BODY std::vector<std::size_t> broadcast_lanes(kernel const& k, std::vector<instruction> const& code,
                                                        std::size_t first) {
    auto const is_broadcast = [](instruction const& i) {
        return i.op == opcode::broadcast && i.type == dtype::f32 && i.predicate.empty() && i.operands[0] < 0;
    };
    if (k.lanes != 4 || !is_broadcast(code[first])) return {};
    auto const is_stored = [&](instruction const& i) {
        return i.op == opcode::store && i.buffer == code[first].buffer;
    };
    if (std::any_of(code.begin(), code.end(), is_stored)) return {};
    return neighbours(k, code, first, is_broadcast);
}

} // namespace detail

} // namespace gsub::codegen
