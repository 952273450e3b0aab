#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/impl/onnx_exporter.hpp>
#include <gsub/io/impl/opaque_message.hpp>
#include <gsub/io/onnx_export.hpp>
#include <gsub/io/onnx_model.hpp>
#include <gsub/io/protobuf.hpp>

#include <algorithm>

namespace gsub::io::detail {

template <class T>
onnx_exporter<T>::onnx_exporter(any_graph const& g, export_task const& task, std::shared_ptr<shared_export> shared,
                                std::size_t depth)
    : g_(g), task_(task), shared_(std::move(shared)), depth_(depth), names_(g, shared_->names) {
    for (auto const& [name, type] : g.info().foreign_types) foreign_types_.emplace(name, type);
}

template <class T>
void onnx_exporter<T>::collect(std::string const& data_name) {
    shared_->opsets = choose_opsets(g_, task_);
    names_.assign(false);
    write_nodes();
    if (!data_name.empty()) shared_->initializers.place_externally(data_name, task_.options);
}

// ---- the file -------------------------------------------------------------------------------------------------------

// The least IR version that a version of ONNX's operator set goes with. *Source* ONNX, docs/Versioning.md.
constexpr std::int64_t ir_version_for(std::int64_t opset) noexcept {
    return opset <= 8    ? 3
           : opset == 9  ? 4
           : opset == 10 ? 5
           : opset == 11 ? 6
           : opset <= 14 ? 7
           : opset <= 18 ? 8
           : opset <= 20 ? 9
                         : 10;
}

template <class T>
template <class Text, class Raw>
void onnx_exporter<T>::write(Text&& text, Raw&& raw) {
    static constexpr std::int64_t lowest_ir = 4;
    std::string head, graph_head, graph_tail, tail;
    wire_writer{head}
        .integer(1, std::max(ir_version_for(shared_->opsets.own), lowest_ir))
        .bytes(2, "gsub")
        .bytes(3, format_text("{}.{}.{}", GSUB_VERSION_MAJOR, GSUB_VERSION_MINOR, GSUB_VERSION_PATCH));
    wire_writer{graph_head}.bytes(2, g_.info().name.empty() ? "graph" : g_.info().name);
    wire_writer values{graph_tail};
    for (auto n : g_.inputs()) values.bytes(11, value_info(names_({n, 0}), g_.type({n, 0})));
    for (std::size_t i = 0; i < g_.output_count(); ++i)
        values.bytes(12, value_info(names_.output(i), g_.type(g_.output(i))));
    // What the file said of an unknown operator's results; for all others inference finds it again.
    for (auto n : g_.order())
        for (std::uint32_t port = 0; g_.is<ops::opaque>(n) && port < g_.result_count(n); ++port)
            if (value_id const v{n, port};
                is_written(v) && (g_.type(v).element != dtype::undefined || foreign_types_.contains(names_(v))))
                values.bytes(13, value_info(names_(v), g_.type(v)));
    auto length = graph_head.size() + graph_tail.size() + shared_->initializers.message_bytes();
    for (auto const& n : nodes_) length += wire_writer::header_size(1, n.size()) + n.size();
    wire_writer w{tail};
    for (auto const& d : shared_->opsets.domains)
        w.message(8, [&](wire_writer& o) { o.bytes(1, d.first).integer(2, d.second); });
    for (auto const& entry : g_.info().metadata)
        w.message(14, [&](wire_writer& e) { e.bytes(1, entry.first).bytes(2, entry.second); });
    for (auto const& f : g_.info().functions) w.bytes(25, f);

    text(head);
    text(wire_writer::header(7, length));
    for (auto const& n : nodes_) text(wire_writer::header(1, n.size())), text(n);
    text(graph_head);
    shared_->initializers.write(text, raw);
    text(graph_tail);
    text(tail);
}

template <class T>
std::string onnx_exporter<T>::value_info(std::string const& name, tensor_type const& t) const {
    std::string out;
    wire_writer w{out};
    w.bytes(1, name);
    if (t.element == dtype::undefined) {
        if (auto const foreign = foreign_types_.find(name); foreign != foreign_types_.end())
            w.bytes(2, foreign->second);
        return out;
    }
    w.message(2, [&](wire_writer& type) {
        type.message(1, [&](wire_writer& tensor) {
            tensor.integer(1, info(t.element).onnx);
            if (!t.ranked) return;
            tensor.message(2, [&](wire_writer& shape) {
                for (auto d : t.dims)
                    shape.message(1, [&](wire_writer& one) {
                        if (d.fixed())
                            one.integer(1, d.size());
                        else if (d.named())
                            one.bytes(2, d.name().text());
                    });
            });
        });
    });
    return out;
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

template <class T>
void onnx_exporter<T>::write_nodes() {
    for (auto n : g_.order()) {
        if (n == g_.return_node()) continue;
        if (g_.is<ops::constant>(n))
            shared_->initializers.add(names_({n, 0}), g_.blob(n));
        else if (g_.is<ops::opaque>(n))
            write_opaque(n);
        else if (g_.is<ops::if_else>(n))
            write_if(n);
        else if (!g_.is<ops::input>(n))
            write_known(n);
        // Subgraphs of later nodes may read the copies.
        for (auto const& [from, to] : names_.copies(n)) write_identity(from, to);
    }
}

template <class T>
void onnx_exporter<T>::write_known(node_id n) {
    auto const& row = task_.table[g_.row(n)];
    if (row.since == 0)
        throw error{problem{errors::no_form_in_files, g_.display_name(n), std::string{g_.op(n).name},
                            "this operator has no form in ONNX files",
                            g_.is<ops::let>(n) ? "run to-graph-normal-form before saving"
                            : g_.constant(n)   ? "fold constants before saving"
                                               : ""}};
    onnx_export_context cx{g_,
                           n,
                           shared_->opsets.own,
                           [this](value_id v) { return names_(v); },
                           [this](std::string_view stem) { return shared_->names.fresh(stem); },
                           [this](tensor const& t) { return shared_->initializers.add_small(t, shared_->names); },
                           [this](std::string node) { nodes_.push_back(std::move(node)); }};
    row.write ? row.write(cx) : cx.write_by_fields();
}

template <class T>
void onnx_exporter<T>::write_if(node_id n) {
    auto const& a = g_.attributes<ops::if_else>(n);
    std::vector<std::string> captured;
    for (std::size_t i = 1; i < g_.operand_count(n); ++i) captured.push_back(names_(g_.operand(n, i)));
    std::string node;
    wire_writer w{node};
    w.bytes(1, names_(g_.operand(n, 0)));
    for (std::uint32_t port = 0; port < g_.result_count(n); ++port) w.bytes(2, names_({n, port}));
    w.bytes(3, shared_->names.fresh(g_.display_name(n))).bytes(4, "If");
    for (auto const& [key, branch] :
         {std::pair{"then_branch", &a.then_branch}, std::pair{"else_branch", &a.else_branch}}) {
        auto const found = task_.branches.find(*branch);
        if (found == task_.branches.end())
            throw error{problem{errors::no_form_in_files, g_.display_name(n), "If",
                                format_text("function {} is not at hand", quoted{*branch}), "save the module"}};
        auto const body = write_branch(found->second, captured);
        auto const name = std::string_view{key};
        w.message(5, [&](wire_writer& attribute) {
            attribute.bytes(1, name).bytes(6, body).integer(20, static_cast<std::int64_t>(onnx_attribute_type::graph));
        });
    }
    nodes_.push_back(std::move(node));
}

// A branch as a subgraph, its inputs under the names of the values that it captures. Its weights are those of the
// model: a subgraph may read them.
template <class T>
std::string onnx_exporter<T>::write_branch(any_graph const& body, std::span<std::string const> captured) {
    onnx_exporter inner{body, task_, shared_, depth_ + 1};
    if (inner.depth_ > onnx_limits{}.max_depth)
        throw error{errors::no_form_in_files,
                    format_text("branches are nested more than {} deep", onnx_limits{}.max_depth)};
    inner.names_.bind_captured(captured);
    inner.names_.assign(true);
    inner.write_nodes();
    std::string out;
    wire_writer w{out};
    for (auto const& n : inner.nodes_) w.bytes(1, n);
    w.bytes(2, body.info().name.empty() ? "branch" : body.info().name);
    for (std::size_t i = 0; i < body.output_count(); ++i)
        w.bytes(12, inner.value_info(inner.names_.output(i), body.type(body.output(i))));
    return out;
}

// Whether a result of an unknown operator has a name in the file.
template <class T>
bool onnx_exporter<T>::is_written(value_id v) const {
    return g_.used(v) || !g_.name(v).empty();
}

template <class T>
void onnx_exporter<T>::write_opaque(node_id n) {
    auto const message = opaque_message(g_, n);
    std::string node;
    wire_writer w{node};
    std::vector<std::string> inputs;
    auto const captured = parse_onnx_node(message).inputs.size();
    for (std::size_t i = 0; i + captured < g_.operand_count(n); ++i) {
        auto const v = g_.operand(n, i);
        inputs.push_back(v.valid() ? names_(v) : std::string{});
    }
    for (auto const& name : inputs) w.bytes(1, name);
    for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
        w.bytes(2, is_written({n, port}) ? names_({n, port}) : std::string{});
    w.bytes(3, shared_->names.fresh(g_.display_name(n)));
    for (wire_reader r{message}; r.next();)
        if (r.is_bytes() && r.field() != 1) {
            auto const field = r.field();
            w.bytes(field, r.bytes());
        }
    nodes_.push_back(std::move(node));
}

template <class T>
void onnx_exporter<T>::write_identity(value_id from, std::string const& to) {
    std::string node;
    wire_writer{node}
        .bytes(1, names_(from))
        .bytes(2, to)
        .bytes(3, shared_->names.fresh("identity"))
        .bytes(4, "Identity");
    nodes_.push_back(std::move(node));
}

} // namespace gsub::io::detail
