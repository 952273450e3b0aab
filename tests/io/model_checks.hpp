// Models in memory, loaded, saved and computed.
#pragma once

#include "catch.hpp"
#include "io/onnx_writer.hpp"
#include <gsub/core/random.hpp>
#include <gsub/eval/evaluate.hpp>
#include <gsub/io/onnx_export.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/ir/legality.hpp>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace model_checks {

using namespace gsub;

inline std::span<std::byte const> bytes_of(std::string_view text) {
    return std::as_bytes(std::span{text.data(), text.size()});
}

inline result<graph> read(std::string_view text, io::load_options const& options = {}) {
    return io::load_onnx<>(bytes_of(text), options);
}
inline result<graph> read(onnx_writer::model const& m, io::load_options const& options = {}) {
    return read(m.text(), options);
}
/// The graph of a model that must be accepted.
inline graph loaded(std::string_view text, io::load_options const& options = {}) {
    auto g = read(text, options);
    if (!g) FAIL(g.error().what());
    for (auto const& p : check(*g, stage::imported)) FAIL_CHECK(to_string(p));
    return std::move(*g);
}
inline graph loaded(onnx_writer::model const& m, io::load_options const& options = {}) {
    return loaded(m.text(), options);
}
inline std::string written(graph const& g, io::save_options const& options = {}) {
    auto text = io::to_onnx(g, options);
    if (!text) FAIL(text.error().what());
    return std::move(*text);
}

/// Code, message and identity of the error of a model that must be refused.
struct verdict {
    int code = 0; ///< 0: accepted
    std::string message;
    error_id id{};
};
template <class T>
verdict verdict_of(result<T> const& r) {
    return r ? verdict{} : verdict{static_cast<int>(r.error().code()), r.error().message(), r.error().id()};
}
/// Whether it is that error; a kind alone stands for all errors of the kind.
inline bool is(verdict const& v, error_id id) {
    return v.code == static_cast<int>(id.code) && (id == error_id{id.code} || id == v.id);
}
inline bool says(verdict const& v, error_id id, std::string_view words) {
    return is(v, id) && v.message.find(words) != std::string::npos;
}
inline bool says(onnx_writer::model const& m, error_id id, std::string_view words) {
    auto const v = verdict_of(read(m));
    INFO(to_string(v.id) << ": " << v.message);
    CHECK(is(v, id));
    CHECK(v.message.find(words) != std::string::npos);
    return says(v, id, words);
}

/// Random tensors for the inputs of a graph; dimensions that are not fixed are 2.
inline std::vector<tensor> inputs_for(any_graph const& g, std::uint64_t seed) {
    std::vector<tensor> out;
    for (auto n : g.inputs()) {
        auto const& type = g.type({n, 0});
        ints dims;
        for (auto d : type.dims) dims.push_back(d.fixed() ? d.size() : 2);
        out.push_back(tensor::zeros(type.element, dims));
        fill_random(out.back(), random_stream{seed}.split(out.size()));
    }
    return out;
}
inline std::vector<tensor> outputs_of(graph const& g, std::uint64_t seed = 1) {
    return evaluate_graph(g, inputs_for(g, seed)).value();
}
/// Bit-equal outputs for equal inputs.
inline bool same_outputs(graph const& a, graph const& b, std::uint64_t seed = 1) {
    auto const left = outputs_of(a, seed), right = outputs_of(b, seed);
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i)
        if (left[i].hash() != right[i].hash()) return false;
    return true;
}

/// Remembers what an importer notes.
struct note_taker : observer {
    std::vector<std::string> notes;
    void on_note(std::string_view text) override { notes.emplace_back(text); }
    [[nodiscard]] bool heard(std::string_view words) const {
        for (auto const& n : notes)
            if (n.find(words) != std::string::npos) return true;
        return false;
    }
};

template <operation Op>
std::size_t count(any_graph const& g) {
    std::size_t n = 0;
    for (auto id : g.order()) n += g.is<Op>(id);
    return n;
}

} // namespace model_checks
