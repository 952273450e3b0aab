// Graphs of operators for which others stand when they are lowered.
#pragma once

#include <gsub/core/random.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/ops/ops.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace legal_graphs {

using namespace gsub;

struct named_graph {
    std::string name;
    graph g;
};

class graph_list {
public:
    /// Adds a graph whose results `make` gives.
    void add(std::string name, std::function<std::vector<value_id>(graph_list&)> const& make) {
        made_.push_back({std::move(name), {}});
        graph_builder b{made_.back().g};
        b_ = &b;
        auto const values = make(*this);
        made_.back().g.set_outputs(values);
        b_ = nullptr;
    }
    [[nodiscard]] graph_builder& to() { return *b_; }
    value_id input(dtype t, shape dims) { return b_->input(t, std::move(dims), "x"); }
    /// An input that is a small number of another type.
    value_id bytes(dtype t, shape dims) {
        return b_->add<ops::cast>({.to = t}, {b_->add<ops::mul>(input(dtype::f32, std::move(dims)), number(40))});
    }
    /// Positive numbers.
    value_id scale(shape dims, dtype t = dtype::f32) {
        auto const v = b_->add<ops::abs>(input(dtype::f32, std::move(dims)));
        return b_->add<ops::cast>({.to = t}, {b_->add<ops::add>(v, number(0.125f))});
    }
    /// Indices below sizes that end the dimensions, of which some count from the end.
    value_id indices(shape dims, std::vector<std::int64_t> const& sizes) {
        std::int64_t const count[] = {static_cast<std::int64_t>(sizes.size())};
        auto const most = b_->constant(tensor::from(std::span<std::int64_t const>{count}, as_span(sizes)));
        auto const some = b_->add<ops::floor>(bytes(dtype::f32, dims));
        auto const each = b_->add<ops::cast>({.to = dtype::f32}, {most});
        auto const whole = b_->add<ops::mul>(b_->add<ops::floor>(b_->add<ops::div>(some, each)), each);
        auto const from_start = b_->add<ops::cast>({.to = dtype::i64}, {b_->add<ops::sub>(some, whole)});
        auto const turned = b_->add<ops::less>(input(dtype::f32, dims), number(0));
        return b_->add<ops::where>(turned, b_->add<ops::sub>(from_start, most), from_start);
    }
    value_id number(float v) { return b_->constant(tensor::scalar(v)); }
    [[nodiscard]] std::vector<named_graph> take() { return std::move(made_); }

private:
    std::vector<named_graph> made_;
    graph_builder* b_ = nullptr;
};

inline void add_quantization(graph_list& all) {
    for (auto const t : {dtype::u8, dtype::i8, dtype::u16, dtype::i16}) {
        auto const name = std::string{to_string(t)};
        for (auto const of : {dtype::f32, dtype::f16, dtype::i32})
            all.add("quantize to " + name + " of " + std::string{to_string(of)}, [=](graph_list& l) {
                auto const x = l.bytes(of, {2, 6, 5}), s = l.scale({6});
                return std::vector{l.to().add<ops::quantize>({.axis = 1}, {x, s, l.bytes(t, {6})}),
                                   l.to().add<ops::quantize>({}, {x, l.scale({}), l.bytes(t, {})}),
                                   l.to().add<ops::quantize>({.axis = -1, .block_size = 2},
                                                             {x, l.scale({2, 6, 3}), l.bytes(t, {2, 6, 3})})};
            });
        all.add("dequantize " + name, [=](graph_list& l) {
            auto const x = l.bytes(t, {2, 6, 5});
            return std::vector{
                l.to().add<ops::dequantize>({.axis = 1}, {x, l.scale({6}), l.bytes(t, {6})}),
                l.to().add<ops::dequantize>({}, {x, l.scale({1}, dtype::f16)}),
                l.to().add<ops::dequantize>({.axis = 1, .block_size = 4}, {x, l.scale({2, 2, 5})}),
            };
        });
    }
    all.add("dequantize i32", [](graph_list& l) {
        auto const x = l.bytes(dtype::i32, {7});
        return std::vector{l.to().add<ops::dequantize>({}, {x, l.scale({}), l.bytes(dtype::i32, {})}),
                           l.to().add<ops::dequantize>({}, {x, l.scale({})})};
    });
    all.add("quantize without a zero point", [](graph_list& l) {
        return std::vector{l.to().add<ops::quantize>({}, {l.input(dtype::f32, {9}), l.scale({})})};
    });
    for (auto const t : {dtype::u8, dtype::i8})
        for (std::int64_t const k : {5, 700, 17000}) // one piece, several, more than pay off
            all.add("product of " + std::string{to_string(t)} + " over " + std::to_string(k), [=](graph_list& l) {
                auto const a = l.bytes(t, {2, 3, k}), b = l.bytes(dtype::i8, {k, 4}), az = l.bytes(t, {3}),
                           bz = l.bytes(dtype::i8, {4}), none = value_id{};
                auto const q = l.to().add<ops::qlinear_mat_mul>(a, l.scale({}), l.bytes(t, {}), b, l.scale({4}), bz,
                                                                l.scale({}), l.bytes(t, {}));
                return std::vector{l.to().add<ops::mat_mul_integer>(a, b), q,
                                   l.to().add<ops::mat_mul_integer>(a, b, az, bz),
                                   l.to().add<ops::mat_mul_integer>({}, {a, l.bytes(dtype::u8, {k}), none})};
            });
}
inline void add_products(graph_list& all) {
    for (auto const t : {dtype::f16, dtype::bf16, dtype::f64, dtype::i32, dtype::u64}) {
        auto const name = " of " + std::string{to_string(t)};
        all.add("products" + name, [=](graph_list& l) {
            auto const a = l.bytes(t, {2, 3, 5}), b = l.bytes(t, {5, 20}), v = l.bytes(t, {5}), w = l.bytes(t, {20});
            return std::vector{l.to().add<ops::mat_mul>(a, b), l.to().add<ops::mat_mul>(a, v),
                               l.to().add<ops::mat_mul>(v, v), l.to().add<ops::mat_mul>(b, w),
                               l.to().add<ops::mat_mul>(v, b)};
        });
        all.add("gemm" + name, [=](graph_list& l) {
            auto const a = l.bytes(t, {3, 5}), b = l.bytes(t, {7, 5}), c = l.bytes(t, {7});
            auto const factor = is_floating(t) ? 0.5 : 1;
            return std::vector{l.to().add<ops::gemm>({.alpha = factor, .transpose_b = true}, {a, b}),
                               l.to().add<ops::gemm>({.beta = factor, .transpose_a = true, .transpose_b = true},
                                                     {l.bytes(t, {5, 3}), b, c})};
        });
        for (auto const* equation :
             {"ij->ji", "ij->i", "ij->", "...ii->...i", "ii", "iji->j", "ij,jk->ik", "bij,bjk->bik", "i,j->ij",
              "bij,bkj->bki", "ijk,ilm,njm->nlk", "ab,cd->", "i,i", "aab,b->a", "ij,j,k->ik", "abc,cd->dab"})
            all.add("einsum " + std::string{equation} + name, [=](graph_list& l) {
                std::vector<value_id> operands;
                std::string_view const given = equation;
                auto const terms = given.substr(0, given.find("->"));
                for (std::size_t at = 0; at <= terms.size();) {
                    auto const end = std::min(terms.find(',', at), terms.size());
                    auto const term = terms.substr(at, end - at);
                    shape dims;
                    if (term.starts_with("...")) dims.push_back(dim{2}), dims.push_back(dim{3});
                    for (auto const c : term)
                        if (c != '.') dims.push_back(dim{2 + (c - 'a') % 5});
                    operands.push_back(l.bytes(t, dims));
                    at = end + 1;
                }
                return std::vector{
                    l.to().add<ops::einsum>({.equation = std::string{equation}}, std::span<value_id const>{operands})};
            });
    }
    all.add("einsum with dimensions of one element", [](graph_list& l) {
        auto const a = l.input(dtype::f64, {2, 1, 4}), b = l.input(dtype::f64, {1, 3, 4}),
                   c = l.input(dtype::f64, {3, 1});
        return std::vector{l.to().add<ops::einsum>({.equation = "ijk,ijk->ij"}, {a, b}),
                           l.to().add<ops::einsum>({.equation = "ijk,ij->k"}, {b, l.input(dtype::f64, {1, 3})}),
                           l.to().add<ops::einsum>({.equation = "ij->ji"}, {c})};
    });
    for (auto const t : {dtype::f16, dtype::f32}) {
        auto const name = " of " + std::string{to_string(t)};
        all.add("convolutions by computed numbers" + name, [=](graph_list& l) {
            attributes_of<ops::conv> a;
            a.strides = a.dilations = {1, 1}, a.pads = {1, 1, 1, 1};
            auto const x = l.bytes(t, {1, 4, 5, 6}), w = l.bytes(t, {3, 4, 3, 3}), b = l.bytes(t, {3});
            std::vector<value_id> out;
            for (auto const act : {activation::none, activation::relu, activation::clip, activation::tanh}) {
                a.act = act, a.act_min = -20, a.act_max = 30;
                out.push_back(l.to().add<ops::conv>(a, {x, w, b}));
            }
            auto constant = tensor::zeros(dtype::f32, ints{3, 4, 3, 3});
            fill_random(constant, random_stream{1});
            out.push_back(l.to().add<ops::conv>(a, {x, l.to().constant(constant.converted_to(t)), b}));
            return out;
        });
    }
}
// Filters of many taps along rows, of few channels: of any step, border, and what is behind.
inline void add_row_filters(graph_list& all) {
    for (std::int64_t const step : {1, 2, 3, 4, 8})
        all.add("row filters, each " + std::to_string(step), [=](graph_list& l) {
            auto& b = l.to();
            std::vector<value_id> out;
            auto const weights = [&](ints const& dims) {
                auto t = tensor::zeros(dtype::f32, dims);
                fill_random(t, random_stream{static_cast<std::uint64_t>(step)});
                return b.constant(std::move(t));
            };
            attributes_of<ops::conv> row, image, rows;
            row.strides = {step}, row.dilations = {1}, row.pads = {5, 2};
            row.group = 3, row.act = activation::relu;
            out.push_back(b.add<ops::conv>(row, {l.input(dtype::f32, {2, 3, 701}), weights({3, 1, 48}), weights({3})}));
            image.strides = {1, step}, image.dilations = {1, 1}, image.pads = {0, 0, 0, 0};
            out.push_back(b.add<ops::conv>(image, {l.input(dtype::f32, {1, 1, 1, 640}), weights({1, 1, 1, 32})}));
            rows.strides = {2, step}, rows.dilations = {1, 2}, rows.pads = {1, 0, 0, 7}, rows.group = 2;
            out.push_back(
                b.add<ops::conv>(rows, {l.input(dtype::f32, {1, 2, 7, 699}), weights({2, 1, 2, 20}), weights({2})}));
            return out;
        });
}
// Images one pixel wide, which are rows to kernels; with a border beside them they are not.
inline void add_columns(graph_list& all) {
    for (std::int64_t const channels : {3, 32})
        for (std::int64_t const beside : {0, 1})
            all.add("columns of " + std::to_string(channels) + ", beside " + std::to_string(beside),
                    [=](graph_list& l) {
                        auto& b = l.to();
                        auto const x = l.input(dtype::f32, {2, channels, 41, 1});
                        auto weights = tensor::zeros(dtype::f32, ints{32, channels, 5, 1});
                        fill_random(weights, random_stream{7});
                        attributes_of<ops::conv> conv;
                        conv.strides = {2, 1}, conv.dilations = {2, 1}, conv.pads = {3, beside, 1, beside};
                        auto const y = b.add<ops::conv>(conv, {x, b.constant(std::move(weights))});
                        attributes_of<ops::max_pool> largest;
                        largest.kernel_shape = {3, 1}, largest.strides = {2, 1}, largest.dilations = {1, 1};
                        largest.pads = {1, 0, 0, 0};
                        attributes_of<ops::average_pool> mean;
                        mean.kernel_shape = {4, 1}, mean.strides = {1, 1}, mean.dilations = {1, 1};
                        mean.pads = {2, 0, 1, 0}, mean.count_include_pad = beside > 0;
                        return std::vector{y, b.add<ops::max_pool>(largest, {y}), b.add<ops::average_pool>(mean, {y})};
                    });
}
inline void add_rest(graph_list& all) {
    for (auto const t : {dtype::f32, dtype::i64, dtype::boolean}) {
        auto const name = " of " + std::string{to_string(t)};
        all.add("gather rows" + name, [=](graph_list& l) {
            auto const x = l.bytes(t, {4, 3, 5, 2});
            return std::vector{
                l.to().add<ops::gather_nd>(x, l.indices({6, 3}, {4, 3, 5})),
                l.to().add<ops::gather_nd>(x, l.indices({2, 1}, {4})),
                l.to().add<ops::gather_nd>(x, l.indices({4}, {4, 3, 5, 2})),
                l.to().add<ops::gather_nd>({.batch_dims = 2}, {x, l.indices({4, 3, 7, 2}, {5, 2})}),
                l.to().add<ops::gather_nd>({.batch_dims = 1}, {x, l.indices({4, 1}, {3})}),
            };
        });
        all.add("scatter rows" + name, [=](graph_list& l) {
            auto const x = l.bytes(t, {4, 3, 5, 2});
            return std::vector{l.to().add<ops::scatter_nd>(x, l.indices({6, 3}, {4, 3, 5}), l.bytes(t, {6, 2})),
                               l.to().add<ops::scatter_nd>(x, l.indices({3, 1}, {4}), l.bytes(t, {3, 3, 5, 2}))};
        });
    }
    for (auto const t : {dtype::f32, dtype::f64, dtype::f16}) {
        auto const name = " of " + std::string{to_string(t)};
        all.add("normalisation by computed numbers" + name, [=](graph_list& l) {
            auto const x = l.bytes(t, {2, 3, 4, 5}), s = l.scale({3}, t), b = l.bytes(t, {3});
            auto const y = l.to().add<ops::batch_norm_training>({.momentum = 0.75}, {x, s, b, b, s}, 3);
            return std::vector{l.to().add<ops::batch_norm>(x, s, b, b, s), y, value_id{y.node, 1}, value_id{y.node, 2},
                               l.to().add<ops::batch_norm_training>(l.bytes(t, {4, 3}), s, b, b, s)};
        });
    }
    all.add("dropout with a mask", [](graph_list& l) {
        auto const y = l.to().add<ops::dropout>({}, {l.bytes(dtype::f32, {3, 4})}, 2);
        return std::vector{y, value_id{y.node, 1}};
    });
}

/// A residual network of a floating type, of blocks of 32 channels.
inline std::vector<value_id> residual_network(graph_list& l, dtype t) {
    auto& b = l.to();
    random_stream r{3};
    auto const numbers = [&](ints const& dims, float around = 0) {
        auto v = tensor::zeros(dtype::f32, dims);
        fill_random(v, r = r.split(1));
        for (auto& x : v.mutable_data<float>()) x = around + x / 16;
        return b.constant(v.converted_to(t));
    };
    auto const normalised = [&](value_id x) {
        return b.add<ops::batch_norm>({}, {x, numbers({32}, 1), numbers({32}), numbers({32}), numbers({32}, 1)});
    };
    auto const conv = [&](value_id x, std::int64_t from) {
        attributes_of<ops::conv> same;
        same.strides = same.dilations = {1, 1}, same.pads = {1, 1, 1, 1};
        return b.add<ops::conv>(same, {x, numbers({32, from, 3, 3}), numbers({32})});
    };
    auto const x = b.add<ops::relu>(normalised(conv(l.bytes(t, {1, 3, 12, 12}), 3)));
    attributes_of<ops::max_pool> halving;
    halving.kernel_shape = halving.strides = {2, 2}, halving.dilations = {1, 1}, halving.pads = {0, 0, 0, 0};
    auto const pooled = b.add<ops::max_pool>(halving, {x});
    auto const inner = b.add<ops::hard_swish>(conv(pooled, 32));
    auto const sum = b.add<ops::relu>(b.add<ops::add>(normalised(conv(inner, 32)), pooled));
    auto const joined = b.add<ops::concat>({.axis = 1}, {sum, b.add<ops::neg>(pooled)});
    auto const chosen = b.add<ops::where>(b.add<ops::less>(joined, numbers({1}, 100)), joined, numbers({1}));
    auto const mean =
        b.add<ops::reshape>(attributes_of<ops::reshape>::to({1, 64}), {b.add<ops::global_average_pool>(chosen)});
    auto const logits = b.add<ops::gemm>({.transpose_b = true}, {mean, numbers({10, 64}), numbers({10})});
    return {sum, b.add<ops::clip>({.min = -1, .max = 1}, {b.add<ops::mul>(logits, numbers({10}, 2))})};
}
inline void add_networks(graph_list& all) {
    for (auto const t : {dtype::f16, dtype::bf16})
        all.add("network of " + std::string{to_string(t)}, [=](graph_list& l) { return residual_network(l, t); });
}

/// All of them.
inline std::vector<named_graph> all() {
    graph_list l;
    add_quantization(l), add_products(l), add_row_filters(l), add_columns(l), add_rest(l), add_networks(l);
    return l.take();
}

} // namespace legal_graphs
