// Rule files in TASO's format, written field by field: good ones, and what nobody should write.
#pragma once

#include <protozero/pbf_writer.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace taso_writer {

using protozero::pbf_writer;

/// Numbers of the format.
enum type : int { conv2d = 3, relu = 8, concat = 12, split = 13, add = 16, mul = 17, matmul = 18 };
enum key : int { inputs = 1, outputs = 2, kernel_h = 4, kernel_w, stride_h, stride_w, pad, act, dims, axis };

struct op {
    int type;
    std::vector<std::pair<int, int>> operands;
    std::vector<std::pair<int, int>> parameters{};
};
struct output {
    int source, target, source_port = 0, target_port = 0;
};

template <class F>
std::string made(F&& f) {
    std::string out;
    pbf_writer w{out};
    f(w);
    return out;
}
inline std::string integers(std::vector<int> const& values) {
    return made([&](pbf_writer& w) {
        for (std::size_t i = 0; i < values.size(); ++i) w.add_int32(static_cast<std::uint32_t>(i + 1), values[i]);
    });
}
inline std::string bytes(op const& o) {
    return made([&](pbf_writer& w) {
        w.add_int32(1, o.type);
        for (auto const& [node, port] : o.operands) w.add_message(2, integers({node, port}));
        for (auto const& [key, value] : o.parameters) w.add_message(3, integers({key, value}));
    });
}
inline std::string rule(std::vector<op> const& source, std::vector<op> const& target,
                        std::vector<output> const& outputs) {
    return made([&](pbf_writer& w) {
        for (auto const& o : source) w.add_message(1, bytes(o));
        for (auto const& o : target) w.add_message(2, bytes(o));
        for (auto const& o : outputs) w.add_message(3, integers({o.source, o.target, o.source_port, o.target_port}));
    });
}
inline std::string file(std::vector<std::string> const& rules) {
    return made([&](pbf_writer& w) {
        for (auto const& r : rules) w.add_message(1, r);
    });
}

/// A convolution of inputs by their numbers, stride 1 and the size kept.
inline op conv(std::pair<int, int> x, std::pair<int, int> w, int activation = 0) {
    return {conv2d, {x, w}, {{kernel_h, 3}, {kernel_w, 3}, {stride_h, 1}, {stride_w, 1}, {pad, 0}, {act, activation}}};
}
inline op join(std::pair<int, int> x, std::pair<int, int> y, int along, int rank = 4) {
    return {concat, {x, y}, {{inputs, 2}, {axis, along}, {dims, rank}}};
}
inline op part(std::pair<int, int> x, int along) {
    return {split, {x}, {{outputs, 2}, {axis, along}}};
}

/// conv(x, w + v) = conv(x, w) + conv(x, v)
inline std::string distributes() {
    return rule({{add, {{-2, 0}, {-3, 0}}}, conv({-1, 0}, {0, 0})},
                {conv({-1, 0}, {-2, 0}), conv({-1, 0}, {-3, 0}), {add, {{0, 0}, {1, 0}}}}, {{1, 2}});
}
/// Two convolutions of one input as one: wrong where they have groups.
inline std::string merges_outputs() {
    return rule({conv({-1, 0}, {-2, 0}, 2), conv({-1, 0}, {-3, 0}, 2)},
                {join({-2, 0}, {-3, 0}, 0), conv({-1, 0}, {0, 0}, 2), part({1, 0}, 1)}, {{0, 2, 0, 0}, {1, 2, 0, 1}});
}
/// Two convolutions with one weight as one over the batch: typed where the inputs have equal channels.
inline std::string merges_batch() {
    return rule({conv({-1, 0}, {-3, 0}), conv({-2, 0}, {-3, 0}), join({0, 0}, {1, 0}, 0)},
                {join({-1, 0}, {-2, 0}, 0), conv({0, 0}, {-3, 0})}, {{2, 1}});
}

} // namespace taso_writer
