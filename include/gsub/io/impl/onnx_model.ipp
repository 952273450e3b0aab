#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/io/impl/byte_source.hpp>
#include <gsub/io/onnx_model.hpp>
#include <gsub/io/protobuf.hpp>

#include <algorithm>
#include <charconv>
#include <unordered_set>

namespace gsub::io {

namespace detail {

GSUB_LAZY std::uint64_t decimal(std::string_view text, std::string_view what) {
    std::uint64_t value = 0;
    auto const [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc{} || end != text.data() + text.size())
        malformed(format_text("external data: {} is no number", what));
    return value;
}

GSUB_LAZY void read_external_entry(onnx_tensor& t, std::string_view entry) {
    std::string_view key, value;
    for (wire_reader r{entry}; r.next();)
        if (r.is_bytes() && r.field() == 1)
            key = r.bytes();
        else if (r.is_bytes() && r.field() == 2)
            value = r.bytes();
    if (key == "location") t.location = value;
    if (key == "offset") t.external_offset = decimal(value, "offset");
    if (key == "length") t.external_length = decimal(value, "length"), t.has_external_length = true;
}

// All fields of a tensor but its raw bytes.
GSUB_LAZY void read_tensor_fields(onnx_tensor& t, std::string_view fields) {
    for (wire_reader r{fields}; r.next();) {
        switch (r.field()) {
        case 1:
            r.each_integer([&](std::int64_t d) {
                t.dims.size() < 300 ? t.dims.push_back(d) : malformed("a tensor has more than 300 dimensions");
            });
            break;
        case 2:
            if (r.is_varint()) t.data_type = r.integer();
            break;
        case 4:
            r.each_float([&](float) { ++t.typed_elements; });
            break;
        case 5:
        case 7:
        case 11:
            r.each_integer([&](std::int64_t) { ++t.typed_elements; });
            break;
        case 10:
            r.each_double([&](double) { ++t.typed_elements; });
            break;
        case 6:
            if (r.is_bytes()) ++t.typed_elements;
            break;
        case 8:
            if (r.is_bytes()) t.name = r.bytes();
            break;
        case 9:
            if (r.is_bytes()) t.raw = r.bytes(), t.has_raw = true;
            break;
        case 13:
            if (r.is_bytes()) read_external_entry(t, r.bytes());
            break;
        case 14:
            if (r.is_varint()) t.external = r.integer() == 1;
            break;
        default:
            break;
        }
    }
    t.message = fields;
}

GSUB_LAZY onnx_value parse_value(std::string_view text) {
    onnx_value v;
    for (wire_reader r{text}; r.next();) {
        if (!r.is_bytes()) continue;
        if (r.field() == 1)
            v.name = r.bytes();
        else if (r.field() == 2)
            v.type = r.bytes();
    }
    for (wire_reader r{v.type}; r.next();) {
        if (r.field() != 1 || !r.is_bytes()) continue;
        v.is_tensor = true;
        for (wire_reader tensor{r.bytes()}; tensor.next();) {
            if (tensor.field() == 1 && tensor.is_varint()) v.data_type = tensor.integer();
            if (tensor.field() != 2 || !tensor.is_bytes()) continue;
            v.has_shape = true;
            for (wire_reader shape{tensor.bytes()}; shape.next();) {
                if (shape.field() != 1 || !shape.is_bytes()) continue;
                if (v.dims.size() == 300) malformed("a type has more than 300 dimensions");
                onnx_dim d;
                for (wire_reader dim{shape.bytes()}; dim.next();)
                    if (dim.field() == 1 && dim.is_varint())
                        d.size = dim.integer();
                    else if (dim.field() == 2 && dim.is_bytes())
                        d.name = dim.bytes();
                if (d.name == "?") d.name = {}; // of any size, each by itself
                v.dims.push_back(d);
            }
        }
    }
    return v;
}

GSUB_LAZY std::pair<std::string_view, std::string_view> parse_entry(std::string_view text) {
    std::pair<std::string_view, std::string_view> entry;
    for (wire_reader r{text}; r.next();)
        if (r.is_bytes() && r.field() == 1)
            entry.first = r.bytes();
        else if (r.is_bytes() && r.field() == 2)
            entry.second = r.bytes();
    return entry;
}

// A field of a graph other than an initializer.
GSUB_LAZY void read_graph_field(onnx_graph& g, std::uint32_t number, std::string_view text) {
    switch (number) {
    case 1:
        g.nodes.push_back(parse_onnx_node(text));
        break;
    case 2:
        g.name = text;
        break;
    case 11:
        g.inputs.push_back(parse_value(text));
        break;
    case 12:
        g.outputs.push_back(parse_value(text));
        break;
    case 13:
        g.values.push_back(parse_value(text));
        break;
    case 15:
        g.has_sparse_initializers = true;
        break;
    default:
        break;
    }
}

GSUB_LAZY onnx_tensor read_initializer(byte_source<>& source, wire_field const& at) {
    onnx_tensor t;
    if (source.in_memory()) {
        read_tensor_fields(t, source.peek(at.offset, static_cast<std::size_t>(at.length)));
        source.count(at.length - t.raw.size());
        return t;
    }
    // Everything but large raw bytes is kept; it may stand on both sides of them.
    std::string fields;
    std::uint64_t kept_from = at.offset;
    each_field(source, at.offset, at.end, [&](wire_field const& f) {
        if (f.number != 9 || f.wire_type != 2 || f.length < 4096) return;
        t.has_raw = true;
        t.offset = f.offset;
        t.length = f.length;
        fields += source.view(kept_from, f.begin - kept_from);
        kept_from = f.end;
    });
    auto const rest = source.view(kept_from, at.end - kept_from);
    auto const large = std::pair{t.offset, t.length};
    if (large.second == 0) {
        read_tensor_fields(t, rest);
    } else {
        // The pieces are few bytes (name, dimensions); joined, they need a home: the source's memory.
        fields += rest;
        read_tensor_fields(t, source.keep(std::move(fields)));
        if (!t.raw.empty()) malformed("a tensor has raw bytes twice");
        t.has_raw = true;
    }
    return t;
}

GSUB_LAZY onnx_model parse_model(byte_source<>& source, onnx_limits const& limits) {
    if (source.size() > limits.max_file_bytes)
        throw error{errors::model_limit,
                    format_text("has {} bytes; the limit is {}", source.size(), limits.max_file_bytes)};
    if (source.size() == 0) malformed("is empty");
    onnx_model m;
    auto const check_count = [&](std::size_t count, std::string_view what) {
        if (count > limits.max_nodes)
            throw error{errors::model_limit, format_text("more than {} {}", limits.max_nodes, what)};
    };
    each_field(source, 0, source.size(), [&](wire_field const& f) {
        if (f.number == 1 && f.wire_type == 0) m.ir_version = static_cast<std::int64_t>(f.length);
        if (f.wire_type != 2) return;
        switch (f.number) {
        case 7:
            m.has_graph = true;
            each_field(source, f.offset, f.end, [&](wire_field const& part) {
                if (part.wire_type != 2) return;
                if (part.number == 5) {
                    m.graph.initializers.push_back(read_initializer(source, part));
                    check_count(m.graph.initializers.size(), "initializers");
                } else {
                    read_graph_field(m.graph, part.number, source.view(part.offset, part.length));
                    check_count(m.graph.nodes.size(), "nodes");
                    check_count(m.graph.inputs.size() + m.graph.outputs.size() + m.graph.values.size(),
                                "declared values");
                }
            });
            break;
        case 8: {
            std::string_view domain;
            std::int64_t version = 0;
            for (wire_reader r{source.view(f.offset, f.length)}; r.next();)
                if (r.field() == 1 && r.is_bytes())
                    domain = r.bytes();
                else if (r.field() == 2 && r.is_varint())
                    version = r.integer();
            m.opsets.emplace_back(domain == "ai.onnx" ? std::string_view{} : domain, version);
            break;
        }
        case 14:
            m.metadata.push_back(parse_entry(source.view(f.offset, f.length)));
            break;
        case 20:
            m.has_training = true;
            break;
        case 25:
            m.functions.push_back(source.view(f.offset, f.length));
            break;
        default:
            break;
        }
    });
    if (!m.has_graph) malformed("is no ONNX model: it has no graph");
    return m;
}

} // namespace detail

GSUB_LAZY_BODY onnx_node parse_onnx_node(std::string_view text) {
    onnx_node n;
    n.message = text;
    for (wire_reader r{text}; r.next();) {
        if (!r.is_bytes()) continue;
        switch (r.field()) {
        case 1:
            n.inputs.push_back(r.bytes());
            break;
        case 2:
            n.outputs.push_back(r.bytes());
            break;
        case 3:
            n.name = r.bytes();
            break;
        case 4:
            n.op_type = r.bytes();
            break;
        case 7:
            n.domain = r.bytes();
            break;
        case 5: {
            onnx_attribute a;
            a.message = r.bytes();
            for (wire_reader f{a.message}; f.next();)
                if (f.field() == 1 && f.is_bytes())
                    a.name = f.bytes();
                else if (f.field() == 20 && f.is_varint())
                    a.type = static_cast<onnx_attribute_type>(f.integer());
                else if (f.field() == 21 && f.is_bytes())
                    a.refers_to = f.bytes();
            n.attributes.push_back(a);
            break;
        }
        default:
            break;
        }
    }
    if (n.domain == "ai.onnx") n.domain = {};
    return n;
}

GSUB_LAZY_BODY onnx_tensor parse_onnx_tensor(std::string_view text) {
    onnx_tensor t;
    detail::read_tensor_fields(t, text);
    return t;
}

GSUB_LAZY_BODY onnx_graph parse_onnx_graph(std::string_view text) {
    onnx_graph g;
    for (wire_reader r{text}; r.next();) {
        if (!r.is_bytes()) continue;
        auto const field = r.field(); // before the contents are taken
        if (field == 5)
            g.initializers.push_back(parse_onnx_tensor(r.bytes()));
        else
            detail::read_graph_field(g, field, r.bytes());
    }
    return g;
}

GSUB_LAZY_BODY result<onnx_model> parse_onnx(std::span<std::byte const> data, onnx_limits const& limits) {
    return capture([&] {
        detail::byte_source<> source{data, limits.max_structure_bytes};
        return detail::parse_model(source, limits);
    });
}

GSUB_LAZY_BODY result<onnx_model> parse_onnx_file(std::string const& path, onnx_limits const& limits) {
    auto parsed = capture([&] {
        auto file = std::make_shared<input_file const>(input_file::open(path).value());
        auto memory = std::make_shared<std::deque<std::string>>();
        detail::byte_source<> source{*file, *memory, limits.max_structure_bytes};
        auto m = detail::parse_model(source, limits);
        m.file = std::move(file);
        m.memory = std::move(memory);
        return m;
    });
    if (!parsed && parsed.error().problems().front().node != path) return parsed.error().within(path);
    return parsed;
}

GSUB_LAZY_BODY std::vector<std::string_view> captured_names(onnx_node const& node, onnx_limits const& limits) {
    struct scope { // a subgraph that is being read: what it defines, and the subgraph around it
        std::unordered_set<std::string_view> names;
        std::shared_ptr<scope const> around;
        std::size_t depth = 0;
    };
    struct pending {
        std::string_view graph;
        std::shared_ptr<scope const> around;
    };
    std::vector<pending> open;
    auto const enter = [&](onnx_node const& n, std::shared_ptr<scope const> const& around) {
        std::vector<pending> found;
        for (auto const& a : n.attributes)
            for (wire_reader r{a.message}; r.next();)
                if (r.is_bytes() && (r.field() == 6 || r.field() == 11)) found.push_back({r.bytes(), around});
        for (; !found.empty(); found.pop_back()) open.push_back(found.back());
    };
    std::vector<std::string_view> captured;
    std::unordered_set<std::string_view> seen;
    std::size_t nodes = 0;
    enter(node, nullptr);
    while (!open.empty()) {
        auto const next = std::move(open.back());
        open.pop_back();
        auto s = std::make_shared<scope>();
        s->around = next.around;
        s->depth = next.around ? next.around->depth + 1 : 1;
        if (s->depth > limits.max_depth)
            throw error{errors::model_limit, format_text("subgraphs are nested more than {} deep", limits.max_depth)};
        for (wire_reader r{next.graph}; r.next();)
            if (r.field() == 1 && ++nodes > limits.max_nodes)
                throw error{errors::model_limit, format_text("more than {} nodes in subgraphs", limits.max_nodes)};
        auto const g = parse_onnx_graph(next.graph);
        for (auto const& v : g.inputs) s->names.insert(v.name);
        for (auto const& t : g.initializers) s->names.insert(t.name);
        for (auto const& n : g.nodes)
            for (auto name : n.outputs) s->names.insert(name);
        auto const see = [&](std::string_view name) {
            for (scope const* at = s.get(); at; at = at->around.get())
                if (at->names.contains(name)) return;
            if (!name.empty() && seen.insert(name).second) captured.push_back(name);
        };
        for (auto const& n : g.nodes) {
            for (auto name : n.inputs) see(name);
            enter(n, s);
        }
        for (auto const& v : g.outputs) see(v.name);
    }
    return captured;
}

} // namespace gsub::io
