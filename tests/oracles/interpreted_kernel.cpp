#include "oracles/interpreted_kernel.hpp"

namespace interpreted_kernel {

void machine::run(std::vector<codegen::statement> const& statements) {
    std::vector<codegen::variable> parts;
    for (auto const& n : statements) switch (n.kind) {
        case codegen::statement_kind::block:
            for (auto const& i : n.code) run(i);
            break;
        case codegen::statement_kind::fused_index: {
            auto const v = at(codegen::affine::of(n.of)) / n.divisor % n.extent;
            set(n.var, v);
            parts.push_back(n.var);
            break;
        }
        case codegen::statement_kind::chosen_index: {
            auto const& i = n.code.at(0);
            auto const k = static_cast<std::int64_t>(
                data_.at(static_cast<std::size_t>(i.buffer)).at(static_cast<std::size_t>(at(i.offset))));
            auto const inside = k >= -n.extent && k < n.extent;
            if (!inside) data_.at(static_cast<std::size_t>(n.status)).at(0) = 1;
            set(n.var, !inside ? 0 : k < 0 ? k + n.extent : k);
            run(n.body);
            defined_[static_cast<std::size_t>(n.var)] = false;
            break;
        }
        case codegen::statement_kind::branch: {
            auto yes = true;
            for (auto const& c : n.conditions) {
                auto const v = at(c.value);
                yes = yes && v >= 0 && v < c.extent;
            }
            run(yes ? n.body : n.otherwise);
            break;
        }
        case codegen::statement_kind::guard: {
            auto const& v = value(n.guarded);
            if (std::all_of(v.begin(), v.end(), [](double e) { return std::isfinite(static_cast<float>(e)); })) break;
            require(n.arguments.size() == k_.fallback_parameters.size(), "a fallback has other parameters");
            for (std::size_t i = 0; i < n.arguments.size(); ++i) set(k_.fallback_parameters[i], at(n.arguments[i]));
            run(k_.fallback);
            for (auto p : k_.fallback_parameters) defined_[static_cast<std::size_t>(p)] = false;
            break;
        }
        case codegen::statement_kind::loop: {
            auto begin = begin_, end = end_;
            if (n.var != k_.parallel) {
                begin = at(n.begin.at(0)), end = at(n.end.at(0));
                for (auto const& l : n.begin) begin = std::max(begin, at(l));
                for (auto const& l : n.end) end = std::min(end, at(l));
            }
            for (auto i = begin; i < end; ++i) {
                set(n.var, i);
                run(n.body);
                defined_[static_cast<std::size_t>(n.var)] = false;
            }
            break;
        }
        }
    for (auto v : parts) defined_[static_cast<std::size_t>(v)] = false;
}

void machine::run(codegen::instruction const& i) {
    auto const lanes = static_cast<std::size_t>(k_.lanes);
    auto const number = is_floating(i.type) ? i.value : static_cast<double>(i.integer);
    auto const type = [&](int o) { return types_.at(static_cast<std::size_t>(i.operands[o])); };
    vector out(lanes, 0);
    if (i.result >= 0) {
        types_.resize(registers_.size(), dtype::undefined);
        types_.at(static_cast<std::size_t>(i.result)) = i.type;
    }
    if (i.op == opcode::choose) {
        auto const& chosen = value(i.operands[0]);
        for (std::size_t l = 0; l < lanes; ++l) {
            auto const inside = chosen[l] >= -number && chosen[l] < number;
            if (!inside) data_.at(static_cast<std::size_t>(i.buffer)).at(0) = 1;
            out[l] = inside ? chosen[l] + (chosen[l] < 0 ? number : 0) : 0;
        }
        registers_.at(static_cast<std::size_t>(i.result)) = out;
        return;
    }
    if (i.op == opcode::load || i.op == opcode::broadcast || i.op == opcode::store || i.op == opcode::gather) {
        auto& b = data_.at(static_cast<std::size_t>(i.buffer));
        require(k_.buffers.at(static_cast<std::size_t>(i.buffer)).element == i.type, "an access of another type");
        auto const offset = at(i.offset);
        auto const inside = interpret::holds_all(i.predicate, [&](auto const& a) { return at(a); });
        auto const count = !inside ? 0 : i.op == opcode::broadcast ? 1 : i.lanes;
        require(!inside || (count >= 1 && count <= k_.lanes), "an access has from one to all lanes");
        if (!inside) out.assign(lanes, interpret::held(number, i.type));
        for (std::int32_t l = 0; l < count; ++l) {
            auto place = offset + (i.order.empty() ? l * i.stride : i.order.at(static_cast<std::size_t>(l)));
            if (i.op != opcode::store && i.operands[0] >= 0)
                place += static_cast<std::int64_t>(value(i.operands[0])[static_cast<std::size_t>(l)]) * i.entry;
            require(place >= 0 && place < static_cast<std::int64_t>(b.size()), "an access out of bounds");
            auto const e = static_cast<std::size_t>(place);
            if (i.op == opcode::store) {
                require(k_.buffers.at(static_cast<std::size_t>(i.buffer)).written, "an input is written");
                require(type(0) == i.type, "a register of another type is stored");
                b[e] = value(i.operands[0])[static_cast<std::size_t>(l)];
                ++written_[static_cast<std::size_t>(i.buffer)][e];
            } else {
                out[static_cast<std::size_t>(l)] = b[e];
            }
        }
        if (i.op == opcode::broadcast) out.assign(lanes, out[0]);
        if (i.op != opcode::store) registers_.at(static_cast<std::size_t>(i.result)) = out;
        return;
    }
    auto const is_step = i.op == opcode::multiply_add || i.op == opcode::accumulate;
    if (is_step) {
        require(i.lanes >= 1 && i.lanes <= k_.lanes, "a step has from one to all lanes");
        out = value(i.result);
    }
    if (i.op == opcode::reduce) {
        auto all = value(i.operands[0])[0];
        for (std::size_t l = 1; l < lanes; ++l)
            all = interpret::combine(i.function, all, value(i.operands[0])[l], i.type);
        out.assign(lanes, all);
        registers_.at(static_cast<std::size_t>(i.result)) = out;
        return;
    }
    for (std::size_t l = 0; l < (is_step ? static_cast<std::size_t>(i.lanes) : lanes); ++l) {
        auto const of = [&](int o) { return i.operands[o] < 0 ? 0 : value(i.operands[o])[l]; };
        auto const a = of(0), b = of(1);
        switch (i.op) {
        case opcode::splat:
            out[l] = i.type == dtype::f32 ? static_cast<double>(static_cast<float>(number))
                                          : interpret::held(number, i.type);
            break;
        case opcode::copy:
            out[l] = a;
            break;
        case opcode::compute:
            out[l] =
                i.function == loop::scalar_op::cast
                    ? interpret::converted(a, type(0), i.type)
                    : interpret::apply(i.function, a, b, of(2), type(i.function == loop::scalar_op::select ? 1 : 0));
            break;
        case opcode::multiply_add:
            out[l] = interpret::held(value(i.result)[l] + interpret::held(a * b, i.type), i.type);
            break;
        default:
            out[l] = interpret::combine(i.function, value(i.result)[l], a, i.type);
        }
    }
    registers_.at(static_cast<std::size_t>(i.result)) = out;
}

std::string difference(kernel const& k, loop::tensor_expression const& what, std::uint64_t seed) {
    auto expected = interpret::random_data(what, seed);
    auto actual = expected;
    interpret::run(what, expected);
    machine m{k, actual};
    try {
        // The parallel range in two pieces.
        auto const middle = k.parallel < 0 ? k.parallel_extent : k.parallel_extent / 2;
        m.run(0, middle);
        if (middle != k.parallel_extent) m.run(middle, k.parallel_extent);
    } catch (std::logic_error const& e) { return e.what(); }
    for (std::size_t target = 0; target < actual.size(); ++target)
        for (std::size_t i = 0; i < actual[target].size(); ++i) {
            auto const a = actual[target][i], b = expected[target][i];
            if (m.written(target)[i] > 1) return "element " + std::to_string(i) + " is stored twice";
            if (!(std::abs(a - b) <= 1e-5 * (1 + std::abs(b)) || a == b || (a != a && b != b)))
                return "element " + std::to_string(i) + " is " + std::to_string(a) + ", not " + std::to_string(b);
        }
    return {};
}

} // namespace interpreted_kernel
