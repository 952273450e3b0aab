#pragma once

#include <gsub/core/message.hpp>
#include <gsub/report/escape.hpp>
#include <gsub/report/trace.hpp>

namespace gsub::report {

GSUB_LAZY_BODY std::string to_json_line(search_event const& e) {
    using kind = search_event::kind;
    auto out = message({"{\"event\":\"", to_string(e.what), "\",\"step\":", e.steps, ",\"cost\":", e.cost});
    if (e.what == kind::admit || e.what == kind::refuse)
        out += message({",\"rule\":", json_text(e.rule), ",\"site\":", json_text(e.site)});
    if (e.what == kind::stop) out += message({",\"reason\":", json_text(to_string(e.why))});
    return out + "}";
}

GSUB_INLINE void trace_writer::on_event(search_event const& e) {
    out_.write(to_json_line(e) + "\n");
    ++events_;
}

} // namespace gsub::report
