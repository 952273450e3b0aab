// Arbitrary bytes as an ONNX model: refused with an error, or a graph that survives a round trip.
#include <gsub/io/onnx_export.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/ir/legality.hpp>

#include <cstdio>
#include <cstdlib>

namespace {

// Ends the process, so that the fuzzer keeps the input.
void require(bool holds, char const* sentence, std::string const& detail = {}) {
    if (holds) return;
    std::fprintf(stderr, "gsub: not so: %s\n%s\n", sentence, detail.c_str());
    std::abort();
}

std::span<std::byte const> bytes_of(std::string const& text) {
    return std::as_bytes(std::span{text.data(), text.size()});
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    gsub::io::load_options options;
    options.limits = {.max_file_bytes = 1 << 16,
                      .max_structure_bytes = 1 << 16,
                      .max_tensor_bytes = 1 << 20,
                      .max_nodes = 1000,
                      .max_depth = 8,
                      .max_problems = 10};
    auto const g = gsub::io::load_onnx<>(std::as_bytes(std::span{data, size}), options);
    if (!g) return 0;
    if (auto const illegal = check(*g, gsub::stage::imported); !illegal.empty())
        require(false, "an imported graph is legal", to_string(illegal.front()));

    // In the operator set that it came in, a graph is itself again. Opaque nodes may forbid the set that others need.
    options.limits = {};
    std::int64_t own = 0;
    for (auto const& [domain, opset] : g->info().domains)
        if (domain.empty()) own = opset;
    for (auto const opset : {own, std::int64_t{0}}) {
        auto const written = gsub::io::to_onnx(*g, {.opset = opset});
        if (!written) continue;
        auto const again = gsub::io::load_onnx<>(bytes_of(*written), options);
        if (!again) require(false, "an exported graph can be imported", again.error().what());
        require(opset == 0 || again->hash() == g->hash(), "export and import keep a graph's hash");
        auto const rewritten = gsub::io::to_onnx(*again, {.opset = opset});
        require(rewritten.has_value(), "a graph that was written can be written again");
        require(opset == 0 || *rewritten == *written, "a graph that was imported again gives the same bytes");
    }
    return 0;
}
