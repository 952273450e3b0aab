#pragma once

#include <gsub/eval/evaluate.hpp>

#include <array>
#include <cstring>
#include <utility>

namespace gsub::detail {

// Elements as words: what an uninterpreted function takes and gives.
GSUB_LAZY std::uint64_t word_at(tensor const& t, std::int64_t i) {
    if (t.element() == dtype::field61) return t.data<field61>()[static_cast<std::size_t>(i)].value();
    std::uint64_t word = 0;
    auto const item = byte_size(t.element());
    std::memcpy(&word, t.raw().data() + static_cast<std::size_t>(i) * item, item);
    return word;
}
GSUB_LAZY void store_word(tensor& t, std::size_t i, std::uint64_t word) {
    if (t.element() == dtype::field61)
        t.mutable_data<field61>()[i] = field61::from_bits(word);
    else if (t.element() == dtype::boolean)
        t.mutable_data<bool>()[i] = word & 1;
    else
        std::memcpy(t.mutable_raw().data() + i * byte_size(t.element()), &word, byte_size(t.element()));
}

// Whether every operand can be read at each place of the one result.
GSUB_LAZY bool broadcasts_to_result(op_call_args const& args) {
    auto const result = args.results[0].dims();
    for (auto const* x : args.operands) {
        if (!x) continue;
        auto const dims = x->dims();
        if (dims.size() > result.size()) return false;
        for (std::size_t i = 0; i < dims.size(); ++i)
            if (dims[i] != 1 && dims[i] != result[result.size() - dims.size() + i]) return false;
    }
    return true;
}

// Each element of the result is a function of the elements at its place.
GSUB_LAZY void run_uninterpreted_elementwise(op_call_args& args) {
    auto& out = args.results[0];
    if (out.elements() == 0) return;
    auto const second = args.operands.size() == 2 && args.operands[1];
    auto const dims = args.operands[0]->dims();
    broadcast_plan<2> const plan{out.dims(), {dims, second ? args.operands[1]->dims() : dims}};
    plan.for_each_run([&](std::int64_t to, std::array<std::int64_t, 2> from, std::int64_t length) {
        for (std::int64_t i = 0; i < length; ++i) {
            std::uint64_t words[2] = {word_at(*args.operands[0], from[0] + i * plan.strides[0][0]),
                                      second ? word_at(*args.operands[1], from[1] + i * plan.strides[1][0]) : 0};
            if (args.op->commutative && words[0] > words[1]) std::swap(words[0], words[1]);
            // The same function as `apply_activation` applies in a field.
            hasher h{static_cast<std::uint64_t>(args.op->id)};
            h.add(args.attributes.hash()).add(words[0]);
            if (second) h.add(words[1]);
            store_word(out, static_cast<std::size_t>(to + i), h.finish().low);
        }
    });
}

// An operator as a function of which only equality is known. Elementwise ones act on each element alone.
GSUB_LAZY void run_uninterpreted(op_call_args& args) {
    // A vector over channels (the statistics of a normalisation) is no elementwise operand; hence the test of results.
    if (args.op->category == op_category::elementwise && args.op->layouts == layout_policy::propagates &&
        args.results.size() == 1 && args.operands.size() <= 2 && broadcasts_to_result(args))
        return run_uninterpreted_elementwise(args);
    hasher whole;
    whole.add(hasher{static_cast<std::uint64_t>(args.op->id)}.add(args.attributes.hash()).finish());
    for (auto const* t : args.operands) {
        if (!t) {
            whole.add(0);
            continue;
        }
        whole.add(t->rank());
        for (auto d : t->dims()) whole.add(static_cast<std::uint64_t>(d));
        for (std::int64_t i = 0; i < t->elements(); ++i) whole.add(word_at(*t, i));
    }
    for (auto& out : args.results)
        for (std::size_t i = 0; i < static_cast<std::size_t>(out.elements()); ++i)
            store_word(out, i, hasher{whole}.add(i).finish().low);
}

} // namespace gsub::detail
