// Arbitrary bytes as a file of rules, in TASO's format or as text: refused with an error, or rules that can be written,
// read back, and proved or refuted. The first byte says which: `t` for text.
#include <gsub/rewrite/files/loaded_rule.hpp>
#include <gsub/rewrite/files/rule_text.hpp>
#include <gsub/rewrite/files/taso.hpp>

#include <cstdio>
#include <cstdlib>

namespace {

// Ends the process, so that the fuzzer keeps the input.
void require(bool holds, char const* sentence, std::string const& detail = {}) {
    if (holds) return;
    std::fprintf(stderr, "gsub: not so: %s\n%s\n", sentence, detail.c_str());
    std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size == 0) return 0;
    std::string_view const rest{reinterpret_cast<char const*>(data) + 1, size - 1};
    auto const rules = *data == 't' ? gsub::parse_rules(rest) : gsub::read_taso(rest);
    if (!rules) return 0;
    for (auto const& rule : *rules) {
        auto const text = to_text(rule);
        auto const again = gsub::parse_rules(text);
        if (!again) require(false, "a rule that was read can be written and read again", again.error().message());
        require(again->size() == 1 && to_text(again->front()) == text, "a rule is itself again", text);
        auto const loaded = gsub::loaded_rule::make(rule);
        require(loaded.has_value(), "a rule that was read can be loaded", text);
        auto const found = gsub::verify(*loaded, {.box = 4, .samples = 4, .attempts = 4});
        require((found.outcome == gsub::verdict::refuted) == !found.counterexample.empty(),
                "a refuted rule has a counterexample", text);
    }
    return 0;
}
