// Layers of models by gsub and by oneDNN, as shares of the rate of multiply-adds that one core reaches.
#pragma once

#include "measurement.hpp"
#include "onednn.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>

namespace bench {

/// What is compared, and how often.
struct onednn_comparison {
    std::string only; ///< `depthwise`, `convolution`, `product` or `grouped`; empty: all
    int rounds = 9;
};

namespace detail {

struct contender {
    layer of;
    std::unique_ptr<generated_layer> own;
    std::unique_ptr<onednn_layer> peer, blocked; ///< the second for convolutions alone
    sample share, peer_share, speedup, over_fastest;
};

inline std::string_view name_of(layer_kind k) {
    return k == layer_kind::product     ? "product"
           : k == layer_kind::depthwise ? "depthwise"
           : k == layer_kind::grouped   ? "grouped"
                                        : "convolution";
}

// max |a - b| / max |b|
inline double error_of(std::vector<float> const& a, std::vector<float> const& b) {
    double apart = 0, most = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
        apart = std::max(apart, std::abs(double{a[i]} - b[i]));
        most = std::max(most, std::abs(double{b[i]}));
    }
    return a.size() == b.size() && std::isfinite(apart) ? apart / most : 1e300;
}

} // namespace detail

/// `goals` in place of models are the grouped convolutions of the goals. Prints for each distinct layer both shares of
/// the peak and the ratio of both times, warm caches, in rounds in which one takes its turn after the other; then the
/// medians of each kind. oneDNN runs twice, in the layout of its choice and in blocks of channels, which its first
/// choice is at times slower than. `peak_rate` gives operations a second.
inline void compare_onednn(std::vector<std::string> const& models, onednn_comparison const& how,
                           std::function<double()> const& peak_rate, reporter& report) {
    using namespace gsub;
    auto const& isa = isa_of(host());
    std::vector<detail::contender> all;
    std::vector<runtime::kernel_source> sources;
    auto const goals = std::find(models.begin(), models.end(), "goals") != models.end();
    for (auto& of : goals ? grouped_layers(isa) : layers_of(models, isa)) {
        if (!how.only.empty() && how.only != detail::name_of(of.kind)) continue;
        auto& c = all.emplace_back();
        c.own = std::make_unique<generated_layer>(of, isa);
        c.of = std::move(of);
        sources.push_back(c.own->source());
    }
    auto const loaded = runtime::load_kernels(sources, runtime::find_compiler().value()).value();
    sample errors;
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto& c = all[i];
        layer_operands const operands{c.of};
        c.own->prepare(loaded[i], operands, isa);
        c.peer = std::make_unique<onednn_layer>(c.of, operands, onednn_layout::preferred, isa.lanes());
        if (c.of.kind != layer_kind::product)
            c.blocked = std::make_unique<onednn_layer>(c.of, operands, onednn_layout::blocked, isa.lanes());
        c.own->run(), c.peer->run();
        errors.values.push_back(detail::error_of(c.own->output(), c.peer->output()));
        if (errors.values.back() > 1e-4) std::fprintf(stderr, "results differ: %s\n", c.of.name.c_str());
    }

    for (int round = 0; round < how.rounds; ++round)
        for (auto& c : all) {
            auto const operations = c.of.operations();
            auto const times = std::max(1, static_cast<int>(2e8 / operations));
            auto const seconds = [times](auto& who) {
                who.run(); // finds its memory in the caches
                return seconds_of([&] {
                    for (int i = 0; i < times; ++i) who.run();
                });
            };
            auto rate = peak_rate();
            double own = 0;
            if (round % 2) own = seconds(*c.own); // whoever goes later finds a warmer core
            auto const peer = seconds(*c.peer), blocked = c.blocked ? seconds(*c.blocked) : peer;
            if (round % 2 == 0) own = seconds(*c.own);
            rate = std::max(rate, peak_rate());
            c.share.values.push_back(operations * times / own / rate);
            c.peer_share.values.push_back(operations * times / peer / rate);
            c.speedup.values.push_back(peer / own);
            c.over_fastest.values.push_back(std::min(peer, blocked) / own);
        }

    report::table table{
        {"layer", "model", "MFLOP", "gsub", "oneDNN", "oneDNN / gsub, time", "its faster layout", "oneDNN's kernel"}};
    sample shares, peer_shares, speedups[4], over_fastest[4], heavy_speedups, mobile_depthwise;
    for (auto const& c : all) {
        auto const on = fmt::format("{} {}", c.of.model, c.of.name);
        report.line("share of peak", on, c.share, "x");
        report.line("oneDNN's share of peak", on, c.peer_share, "x");
        report.line("oneDNN / gsub, time", on, c.speedup, "x");
        report.line("oneDNN in its faster layout / gsub, time", on, c.over_fastest, "x");
        table.add({c.of.name, c.of.model, report::fixed(c.of.operations() / 1e6, 1), report::fixed(c.share.median(), 2),
                   report::fixed(c.peer_share.median(), 2), report::fixed(c.speedup.median(), 2),
                   report::fixed(c.over_fastest.median(), 2), c.peer->implementation()});
        auto const speedup = c.speedup.median();
        speedups[static_cast<int>(c.of.kind)].values.push_back(speedup);
        over_fastest[static_cast<int>(c.of.kind)].values.push_back(c.over_fastest.median());
        if (c.of.kind == layer_kind::depthwise && c.of.model == "mobilenet_v2" && c.of.conv.kernel[0] == 3)
            mobile_depthwise.values.push_back(speedup);
        if (c.of.kind != layer_kind::depthwise && c.of.kind != layer_kind::grouped && c.of.operations() >= 50e6) {
            shares.values.push_back(c.share.median());
            peer_shares.values.push_back(c.peer_share.median());
            heavy_speedups.values.push_back(speedup);
        }
    }
    std::fprintf(stderr, "%s\n", table.text().c_str());
    auto const add = [&](std::string const& what, std::string const& on, sample const& s, double bar = 0) {
        if (!s.values.empty())
            report.add(what, on, s, "x", bar, bar > 0 ? budget_kind::at_least : budget_kind::at_most);
    };
    add("share of peak", "layers of 50 MFLOP and more", shares, 0.92);
    add("oneDNN's share of peak", "layers of 50 MFLOP and more", peer_shares);
    add("oneDNN / gsub, time", "layers of 50 MFLOP and more", heavy_speedups);
    for (auto k : {layer_kind::convolution, layer_kind::product, layer_kind::depthwise, layer_kind::grouped}) {
        auto const on = fmt::format("{}, all", detail::name_of(k));
        add("oneDNN / gsub, time", on, speedups[static_cast<int>(k)]);
        add("oneDNN in its faster layout / gsub, time", on, over_fastest[static_cast<int>(k)]);
    }
    add("oneDNN / gsub, time", "depthwise 3x3 of mobilenet_v2", mobile_depthwise, 1.5);
    if (!errors.values.empty()) {
        sample worst{{errors.at(1)}};
        report.add("greatest difference / greatest result", "of all layers", worst, "", 1e-4);
    }
}

} // namespace bench
