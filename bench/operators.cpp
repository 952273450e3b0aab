// gsub's side of compare/operators.py: small models in one process, which stay built between turns.
//
//     bench_operators < requests > answers
//
// A request and its answer are JSON, a line each, one thread.
//     {"load": FILE, "inputs": [FILE.npy, ...], "outputs": FOLDER}  builds a model, runs it once, writes output_N.npy
//     {"time": FILE, "seconds": S}                                  runs it for so long: microseconds, the median
//     {"layers": true}                                              the grouped 3x3 convolutions of the goals
//     {"layer": N, "engine": NAME, "seconds": S}                    one of them, by gsub, onednn or onednn_blocked
// Where something fails the answer has an `error`.
#include "measurement.hpp"
#ifdef GSUB_BENCH_ONEDNN
#include "onednn.hpp"
#else
#include "layers.hpp"
#endif
#include <gsub/core/format.hpp>
#include <gsub/driver/build.hpp>
#ifdef GSUB_BENCH_JIT
#include <gsub/driver/jit.hpp>
#endif
#include <gsub/io/npy.hpp>
#include <gsub/io/onnx_import.hpp>

#include <exception>
#include <iostream>
#include <map>
#include <memory>

namespace {

using namespace gsub;
using io::json;

// Calls `run` for so many seconds, three times beforehand; the median in microseconds. No seconds: two calls.
template <class F>
json timed(double seconds, F&& run) {
    for (int i = 0; i < (seconds > 0 ? 3 : 1); ++i) run();
    bench::sample found;
    double spent = 0;
    while (spent < seconds || found.values.size() < (seconds > 0 ? 5 : 1)) {
        found.values.push_back(bench::seconds_of(run) * 1e6);
        spent += found.values.back() * 1e-6;
    }
    return {{"us", found.median()}, {"runs", found.values.size()}};
}

class loaded_model {
public:
    explicit loaded_model(json const& request)
        : built_(build(io::load_onnx(request["load"].get<std::string>()).value(), host(), options()).value()),
          context_(built_.make_context()) {
        for (auto const& file : request["inputs"]) inputs_.push_back(io::load_npy(file.get<std::string>()).value());
        outputs_ = built_.make_outputs();
    }
    static build_options options() {
        build_options made;
#ifdef GSUB_BENCH_JIT
        made.emitter = &jit_emitter;
#endif
        return made;
    }
    void run() {
        built_.run(context_, inputs_, outputs_, alone_).value();
    }
    json first_run(std::string const& folder) {
        run();
        for (std::size_t i = 0; i < outputs_.size(); ++i)
            io::save_npy(fmt::format("{}/output_{}.npy", folder, i), outputs_[i]).value();
        auto steps = json::array();
        auto const profiles = built_.profile(inputs_, alone_).value();
        for (auto const& p : profiles) steps.push_back({p.kind, p.seconds * 1e6});
        return {{"steps", std::move(steps)}};
    }

private:
    runtime::executable built_;
    runtime::run_context context_;
    std::vector<tensor> inputs_, outputs_;
    inline_executor alone_;
};

// The grouped convolutions by each engine, built when they are asked for.
class grouped_convolutions {
public:
    json list() const {
        auto found = json::array();
        for (auto const& of : layers_) {
            auto const& s = of.conv;
            found.push_back({{"name", of.name},
                             {"channels", s.in_channels},
                             {"groups", s.groups},
                             {"size", s.in[0]},
                             {"stride", s.stride[0]},
                             {"operations", s.operations()}});
        }
        return {{"layers", std::move(found)}};
    }
    json time(std::size_t number, std::string const& engine, double seconds) {
        if (number >= layers_.size()) throw error{error_code::usage, "no such layer"};
        auto const& of = layers_[number];
        auto const operands = [&] { return bench::layer_operands{of}; };
        if (engine == "gsub") {
            auto& own = own_[number];
            if (!own) {
                own = std::make_unique<bench::generated_layer>(of, isa_);
                runtime::kernel_source const source[] = {own->source()};
                own->prepare(runtime::load_kernels(source, runtime::find_compiler().value()).value()[0], operands(),
                             isa_);
            }
            return timed(seconds, [&] { own->run(); });
        }
#ifdef GSUB_BENCH_ONEDNN
        if (!bench::onednn_layer::alone()) throw error{error_code::environment, "oneDNN uses several threads"};
        auto const blocked = engine == "onednn_blocked";
        auto& peer = peers_[{number, blocked}];
        if (!peer)
            peer = std::make_unique<bench::onednn_layer>(
                of, operands(), blocked ? bench::onednn_layout::blocked : bench::onednn_layout::preferred,
                isa_.lanes());
        auto told = timed(seconds, [&] { peer->run(); });
        told["kernel"] = peer->implementation();
        return told;
#else
        throw error{error_code::environment, "built without oneDNN"};
#endif
    }

private:
    isa const& isa_ = isa_of(host());
    std::vector<bench::layer> layers_ = bench::grouped_layers(isa_);
    std::map<std::size_t, std::unique_ptr<bench::generated_layer>> own_;
#ifdef GSUB_BENCH_ONEDNN
    std::map<std::pair<std::size_t, bool>, std::unique_ptr<bench::onednn_layer>> peers_;
#endif
};

} // namespace

int main() {
    std::map<std::string, loaded_model> models;
    grouped_convolutions grouped;
    for (std::string line; std::getline(std::cin, line);) {
        json answer;
        try {
            auto const request = io::parse_json(line).value();
            if (request.contains("load")) {
                auto const file = request["load"].get<std::string>();
                models.erase(file);
                answer = models.try_emplace(file, request).first->second.first_run(request["outputs"]);
            } else if (request.contains("time")) {
                auto& model = models.at(request["time"]);
                answer = timed(request["seconds"], [&] { model.run(); });
            } else if (request.contains("layers")) {
                answer = grouped.list();
            } else {
                answer = grouped.time(request["layer"], request["engine"], request["seconds"]);
            }
        } catch (std::exception const& e) { answer = {{"error", e.what()}}; }
        std::printf("%s\n", answer.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
        std::fflush(stdout);
    }
    return 0;
}
