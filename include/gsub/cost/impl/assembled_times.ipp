#pragma once

#include <gsub/codegen/cpp/emit_cpp.hpp>
#include <gsub/core/format.hpp>
#include <gsub/cost/assembled_time.hpp>
#include <gsub/cost/assembled_times.hpp>

#include <algorithm>
#include <set>

namespace gsub::cost {

GSUB_INLINE assembled_times::wanted assembled_times::wanted_of(codegen::kernel const& k, isa const& isa) {
    auto const key = hasher{}.add(isa.name).add(std::string_view{codegen::emit_cpp(k, "kernel")}).finish();
    auto symbol = format_text("kernel_{:016x}{:016x}", key.high, key.low);
    auto text = codegen::emit_cpp(k, symbol);
    return {key, {std::move(text), std::move(symbol), std::string{isa.flags}}};
}

GSUB_INLINE void assembled_times::note(std::string text) {
    if (statistics_.notes.size() < 10) statistics_.notes.push_back(std::move(text));
}

GSUB_INLINE std::optional<assembled_times::compiled> assembled_times::take(hash128 key) {
    std::lock_guard const lock{mutex_};
    auto const found = compiled_.find(key);
    if (found == compiled_.end()) return std::nullopt;
    auto out = std::move(found->second);
    compiled_.erase(found);
    return out;
}

// One run; where that fails, one for each kernel, such that one that does not compile fails no others.
GSUB_INLINE void assembled_times::compile(std::span<wanted const> batch, isa const& isa) {
    std::vector<runtime::kernel_source> sources;
    for (auto const& w : batch) sources.push_back(w.source);
    auto const syntax = isa.architecture == isa::neon.architecture ? machine::assembly_syntax::aarch64
                                                                   : machine::assembly_syntax::x86_64;
    auto const text = runtime::assembly_text_of(sources, with_, options_.compiling);
    auto const unit = text ? machine::parse_assembly(*text, syntax) : result<machine::assembly_unit>{text.error()};
    if (!unit && batch.size() > 1) {
        for (std::size_t i = 0; i < batch.size(); ++i) compile(batch.subspan(i, 1), isa);
        return;
    }
    std::lock_guard const lock{mutex_};
    ++statistics_.runs;
    if (unit) statistics_.unknown += unit->unknown;
    for (auto const& w : batch) {
        compiled made;
        auto const found =
            unit ? unit->function(w.source.symbol) : result<machine::assembly_function const*>{unit.error()};
        if (found)
            made.function = std::make_shared<machine::assembly_function const>(**found);
        else
            made.fault = found.error().message();
        compiled_[w.key] = std::move(made);
    }
}

GSUB_INLINE void assembled_times::prepare(std::span<codegen::kernel const> kernels, isa const& isa, executor& threads) {
    std::vector<wanted> missing;
    {
        std::set<hash128> seen;
        std::lock_guard const lock{mutex_};
        if (compiled_.size() > kept) compiled_.clear();
        for (auto const& k : kernels) {
            auto w = wanted_of(k, isa);
            if (!compiled_.contains(w.key) && seen.insert(w.key).second) missing.push_back(std::move(w));
        }
    }
    auto const shared = (missing.size() + threads.concurrency() - 1) / threads.concurrency();
    auto const size = std::clamp<std::size_t>(shared, 1, std::max<std::size_t>(1, options_.batch));
    threads.parallel_for((missing.size() + size - 1) / size, [&](std::size_t i) {
        auto const all = std::span<wanted const>{missing};
        compile(all.subspan(i * size, std::min(size, all.size() - i * size)), isa);
    });
}

GSUB_INLINE result<kernel_time> assembled_times::time_of(codegen::kernel const& k, isa const& isa,
                                                         microarchitecture const& core, kernel_setting const& setting) {
    auto const w = wanted_of(k, isa);
    // Another thread may have taken what is here of the same kernel: it is compiled again.
    auto found = take(w.key);
    for (; !found; found = take(w.key)) compile({&w, 1}, isa);
    auto const refused = [&](std::string why) {
        std::lock_guard const lock{mutex_};
        ++statistics_.refused;
        note(why);
        return error{error_code::unsupported, std::move(why)};
    };
    if (!found->function) return refused(found->fault);
    auto const made = assembled_time_of(k, *found->function, core, setting);
    if (!made) return refused(made.error().message());
    std::lock_guard const lock{mutex_};
    ++statistics_.predicted;
    if (!made->mapped()) ++statistics_.guessed;
    for (auto const& warning : made->warnings)
        note(format_text("{}, line {}: {}", w.source.symbol, warning.line, warning.text));
    return made->time;
}

GSUB_INLINE assembled_statistics assembled_times::statistics() const {
    std::lock_guard const lock{mutex_};
    return statistics_;
}

} // namespace gsub::cost
