#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/impl/function_writer.ipp>
#include <gsub/io/impl/loop_importer.hpp>
#include <gsub/io/impl/not_supported.hpp>
#include <gsub/io/impl/onnx_importer.hpp>
#include <gsub/io/protobuf.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::io::detail {

GSUB_INLINE void loop_budget::refuse() const {
    throw not_supported{
        {errors::operator_form,
         {},
         {},
         format_text("written one by one, iterations of loops are more than {} nodes and values", most_),
         "load_options::limits.max_nodes is four times as many"}};
}

template <class>
struct loop_body {
    loop_body(import_task const& around, std::string_view graph)
        : part(model_of_subgraph(around.model, graph)), task(task_of(around, part)) {}
    loop_body(loop_body const&) = delete;
    loop_body& operator=(loop_body const&) = delete;

    // The importer goes on with the graph of a builder.
    void open(graph_builder& into, std::span<captured_value const> captured,
              std::span<std::string_view const> changing) {
        importer.emplace(task, &into);
        importer->open_body(captured, changing);
    }
    [[nodiscard]] onnx_graph const& graph() const noexcept { return part.graph; }

    onnx_model part;
    import_task task;
    std::optional<onnx_importer<>> importer;

private:
    static import_task task_of(import_task const& around, onnx_model const& part) {
        return {part,
                around.path,
                around.operators,
                around.table,
                around.options,
                around.functions,
                around.budget,
                around.constant_budget,
                true};
    }
};

/// What iterations have given: the values of the states behind the last, and those of each further output, by
/// iteration.
struct loop_results {
    std::vector<value_id> states;
    std::vector<std::vector<value_id>> sequences;
};

/// A loop of a file, written iteration by iteration.
template <class T>
class loop_reader {
public:
    loop_reader(onnx_import_context& cx, import_task const& task, onnx_node const& node,
                std::span<std::string_view const> captured, onnx_values<>& values, std::shared_ptr<loop_body<T>>& body)
        : cx_(cx), to_(cx), task_(task), node_(node), captured_(captured), values_(values), body_(body) {}

    std::vector<value_id> run() {
        auto made = node_.op_type == "Loop" ? run_loop() : cx_.opset() < 9 ? run_scan_of_batches() : run_scan();
        if (cx_.results() > made.size())
            cx_.invalid(format_text("{} results; its body gives {}", cx_.results(), made.size()));
        return made;
    }

private:
    static constexpr std::int64_t most_iterations = 4096;

    // ---- Loop

    std::vector<value_id> run_loop() {
        auto const count = loop_count();
        auto going = loop_condition();
        auto states = operands_from(2);
        read_body();
        check_body(2, states.size(), 0, 1);
        check_attributes();
        auto const sequences = graph().outputs.size() - 1 - states.size();
        if (!going || count == 0) {
            if (sequences == 0) return states;
            auto const lone = types_of_outputs(loop_arguments(0, states));
            for (std::size_t k = 0; k < sequences; ++k) states.push_back(nothing(lone[lone.size() - sequences + k], 0));
            return states;
        }
        open_body();
        auto const& condition = graph().outputs[0];
        auto const counted = !importer().changes(0); // it goes on until the end, or ends behind the first
        loop_results results{std::move(states), std::vector<std::vector<value_id>>(sequences)};
        for (std::int64_t i = 0; going; ++i) {
            if (i == most_iterations) too_many(count);
            auto const outputs = step(loop_arguments(i, results.states), results);
            if (count && i + 1 == *count) break;
            auto const next = values_.known_truth(outputs[0]);
            if (!next)
                cx_.unsupported(format_text("whether it goes on behind iteration {} depends on data: {}", i,
                                            quoted{condition.name}));
            going = *next;
            if (!going || !counted) continue;
            if (!count || *count > most_iterations) too_many(count);
            foresee(i, *count);
        }
        auto made = std::move(results.states);
        for (auto const& sequence : results.sequences) made.push_back(stacked(sequence, 0, false));
        return made;
    }
    // Nothing: as long as the condition holds.
    [[nodiscard]] std::optional<std::int64_t> loop_count() const {
        if (!cx_.has(0)) return std::nullopt;
        auto const known = cx_.known_ints(0);
        if (!known)
            cx_.unsupported("how many iterations it makes is not known",
                            "load_options::values gives an input its value, --value NAME=NUMBER");
        if (known->size() != 1 || cx_.type(0).element != dtype::i64)
            cx_.invalid(format_text("its number of iterations is {}", to_string(cx_.type(0))));
        return std::max<std::int64_t>((*known)[0], 0);
    }
    [[nodiscard]] bool loop_condition() const {
        if (!cx_.has(1)) return true;
        auto const known = values_.known_truth(cx_.operand(1));
        if (!known) cx_.unsupported("whether it begins depends on data");
        if (cx_.type(1).element != dtype::boolean)
            cx_.invalid(format_text("its condition is {}", to_string(cx_.type(1))));
        return *known;
    }
    // Number and condition have one element, as a scalar or, where the body declares that, as a vector.
    [[nodiscard]] std::vector<value_id> loop_arguments(std::int64_t i, std::vector<value_id> const& states) {
        auto const shaped = [this](tensor t, std::size_t input) {
            auto const& declared = graph().inputs[input];
            if (declared.has_shape && declared.dims.size() == 1) t = t.reshaped(ints{1});
            return cx_.builder().constant(std::move(t));
        };
        if (!holds_.valid()) holds_ = shaped(tensor::scalar(true), 1);
        std::vector<value_id> arguments{shaped(tensor::scalar(i), 0), holds_};
        arguments.insert(arguments.end(), states.begin(), states.end());
        return arguments;
    }
    [[noreturn]] void too_many(std::optional<std::int64_t> count) const {
        cx_.unsupported(count ? format_text("{} iterations; at most {} are written one by one", *count, most_iterations)
                              : format_text("more than {} iterations", most_iterations));
    }

    // ---- Scan

    struct scanned {
        value_id value;
        std::size_t axis;
        bool backwards;
    };

    std::vector<value_id> run_scan() {
        auto const inputs = scan_inputs(node_.inputs.size());
        auto const axes = list("scan_input_axes", inputs);
        auto const backwards = directions("scan_input_directions", inputs);
        auto states = operands_from(0);
        std::vector<scanned> sequences;
        auto const first = states.size() - inputs;
        for (std::size_t k = 0; k < inputs; ++k) {
            auto const v = states[first + k];
            sequences.push_back({v, to_.axis(axes[k], to_.rank(v)), backwards[k] != 0});
        }
        states.resize(first);
        auto const length = length_of(sequences, 1);
        read_body();
        check_body(0, first, inputs, 0);
        auto const outputs = graph().outputs.size() - first;
        auto const output_axes = list("scan_output_axes", outputs);
        auto const reversed = directions("scan_output_directions", outputs);
        check_attributes();
        if (length == 0) {
            auto const lone = types_of_elements(states, sequences);
            for (std::size_t k = 0; k < outputs; ++k) states.push_back(nothing(lone[first + k], output_axes[k]));
            return states;
        }
        open_body();
        auto made = scan(std::move(states), sequences, length, outputs);
        for (std::size_t k = 0; k < outputs; ++k)
            made.states.push_back(stacked(made.sequences[k], output_axes[k], reversed[k] != 0));
        return made.states;
    }
    // Before version 9: states and sequences have a batch in front, each element of which is scanned on its own.
    std::vector<value_id> run_scan_of_batches() {
        if (node_.inputs.empty()) cx_.invalid("it has no operands");
        auto const inputs = scan_inputs(node_.inputs.size() - 1);
        auto const backwards = directions("directions", inputs);
        auto states = operands_from(1);
        auto const first = states.size() - inputs;
        std::vector<scanned> sequences;
        for (std::size_t k = 0; k < states.size(); ++k) {
            if (to_.rank(states[k]) < (k < first ? 1u : 2u))
                cx_.invalid(format_text("operand {} is {}", k + 1, to_string(*cx_.builder().type_of(states[k]))));
            if (k >= first) sequences.push_back({states[k], 1, backwards[k - first] != 0});
        }
        auto const batch = to_.size(states[0], 0);
        for (auto const v : states)
            if (to_.size(v, 0) != batch) cx_.invalid("operands of batches of different sizes");
        if (batch == 0) cx_.unsupported("a batch without elements");
        auto const length = length_of(sequences, batch);
        if (length == 0) cx_.unsupported("a sequence without elements");
        if (cx_.has(0)) {
            auto const known = cx_.known_ints(0);
            if (!known || !std::ranges::all_of(*known, [&](auto one) { return one == length; }))
                cx_.unsupported("sequences that may be shorter than the longest");
        }
        read_body();
        check_body(0, first, inputs, 0);
        check_attributes();
        auto const outputs = graph().outputs.size() - first;
        open_body();
        std::vector<std::vector<value_id>> made(first + outputs); // by result, then by element of the batch
        for (std::int64_t b = 0; b < batch; ++b) {
            std::vector<value_id> own;
            for (std::size_t k = 0; k < first; ++k) own.push_back(part(states[k], 0, b));
            auto parts = sequences;
            for (auto& s : parts) s.value = part(s.value, 0, b), s.axis = 0;
            auto const one = scan(std::move(own), parts, length, outputs);
            for (std::size_t k = 0; k < first; ++k) made[k].push_back(one.states[k]);
            for (std::size_t k = 0; k < outputs; ++k) made[first + k].push_back(stacked(one.sequences[k], 0, false));
        }
        std::vector<value_id> results;
        for (auto const& parts : made) results.push_back(stacked(parts, 0, false));
        return results;
    }
    loop_results scan(std::vector<value_id> states, std::span<scanned const> sequences, std::int64_t length,
                      std::size_t outputs) {
        loop_results results{std::move(states), std::vector<std::vector<value_id>>(outputs)};
        first_ = true;
        for (std::int64_t i = 0; i < length; ++i) {
            auto arguments = results.states;
            for (auto const& s : sequences)
                arguments.push_back(part(s.value, s.axis, s.backwards ? length - 1 - i : i));
            step(arguments, results);
            foresee(i, length);
        }
        return results;
    }
    [[nodiscard]] std::size_t scan_inputs(std::size_t operands) const {
        auto const given = cx_.integer("num_scan_inputs");
        if (!given) cx_.invalid("no num_scan_inputs");
        if (*given < 1 || static_cast<std::uint64_t>(*given) > operands)
            cx_.invalid(format_text("num_scan_inputs {} for {} operands", *given, operands));
        return static_cast<std::size_t>(*given);
    }
    [[nodiscard]] ints list(std::string_view name, std::size_t count) const {
        auto given = cx_.integer_list(name);
        if (!given) return ints(count, 0);
        if (given->size() != count) cx_.invalid(format_text("{} of {} numbers for {}", name, given->size(), count));
        return std::move(*given);
    }
    [[nodiscard]] ints directions(std::string_view name, std::size_t count) const {
        auto given = list(name, count);
        for (auto const d : given)
            if (d != 0 && d != 1) cx_.invalid(format_text("{} with {}", name, d));
        return given;
    }
    [[nodiscard]] std::int64_t length_of(std::span<scanned const> sequences, std::int64_t batch) const {
        auto const length = to_.size(sequences[0].value, sequences[0].axis);
        for (auto const& s : sequences)
            if (auto const other = to_.size(s.value, s.axis); other != length)
                cx_.invalid(format_text("sequences of lengths {} and {}", length, other));
        if (to_.product({length, batch}) > most_iterations) too_many(length * batch);
        return length;
    }
    // Types of outputs for sequences without elements, whose elements have types all the same.
    [[nodiscard]] std::vector<tensor_type> types_of_elements(std::vector<value_id> const& arguments,
                                                             std::span<scanned const> sequences) {
        std::vector<type_id> types;
        for (auto const& s : sequences) {
            auto const& whole = *cx_.builder().type_of(s.value);
            tensor_type element{whole.element, shape{}};
            for (std::size_t i = 0; i < whole.rank(); ++i)
                if (i != s.axis) element.dims.push_back(whole.dims[i]);
            types.emplace_back(element);
        }
        return types_of_outputs(arguments, as_span(types));
    }

    // ---- both

    [[nodiscard]] std::vector<value_id> operands_from(std::size_t first) const {
        std::vector<value_id> all;
        for (auto i = first; i < node_.inputs.size(); ++i) all.push_back(to_.operand(i));
        return all;
    }
    [[nodiscard]] onnx_graph const& graph() const noexcept { return body_->graph(); }
    [[nodiscard]] auto& importer() const noexcept { return *body_->importer; }

    void read_body() {
        if (body_) return;
        std::string_view text;
        for (auto const& a : node_.attributes)
            for (wire_reader r{a.message}; r.next();)
                if (r.field() == 6 && r.is_bytes() && a.name == "body") text = r.bytes();
        if (text.data() == nullptr) cx_.invalid("its body is missing");
        body_ = std::make_shared<loop_body<T>>(task_, text);
    }
    // Inputs and outputs of the body: some in front, the states, and the elements of sequences.
    void check_body(std::size_t inputs_before, std::size_t states, std::size_t sequences, std::size_t outputs_before) {
        auto const inputs = inputs_before + states + sequences, outputs = outputs_before + states;
        if (graph().inputs.size() != inputs)
            cx_.invalid(format_text("its body has {} inputs; it takes {}", graph().inputs.size(), inputs));
        if (graph().outputs.size() < outputs)
            cx_.invalid(format_text("its body has {} outputs; it gives at least {}", graph().outputs.size(), outputs));
        inputs_before_ = inputs_before, outputs_before_ = outputs_before, states_ = states;
        for (auto const& v : graph().inputs) {
            if (!v.is_tensor && !v.type.empty())
                cx_.unsupported(format_text("its body takes {}, a sequence, map or optional value", quoted{v.name}));
            for (auto const& t : graph().initializers)
                if (t.name == v.name) cx_.invalid(format_text("input {} of its body has a value", quoted{v.name}));
        }
    }
    void check_attributes() const {
        cx_.ignore("body");
        if (auto const extra = cx_.unread_attribute())
            cx_.unsupported(format_text("attribute {} is not supported", quoted{*extra}));
    }

    // Inputs of the body that iterations change: not the condition, which holds while it runs, nor states that are
    // given on as they are.
    [[nodiscard]] std::vector<std::string_view> changing() const {
        std::vector<std::string_view> names;
        for (std::size_t i = 0; i < graph().inputs.size(); ++i) {
            auto const name = graph().inputs[i].name;
            auto const state = i - inputs_before_;
            auto const is_state = i >= inputs_before_ && state < states_;
            if (is_state ? graph().outputs[outputs_before_ + state].name != name : inputs_before_ == 0 || i != 1)
                names.push_back(name);
        }
        return names;
    }
    void open_body() {
        auto const captured = captured_values();
        if (!body_->importer) guarded([&] { body_->open(cx_.builder(), as_span(captured), as_span(changing())); });
        for (auto const& c : captured) importer().values().set(c.name, values_.value(c.name));
        for (auto const& f : importer().foreign()) values_.foreign().insert(f);
        first_ = true;
    }
    [[nodiscard]] std::vector<captured_value> captured_values() const {
        std::vector<captured_value> all;
        for (auto name : captured_)
            if (auto const v = values_.value(name); v.valid()) all.push_back(values_.captured(name, v));
        return all;
    }

    // One iteration: states go on, further outputs are kept.
    std::vector<value_id> step(std::vector<value_id> const& arguments, loop_results& results) {
        auto outputs = guarded([&] { return importer().run_step(as_span(arguments), first_); });
        first_ = false;
        auto at = outputs_before_;
        for (auto& v : results.states) {
            auto const was = to_.element(v), is = to_.element(outputs[at]);
            if (was != is && was != dtype::undefined && is != dtype::undefined)
                cx_.invalid(format_text("state {} is {} and then {}", quoted{graph().outputs[at].name}, to_string(was),
                                        to_string(is)));
            v = outputs[at++];
        }
        for (auto& sequence : results.sequences) sequence.push_back(outputs[at++]);
        return outputs;
    }
    template <class Run>
    static auto guarded(Run&& run) {
        try {
            return run();
        } catch (error const& e) { throw within_subgraph(e, "its body"); }
    }
    // Gives up early: as soon as an iteration that is like the rest has been written.
    void foresee(std::int64_t i, std::int64_t count) {
        auto const spent = task_.budget.spent();
        if (i == 1 && !task_.budget.covers(static_cast<std::uint64_t>(count - 2), spent - spent_before_))
            task_.budget.refuse();
        spent_before_ = spent;
    }

    // Types of the body's outputs, where it is not run: `last_types` are those of its last inputs, the others have
    // those of the arguments.
    [[nodiscard]] std::vector<tensor_type> types_of_outputs(std::vector<value_id> const& arguments,
                                                            std::span<type_id const> last_types = {}) {
        any_graph lone{task_.operators};
        graph_builder builder{lone};
        loop_body<T> body{task_, {}};
        body.part.graph = graph();
        body.task.functions = nullptr;
        auto const captured = captured_values();
        return guarded([&] {
            body.open(builder, as_span(captured), as_span(changing()));
            auto& values = body.importer->values();
            for (auto const& c : captured) values.make_captured(c);
            std::vector<value_id> own;
            for (std::size_t i = 0; i < graph().inputs.size(); ++i) {
                auto const name = graph().inputs[i].name;
                if (i < arguments.size())
                    values.make_captured(values_.captured(name, arguments[i]));
                else
                    values.make_captured({name, last_types[i - arguments.size()]});
                own.push_back(values.value(name));
            }
            std::vector<tensor_type> types;
            for (auto const v : body.importer->run_step(as_span(own), true)) types.push_back(lone.type(v));
            if (task_.in_loop) task_.budget.spend(body.importer->cost_since(0)); // weights are read each time
            return types;
        });
    }
    // A sequence of no elements of a type.
    [[nodiscard]] value_id nothing(tensor_type const& element, std::int64_t axis) const {
        if (element.element == dtype::undefined || !element.is_static() || !element.elements())
            cx_.unsupported(format_text("no iterations, and results of {}", to_string(element)));
        auto sizes = element.sizes();
        sizes.insert(to_.axis(axis, sizes.size() + 1), 0);
        return cx_.builder().constant(tensor::zeros(element.element, sizes));
    }

    [[nodiscard]] value_id part(value_id v, std::size_t axis, std::int64_t i) const {
        task_.budget.spend(4);
        auto const at = static_cast<std::int64_t>(axis);
        auto const cut = to_.make<ops::slice>({.starts = {i}, .ends = {i + 1}, .axes = {at}, .steps = {1}}, {v});
        return values_.folded(to_.make<ops::squeeze>({.axes = {at}}, {cut}), 1);
    }
    [[nodiscard]] value_id stacked(std::vector<value_id> parts, std::int64_t axis, bool reversed) const {
        task_.budget.spend(4 * parts.size());
        for (auto& v : parts)
            v = to_.make<ops::unsqueeze>({.axes = {static_cast<std::int64_t>(to_.axis(axis, to_.rank(v) + 1))}}, {v});
        if (reversed) std::ranges::reverse(parts);
        if (parts.size() == 1) return parts[0];
        auto const at = static_cast<std::int64_t>(to_.axis(axis, to_.rank(parts[0])));
        return cx_.builder().template add<ops::concat>({.axis = at}, as_span(parts));
    }

    onnx_import_context& cx_;
    function_writer to_;
    import_task const& task_;
    onnx_node const& node_;
    std::span<std::string_view const> captured_;
    onnx_values<>& values_;
    std::shared_ptr<loop_body<T>>& body_;
    value_id holds_{};
    bool first_ = true;
    std::uint64_t spent_before_ = 0;
    std::size_t inputs_before_ = 0, outputs_before_ = 0, states_ = 0; // of the body
};

template <class T>
imported_node loop_importer<T>::import(std::uint32_t node, onnx_import_context& cx) {
    auto& body = bodies_[node];
    auto const values =
        loop_reader<T>{cx, task_, task_.model.graph.nodes[node], symbols_.captured(node), values_, body}.run();
    return node_of_values(values_.builder(), as_span(values));
}

} // namespace gsub::io::detail
