#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/format.hpp>
#include <gsub/report/progress.hpp>
#include <gsub/report/units.hpp>

#include <unistd.h>

namespace gsub::report {

GSUB_INLINE progress_reporter::progress_reporter(std::FILE* to, bool quiet, clock::duration pace)
    : to_(to), terminal_(::isatty(::fileno(to)) == 1), quiet_(quiet), pace_(pace) {
    if (pace_ == clock::duration::zero()) pace_ = std::chrono::milliseconds{terminal_ ? 100 : 5000};
}

GSUB_INLINE void progress_reporter::on_progress(progress const& p) {
    if (quiet_) return;
    auto const now = clock::now();
    auto const fresh = phase_ != p.phase;
    if (fresh) {
        finish();
        phase_ = p.phase;
        phase_begin_ = now;
    } else if (now - last_ < pace_) {
        return;
    }
    last_ = now;
    auto line = format_text("{}", p.phase);
    if (p.total > 0)
        line += format_text(" {}/{}", p.done, p.total);
    else if (p.done > 0)
        line += format_text(" {}", p.done);
    if (!p.detail.empty()) line += format_text(", {}", p.detail);
    line += format_text(", {} s", fixed(std::chrono::duration<double>(now - phase_begin_).count(), 1));
    std::fprintf(to_, terminal_ ? "\r\033[K%s" : "%s\n", printable(line).c_str());
    std::fflush(to_);
    open_ = terminal_;
}

GSUB_INLINE void progress_reporter::on_note(std::string_view text) {
    finish();
    std::fprintf(to_, "note: %s\n", printable(text).c_str());
}

GSUB_INLINE void progress_reporter::finish() {
    if (open_) std::fputs("\r\033[K", to_);
    open_ = false;
    phase_.clear();
}

} // namespace gsub::report
