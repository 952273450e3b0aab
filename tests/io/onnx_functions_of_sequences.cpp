#include "io/function_checks.hpp"

#include <numbers>
#include <utility>

namespace onnx_functions_of_sequences_test {

using namespace function_checks;
using doubles = std::vector<double>;

doubles doubles_of(tensor const& t) {
    auto const wide = t.converted_to(dtype::f64);
    return {wide.data<double>().begin(), wide.data<double>().end()};
}
tensor tensor_of(ints const& dims, doubles const& values, dtype element = dtype::f32) {
    return tensor::from<double>(dims, values).converted_to(element);
}
std::size_t at(std::initializer_list<std::pair<std::int64_t, std::int64_t>> places) { // place and size, outermost first
    std::int64_t i = 0;
    for (auto const& [place, size] : places) i = i * size + place;
    return static_cast<std::size_t>(i);
}

TEST_CASE("linear attention adds keys with values to a state that decays, and corrects it") {
    constexpr std::int64_t batch = 2, steps = 3, heads = 2, queries = 4, width = 3, values = 2;
    random_stream r{11};
    auto const q = random_floats(r, {batch, steps, queries * width}),
               k = random_floats(r, {batch, steps, heads * width});
    auto const v = random_floats(r, {batch, steps, heads * values});
    auto const past = random_floats(r, {batch, heads, width, values});
    for (std::string const rule : {"linear", "gated", "delta", "gated_delta"})
        for (bool const each : {false, true}) {
            auto const gated = rule.find("gated") != std::string::npos, delta = rule.find("delta") != std::string::npos;
            auto const decays = each ? width : 1, rates = each ? heads : 1;
            auto const g = random_floats(r, {batch, steps, heads * decays}),
                       b = random_floats(r, {batch, steps, rates});
            auto const Q = doubles_of(q), K = doubles_of(k), V = doubles_of(v), G = doubles_of(g), B = doubles_of(b);
            auto state = doubles_of(past);
            doubles want(static_cast<std::size_t>(batch * steps * queries * values));
            for (std::int64_t n = 0; n < batch; ++n)
                for (std::int64_t h = 0; h < heads; ++h) {
                    auto const s = [&](std::int64_t i, std::int64_t j) -> double& {
                        return state[at({{n, batch}, {h, heads}, {i, width}, {j, values}})];
                    };
                    for (std::int64_t t = 0; t < steps; ++t) {
                        auto const key = [&](std::int64_t i) {
                            return K[at({{n, batch}, {t, steps}, {h, heads}, {i, width}})];
                        };
                        for (std::int64_t i = 0; gated && i < width; ++i)
                            for (std::int64_t j = 0; j < values; ++j)
                                s(i, j) *=
                                    std::exp(G[at({{n, batch}, {t, steps}, {h, heads}, {each ? i : 0, decays}})]);
                        for (std::int64_t j = 0; j < values; ++j) {
                            auto value = V[at({{n, batch}, {t, steps}, {h, heads}, {j, values}})];
                            for (std::int64_t i = 0; delta && i < width; ++i) value -= key(i) * s(i, j);
                            if (delta) value *= B[at({{n, batch}, {t, steps}, {each ? h : 0, rates}})];
                            for (std::int64_t i = 0; i < width; ++i) s(i, j) += key(i) * value;
                        }
                        for (auto a = h * queries / heads; a < (h + 1) * queries / heads; ++a)
                            for (std::int64_t j = 0; j < values; ++j) {
                                auto& y = want[at({{n, batch}, {t, steps}, {a, queries}, {j, values}})];
                                for (std::int64_t i = 0; i < width; ++i)
                                    y += Q[at({{n, batch}, {t, steps}, {a, queries}, {i, width}})] * s(i, j) /
                                         std::sqrt(3.0);
                            }
                    }
                }
            call c{
                "LinearAttention",
                27,
                {w::integer("q_num_heads", queries), w::integer("kv_num_heads", heads), w::word("update_rule", rule)}};
            c.results = 2;
            std::vector<tensor> inputs{q, k, v, past};
            if (gated) inputs.push_back(g);
            if (delta) inputs.push_back(b);
            if (delta && !gated) c.left_out = {4};
            INFO(rule);
            auto const got = results_of(c, inputs);
            CHECK(near(got[0], tensor_of({batch, steps, queries * values}, want), 1e-4));
            CHECK(near(got[1], tensor_of({batch, heads, width, values}, state), 1e-4));
        }
    call const half{"LinearAttention",
                    27,
                    {w::integer("q_num_heads", 1), w::integer("kv_num_heads", 1), w::word("update_rule", "linear"),
                     w::real("scale", 2), w::integer("chunk_size", 16)}};
    auto const one = tensor_of({1, 1, 1}, {3}, dtype::f16);
    CHECK(near(result_of(half, {one, one, one}), tensor_of({1, 1, 1}, {54}, dtype::f16)));
}

TEST_CASE("linear attention that lacks a decay, has too many steps or none is not read") {
    auto const heads = [](char const* rule) {
        return w::texts{w::integer("q_num_heads", 1), w::integer("kv_num_heads", 1), w::word("update_rule", rule)};
    };
    auto const of = [](std::int64_t steps) { return tensor::zeros(dtype::f32, ints{1, steps, 2}); };
    auto const why = [&](char const* rule, std::int64_t steps) {
        return reason({"LinearAttention", 27, heads(rule)}, {of(steps), of(steps), of(steps)});
    };
    CHECK(why("linear", 2) == "read");
    CHECK(why("linear", 0) == "a sequence without steps");
    CHECK(why("linear", 4097) == "4097 steps; at most 4096 are written one by one");
    CHECK(why("gated", 2) == "invalid input");
    CHECK(why("other", 2) == "invalid input");
    CHECK(reason({"LinearAttention", 27, heads("linear")}, {of(2), of(2), of(3)}) == "invalid input");
    constexpr auto many = std::int64_t{1} << 62;
    CHECK(reason({"LinearAttention", 27, {w::integer("q_num_heads", many), w::integer("kv_num_heads", many)}},
                 {of(2), of(2), of(2)}) == "invalid input");
    CHECK(reason({"GroupQueryAttention",
                  17,
                  {w::integer("num_heads", many), w::integer("kv_num_heads", many)},
                  {},
                  1,
                  "com.microsoft"},
                 {of(2), of(2), of(2)}) == "invalid input");
    CHECK(reason({"LinearAttention", 27, {w::integer("q_num_heads", 3), w::integer("kv_num_heads", 2)}},
                 {of(2), of(2), of(2)}) == "invalid input");
}

TEST_CASE("a causal convolution sees what came before, and tells it for the next time") {
    auto const x = floats({1, 2, 3}, {1, 2, 3, 4, 5, 6}), weight = floats({2, 1, 3}, {1, 10, 100, 1, 0, -1});
    auto const conv = [&](w::texts attributes, std::vector<tensor> const& inputs,
                          std::vector<std::ptrdiff_t> left_out) {
        return results_of({"CausalConvWithState", 27, std::move(attributes), {}, 2, "", std::move(left_out)}, inputs);
    };
    auto const fresh = conv({}, {x, weight}, {});
    CHECK(near(fresh[0], floats({1, 2, 3}, {100, 210, 321, -4, -5, -2})));
    CHECK(near(fresh[1], floats({1, 2, 2}, {2, 3, 5, 6})));
    auto const on = conv({}, {x, weight, floats({1, 2, 2}, {7, 8, 9, 0})}, {2});
    CHECK(near(on[0], floats({1, 2, 3}, {187, 218, 321, 5, -5, -2})));
    auto const gated = conv({w::word("activation", "silu")}, {x, weight, floats({2}, {-100, 4})}, {});
    CHECK(near(gated[0], floats({1, 2, 3}, {0, 110, 221, 0, -0.2689414f, 1.7615942f})));
    auto const short_one =
        conv({}, {floats({1, 1, 1}, {5}), floats({1, 1, 3}, {1, 1, 1}), floats({1, 1, 2}, {1, 2})}, {2});
    CHECK(near(short_one[1], floats({1, 1, 2}, {2, 5})));
    auto const narrow = conv({}, {x, floats({2, 1, 1}, {2, 3})}, {});
    CHECK(near(narrow[0], floats({1, 2, 3}, {2, 4, 6, 12, 15, 18})));
    CHECK(narrow[1].type() == floats({1, 2, 0}, {}).type());
    CHECK(reason({"CausalConvWithState", 27, {w::word("activation", "relu")}}, {x, weight}) == "invalid input");
    CHECK(reason({"CausalConvWithState", 27}, {x, floats({1, 1, 1}, {1})}) == "invalid input");
}

// ---- transforms

// The transform of complex numbers, the pairs of the last dimension, by its definition.
doubles transformed(doubles const& x, std::int64_t made, bool inverse, std::int64_t length) {
    doubles out(static_cast<std::size_t>(2 * made));
    for (std::int64_t i = 0; i < made; ++i)
        for (std::size_t k = 0; k < x.size() / 2; ++k) {
            auto const turn = (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(i) * static_cast<double>(k);
            auto const angle = turn / static_cast<double>(length), by = inverse ? static_cast<double>(length) : 1;
            auto const c = std::cos(angle) / by, s = std::sin(angle) / by;
            out[static_cast<std::size_t>(2 * i)] += x[2 * k] * c - x[2 * k + 1] * s;
            out[static_cast<std::size_t>(2 * i + 1)] += x[2 * k] * s + x[2 * k + 1] * c;
        }
    return out;
}

TEST_CASE("a Fourier transform is the sum of its definition, along any axis, forwards and back") {
    random_stream r{5};
    auto const one_sided = w::integer("onesided", 1), inverse = w::integer("inverse", 1);
    for (std::int64_t const n : {1, 2, 5, 8}) {
        INFO(n);
        auto const x = random_floats(r, {n, 2}), real = random_floats(r, {n, 1});
        doubles pairs;
        for (auto const v : doubles_of(real)) pairs.push_back(v), pairs.push_back(0);
        auto const plain = transformed(doubles_of(x), n, false, n);
        CHECK(near(result_of({"DFT", 20}, {x}), tensor_of({n, 2}, plain)));
        CHECK(near(result_of({"DFT", 17, {w::integer("axis", 0), inverse}}, {x}),
                   tensor_of({n, 2}, transformed(doubles_of(x), n, true, n))));
        auto const half = tensor_of({n / 2 + 1, 2}, transformed(pairs, n / 2 + 1, false, n));
        CHECK(near(result_of({"DFT", 20, {one_sided}}, {real}), half));
        // One side of a spectrum goes back to the signal of the length that is told.
        CHECK(near(result_of({"DFT", 20, {one_sided, inverse}, {list({n})}}, {half}), real, 1e-4));
        // A signal is cut, or filled up with zeros.
        for (auto const length : {n + 2, std::max<std::int64_t>(n - 1, 1)}) {
            auto kept = doubles_of(x);
            kept.resize(static_cast<std::size_t>(2 * std::min(n, length)));
            CHECK(near(result_of({"DFT", 20, {}, {list({length})}}, {x}),
                       tensor_of({length, 2}, transformed(kept, length, false, length))));
        }
    }
    auto const x = floats({1, 2, 2, 1}, {1, 2, 3, 5});
    CHECK(near(result_of({"DFT", 17}, {x}), floats({1, 2, 2, 2}, {4, 0, 7, 0, -2, 0, -3, 0})));
    CHECK(near(result_of({"DFT", 17, {w::integer("axis", 2)}}, {x}), floats({1, 2, 2, 2}, {3, 0, -1, 0, 8, 0, -2, 0})));
    CHECK(reason({"DFT", 17, {w::integer("axis", 3)}}, {x}) == "invalid input");
    CHECK(reason({"DFT", 17, {inverse, one_sided}}, {x}) == "invalid input");
    CHECK(reason({"DFT", 20}, {floats({1, 3}, {1, 2, 3})}) == "invalid input");
    CHECK(reason({"DFT", 20, {}, {}, 1, "", {1}}, {x, whole({}, {1})}) == "an axis that is no constant");
    CHECK(reason({"DFT", 20, {}, {list({5000})}}, {x}) == "a transform of length 5000 as a product with a matrix");
}

TEST_CASE("constants that nodes are written with have a bound together") {
    auto const two_windows = [](std::int64_t most) {
        w::model m;
        m.opset = 17;
        m.weight(list({60}) + w::made([](w::pbf_writer& p) { p.add_string(8, "size"); }));
        for (auto const* name : {"a", "b"}) m.out(name).add("HannWindow", {"size"}, {name});
        io::load_options options;
        options.limits.max_written_elements = most;
        return loaded(m, options);
    };
    CHECK(model_checks::count<ops::opaque>(two_windows(120)) == 0);
    auto const g = two_windows(119);
    REQUIRE(model_checks::count<ops::opaque>(g) == 1);
    for (auto n : g.order())
        if (g.is<ops::opaque>(n))
            CHECK(g.attributes<ops::opaque>(n).reason.find("as many constants") != std::string::npos);
}

TEST_CASE("a short-time Fourier transform is that of each frame, times a window") {
    auto const x = floats({1, 5, 1}, {1, 2, 3, 4, 5});
    auto const step = list({2});
    auto const window = w::floats("", {3}, {0, 1, 2});
    doubles want;
    for (std::size_t frame = 0; frame < 2; ++frame)
        for (auto const v :
             transformed({0, 0, 2.0 + 2.0 * static_cast<double>(frame), 0, 6.0 + 4.0 * static_cast<double>(frame), 0},
                         2, false, 3))
            want.push_back(v);
    CHECK(near(result_of({"STFT", 17, {}, {step, window}}, {x}), tensor_of({1, 2, 2, 2}, want)));
    auto const whole_frames = result_of({"STFT", 17, {w::integer("onesided", 0)}, {step, list({4})}, 1, "", {2}}, {x});
    CHECK(near(whole_frames, floats({1, 1, 4, 2}, {10, 0, -2, 2, -2, 0, -2, -2})));
    CHECK(reason({"STFT", 17, {}, {step, list({6})}, 1, "", {2}}, {x}) == "invalid input");
    CHECK(reason({"STFT", 17}, {x, whole({}, {2})}) == "a step that is no constant");
}

TEST_CASE("mel weights are triangles whose corners stand at equal distances on the mel scale") {
    auto const number = [](std::int64_t n) { return list({n}); };
    auto const hertz = [](float f) { return w::floats("", {1}, {f}); };
    // Known values, of the example of the definition.
    auto const m =
        result_of({"MelWeightMatrix", 17, {}, {number(8), number(16), number(8192), hertz(0), hertz(8192.0f / 2)}}, {});
    CHECK(std::ranges::equal(m.dims(), ints{9, 8}));
    auto const of = [&](std::int64_t row) {
        doubles out;
        for (std::int64_t i = 0; i < 8; ++i)
            out.push_back(static_cast<double>(m.data<float>()[static_cast<std::size_t>(row * 8 + i)]));
        return out;
    };
    CHECK(of(0) == doubles{1, 1, 0, 0, 0, 0, 0, 0});
    CHECK(of(1) == doubles{0, 0, 1, 1, 0, 0, 0, 0});
    CHECK(of(2) == doubles{0, 0, 0, 0, 1, 0, 0, 0});
    CHECK(of(5) == doubles{0, 0, 0, 0, 0, 0, 0, 1});
    CHECK(of(8) == doubles(8, 0.0));
    CHECK(reason({"MelWeightMatrix", 17, {}, {number(2), number(16), number(8192), hertz(0)}}, {whole({}, {1})}) !=
          "read");
}

// ---- attention of com.microsoft

TEST_CASE("attention by heads and by groups of them mixes values by the softmax of scores") {
    constexpr std::int64_t batch = 1, steps = 3, queries = 4, heads = 2, width = 2;
    random_stream r{3};
    auto const q = random_floats(r, {batch, steps, queries * width}),
               k = random_floats(r, {batch, steps, heads * width}), v = random_floats(r, {batch, steps, heads * width});
    // The result where a query sees the keys that `seen` says.
    auto const mixed = [&](std::int64_t key_heads, tensor const& keys, tensor const& values, auto seen) {
        auto const Q = doubles_of(q), K = doubles_of(keys), V = doubles_of(values);
        doubles y(Q.size());
        for (std::int64_t h = 0; h < queries; ++h)
            for (std::int64_t s = 0; s < steps; ++s) {
                auto const of = h * key_heads / queries;
                doubles e(steps);
                double sum = 0;
                for (std::int64_t t = 0; t < steps; ++t) {
                    double score = 0;
                    for (std::int64_t i = 0; i < width; ++i)
                        score += Q[at({{s, steps}, {h, queries}, {i, width}})] *
                                 K[at({{t, steps}, {of, key_heads}, {i, width}})];
                    sum += e[static_cast<std::size_t>(t)] = seen(s, t) ? std::exp(score / std::sqrt(2.0)) : 0;
                }
                for (std::int64_t t = 0; t < steps; ++t)
                    for (std::int64_t i = 0; i < width; ++i)
                        y[at({{s, steps}, {h, queries}, {i, width}})] +=
                            e[static_cast<std::size_t>(t)] / sum * V[at({{t, steps}, {of, key_heads}, {i, width}})];
            }
        return tensor_of({batch, steps, queries * width}, y);
    };
    auto const all = [](auto, auto) { return true; };
    auto const before = [](auto s, auto t) { return t <= s; };
    auto const K = random_floats(r, {batch, steps, queries * width}),
               V = random_floats(r, {batch, steps, queries * width});
    auto const microsoft = [](std::string op, w::texts attributes, w::texts constants, std::size_t results,
                              std::vector<std::ptrdiff_t> left_out) {
        return call{std::move(op),      17, std::move(attributes), std::move(constants), results, "com.microsoft",
                    std::move(left_out)};
    };
    w::texts const four{w::integer("num_heads", queries)};
    CHECK(near(result_of(microsoft("MultiHeadAttention", four, {}, 1, {}), {q, K, V}), mixed(queries, K, V, all)));
    auto causal = four;
    causal.push_back(w::integer("unidirectional", 1));
    CHECK(near(result_of(microsoft("MultiHeadAttention", causal, {}, 1, {}), {q, K, V}), mixed(queries, K, V, before)));
    auto const masked = result_of(microsoft("MultiHeadAttention", four, {}, 1, {3}),
                                  {q, K, V, whole({1}, {2}).converted_to(dtype::i32)});
    CHECK(near(masked, mixed(queries, K, V, [](auto, auto t) { return t < 2; })));

    w::texts const groups{w::integer("num_heads", queries), w::integer("kv_num_heads", heads)};
    auto const last = whole({1}, {2}).converted_to(dtype::i32);
    auto const prompt = results_of(microsoft("GroupQueryAttention", groups, {list({3})}, 3, {3, 4}), {q, k, v, last});
    CHECK(near(prompt[0], mixed(heads, k, v, before)));
    // The last step alone, after a cache that holds one entry more than the sequence has.
    auto const step = [&](tensor const& t, std::int64_t count) {
        auto const from = doubles_of(t);
        return tensor_of({1, 1, count}, doubles(from.end() - count, from.end()));
    };
    auto const past = [&](tensor const& t) {
        auto const from = doubles_of(t);
        doubles out;
        for (std::int64_t h = 0; h < heads; ++h)
            for (std::int64_t s = 0; s < steps; ++s)
                for (std::int64_t i = 0; i < width; ++i)
                    out.push_back(s < 2 ? from[at({{s, steps}, {h, heads}, {i, width}})] : std::nan(""));
        return tensor_of({1, heads, steps, width}, out);
    };
    auto const next =
        results_of(microsoft("GroupQueryAttention", groups, {list({3})}, 3, {}),
                   {step(q, queries * width), step(k, heads * width), step(v, heads * width), past(k), past(v), last});
    CHECK(near(next[0], step(prompt[0], queries * width)));
    CHECK(near(next[1], prompt[1]));
    CHECK(near(next[2], prompt[2]));
    CHECK(reason(microsoft("GroupQueryAttention", groups, {}, 1, {3, 4}), {q, k, v, last, last}) ==
          "a number of keys that is no constant");
    auto smooth = groups;
    smooth.push_back(w::integer("smooth_softmax", 1));
    CHECK(reason(microsoft("GroupQueryAttention", smooth, {list({3})}, 1, {3, 4}), {q, k, v, last}) ==
          "smooth_softmax");
    CHECK(reason(microsoft("MultiHeadAttention", four, {}, 1, {}), {q}) == "queries, keys and values in one operand");
    CHECK(reason(microsoft("MultiHeadAttention", four, {}, 1, {3, 4, 5}), {q, K, V, past(k), past(v)}) == "a past");
}

TEST_CASE("rotary embeddings of com.microsoft turn pairs by the angle of a place") {
    auto const table = [](auto f) {
        return w::floats("", {3, 1}, {1, static_cast<float>(f(0.5)), static_cast<float>(f(1.0))});
    };
    auto const cosine = table([](double a) { return std::cos(a); });
    auto const sine = w::floats("", {3, 1}, {0, static_cast<float>(std::sin(0.5)), static_cast<float>(std::sin(1.0))});
    call const c{"RotaryEmbedding", 17, {}, {cosine, sine}, 1, "com.microsoft"};
    auto const x = floats({1, 2, 2}, {1, 0, 1, 0});
    auto const want = floats({1, 2, 2}, {0.87758256f, 0.47942554f, 0.54030231f, 0.84147098f});
    CHECK(near(result_of(c, {x, whole({1}, {1})}), want));
    CHECK(near(result_of(c, {x, whole({1, 2}, {1, 2})}), want));
    auto scaled = c;
    scaled.attributes = {w::real("scale", 2)};
    CHECK(reason(scaled, {x, whole({1}, {1})}) == "a scale");
}

} // namespace onnx_functions_of_sequences_test
