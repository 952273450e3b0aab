// Search traces: the events of a search as lines of JSON, written while it runs, and read to resume or replay it.
#pragma once

#include <gsub/io/file.hpp>
#include <gsub/optimize/optimize.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace gsub::report {

/// Format version of traces.
inline constexpr std::uint64_t trace_version = 2;

/// Writes an event as one line of JSON without its end:
/// `{"event":"admit","step":3,"cost":0.0012,"rule":"fuse_conv_relu","site":"conv1","move":"6c9f…","key":"01a4…"}`.
/// Hashes are hexadecimal, 16 digits or 32. Costs are exact.
GSUB_LAZY [[nodiscard]] std::string to_json_line(search_event const& e);

/// Search observer that writes each event to a file as it comes; memory does not grow with the search. The file appears
/// under its name only when `commit` is called. *Errors* throws `error` (`environment`) where it cannot be written.
class trace_writer : public search_observer {
public:
    explicit trace_writer(std::string path) : out_(std::move(path)) {}
    GSUB_INLINE void on_event(search_event const& e) override;
    void commit() { out_.commit(); }
    /// Lines written.
    [[nodiscard]] std::uint64_t events() const noexcept { return events_; }

private:
    io::output_file out_;
    std::uint64_t events_ = 0;
};

/// Reads a trace into a search log. *Errors* `invalid_input` naming file and line for a line that is no event, has a
/// key missing or cannot follow those before it, and for another version; `environment` where the file cannot be read.
/// *Memory* see `search_log`; of the file a line at a time.
GSUB_LAZY [[nodiscard]] result<search_log> read_trace(std::string const& path);

} // namespace gsub::report

#ifndef GSUB_COMPILED
#include <gsub/report/impl/trace.ipp>
#endif
