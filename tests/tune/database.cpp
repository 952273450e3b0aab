#include "tune/tuning_records.hpp"
#include <gsub/core/format.hpp>
#include <gsub/io/file.hpp>
#include <gsub/tune/database.hpp>
#include <gsub/tune/kernel_record.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace database_test {

using namespace tuning_records;
using namespace gsub::tune;
using Catch::Matchers::Contains;

TEST_CASE("lines are read, and what is not understood is counted and told by file and line") {
    database db;
    auto const text = "# a comment\n\n" + autotvm_line + "\r\n" + with(autotvm_line, "0.00010343405303678358", "NaN") +
                      "\n" + autotvm_line + "\n" + ansor_line + "\nnonsense\n" +
                      with(autotvm_line, "], 0, 1.5", "], 4, 1.5") + "\n" + autotvm_line.substr(0, 200);
    auto const report = db.parse(text, "log.json").value();
    CHECK(report.read == 2);
    CHECK(report.failed == 1);
    CHECK(report.duplicates == 1);
    CHECK(report.refused == 3);
    CHECK(report.torn == 1);
    CHECK(report.foreign == 0);
    REQUIRE(report.warnings.size() == 4);
    CHECK_THAT(report.warnings[0], Contains(":4: ") && Contains("NaN"));
    CHECK_THAT(report.warnings[1], Contains(":6: ") && Contains("v0.3"));
    CHECK_THAT(report.warnings[2], Contains(":7: "));
    CHECK_THAT(report.warnings[3], Contains(":9: ") && Contains("the text ends"));
    CHECK(db.size() == 2);
    CHECK(db.parse(db.to_text(), "again").value().duplicates == 2);

    auto const strict = database{}.parse(text, "log.json", {.strict = true});
    REQUIRE_FALSE(strict.has_value());
    CHECK_THAT(strict.error().message(), Contains("log.json:4: ") && Contains("NaN"));
}

TEST_CASE("a line that is cut anywhere is torn, and none of its neighbours") {
    for (std::size_t cut = 1; cut < autotvm_line.size(); cut += 3) {
        database db;
        auto const report = db.parse(autotvm_line + "\n" + autotvm_line.substr(0, cut), "f").value();
        CAPTURE(cut);
        CHECK(report.read == 1);
        CHECK(report.torn == 1);
        CHECK(report.refused == 0);
    }
}

TEST_CASE("sizes are bounded, and what lies beyond is told") {
    database db;
    auto const report = db.parse(autotvm_line + "\n", "f", {.max_line_bytes = 100}).value();
    CHECK(report.refused == 1);
    CHECK_THAT(report.warnings.at(0), Contains("f:1: ") && Contains("the limit is 100"));
    std::string many;
    for (int i = 0; i < 5; ++i) many += to_string(numbered(0, i, 1e-3)) + "\n";
    auto const beyond = db.parse(many, "f", {.max_records = 3});
    CHECK(beyond.error().id() == errors::record_form);
    CHECK_THAT(beyond.error().message(), Contains("f:4: more than 3 records"));
    CHECK(db.size() == 3);
    CHECK(database{}.parse("x\nx\nx\n", "f", {.max_warnings = 2}).value().warnings.size() == 2);
    CHECK(database{}.parse("x\nx\nx\n", "f", {.max_warnings = 2}).value().refused == 3);
    temporary_folder const at;
    io::write_file(at.file("db"), many).value();
    CHECK(database{}.load(at.file("db")).value().read == 5);
    CHECK(database{}.load(at.file("db"), {.max_file_bytes = 10}).error().id() == errors::file_limit);
    CHECK(database{}.load(at.file("none")).error().id() == errors::file_access);
}

TEST_CASE("the best record is the cheapest that did not fail, in any order of records") {
    random_stream random{9};
    std::vector<record> all;
    for (int i = 0; i < 60; ++i) {
        auto r = numbered(static_cast<int>(random.below(3)), i, 1e-3 * static_cast<double>(1 + random.below(5)));
        r.target = random.below(2) ? "llvm -target=a" : "llvm -mtriple=b";
        if (random.below(4) == 0) r.error = static_cast<measure_error>(1 + random.below(8));
        all.push_back(std::move(r));
    }
    std::vector<std::string> first;
    for (int turn = 0; turn < 4; ++turn) {
        database db;
        for (auto const& r : all) CHECK(db.add(r));
        std::vector<std::string> best;
        for (auto const* r : db.best_of_each()) best.push_back(to_string(*r));
        if (turn == 0) first = best;
        CHECK(best == first);
        CHECK(best.size() == 6);
        for (int task = 0; task < 3; ++task)
            for (auto const* target : {"llvm -mtriple=a", "llvm -target=b"}) {
                std::vector<json_value> const args{json_number::integer(task)};
                auto const* const found = db.best("t", args, target);
                REQUIRE(found);
                CHECK_FALSE(found->failed());
                for (auto const& r : all)
                    if (r.args == args && target_key(r.target) == target_key(target) && !r.failed())
                        CHECK(found->mean_cost() <= r.mean_cost());
            }
        for (auto i = all.size(); i-- > 1;) std::swap(all[i], all[random.below(i + 1)]);
    }
    CHECK(database{}.best("t", {}, "llvm") == nullptr);
}

TEST_CASE("a configuration that crashed or gave wrong numbers is not chosen by a luckier record") {
    for (auto const e : {measure_error::wrong_answer, measure_error::runtime_device, measure_error::run_timeout}) {
        database db;
        auto bad = numbered(0, 1, failed_cost);
        bad.error = e;
        db.add(bad);
        db.add(numbered(0, 1, 1e-4));
        db.add(numbered(0, 2, 2e-4));
        auto elsewhere = numbered(0, 1, 1e-4);
        elsewhere.target = "llvm -mtriple=other";
        db.add(elsewhere);
        auto const late = e == measure_error::run_timeout; // says more of the machine's load than of the kernel
        CHECK(db.best("t", bad.args, bad.target)->index == (late ? 1 : 2));
        CHECK(db.best("t", bad.args, elsewhere.target)->index == 1);
        CHECK(db.candidates("t", bad.args).size() == (late ? 3 : 2));
    }
}

TEST_CASE("files are merged by concatenation, also behind a torn line") {
    std::string a, b;
    for (int i = 0; i < 20; ++i) {
        a += to_string(numbered(0, i, 1e-3 + i)) + "\n";
        b += to_string(numbered(1, i, 1e-3 + i)) + "\n";
    }
    database both, joined, one_by_one;
    CHECK(both.parse(a + b + a, "f").value().duplicates == 20);
    CHECK(both.size() == 40);
    CHECK(one_by_one.parse(a, "a").value().read == 20);
    CHECK(one_by_one.parse(b, "b").value().read == 20);
    CHECK(one_by_one.to_text() == both.to_text());
    auto const torn = joined.parse(a + autotvm_line.substr(0, 99) + "\n" + b, "f").value();
    CHECK(torn.read == 40);
    CHECK(torn.torn == 1);
}

TEST_CASE("records of other machines are counted as foreign") {
    database db;
    auto const here = parse_target("x86-64-avx512,l1=48K,cpu=this").value();
    auto mine = numbered(0, 0, 1), other = numbered(0, 1, 1), unknown = numbered(0, 2, 1);
    mine.target = record_target(here);
    other.target = record_target(parse_target("x86-64-avx512,l1=32K,cpu=that").value());
    auto const text = to_string(mine) + "\n" + to_string(other) + "\n" + to_string(unknown) + "\n";
    auto const report = db.parse(text, "f", {.machine = here}).value();
    CHECK(report.read == 3);
    CHECK(report.foreign == 2);
}

} // namespace database_test
