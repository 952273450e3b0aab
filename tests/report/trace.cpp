#include "catch.hpp"
#include "report/well_formed.hpp"
#include <gsub/cost/analytic.hpp>
#include <gsub/io/json.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/report/trace.hpp>

#include <filesystem>
#include <map>
#include <sstream>

namespace trace_test {

using namespace gsub;

TEST_CASE("a trace has a line for each thing that the search counts, and ends with the reason") {
    auto const path = (std::filesystem::temp_directory_path() / "gsub_trace_test.jsonl").string();
    std::filesystem::remove(path);
    report::trace_writer trace{path};
    auto const r = optimize(models::fire_module(1), cost::roofline{}, {.trace = &trace}).value().report;
    CHECK_FALSE(std::filesystem::exists(path)); // not before it is whole
    trace.commit();
    std::istringstream lines(io::read_file(path).value());
    std::filesystem::remove(path);
    std::map<std::string, std::uint64_t> counts;
    io::json last;
    double best = 0;
    for (std::string line; std::getline(lines, line);) {
        last = io::json::parse(line);
        ++counts[last["event"]];
        if (last["event"] == "improvement") best = last["cost"];
        if (last["event"] == "admit") CHECK(last["rule"].get<std::string>().find('(') == std::string::npos);
    }
    CHECK(counts["expand"] == r.search.expanded);
    CHECK(counts["refuse"] == r.search.refused);
    CHECK(counts["admit"] + counts["refuse"] + r.search.duplicates == r.search.generated);
    CHECK(counts["improvement"] + 1 == r.search.history.size());
    CHECK(best == r.search.best_cost);
    CHECK(counts["stop"] == 1);
    CHECK(last["event"] == "stop");
    CHECK(last["reason"] == "exhausted");
    CHECK(last["cost"] == r.search.best_cost);
    CHECK(trace.events() ==
          counts["begin"] + counts["expand"] + counts["refuse"] + counts["admit"] + counts["improvement"] + 1);
}

TEST_CASE("a search that is listened to is the same search") {
    struct counter : search_listener {
        std::size_t events = 0;
        void on_event(search_event const&) override { ++events; }
    } heard;
    auto const g = models::fire_module(1);
    auto const a = optimize(g, cost::roofline{}).value(), b = optimize(g, cost::roofline{}, {.trace = &heard}).value();
    CHECK(a == b);
    CHECK(a.report.search.path == b.report.search.path);
    CHECK(heard.events > 0);
}

TEST_CASE("sites from strangers are strings of JSON") {
    for (auto const& name : well_formed::hostile_names()) {
        search_event e;
        e.what = search_event::kind::admit, e.rule = name, e.site = name;
        auto const line = report::to_json_line(e);
        CHECK(line.find('\n') == std::string::npos);
        CHECK(io::json::parse(line)["event"] == "admit");
    }
}

} // namespace trace_test
