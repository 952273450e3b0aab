// Programs of one copy, and what they compute byte by byte.
#pragma once

#include <gsub/core/random.hpp>
#include <gsub/runtime/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace copied_values {

using namespace gsub;

/// One to three inputs into one output of bytes: moves whose places are a random step apart, and in random order. The
/// output has gaps that nothing writes, which are copied from an input of its size first. With `large`, more bytes than
/// one thread would move alone.
inline runtime::program any_copy(random_stream& r, bool large) {
    using runtime::memory_role;
    auto const below = [&](std::size_t n) { return static_cast<std::size_t>(r.below(n)); };
    runtime::program p;
    auto const add = [&](memory_role role, std::size_t size, std::size_t position) {
        p.values.push_back({runtime::on_host(role), size, position});
        tensor_type const type{dtype::u8, ints{static_cast<std::int64_t>(size)}};
        (role == memory_role::input ? p.inputs : p.outputs).push_back(type);
        (role == memory_role::input ? p.input_names : p.output_names).emplace_back("v");
    };
    runtime::copy_call c;
    auto const few_times = r.below(2) == 0;
    c.times = 1 + static_cast<std::int64_t>(below(few_times ? 2 : 300));
    auto const times = static_cast<std::size_t>(c.times);
    auto const most = large ? (std::size_t{1} << 20) / times : 40;
    auto const count = 1 + below(3);
    std::size_t row = 0; // of the output
    for (std::size_t i = 0; i < count; ++i) {
        runtime::strided_move m;
        m.size = (large ? most / 2 : 0) + below(most);
        m.from = i, m.to = count + 1;
        m.from_at = below(5), m.from_step = r.below(4) ? m.size + below(7) : 0; // 0: the same bytes each time
        row += below(4);
        m.to_at = row;
        row += m.size;
        c.moves.push_back(m);
        add(memory_role::input, m.from_at + (times - 1) * m.from_step + m.size + below(3), i);
    }
    row += below(4);
    for (auto& m : c.moves) m.to_step = row;
    std::reverse(c.moves.begin(), c.moves.end());
    add(memory_role::input, row * times, count);
    add(memory_role::output, row * times, 0);
    std::vector<std::int32_t> values;
    for (std::size_t i = 0; i < count + 2; ++i) values.push_back(static_cast<std::int32_t>(i));
    auto const last = static_cast<std::int32_t>(count);
    p.steps.push_back({"before", runtime::copy_of(row * times), {last, last + 1}});
    p.steps.push_back({"moves", std::move(c), std::move(values)});
    return p;
}

inline std::vector<tensor> inputs_of(runtime::program const& p, random_stream& r) {
    std::vector<tensor> out;
    for (auto const& t : p.inputs) {
        out.push_back(tensor::uninitialized(t.element, t.sizes()));
        for (auto& b : out.back().mutable_raw()) b = static_cast<std::byte>(r.below(256));
    }
    return out;
}

inline tensor expected(runtime::program const& p, std::vector<tensor> const& inputs) {
    auto out = tensor::zeros(p.outputs[0]);
    auto const to = out.mutable_raw();
    std::copy(inputs.back().raw().begin(), inputs.back().raw().end(), to.begin());
    auto const& c = std::get<runtime::copy_call>(p.steps[1].what);
    for (std::size_t t = 0; t < static_cast<std::size_t>(c.times); ++t)
        for (auto const& m : c.moves)
            for (std::size_t i = 0; i < m.size; ++i)
                to[m.to_at + t * m.to_step + i] = inputs[m.from].raw()[m.from_at + t * m.from_step + i];
    return out;
}

} // namespace copied_values
