#include "tune/tuning_records.hpp"
#include <gsub/tune/ansor_record.hpp>

#include <string>

namespace ansor_record_test {

using namespace tuning_records;
using namespace gsub::tune;
using Catch::Matchers::Contains;

std::string complaint(std::string const& line) {
    auto const read = parse_ansor_record(line);
    return read ? "read as " + to_string(*read) : read.error().message();
}
std::string with_steps(std::string const& steps) {
    auto const begin = ansor_line.find("[[\"SP\""), end = ansor_line.find("]], \"r\"");
    return ansor_line.substr(0, begin) + "[" + steps + "]" + ansor_line.substr(end);
}

TEST_CASE("a record of Ansor is read, and written again byte for byte") {
    auto const r = parse_ansor_record(ansor_line).value();
    CHECK(to_string(r) == ansor_line);
    CHECK(r.workload == R"(["matmul_add", 1024, 1024, 1024, "float32"])");
    CHECK(r.hardware.value()[0] == 18);
    CHECK_FALSE(r.target_host);
    REQUIRE(r.steps.size() == 13);
    CHECK(r.steps[0].code == "SP");
    CHECK(r.steps[0].fields.size() == 5);
    CHECK(r.steps[10].fields[2].text() == "auto_unroll_max_step$8");
    CHECK(r.mean_cost() == 0.0044742);
    CHECK_FALSE(r.failed());
}

TEST_CASE("every version has its members") {
    auto const hardware = std::string{", [18, 64, 64, 0, 0, 0, 0, 0]"};
    auto const of = [&](std::string_view members, std::string_view version) {
        return with(with(ansor_line, hardware, members), "v0.3", version);
    };
    for (auto const& line : {of("", "v0.2"), of(hardware, "v0.4"), of(hardware + R"(, "llvm", 0)", "v0.5"),
                             of(hardware + R"(, "", 1, [])", "v0.6"), of(hardware + R"(, "", 1, ["a", "b"])", "v0.6")})
        CHECK(to_string(parse_ansor_record(line).value()) == line);
    CHECK_THAT(complaint(of(hardware + R"(, "llvm")", "v0.5")), Contains("task: has 4 items"));
    CHECK_THAT(complaint(of(hardware, "v0.7")), Contains("not supported") && Contains("v0.7"));
    CHECK_THAT(complaint(of(", [1, 2]", "v0.3")), Contains("hardware: has 2 items, not 8"));
    CHECK_THAT(complaint(autotvm_line), Contains("\"v\": is missing"));
}

TEST_CASE("every step has the fields of its code") {
    auto const every =
        R"(["AN", 0, 1, 2], ["FU", 0, [1, 2]], ["PR", 0, 1, "p$1"], ["RE", 0, [1, 0]], ["SP", 0, 1, 8, [2, 2], 1], )"
        R"(["FSP", 0, 1, 2, 3], ["FFSP", 0, 1, [2, 3], 4, 1], ["SA", 0, 1, 8, 4], ["CA", 0, 1, 2], ["CI", 0], ["CR", 0], )"
        R"(["CHR", 0, "shared", [1, 2]], ["CHW", 0, "local"], ["RF", 0, 1, 2])";
    CHECK(to_string(parse_ansor_record(with_steps(every)).value()) == with_steps(every));
    CHECK(parse_ansor_record(with_steps("")).value().steps.empty());
    CHECK_THAT(complaint(with_steps(R"(["CI", 0], ["XX", 1])")), Contains("step 1: \"XX\" is no step of Ansor"));
    CHECK_THAT(complaint(with_steps(R"(["AN", 0, 1])")), Contains("step 0: AN has 2 fields, not 3"));
    CHECK_THAT(complaint(with_steps(R"(["FU", 0, 1])")), Contains("field 2 of step 0, FU: is no list"));
    CHECK_THAT(complaint(with_steps(R"(["CI", -1])")), Contains("field 1 of step 0, CI: is -1"));
    CHECK_THAT(complaint(with_steps("[]")), Contains("step 0: is empty"));
}

TEST_CASE("results are held to the laws of all records") {
    CHECK_THAT(complaint(with(ansor_line, "0.0044742", "NaN")), Contains("a cost: is NaN"));
    CHECK_THAT(complaint(with(ansor_line, "0.0044742", "-1")), Contains("a cost: is -1"));
    CHECK_THAT(complaint(with(ansor_line, "], 0, 0.3", "], 12, 0.3")), Contains("error number"));
    auto const failed = with(ansor_line, "[0.0044742], 0", "[1e+10], 7");
    CHECK(parse_ansor_record(failed).value().failed());
    CHECK(to_string(parse_ansor_record(failed).value()) == failed);
    CHECK_THAT(complaint(with(ansor_line, "[[], [", "[[1], [")), Contains("stages"));
    CHECK_THAT(complaint(with(ansor_line, "\"v\":", "\"w\": 1, \"v\":")), Contains("has a member \"w\""));
}

} // namespace ansor_record_test
