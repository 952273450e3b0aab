#pragma once

#include <gsub/core/format.hpp>
#include <gsub/models/decoder.hpp>
#include <gsub/models/network_builder.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace gsub::models {

namespace detail {

/// Keys and values of a layer. *Shapes* `[batch, key_heads, length, width]`.
struct decoder_cache {
    value_id key{}, value{};
};

/// The blocks of a decoder.
class decoder_builder {
public:
    decoder_builder(network_builder& net, decoder_options const& options, value_id places)
        : net_(net), o_(options), places_(places) {
        auto const rows = static_cast<std::size_t>(o_.positions), pairs = static_cast<std::size_t>(width() / 2);
        std::vector<float> cosines(rows * pairs), sines(rows * pairs);
        for (std::size_t i = 0; i < cosines.size(); ++i) {
            auto const share = static_cast<double>(i % pairs) / static_cast<double>(pairs);
            auto const angle = static_cast<double>(i / pairs) * std::pow(base, -share);
            cosines[i] = static_cast<float>(std::cos(angle)), sines[i] = static_cast<float>(std::sin(angle));
        }
        ints const sizes{o_.positions, width() / 2};
        cosines_ = net_.constant(tensor::from<float>(sizes, cosines), "model.rotary_emb.cos");
        sines_ = net_.constant(tensor::from<float>(sizes, sines), "model.rotary_emb.sin");
    }

    value_id rms_norm(std::string const& name, value_id x) {
        auto const scale = name + ".weight";
        auto const w = net_.constant(net_.weights().uniform(scale, {o_.hidden}, 0.5, 1.5), scale);
        auto const square =
            net_.apply<ops::reduce_mean>(name + ".mean", {apply<ops::mul>(name + ".squares", x, x)}, {.axes = {2}});
        auto const epsilon = number(name + ".epsilon", static_cast<double>(1e-5f));
        auto const root = apply<ops::sqrt>(name + ".root", apply<ops::add>(name + ".stabilised", square, epsilon));
        return apply<ops::mul>(name, apply<ops::div>(name + ".normalised", x, root), w);
    }

    /// A block. `cache` is the past, and becomes the present.
    value_id block(std::string const& name, value_id x, decoder_cache& cache) {
        auto const y = attention(name + ".self_attn", rms_norm(name + ".input_layernorm", x), cache);
        x = apply<ops::add>(name + ".attended", x, y);
        auto const z = rms_norm(name + ".post_attention_layernorm", x);
        auto const gate = linear(name + ".mlp.gate_proj", z, o_.intermediate);
        auto const open = apply<ops::mul>(name + ".mlp.silu", gate, apply<ops::sigmoid>(name + ".mlp.sigmoid", gate));
        auto const inner =
            apply<ops::mul>(name + ".mlp.gated", open, linear(name + ".mlp.up_proj", z, o_.intermediate));
        return apply<ops::add>(name, x, linear(name + ".mlp.down_proj", inner, o_.hidden));
    }

private:
    static constexpr double base = 100'000; // of the angles
    std::int64_t width() const { return o_.hidden / o_.heads; }
    std::int64_t all() const { return o_.past + o_.tokens; }

    template <operation Op, std::same_as<value_id>... Values>
    value_id apply(std::string const& name, Values... operands) {
        return net_.apply<Op>(name, {operands...});
    }
    value_id number(std::string const& name, double v) {
        return net_.apply<ops::fill>(name, {}, {.element = dtype::f32, .value = v});
    }
    value_id linear(std::string const& name, value_id x, std::int64_t outputs) {
        auto const matrix = name + ".weight";
        auto const inputs = net_.type_of(x)->dims.back().size();
        auto const deviation = 1 / std::sqrt(static_cast<double>(inputs));
        auto const w = net_.constant(net_.weights().normal(matrix, {inputs, outputs}, deviation), matrix);
        return apply<ops::mat_mul>(name, x, w);
    }
    value_id reshape(std::string const& name, value_id x, ints const& sizes) {
        return net_.apply<ops::reshape>(name, {x}, {.shape = sizes});
    }
    value_id transpose(std::string const& name, value_id x, ints const& order) {
        return net_.apply<ops::transpose>(name, {x}, {.perm = order});
    }

    // Halves of each head, turned by the angle of their place. *Shapes* `[batch, tokens, heads * width]`.
    value_id turned(std::string const& name, value_id x, std::int64_t heads) {
        auto const apart = reshape(name + ".apart", x, {0, 0, heads, width()});
        auto const table = [&](std::string const& of, value_id t) {
            return net_.apply<ops::unsqueeze>(of, {apply<ops::gather>(of + ".places", t, places_)}, {.axes = {2}});
        };
        auto const cosine = table(name + ".cos", cosines_), sine = table(name + ".sin", sines_);
        auto const halves = reshape(name + ".halves", apart, {0, 0, 0, 2, width() / 2});
        auto const other = net_.apply<ops::slice>(name + ".other", {halves},
                                                  {.starts = {1}, .ends = {-3}, .axes = {3}, .steps = {-1}});
        auto const both = [&](std::string const& of, value_id v) {
            return net_.apply<ops::unsqueeze>(of, {v}, {.axes = {3}});
        };
        auto const off = net_.constant(tensor::from<float>({2, 1}, {-1, 1}), name + ".signs");
        auto const sines = apply<ops::mul>(name + ".sin.signed", both(name + ".sin.halves", sine), off);
        auto const own = apply<ops::mul>(name + ".cos.own", both(name + ".cos.halves", cosine), halves);
        auto const y = apply<ops::add>(name + ".turned", own, apply<ops::mul>(name + ".sin.others", sines, other));
        return reshape(name, reshape(name + ".whole", y, {0, 0, 0, width()}), {0, 0, -1});
    }

    value_id heads_first(std::string const& name, value_id x, std::int64_t heads) {
        return transpose(name + ".heads", reshape(name + ".split", x, {0, 0, heads, width()}), {0, 2, 1, 3});
    }
    // The past in front of what is new.
    value_id joined(std::string const& name, value_id past, value_id fresh) {
        return o_.past == 0 ? fresh : net_.apply<ops::concat>(name + ".present", {past, fresh}, {.axis = 2});
    }
    value_id counted(std::string const& name, std::int64_t count, ints const& sizes, std::int64_t first) {
        auto t = tensor::uninitialized(dtype::i64, sizes);
        for (std::int64_t i = 0; i < count; ++i)
            t.mutable_data<std::int64_t>()[static_cast<std::size_t>(i)] = first + i;
        return net_.constant(std::move(t), name);
    }
    // 0 where a token sees a key, minus infinity where the key is of a later token. *Shapes* `[tokens, all]`.
    value_id mask(std::string const& name) {
        auto const queries = counted(name + ".queries", o_.tokens, {o_.tokens, 1}, o_.past),
                   keys = counted(name + ".keys", all(), {all()}, 0);
        auto const ahead = apply<ops::neg>(name + ".ahead", apply<ops::sub>(name + ".behind", queries, keys));
        auto const none = net_.constant(tensor::scalar(std::int64_t{0}), name + ".none");
        auto const seen = apply<ops::less_or_equal>(name + ".seen", ahead, none);
        auto const zero = number(name + ".zero", 0);
        auto const hidden = number(name + ".hidden", -std::numeric_limits<double>::infinity());
        return apply<ops::where>(name, seen, zero, hidden);
    }

    value_id attention(std::string const& name, value_id x, decoder_cache& cache) {
        auto const of = [&](char const* what) { return name + what; };
        auto const q_proj = linear(of(".q_proj"), x, o_.hidden);
        auto const k_proj = linear(of(".k_proj"), x, o_.key_heads * width()),
                   v_proj = linear(of(".v_proj"), x, o_.key_heads * width());
        auto const q_turned = turned(of(".q_rotary"), q_proj, o_.heads),
                   k_turned = turned(of(".k_rotary"), k_proj, o_.key_heads);
        auto const q = heads_first(of(".q"), q_turned, o_.heads);
        auto const k = heads_first(of(".k"), k_turned, o_.key_heads), v = heads_first(of(".v"), v_proj, o_.key_heads);
        cache = {joined(of(".k"), cache.key, k), joined(of(".v"), cache.value, v)};
        auto const bias = mask(of(".mask"));
        auto const scale =
            net_.constant(tensor::scalar(static_cast<float>(std::sqrt(static_cast<double>(width())))), of(".scale"));
        // Heads of queries that share one of keys are rows of a matrix for one token, else matrices of their own.
        auto const each = o_.heads / o_.key_heads;
        auto const apart = each != 1 && o_.tokens != 1;
        ints grouped{0, o_.key_heads, each};
        if (apart) grouped.push_back(o_.tokens);
        grouped.push_back(width());
        auto const queries = each == 1 ? q : reshape(of(".q.grouped"), q, grouped);
        auto const shared = [&](std::string const& what, value_id of_heads) {
            return apart ? net_.apply<ops::unsqueeze>(what, {of_heads}, {.axes = {2}}) : of_heads;
        };
        auto const keys = shared(of(".k.shared"), cache.key), values = shared(of(".v.shared"), cache.value);
        auto const turned_keys = transpose(of(".k.turned"), keys, apart ? ints{0, 1, 2, 4, 3} : ints{0, 1, 3, 2});
        auto const products = apply<ops::mat_mul>(of(".products"), queries, turned_keys);
        auto const scores = apply<ops::div>(of(".scores"), products, scale);
        auto const shares =
            net_.apply<ops::softmax>(of(".softmax"), {apply<ops::add>(of(".masked"), scores, bias)}, {.axis = -1});
        auto y = apply<ops::mat_mul>(of(".context"), shares, values);
        auto const as_rows = each != 1 && !apart;
        if (!as_rows) y = transpose(of(".beside"), y, apart ? ints{0, 3, 1, 2, 4} : ints{0, 2, 1, 3});
        y = reshape(name, y, as_rows ? ints{0, 1, -1} : ints{0, 0, -1});
        return linear(of(".o_proj"), y, o_.hidden);
    }

    network_builder& net_;
    decoder_options const& o_;
    value_id places_, cosines_, sines_;
};

} // namespace detail

GSUB_INLINE graph decoder(decoder_options const& options) {
    GSUB_ASSERT(options.batch > 0 && options.tokens > 0 && options.past >= 0 && options.layers > 0,
                "a decoder has texts, tokens and layers");
    GSUB_ASSERT(!options.fault(), options.fault());
    graph g;
    network_builder net{g, weight_source{options.seed}};
    auto x = net.input(dtype::f32, {options.batch, options.tokens, options.hidden}, "hidden_states");
    auto const places = net.input(dtype::i64, {options.batch, options.tokens}, "position_ids");
    std::vector<detail::decoder_cache> caches(static_cast<std::size_t>(options.layers));
    auto const width = options.hidden / options.heads;
    for (std::size_t i = 0; options.past > 0 && i < caches.size(); ++i) {
        auto const past = [&](std::string_view what) {
            return net.input(dtype::f32, {options.batch, options.key_heads, options.past, width},
                             format_text("past_key_values.{}.{}", i, what));
        };
        caches[i].key = past("key"), caches[i].value = past("value");
    }
    detail::decoder_builder part{net, options, places};
    for (std::size_t i = 0; i < caches.size(); ++i) x = part.block(format_text("model.layers.{}", i), x, caches[i]);
    std::vector<value_id> outputs{part.rms_norm("model.norm", x)};
    std::vector<std::string> names{"last_hidden_state"};
    for (std::size_t i = 0; i < caches.size(); ++i) {
        outputs.push_back(caches[i].key), names.push_back(format_text("present.{}.key", i));
        outputs.push_back(caches[i].value), names.push_back(format_text("present.{}.value", i));
    }
    g.set_outputs(outputs, names);
    return g;
}

} // namespace gsub::models
