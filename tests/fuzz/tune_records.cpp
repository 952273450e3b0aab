// Arbitrary bytes as a file of tuning records: refused line by line, or records that survive a round trip, name a point
// of a space or are refused by it, and are looked up. Each line is read as a record of Ansor too.
#include <gsub/tune/ansor_record.hpp>
#include <gsub/tune/database.hpp>
#include <gsub/tune/kernel_record.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace {

// Ends the process, so that the fuzzer keeps the input.
void require(bool holds, char const* sentence, std::string const& detail = {}) {
    if (holds) return;
    std::fprintf(stderr, "gsub: not so: %s\n%s\n", sentence, detail.c_str());
    std::abort();
}

gsub::loop::config_space example_space() {
    gsub::loop::config_space s;
    s.split("tile_f", 512, {.parts = 4});
    s.split("tile_rc", 256);
    s.choice("unroll", {0, 512});
    s.choice("order", {"oc_outer", "yx_outer"});
    return s;
}

void check_record(gsub::tune::database const& db, gsub::tune::record const& r) {
    static auto const space = example_space();
    auto const text = to_string(r);
    auto const again = gsub::tune::parse_record(text);
    if (!again) require(false, "a record that was read can be written and read again", again.error().message());
    require(*again == r && to_string(*again) == text, "a record is itself again", text);
    if (!r.failed()) require(r.mean_cost() > 0, "a record that did not fail has a cost", text);
    if (auto const point = gsub::tune::configuration_of(r, space)) {
        require(point->index() == r.index, "a record names the point of its index", text);
        require(gsub::tune::entity_of(*point).size() == r.entity.size(), "a point has all knobs of its record", text);
    }
    if (auto const kernel = gsub::tune::descriptor_of(r))
        require(gsub::tune::task_name_of(*kernel).task == r.task, "a kernel has the task of its record", text);
    static_cast<void>(gsub::tune::target_of(r));
    if (auto const* const best = db.best(r.task, r.args, r.target))
        require(!best->failed(), "a failed record is never the best", text);
}

void check_ansor(std::string_view line) {
    auto const read = gsub::tune::parse_ansor_record(line);
    if (!read) return;
    auto const text = to_string(*read);
    auto const again = gsub::tune::parse_ansor_record(text);
    if (!again) require(false, "a record of Ansor can be written and read again", again.error().message());
    require(*again == *read && to_string(*again) == text, "a record of Ansor is itself again", text);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    std::string_view const text{reinterpret_cast<char const*>(data), size};
    gsub::tune::database db;
    auto const report = db.parse(text, "fuzz", {.max_records = 1000});
    if (report) {
        require(report->read == db.size(), "the report counts the records");
        require(report->warnings.size() == std::min<std::size_t>(report->torn + report->refused, 100),
                "every line is told");
    }
    for (auto const& r : db.records()) check_record(db, r);
    gsub::tune::database again;
    auto const back = again.parse(db.to_text(), "again");
    require(back && back->warnings.empty() && again.to_text() == db.to_text(), "a database is itself again");
    for (auto rest = text; !rest.empty();) {
        auto const end = std::min(rest.find('\n'), rest.size());
        check_ansor(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return 0;
}
