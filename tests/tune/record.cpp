#include "tune/tuning_records.hpp"
#include <gsub/tune/record.hpp>

#include <string>

namespace record_test {

using namespace tuning_records;
using namespace gsub::tune;
using Catch::Matchers::Contains;

std::string complaint(std::string const& line) {
    auto const read = parse_record(line);
    return read ? "read as " + to_string(*read) : read.error().message();
}

TEST_CASE("a record of AutoTVM is read, and written again byte for byte") {
    auto const r = parse_record(autotvm_line).value();
    CHECK(to_string(r) == autotvm_line);
    CHECK(r.task == "conv2d_nchw.cuda");
    CHECK(r.index == 11312);
    CHECK_FALSE(r.code_hash);
    CHECK(r.args.size() == 6);
    CHECK(r.entity.size() == 8);
    CHECK(r.entity[0].kind == entity_kind::split);
    CHECK(r.mean_cost() == 0.00010343405303678358);
    CHECK(r.timestamp.value() == 1658184289.7048202);
    CHECK_FALSE(r.failed());
    CHECK(parse_record(to_string(r)).value() == r);
}

TEST_CASE("texts of numbers, other kinds of knobs and unknown members survive") {
    auto line = with(autotvm_line, R"("code_hash": null)", R"("code_hash": "a1\u00e9")");
    line = with(
        line, R"(["unroll_explicit", "ot", 0])",
        R"(["reorder_0", "re", [2, 0, 1]], ["ann", "an", ["none", "unroll", "vec"]], ["w", "ot", "x"], ["b", "ot", true], ["f", "ot", 0.50])");
    line = with(line, "]}, \"result\"", R"(], "seen": [1]}, "result")");
    line = with(line, "{}], ", R"({"layout": "NCHW"}], )");
    line = with(line, "1.5358951091766357", "10"); // what AutoTVM writes after a timeout
    line = line.substr(0, line.size() - 1) + R"(, "note": {"by": 1e+5}})";
    CHECK(to_string(parse_record(line).value()) == line);
    CHECK(to_string(parse_record(with(autotvm_line, R"(, "tvm_version": "0.9.dev0")", "")).value()) ==
          with(autotvm_line, R"(, "tvm_version": "0.9.dev0")", ""));
    auto const failed = with(autotvm_line, "[0.00010343405303678358], 0", "[1000000000.0], 4");
    auto const r = parse_record(failed).value();
    CHECK(r.error == measure_error::runtime_device);
    CHECK(r.mean_cost() == failed_cost);
    CHECK(to_string(r) == failed);
    CHECK(parse_record(with(autotvm_line, "[0.00010343405303678358]", "[1e-4, 3e-4]")).value().mean_cost() ==
          Approx(2e-4));
}

TEST_CASE("numbers of outcomes are AutoTVM's") {
    for (int n = 0; n <= 8; ++n) {
        auto const e = parse_record(with(autotvm_line, "], 0, 1.5", "], " + std::to_string(n) + ", 1.5")).value().error;
        CHECK(static_cast<int>(e) == n);
        CHECK_FALSE(to_string(e).empty());
    }
    CHECK(to_string(measure_error::wrong_answer) == "wrong answer");
    CHECK_THAT(complaint(with(autotvm_line, "], 0, 1.5", "], 9, 1.5")), Contains("error number: is 9"));
    CHECK_THAT(complaint(with(autotvm_line, "], 0, 1.5", "], -1, 1.5")), Contains("error number"));
}

TEST_CASE("costs that say nothing are refused, never taken for zero") {
    auto const cost = [](std::string_view by) { return complaint(with(autotvm_line, "0.00010343405303678358", by)); };
    CHECK_THAT(cost("NaN"), Contains("a cost: is NaN"));
    CHECK_THAT(cost("Infinity"), Contains("a cost: is Infinity"));
    CHECK_THAT(cost("-1e-4"), Contains("a cost: is -1e-4"));
    CHECK_THAT(cost("0.0"), Contains("a cost: is 0.0"));
    CHECK_THAT(cost("null"), Contains("a cost: is no number"));
    CHECK_THAT(cost("\"1e-4\""), Contains("a cost: is no number"));
    CHECK_THAT(cost(""), Contains("costs: there are none"));
    CHECK_THAT(complaint(with(autotvm_line, "1658184289.7048202", "NaN")), Contains("timestamp"));
    CHECK_THAT(complaint(with(autotvm_line, "[0.00010343405303678358], 0", "[NaN], 4")), Contains("NaN"));
}

TEST_CASE("other versions and formats are refused by name") {
    CHECK_THAT(complaint(with(autotvm_line, "\"version\": 0.2", "\"version\": 0.3")),
               Contains("not supported") && Contains("0.3"));
    CHECK_THAT(complaint(with(autotvm_line, "\"version\": 0.2", "\"v\": 0.1")),
               Contains("not supported") && Contains("0.1"));
    CHECK_THAT(complaint(with(autotvm_line, "\"version\": 0.2, ", "")), Contains("version: is missing"));
    CHECK_THAT(complaint(ansor_line), Contains("v0.3") && Contains("parse_ansor_record"));
}

TEST_CASE("members that are missing or of another type are refused by name") {
    CHECK_THAT(complaint("[]"), Contains("is no JSON object"));
    CHECK_THAT(complaint("cuda\tpickled"), Contains("column 1"));
    CHECK_THAT(complaint(with(autotvm_line, "\"config\"", "\"konfig\"")), Contains("member \"config\": is missing"));
    CHECK_THAT(complaint(with(autotvm_line, "\"entity\"", "\"entities\"")), Contains("entity"));
    CHECK_THAT(complaint(with(autotvm_line, "\"index\": 11312", "\"index\": -1")), Contains("index: is -1"));
    CHECK_THAT(complaint(with(autotvm_line, "\"index\": 11312", "\"index\": 1.5")), Contains("index: is no integer"));
    CHECK_THAT(complaint(with(autotvm_line, "\"conv2d_nchw.cuda\"", "7")), Contains("task: is no text"));
    CHECK_THAT(complaint(with(autotvm_line, ", {}]", "]")), Contains("input: has 3 items, not 4"));
    CHECK_THAT(complaint(with(autotvm_line, "\"tile_y\", \"sp\"", "\"tile_f\", \"sp\"")),
               Contains("knob \"tile_f\": stands there twice"));
    CHECK_THAT(complaint(with(autotvm_line, "\"tile_y\", \"sp\"", "\"tile_y\", \"xx\"")), Contains("of kind \"xx\""));
    CHECK_THAT(complaint(with(autotvm_line, "[-1, 4, 32, 2]", "[-1, 4, \"32\", 2]")),
               Contains("knob \"tile_f\": is no integer"));
    CHECK_THAT(complaint(with(autotvm_line, "[-1, 4, 32, 2]", "7")), Contains("knob \"tile_f\": is no list"));
    CHECK_THAT(complaint(with(autotvm_line, "\"ot\", 0]", "\"ot\", [0]]")), Contains("auto_unroll_max_step"));
    for (std::size_t cut = 1; cut < autotvm_line.size(); cut += 7)
        CHECK_FALSE(parse_record(autotvm_line.substr(0, cut)).has_value());
}

TEST_CASE("keys tell tasks apart, and old targets are today's") {
    auto const r = parse_record(autotvm_line).value();
    CHECK(task_key("a", {r.args[0]}) != task_key("a", {r.args[1]}));
    CHECK(task_key("a", r.args) != task_key("b", r.args));
    CHECK(target_key("llvm -target=aarch64-linux-gnu -device=arm_cpu") ==
          "llvm -mtriple=aarch64-linux-gnu -device=arm_cpu");
    CHECK(target_key(r.target) == r.target);
}

} // namespace record_test
