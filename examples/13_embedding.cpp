// An inference engine that embeds gsub: its own threads, its own memory, its own errors. No exception crosses its
// border.
#include "require.hpp"
#include <gsub/gsub.hpp>

#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

// ---- what the engine shows to its users: plain C

extern "C" {
enum engine_status { ENGINE_OK, ENGINE_BAD_MODEL, ENGINE_BAD_INPUT, ENGINE_NO_MEMORY, ENGINE_FAILED };
struct engine;
engine_status engine_load(char const* path, engine** made, char* why, std::size_t room) noexcept;
engine_status engine_run(engine* e, float const* input, float* output, char* why, std::size_t room) noexcept;
void engine_free(engine* e) noexcept;
}

namespace {

// The engine's scheduler, as gsub sees it. This one starts a thread a work item; a real one has a pool.
class engine_threads final : public gsub::executor {
public:
    [[nodiscard]] std::size_t concurrency() const noexcept override { return 2; }
    void parallel_for(std::size_t count, gsub::function_ref<void(std::size_t)> body) override {
        std::jthread const other{[&] {
            for (std::size_t i = 1; i < count; i += 2) body(i); // kernels throw nothing
        }};
        for (std::size_t i = 0; i < count; i += 2) body(i);
    }
};

void tell(std::string_view text, char* why, std::size_t room) noexcept {
    if (room == 0) return;
    auto const size = std::min(room - 1, text.size());
    std::memcpy(why, text.data(), size);
    why[size] = 0;
}

engine_status status_of(gsub::error_code code) noexcept {
    switch (code) {
    case gsub::error_code::usage:
        return ENGINE_BAD_INPUT;
    case gsub::error_code::invalid_input:
    case gsub::error_code::unsupported:
        return ENGINE_BAD_MODEL;
    default:
        return ENGINE_FAILED;
    }
}

// Runs `f`, which gives a `result<void>`; whatever it gives or throws becomes a status and a text.
template <class F>
engine_status guarded(char* why, std::size_t room, F&& f) noexcept {
    try {
        gsub::result<void> const done = f();
        if (done) return ENGINE_OK;
        tell(done.error().message(), why, room);
        return status_of(done.error().code());
    } catch (std::bad_alloc const&) { return ENGINE_NO_MEMORY; } catch (gsub::error const& e) {
        tell(e.message(), why, room);
        return status_of(e.code());
    } catch (std::exception const& e) {
        tell(e.what(), why, room);
        return ENGINE_FAILED;
    }
}

} // namespace

struct engine {
    gsub::runtime::executable model;
    gsub::runtime::run_context context;
    engine_threads threads{};
};

engine_status engine_load(char const* path, engine** made, char* why, std::size_t room) noexcept {
    return guarded(why, room, [&]() -> gsub::result<void> {
        auto graph = gsub::io::load_onnx(path);
        if (!graph) return graph.error();
        auto better = gsub::optimize(*graph);
        if (!better) return better.error();
        auto built = gsub::build(*better, gsub::host());
        if (!built) return built.error();
        auto context = built->make_context();
        *made = new engine{std::move(*built), std::move(context)};
        return {};
    });
}

engine_status engine_run(engine* e, float const* input, float* output, char* why, std::size_t room) noexcept {
    return guarded(why, room, [&]() -> gsub::result<void> {
        // The engine's memory, read and written in place.
        auto const &from = e->model.inputs()[0], &to = e->model.outputs()[0];
        auto const in =
            gsub::tensor::borrowed(from.element, from.sizes(), reinterpret_cast<std::byte const*>(input), {});
        auto out = gsub::tensor::wrapping(to.element, to.sizes(), reinterpret_cast<std::byte*>(output));
        return e->model.run(e->context, {&in, 1}, {&out, 1}, e->threads);
    });
}

void engine_free(engine* e) noexcept {
    delete e;
}

// ---- a user of the engine

int main(int argc, char** argv) {
    char why[512] = "";
    engine* e = nullptr;
    require(engine_load("there is no such file", &e, why, sizeof why) == ENGINE_FAILED && why[0], "errors are told");

    auto const* const path = argc > 1 ? argv[1] : "examples/digits/digits.onnx";
    require(engine_load(path, &e, why, sizeof why) == ENGINE_OK, why);
    auto const inputs = gsub::random_inputs(gsub::io::load_onnx(path).value(), 1);
    std::vector<float> scores(static_cast<std::size_t>(e->model.outputs()[0].elements().value()));
    require(engine_run(e, inputs[0].data<float>().data(), scores.data(), why, sizeof why) == ENGINE_OK, why);

    auto const expected = gsub::evaluate_graph(gsub::io::load_onnx(path).value(), inputs).value();
    auto const got = gsub::tensor::from<float>(expected[0].dims(), std::span<float const>{scores});
    require(gsub::compare(got, expected[0]).value().max_relative < 1e-4, "the engine computes what the model does");
    engine_free(e);
}
