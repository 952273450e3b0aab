// Progress reporter: writes progress and notes to a stream, as one moving line on a terminal, as plain lines elsewhere.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/observer.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

namespace gsub::report {

/// Observer that writes progress and notes to a C stream, usually stderr. On a terminal progress is one line that is
/// overwritten; elsewhere each phase is a line, with a further line every few seconds. Call `finish` before other
/// output.
class progress_reporter : public observer {
public:
    using clock = std::chrono::steady_clock;

    /// `quiet` writes notes only. A phase under way is written again after `pace`; zero: 0.1 s on a terminal and 5 s
    /// elsewhere.
    explicit progress_reporter(std::FILE* to, bool quiet = false, clock::duration pace = {});
    ~progress_reporter() override { finish(); }

    GSUB_INLINE void on_progress(progress const& p) override;
    GSUB_INLINE void on_note(std::string_view text) override;
    /// Ends a line that is under way.
    void finish();

private:
    std::FILE* to_;
    bool terminal_, quiet_, open_ = false;
    clock::duration pace_;
    std::string phase_;
    clock::time_point phase_begin_, last_;
};

} // namespace gsub::report

#ifndef GSUB_COMPILED
#include <gsub/report/impl/progress.ipp>
#endif
