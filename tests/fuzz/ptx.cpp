// Arbitrary bytes as PTX: refused, or kernels whose blocks hold all instructions, whose registers are theirs, and whose
// counts are finite and those of their blocks, for launches of several shapes.
#include <gsub/machine/warp_accesses.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace gsub;
using namespace gsub::machine;

// Ends the process, so that the fuzzer keeps the input.
void require(bool holds, char const* sentence, std::string const& detail = {}) {
    if (holds) return;
    std::fprintf(stderr, "gsub: not so: %s\n%s\n", sentence, detail.c_str());
    std::abort();
}

void check_kernel(ptx_kernel const& k) {
    std::uint32_t at = 0;
    for (auto const& b : k.blocks) {
        require(b.first == at && b.last > at, "blocks hold the instructions in order", k.name);
        at = b.last;
        for (auto const to : b.next) require(to < k.blocks.size(), "a block is followed by blocks", k.name);
    }
    require(at == k.code.size() && at > 0, "blocks hold all instructions", k.name);
    for (auto const& i : k.code) {
        for (auto const d : i.defs) require(d < k.registers.size(), "a result is a register", k.name);
        for (auto const& o : i.uses)
            require((o.kind != ptx_operand::kinds::reg || o.number < k.registers.size()) &&
                        (o.kind != ptx_operand::kinds::parameter || o.number < k.parameters.size()),
                    "an operand is a register or a parameter", k.name);
        require(i.bytes >= 0 && i.multiply_adds >= 0, "sizes are not negative", k.name);
    }
    require(k.shared_bytes >= 0 && k.local_bytes >= 0, "memory is not negative", k.name);
    require(live_registers(k) >= 0, "live registers are counted", k.name);
}

void check_work(ptx_kernel const& k, ptx_launch const& launch) {
    auto const w = count_ptx(k, launch);
    if (!w)
        return require(w.error().code() == error_code::unsupported, "only what is too large is refused",
                       w.error().message());
    require(w->runs.size() == k.blocks.size(), "each block has its count", k.name);
    double runs = 0, counted = 0;
    for (std::size_t b = 0; b < k.blocks.size(); ++b) {
        require(w->runs[b] >= 0 && std::isfinite(w->runs[b]), "a block runs a finite number of times", k.name);
        runs += w->runs[b] * (k.blocks[b].last - k.blocks[b].first);
    }
    for (auto const& c : w->counts) counted += c.times;
    require(std::abs(runs - counted) <= 1e-9 * runs, "counts are those of the blocks", k.name);
    require(w->warnings.size() <= 100, "warnings are bounded", k.name);
    auto const accesses = warp_accesses(k, launch, gpu_architectures().back());
    require(accesses.has_value(), "what is counted has accesses", k.name);
    for (auto const& a : *accesses)
        require(a.instruction < k.code.size() && a.passes >= a.fewest * a.known, "no access is better than the best",
                k.name);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view const text{reinterpret_cast<char const*>(data), size};
    auto const m = parse_ptx(text, {.instructions = 4096, .blocks = 512});
    if (!m) {
        require(m.error().code() == error_code::invalid_input, "what cannot be read is said", m.error().message());
        return 0;
    }
    require(!m->kernels.empty(), "what is read has a kernel");
    require(m->warnings.size() <= 100, "warnings are bounded");
    for (auto const& k : m->kernels) {
        check_kernel(k);
        ptx_launch launch;
        check_work(k, launch);
        launch.grid = {4, 2, 1}, launch.block = {64, 2, 1};
        launch.block_index = {3, 1, 0}, launch.thread_index = {63, 1, 0};
        launch.parameters.assign(k.parameters.size(), 1000);
        check_work(k, launch);
    }
    return 0;
}
