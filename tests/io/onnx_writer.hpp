// ONNX files written by hand, field by field: what other exporters produce, and what nobody should.
// Numbers of fields: onnx/onnx.proto of ONNX 1.16.
#pragma once

#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace onnx_writer {

using protozero::pbf_writer;
using list = std::vector<std::int64_t>;
using texts = std::vector<std::string>;

/// Numbers of `TensorProto.DataType`.
enum element : int {
    f32 = 1,
    u8 = 2,
    i8 = 3,
    u16 = 4,
    i16 = 5,
    i32 = 6,
    i64 = 7,
    text = 8,
    boolean = 9,
    f16 = 10,
    f64 = 11,
    u32 = 12,
    u64 = 13,
    bf16 = 16
};

template <class F>
std::string made(F&& f) {
    std::string out;
    pbf_writer w{out};
    f(w);
    return out;
}

template <class T>
std::string raw(std::vector<T> const& values) {
    return {reinterpret_cast<char const*>(values.data()), values.size() * sizeof(T)};
}

// ---- tensors ---------------------------------------------------------------------------------------------------

/// Name, dimensions and type; the elements are appended by the caller.
inline std::string tensor_head(std::string_view name, int type, list const& dims) {
    return made([&](pbf_writer& w) {
        for (auto d : dims) w.add_int64(1, d);
        w.add_int32(2, type);
        w.add_string(8, std::string{name});
    });
}
inline std::string raw_tensor(std::string_view name, int type, list const& dims, std::string const& elements) {
    return tensor_head(name, type, dims) + made([&](pbf_writer& w) { w.add_bytes(9, elements); });
}
inline std::string floats(std::string_view name, list const& dims, std::vector<float> const& values) {
    return raw_tensor(name, f32, dims, raw(values));
}
inline std::string integers(std::string_view name, list const& values) {
    return raw_tensor(name, i64, {static_cast<std::int64_t>(values.size())}, raw(values));
}
inline std::string external_tensor(std::string_view name, int type, list const& dims,
                                   std::vector<std::pair<std::string, std::string>> const& entries) {
    return tensor_head(name, type, dims) + made([&](pbf_writer& w) {
               for (auto const& entry : entries)
                   w.add_message(
                       13, made([&](pbf_writer& e) { e.add_string(1, entry.first), e.add_string(2, entry.second); }));
               w.add_int32(14, 1);
           });
}

// ---- attributes ------------------------------------------------------------------------------------------------

template <class F>
std::string attribute(std::string_view name, int type, F&& value) {
    return made([&](pbf_writer& w) {
        w.add_string(1, std::string{name});
        value(w);
        if (type != 0) w.add_int32(20, type);
    });
}
inline std::string integer(std::string_view name, std::int64_t v) {
    return attribute(name, 2, [&](pbf_writer& w) { w.add_int64(3, v); });
}
inline std::string real(std::string_view name, float v) {
    return attribute(name, 1, [&](pbf_writer& w) { w.add_float(2, v); });
}
inline std::string word(std::string_view name, std::string const& v) {
    return attribute(name, 3, [&](pbf_writer& w) { w.add_bytes(4, v); });
}
inline std::string word_list(std::string_view name, std::vector<std::string> const& v) {
    return attribute(name, 8, [&](pbf_writer& w) {
        for (auto const& text : v) w.add_bytes(9, text);
    });
}
inline std::string integer_list(std::string_view name, list const& v) {
    return attribute(name, 7, [&](pbf_writer& w) {
        for (auto i : v) w.add_int64(8, i);
    });
}
inline std::string real_list(std::string_view name, std::vector<float> const& v) {
    return attribute(name, 6, [&](pbf_writer& w) { w.add_packed_float(7, v.begin(), v.end()); });
}
inline std::string tensor(std::string_view name, std::string const& proto) {
    return attribute(name, 4, [&](pbf_writer& w) { w.add_message(5, proto); });
}
inline std::string graph(std::string_view name, std::string const& proto) {
    return attribute(name, 5, [&](pbf_writer& w) { w.add_message(6, proto); });
}

// ---- nodes, values, models ---------------------------------------------------------------------------------------

inline std::string node(std::string_view op, texts const& inputs, texts const& outputs, texts const& attributes = {},
                        std::string_view name = {}, std::string_view domain = {}) {
    return made([&](pbf_writer& w) {
        for (auto const& i : inputs) w.add_string(1, i);
        for (auto const& o : outputs) w.add_string(2, o);
        if (!name.empty()) w.add_string(3, std::string{name});
        w.add_string(4, std::string{op});
        for (auto const& a : attributes) w.add_message(5, a);
        if (!domain.empty()) w.add_string(7, std::string{domain});
    });
}

/// A dimension: a size, a name, or -1 for nothing.
struct size {
    std::int64_t value = -1;
    std::string name;
    size(std::int64_t v) : value(v) {}
    size(int v) : value(v) {}
    size(char const* n) : name(n) {}
};

inline std::string value(std::string_view name, int type, std::vector<size> const& dims) {
    return made([&](pbf_writer& w) {
        w.add_string(1, std::string{name});
        w.add_message(2, made([&](pbf_writer& t) {
                          t.add_message(1, made([&](pbf_writer& tensor_type) {
                                            tensor_type.add_int32(1, type);
                                            tensor_type.add_message(2, made([&](pbf_writer& shape) {
                                                                        for (auto const& d : dims)
                                                                            shape.add_message(
                                                                                1, made([&](pbf_writer& one) {
                                                                                    if (!d.name.empty())
                                                                                        one.add_string(2, d.name);
                                                                                    else if (d.value != -1)
                                                                                        one.add_int64(1, d.value);
                                                                                }));
                                                                    }));
                                        }));
                      }));
    });
}
/// A value of which the file says nothing but the name.
inline std::string value(std::string_view name) {
    return made([&](pbf_writer& w) { w.add_string(1, std::string{name}); });
}

/// The parts of a model, each a serialised message; to be changed at will before `text()`.
struct model {
    std::int64_t opset = 13;
    std::vector<std::pair<std::string, std::int64_t>> domains;
    texts nodes, initializers, inputs, outputs, values;

    model& in(std::string_view name, std::vector<size> const& dims, int type = f32) {
        return inputs.push_back(value(name, type, dims)), *this;
    }
    model& weight(std::string const& proto) { return initializers.push_back(proto), *this; }
    model& add(std::string_view op, texts const& from, texts const& to, texts const& attributes = {},
               std::string_view name = {}, std::string_view domain = {}) {
        return nodes.push_back(node(op, from, to, attributes, name, domain)), *this;
    }
    model& out(std::string_view name) { return outputs.push_back(value(name)), *this; }

    [[nodiscard]] std::string graph() const {
        return made([&](pbf_writer& w) {
            for (auto const& n : nodes) w.add_message(1, n);
            w.add_string(2, "hand");
            for (auto const& t : initializers) w.add_message(5, t);
            for (auto const& v : inputs) w.add_message(11, v);
            for (auto const& v : outputs) w.add_message(12, v);
            for (auto const& v : values) w.add_message(13, v);
        });
    }
    [[nodiscard]] std::string text() const {
        return made([&](pbf_writer& w) {
            w.add_int64(1, 8);
            w.add_message(7, graph());
            auto const imported = [&](std::string const& domain, std::int64_t version) {
                w.add_message(8, made([&](pbf_writer& o) { o.add_string(1, domain), o.add_int64(2, version); }));
            };
            if (opset > 0) imported("", opset);
            for (auto const& [domain, version] : domains) imported(domain, version);
        });
    }
};

/// A graph in an If in a graph, `depth` times, around `core`.
inline std::string nested(std::size_t depth, std::string const& core) {
    auto const head = [](std::uint64_t field, std::size_t length) {
        std::string out;
        protozero::add_varint_to_buffer(&out, field << 3 | 2);
        protozero::add_varint_to_buffer(&out, length);
        return out;
    };
    auto const op = made([](pbf_writer&w) { w.add_string(4, "If"); }),
               attribute_head = made([](pbf_writer&w) { w.add_string(1, "then_branch"), w.add_int32(20, 5); });
    texts heads; // innermost first
    auto length = core.size();
    for (std::size_t i = 0; i < depth; ++i) {
        auto around = attribute_head + head(6, length);
        around.insert(0, op + head(5, around.size() + length));
        around.insert(0, head(1, around.size() + length));
        length += around.size();
        heads.push_back(std::move(around));
    }
    std::string out;
    for (auto at = heads.rbegin(); at != heads.rend(); ++at) out += *at;
    return out + core;
}

} // namespace onnx_writer
