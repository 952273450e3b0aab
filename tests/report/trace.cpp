#include "catch.hpp"
#include "report/well_formed.hpp"
#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/io/json.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/report/trace.hpp>

#include <filesystem>
#include <map>
#include <sstream>
#include <unistd.h>

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
    CHECK(counts["expanded"] == r.search.expanded);
    CHECK(counts["refuse"] == r.search.refused);
    CHECK(counts["known"] == r.search.duplicates);
    CHECK(counts["admit"] + counts["refuse"] + counts["known"] == r.search.generated);
    CHECK(counts["header"] == 1);
    CHECK(counts["improvement"] + 1 == r.search.history.size());
    CHECK(best == r.search.best_cost);
    CHECK(counts["stop"] == 1);
    CHECK(last["event"] == "stop");
    CHECK(last["reason"] == "exhausted");
    CHECK(last["cost"] == r.search.best_cost);
    std::uint64_t all = 0;
    for (auto const& entry : counts) all += entry.second;
    CHECK(trace.events() == all);
}

TEST_CASE("a search that is listened to is the same search") {
    struct counter : search_observer {
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

// A file of this process alone.
std::string scratch() {
    return (std::filesystem::temp_directory_path() / fmt::format("gsub_trace_{}.jsonl", ::getpid())).string();
}
// What a search writes into a file, as text.
std::string written(any_graph const& g, optimize_options options) {
    report::trace_writer trace{scratch()};
    options.trace = &trace;
    cost::roofline const machine;
    REQUIRE(optimize(g, cost::erase(machine), table_of<eval_row, standard_ops>(), options));
    trace.commit();
    auto text = io::read_file(scratch()).value();
    std::filesystem::remove(scratch());
    return text;
}
result<search_log> read(std::string_view text) {
    io::write_file(scratch(), text).value();
    auto log = report::read_trace(scratch());
    std::filesystem::remove(scratch());
    return log;
}

TEST_CASE("what is read of a trace is what was told, to the last bit of each cost") {
    for (auto const& g : {any_graph{models::fire_module(1)}, any_graph{models::residual_chain(1, 16, 7, 2)}}) {
        search_recorder heard;
        cost::roofline const machine;
        REQUIRE(optimize(g, cost::erase(machine), table_of<eval_row, standard_ops>(), {.split = 6, .trace = &heard}));
        auto const& a = heard.log();
        auto const b = read(written(g, {.split = 6})).value();
        REQUIRE(b.identity());
        CHECK(*a.identity() == *b.identity());
        CHECK(a.end().cost == b.end().cost);
        CHECK(a.end().expanded == b.end().expanded);
        CHECK(a.end().why == b.end().why);
        REQUIRE(a.sections().size() == b.sections().size());
        std::size_t successors = 0;
        for (std::size_t i = 0; i < a.sections().size(); ++i) {
            CHECK(a.sections()[i].path == b.sections()[i].path);
            CHECK(a.sections()[i].cost == b.sections()[i].cost);
            auto const x = a.expansions(a.sections()[i]), y = b.expansions(b.sections()[i]);
            REQUIRE(x.size() == y.size());
            for (std::size_t j = 0; j < x.size(); ++j) {
                CHECK(x[j].path == y[j].path);
                CHECK(x[j].failed == y[j].failed);
                auto const p = a.successors(x[j]), q = b.successors(y[j]);
                REQUIRE(p.size() == q.size());
                for (std::size_t k = 0; k < p.size(); ++k) {
                    CHECK(p[k].key == q[k].key);
                    CHECK(p[k].move == q[k].move);
                    CHECK(p[k].cost == q[k].cost);
                    CHECK(p[k].fate == q[k].fate);
                    CHECK(a.rule(p[k]) == b.rule(q[k]));
                    CHECK(a.site(p[k]) == b.site(q[k]));
                    ++successors;
                }
            }
        }
        CHECK(successors > 5);
    }
}

TEST_CASE("a search that goes on from a file writes the file of the search in one go, and may go on once more") {
    auto const g = models::residual_chain(1, 16, 7, 2);
    auto const whole = written(g, {.budget = {60}});
    auto const first = read(written(g, {.budget = {10}})).value();
    auto const second = read(written(g, {.budget = {25}, .resume = &first})).value();
    auto const third = written(g, {.budget = {60}, .resume = &second});
    auto const without_known = [](std::string const& text) {
        std::istringstream lines(text);
        std::string out;
        for (std::string line; std::getline(lines, line);)
            if (line.find("\"known\"") == std::string::npos) out += line + '\n';
        return out;
    };
    CHECK(without_known(third) == without_known(whole));
    // Where all is known nothing differs.
    auto const all = read(whole).value();
    CHECK(written(g, {.budget = {60}, .resume = &all}) == whole);
}

TEST_CASE("any first part of a trace is refused with its line, or leads to what the whole leads to") {
    auto const g = models::fire_module(1);
    auto const text = written(g, {.budget = {6}});
    cost::roofline const machine;
    auto const expected = optimize(g, machine, {.budget = {12}}).value();
    std::size_t good = 0;
    for (std::size_t n = 0; n < text.size(); n += 1 + n % 7) {
        CAPTURE(n);
        auto const log = read(std::string_view{text}.substr(0, n));
        auto const at_end = n > 0 && (text[n - 1] == '\n' || text[n] == '\n');
        CHECK(log.has_value() == at_end);
        if (!log) {
            CHECK(log.error().code() == error_code::invalid_input);
            CHECK(log.error().message().find(", line ") != std::string::npos);
            continue;
        }
        auto const found = optimize(g, machine, {.budget = {12}, .resume = &*log}).value();
        CHECK(found == expected);
        CHECK(found.report.search.path == expected.report.search.path);
        CHECK(found.report.search.distinct == expected.report.search.distinct);
        ++good;
    }
    CHECK(good > 3);
}

TEST_CASE("a damaged byte is refused, found out, or does no harm") {
    auto const g = models::fire_module(1);
    auto const text = written(g, {.budget = {6}});
    cost::roofline const machine;
    auto const before = optimize(g, machine, {.budget = {6}}).value();
    random_stream r{5};
    for (int i = 0; i < 300; ++i) {
        auto damaged = text;
        damaged[r.below(text.size())] = static_cast<char>(' ' + r.below(95));
        auto const log = read(damaged);
        if (!log) continue;
        for (bool const replay : {false, true}) {
            optimize_options options{.budget = {6}, .verify = true};
            (replay ? options.replay : options.resume) = &*log;
            auto const found = optimize(g, machine, options);
            if (found) CHECK(found->report.verification.equal);
        }
    }
}

TEST_CASE("what is no trace is refused, and why") {
    std::string const header =
        R"({"event":"header","version":2,"graph":"00000000000000000000000000000001",)"
        R"("rules":"00000000000000000000000000000002","costs":"0000000000000000000000000000000a",)"
        R"("unit":"s","cost":1,"orders":"one"})"
        "\n";
    std::string const path = R"(,"key":"00000000000000000000000000000001","path":"00000000000000000000000000000001")";
    auto const begin = R"({"event":"begin","step":0,"cost":1)" + path + "}\n";
    CHECK(read(header).has_value());
    CHECK(read(header + begin).has_value());
    CHECK(read(header).value().identity()->costs == hash128{0, 10});
    auto const refuses = [](std::string const& text, std::string_view why) {
        CAPTURE(text.substr(0, 300), why);
        auto const log = read(text);
        REQUIRE_FALSE(log);
        CHECK(log.error().code() == error_code::invalid_input);
        CHECK(log.error().message().find(why) != std::string::npos);
    };
    refuses("", "no event");
    CHECK(read("").error().id() == errors::damaged_trace);
    CHECK(read(begin).error().id() == errors::damaged_trace);
    refuses("\n", "line 1");
    refuses("[1]\n", "no JSON object");
    refuses(begin, "header");
    refuses(header + header, "line 2");
    auto newer = header;
    newer.replace(newer.find(":2,"), 3, ":3,");
    refuses(newer, "version 3");
    refuses(header + "{\"event\":\"dance\",\"step\":0,\"cost\":1}\n", "there is no event \"dance\"");
    refuses(header + begin + "{\"event\":\"begin\",\"step\":0,\"cost\":1}\n",
            "line 3: invalid input: there is no \"key\"");
    refuses(header + "{\"event\":\"begin\",\"step\":-1,\"cost\":1" + path + "}\n", "\"step\"");
    refuses(header + "{\"event\":\"begin\",\"step\":0,\"cost\":\"1\"" + path + "}\n", "\"cost\"");
    refuses(header + "{\"event\":\"begin\",\"step\":0,\"cost\":-1" + path + "}\n", "cost that is none");
    refuses(header + "{\"event\":\"begin\",\"step\":0,\"cost\":1e999" + path + "}\n", "line 2");
    refuses(header + R"({"event":"begin","step":0,"cost":1,"key":"12","path":"12"})"
                     "\n",
            "32 hexadecimal digits");
    refuses(header + R"({"event":"stop","step":0,"cost":1,"reason":"boredom"})"
                     "\n",
            "there is no reason");
    refuses(header + std::string(3 << 20, '['), "line 2");
    refuses(header + std::string(2000, '['), "line 2");
    CHECK(report::read_trace("gsub_no_such_trace").error().id() == errors::file_access);
}

} // namespace trace_test
