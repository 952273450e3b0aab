#include "tune/tuning_records.hpp"
#include <gsub/kernels/descriptor_text.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/tune/kernel_record.hpp>

#include <cmath>
#include <limits>
#include <string>

namespace kernel_record_test {

using namespace tuning_records;
using namespace gsub::tune;
using Catch::Matchers::Contains;

std::string const conv_text = "conv2d{in_channels=64 out_channels=64 in=[56,56] kernel=[3,3] pads=[1,1,1,1]}";

std::string complaint(record const& r, loop::config_space const& space, index_check check = index_check::required) {
    auto const c = configuration_of(r, space, check);
    return c ? "read as " + loop::to_string(*c) : c.error().message();
}

TEST_CASE("AutoTVM's record of the slides is point 11312 of 190,080, and back") {
    auto const r = parse_record(autotvm_line).value();
    auto const space = slides_space();
    REQUIRE(space.size() == 190'080);
    auto const c = configuration_of(r, space).value();
    CHECK(c.index() == 11312);
    CHECK(c == space.at(11312));
    CHECK(entity_of(space.at(11312)) == r.entity);
    auto again = r;
    again.entity = entity_of(c);
    again.index = c.index();
    CHECK(to_string(again) == autotvm_line);
}

TEST_CASE("every point of a space survives its record") {
    auto const space = slides_space();
    random_stream random{3};
    auto r = parse_record(autotvm_line).value();
    for (int i = 0; i < 300; ++i) {
        r.index = random.below(space.size());
        r.entity = entity_of(space.at(r.index));
        auto const read = parse_record(to_string(r)).value();
        CHECK(configuration_of(read, space).value().index() == r.index);
    }
    loop::config_space words;
    words.choice("order", {"oc_outer", "yx_outer"});
    words.choice("pin", {false, true});
    words.choice("n", {-3, 8});
    for (std::uint64_t i = 0; i < words.size(); ++i) {
        r.index = i;
        r.entity = entity_of(words.at(i));
        CHECK(configuration_of(parse_record(to_string(r)).value(), words).value() == words.at(i));
    }
}

TEST_CASE("a first factor may be given for -1") {
    auto const r = parse_record(with(autotvm_line, "[-1, 4, 32, 2]", "[2, 4, 32, 2]")).value();
    CHECK(configuration_of(r, slides_space()).value().index() == 11312);
}

TEST_CASE("values that a space does not have, and other numbers, are refused by name") {
    auto const space = slides_space();
    auto const told = [&](std::string_view piece, std::string_view by) {
        auto const r = parse_record(with(autotvm_line, piece, by)).value();
        return complaint(r, space);
    };
    CHECK_THAT(told("[-1, 4, 32, 2]", "[-1, 4, 31, 2]"), Contains("invalid input") && Contains("tile_f"));
    CHECK_THAT(told("[-1, 4, 32, 2]", "[3, 4, 32, 2]"), Contains("tile_f"));
    CHECK_THAT(told("[-1, 8]", "[-1, 8, 1]"), Contains("tile_rc"));
    CHECK_THAT(told("step\", \"ot\", 0", "step\", \"ot\", 513"), Contains("auto_unroll_max_step") && Contains("513"));
    CHECK_THAT(told("step\", \"ot\", 0", "step\", \"ot\", 0.5"), Contains("auto_unroll_max_step"));
    CHECK_THAT(told("step\", \"ot\", 0", "step\", \"ot\", null"), Contains("auto_unroll_max_step"));
    CHECK_THAT(told("step\", \"ot\", 0", "step\", \"ot\", true"), Contains("auto_unroll_max_step"));
    CHECK_THAT(told("\"tile_rc\", \"sp\", [-1, 8]", "\"tile_rc\", \"re\", [0, 1]"), Contains("tile_rc"));
    CHECK_THAT(told("\"tile_rc\"", "\"tile_rz\""), Contains("tile_rz") && Contains("none of the space"));
    CHECK_THAT(told(", [\"unroll_explicit\", \"ot\", 0]", ""), Contains("unroll_explicit") && Contains("no value"));
    CHECK_THAT(told("11312", "11313"), Contains("11313") && Contains("11312 of 190080"));
    auto const other = parse_record(with(autotvm_line, "11312", "11313")).value();
    CHECK(configuration_of(other, space, index_check::ignored).value().index() == 11312);
}

TEST_CASE("kernels, machines and measurements survive their records") {
    auto const d = kernels::parse_descriptor(conv_text).value();
    for (auto const* text : {"x86-64-avx512,threads=2,l1=48K,l2=1M,l3=32M,cpu=x86_64 family 26 model 2 stepping 1",
                             "aarch64-neon", "baseline", "x86-64-avx2,cpu=50% off_é"}) {
        auto const machine = parse_target(text).value();
        auto const space = kernels::space_of(d, *machine.isa);
        auto const c = kernels::counted(d, *machine.isa, space);
        auto const r = record_of(d, machine, c, {{1e-4, 2e-4}, measure_error::none, 0.5, 1700000000.25}).value();
        auto const line = to_string(r);
        CAPTURE(line);
        auto const read = parse_record(line).value();
        CHECK(read == r);
        CHECK(read.task == "gsub.conv2d");
        CHECK(read.target.find(' ', sizeof("llvm -keys=cpu ")) == std::string::npos);
        CHECK(target_of(read).value() == machine);
        CHECK(kernels::equal(descriptor_of(read).value(), d));
        CHECK(configuration_of(read, space).value() == c);
        CHECK(read.mean_cost() == Approx(1.5e-4));
    }
}

TEST_CASE("a failed measurement has AutoTVM's cost, and one that says nothing makes no record") {
    auto const d = kernels::parse_descriptor(conv_text).value();
    auto const space = kernels::space_of(d, isa::avx512);
    auto const machine = parse_target("x86-64-avx512").value();
    auto const made = [&](measurement const& m) { return record_of(d, machine, space.at(0), m); };
    auto const failed = made({{0.25}, measure_error::wrong_answer, 1, 2}).value();
    CHECK(to_string(failed).find("[[1000000000.0], 5, 1.0, 2.0]") != std::string::npos);
    CHECK(parse_record(to_string(failed)).value() == failed);
    for (auto const bad : {std::nan(""), HUGE_VAL, -1.0, 0.0}) {
        auto const refused = made({{1e-3, bad}});
        REQUIRE_FALSE(refused.has_value());
        CHECK(refused.error().code() == error_code::usage);
    }
    CHECK_FALSE(made({}).has_value());
    CHECK_FALSE(made({{1e-3}, measure_error::none, std::nan("")}).has_value());
}

TEST_CASE("tasks and targets of others are told from gsub's") {
    auto r = parse_record(autotvm_line).value();
    CHECK(descriptor_of(r).error().id() == errors::record_form);
    CHECK(target_of(r).error().id() == errors::record_form);
    r.task = "gsub.conv2d";
    CHECK(descriptor_of(r).error().id() == errors::malformed_record);
    CHECK_THAT(descriptor_of(r).error().message(), Contains("not one descriptor"));
    r.args = {json_value{"conv2d{in_channels=x}"}};
    CHECK(descriptor_of(r).error().code() == error_code::invalid_input);
    r.args = {json_value{"matmul{m=4}"}};
    CHECK_THAT(descriptor_of(r).error().message(), Contains("gsub.matmul"));
    for (auto const* bad : {"host", "x86-64-avx512 -mcpu=x", "%", "%4", "%zz", "pdp11", ""}) {
        r.target = std::string{"llvm -keys=cpu -model="} + bad;
        CAPTURE(r.target);
        CHECK(target_of(r).error().id() == errors::record_form);
    }
}

} // namespace kernel_record_test
