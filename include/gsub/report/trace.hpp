// A search as lines of JSON, one an event, written while it runs.
#pragma once

#include <gsub/driver/optimize.hpp>
#include <gsub/io/file.hpp>

#include <cstdint>
#include <string>

namespace gsub::report {

/// An event as one line of JSON without its end: `{"event":"admit","step":3,"cost":0.0012,"rule":"fuse_conv_relu",
/// "site":"conv1"}`. `rule` and `site` stand in `admit` and `refuse`, `reason` in `stop`.
GSUB_LAZY [[nodiscard]] std::string to_json_line(search_event const& e);

/// Writes each event to a file as it comes; memory does not grow with the search. The file appears under its name when
/// `commit` is called, and not without. *Errors* throws `error` (`environment`) where it cannot be written.
class trace_writer : public search_listener {
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

} // namespace gsub::report

#ifndef GSUB_COMPILED
#include <gsub/report/impl/trace.ipp>
#endif
