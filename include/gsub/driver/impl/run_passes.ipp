#pragma once

#include <gsub/core/format.hpp>
#include <gsub/driver/run_passes.hpp>
#include <gsub/lower/fusion.hpp>
#include <gsub/lower/kernel_layouts.hpp>
#include <gsub/optimize/relaxed_substitution.hpp>
#include <gsub/passes/fuse/fuse_ops.hpp>

#include <memory>

namespace gsub {

namespace detail {

// A template, so that headers that nobody calls do not instantiate the verifier: assigning to an optional is constexpr,
// which compilers instantiate wherever they read it.
template <class Verifier>
void verify_by(instrument_options& options, Verifier& verifier) {
    options.verify = verifier;
}

} // namespace detail

GSUB_LAZY_BODY result<pass_run> run_passes(module& m, pass_manager const& known, std::string_view list,
                                           pass_context& cx, run_passes_options const& options) {
    auto how = options.run;
    numeric_verifier numbers{cx};
    if (options.verify) detail::verify_by(how.instrument, numbers);
    std::unique_ptr<pass_dump> dump;
    if (options.dump) {
        dump = make_pass_dump(*options.dump);
        how.instrument.observe = dump.get();
    }
    auto const kept = m;
    auto const chosen = list == "auto" ? options.select ? options.select(m) : select_passes(m) : pass_selection{};
    auto done = list == "auto" ? known.run(chosen.passes, m, cx, how) : known.run(list, m, cx, how);
    if (!done) return done;
    if (list == "auto")
        done->notes.push_back(
            format_text("class {}, passes: {}", chosen.of.name.empty() ? "none" : chosen.of.name, chosen.text()));
    if (!dump) return done;
    if (auto const written = dump->finish(); !written) {
        m = kept;
        return written.error();
    }
    return done;
}

GSUB_LAZY_BODY pass_manager compiler_passes() {
    auto all = passes::standard_passes();
    all.add(networks::fuse_by_kernels()).add(passes::alter_op_layout{kernel_layouts{}});
    all.add(relaxed_substitution<>{});
    return all;
}

} // namespace gsub
