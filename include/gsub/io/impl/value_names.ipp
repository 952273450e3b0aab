#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/io/impl/opaque_message.hpp>
#include <gsub/io/impl/value_names.hpp>
#include <gsub/io/onnx_model.hpp>

namespace gsub::io::detail {

template <class T>
void value_names<T>::bind_captured(std::span<std::string const> captured) {
    for (std::size_t i = 0; i < captured.size(); ++i) names_.emplace(value_id{g_.inputs()[i], 0}, captured[i]);
    // Outputs are made by nodes of the branch.
    for (std::size_t i = 0; i < g_.output_count(); ++i)
        if (auto const v = g_.output(i); g_.is<ops::constant>(v.node) && !names_.contains(v))
            names_.emplace(v, unique_.fresh("const"));
}

template <class T>
void value_names<T>::assign(bool in_branch) {
    for (auto n : g_.inputs())
        if (auto const name = g_.name({n, 0}); !name.empty() && !names_.contains({n, 0}))
            fix({n, 0}, std::string{name});
    outputs_ = g_.info().output_names;
    outputs_.resize(g_.output_count());
    for (std::size_t i = 0; i < g_.output_count(); ++i)
        if (!outputs_[i].empty()) {
            if (in_branch) outputs_[i] = unique_.vacant(outputs_[i]); // a name is used once in the whole model
            fix(g_.output(i), outputs_[i]);
        }
    for (auto n : g_.order()) {
        if (!g_.is<ops::opaque>(n)) continue;
        auto const captured = parse_onnx_node(opaque_message(g_, n)).inputs;
        auto const first = g_.operand_count(n) - captured.size();
        for (std::size_t i = 0; i < captured.size(); ++i) fix(g_.operand(n, first + i), std::string{captured[i]});
    }
    for (auto n : g_.inputs())
        if (g_.name({n, 0}).empty() && !names_.contains({n, 0}))
            fix({n, 0}, unique_.vacant(format_text("input_{}", g_.input_position(n))));
    for (std::size_t i = 0; i < g_.output_count(); ++i)
        if (outputs_[i].empty()) fix(g_.output(i), outputs_[i] = unique_.vacant(format_text("output_{}", i)));
    for (auto n : g_.order())
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port) {
            value_id const v{n, port};
            if (names_.contains(v)) continue;
            auto const own = g_.name(v);
            if (!own.empty() && unique_.take(std::string{own})) names_.emplace(v, own);
        }
}

// Gives a value a name that it must have; where it has another already, a copy of it gets the name.
template <class T>
void value_names<T>::fix(value_id v, std::string name) {
    if (auto const known = names_.find(v); known == names_.end() && !unique_.taken(name)) {
        unique_.take(name);
        names_.emplace(v, std::move(name));
    } else if (known == names_.end() || known->second != name) {
        if (auto const copy = copied_.find(name); copy != copied_.end() && copy->second == v) return;
        if (!unique_.take(name))
            throw error{problem{errors::no_form_in_files,
                                std::move(name),
                                {},
                                "two values must have this name: inputs, outputs and values that subgraphs read keep "
                                "theirs",
                                "give the outputs other names"}};
        copied_.emplace(name, v);
        copies_[v.node].emplace_back(v, std::move(name));
    }
}

template <class T>
std::string const& value_names<T>::operator()(value_id v) {
    auto found = names_.find(v);
    if (found == names_.end()) found = names_.emplace(v, unique_.fresh(g_.op(v.node).name)).first;
    return found->second;
}

template <class T>
std::span<std::pair<value_id, std::string> const> value_names<T>::copies(node_id n) const {
    auto const found = copies_.find(n);
    if (found == copies_.end()) return {};
    return as_span(found->second);
}

} // namespace gsub::io::detail
