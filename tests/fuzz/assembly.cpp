// Arbitrary bytes as assembly of either syntax: refused, or functions whose blocks hold all lines, whose loops nest,
// and whose counts are finite and those of their blocks, with and without loops of a program to map them to.
#include <gsub/machine/loop_map.hpp>
#include <gsub/machine/pipeline.hpp>

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

void check_blocks(assembly_function const& f) {
    std::uint32_t line = 0, code = 0;
    for (auto const& b : f.blocks) {
        require(b.first_line == line && b.first == code && b.last_line > line, "blocks hold the lines in order",
                f.name);
        line = b.last_line, code = b.last;
        for (auto const to : b.next) require(to < f.blocks.size(), "a block is followed by blocks", f.name);
    }
    require(line == f.lines.size() && code == f.code.size(), "blocks hold all lines", f.name);
    for (auto const& i : f.code)
        require(i.bytes > 0 && i.bytes <= 64 && i.memory.bytes >= 0, "widths are those of registers", f.name);
}

void check_map(assembly_function const& f, std::span<source_loop const> sources) {
    auto const m = map_loops(f, sources);
    if (!m)
        return require(m.error().code() == error_code::unsupported, "only what is too large is refused",
                       m.error().message());
    for (std::size_t l = 0; l < m->forest.loops.size(); ++l) {
        auto const& loop = m->forest.loops[l];
        require(loop.parent < static_cast<std::int32_t>(l), "loops are in pre-order", f.name);
        require(loop.tests >= 0 && m->loops[l].tests >= 1, "a loop that is entered tests once", f.name);
        require(loop.tests > 0 || m->loops[l].how == loop_match::given || !m->warnings.empty(), "a guess is told",
                f.name);
    }
    class_counts sum;
    for (auto const& b : m->blocks) {
        require(b.runs >= 0 && std::isfinite(b.runs), "a block runs a finite number of times", f.name);
        sum.add(f.code_of(b.block), b.runs);
    }
    require(sum == m->counts, "counts are those of the blocks", f.name);
    require(!to_string(*m, f, sources).empty() || m->loops.empty(), "a map can be printed", f.name);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view const text{reinterpret_cast<char const*>(data), size};
    static source_loop const sources[] = {{"i", -1, 64}, {"j", 0, 128}, {"k", 1, -1}, {"l", 0, 9}, {"m", -1, 96}};
    for (auto const syntax : {assembly_syntax::x86_64, assembly_syntax::aarch64}) {
        auto const unit = parse_assembly(text, syntax, {.instructions = 4096, .blocks = 512});
        if (!unit) continue;
        require(!unit->functions.empty(), "what is read has a function");
        require(unit->warnings.size() <= 100, "warnings are bounded");
        for (auto const& f : unit->functions) {
            check_blocks(f);
            check_map(f, {});
            check_map(f, sources);
            auto const first = f.code_of(0);
            if (!first.empty() && first.size() < 64) {
                auto const s = steady_bounds(first, core_ports{microarchitectures().front()});
                require(s.bound() > 0 && std::isfinite(s.bound()), "a block takes some time", f.name);
            }
        }
    }
    return 0;
}
