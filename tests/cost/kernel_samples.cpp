#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/cost/kernel_samples.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace kernel_samples_test {

using namespace gsub;
using cost::kernel_feature;

std::string complaint(std::string const& text) {
    auto const made = cost::parse_kernel_samples(text, "kernels.jsonl");
    if (made) return {};
    CHECK(made.error().id() == errors::cost_file);
    CHECK_FALSE(made.error().problems()[0].hint.empty());
    return made.error().problems()[0].reason;
}
std::string const good = R"({"seconds": 1e-5, "gigahertz": 4, "features": {"fma": [8, 4], "call": [1, 280]}})";

TEST_CASE("samples that are written are read again, whatever their texts") {
    random_stream r{1};
    std::vector<cost::kernel_sample> samples(20);
    std::string text;
    for (auto& s : samples) {
        for (auto& f : s.features.amounts)
            if (r.below(2) == 1) f = {r.uniform(0, 1e9), r.uniform(0, 1e9)};
        s.features.threads = static_cast<unsigned>(1 + r.below(8)), s.features.part = r.uniform(0.1, 1);
        if (r.below(2) == 1) s.ilp = cost::ilp_source::instructions;
        s.seconds = r.uniform(1e-9, 1), s.gigahertz = r.uniform(1, 5);
        s.kernel = "conv2d \"3x3\"\n\\", s.schedule = "tile_m=4", s.isa = "avx2", s.machine = "a, b";
        text += cost::to_json_line(s) + "\n\r\n";
    }
    auto const read = cost::parse_kernel_samples(text, "f").value();
    REQUIRE(read.size() == samples.size());
    for (std::size_t i = 0; i < read.size(); ++i) {
        auto const &a = samples[i], &b = read[i];
        CHECK(a.seconds == b.seconds);
        CHECK(a.gigahertz == b.gigahertz);
        CHECK(a.ilp == b.ilp);
        CHECK((a.kernel == b.kernel && a.schedule == b.schedule && a.isa == b.isa && a.machine == b.machine));
        CHECK((a.features.threads == b.features.threads && a.features.part == b.features.part));
        for (std::size_t f = 0; f < cost::kernel_feature_count; ++f) {
            CHECK(a.features.amounts[f].count == b.features.amounts[f].count);
            CHECK(a.features.amounts[f].cycles == b.features.amounts[f].cycles);
        }
        CHECK(cost::to_json_line(b) == cost::to_json_line(a));
    }
}

TEST_CASE("what a line leaves out is zero, one thread, no text") {
    auto const read = cost::parse_kernel_samples("\n" + good, "f").value();
    REQUIRE(read.size() == 1);
    CHECK(read[0].features[kernel_feature::fma].cycles == 4);
    CHECK(read[0].features[kernel_feature::l3].cycles == 0);
    CHECK(read[0].features.threads == 1);
    CHECK(read[0].cycles() == Approx(4e4));
    CHECK(cost::parse_kernel_samples("", "f")->empty());
}

TEST_CASE("a line that is no sample is refused with its number and what is wrong") {
    struct wrong {
        std::string_view line, told;
    };
    for (auto const& [line, told] :
         {wrong{R"({"seconds": NaN, "gigahertz": 4, "features": {}})", "literal"},
          wrong{R"({"seconds": 1e999, "gigahertz": 4, "features": {}})", ""},
          wrong{R"({"seconds": -1e-5, "gigahertz": 4, "features": {}})", "seconds"},
          wrong{R"({"seconds": 0, "gigahertz": 4, "features": {}})", "seconds"},
          wrong{R"({"seconds": null, "gigahertz": 4, "features": {}})", "seconds"},
          wrong{R"({"seconds": 1, "gigahertz": 0, "features": {}})", "gigahertz"},
          wrong{R"({"seconds": 1, "features": {}})", "no key \"gigahertz\""},
          wrong{R"({"seconds": 1, "gigahertz": 4})", "no key \"features\""},
          wrong{R"({"seconds": 1, "gigahertz": 4, "features": {"fma": [1, -2]}})", "fma"},
          wrong{R"({"seconds": 1, "gigahertz": 4, "features": {"fma": [1, "2"]}})", "fma"},
          wrong{R"({"seconds": 1, "gigahertz": 4, "features": {"fma": [1]}})", "fma"},
          wrong{R"({"seconds": 1, "gigahertz": 4, "features": {"fms": [1, 2]}})", "fms"},
          wrong{R"({"seconds": 1, "gigahertz": 4, "features": [1, 2]})", "features"},
          wrong{R"({"seconds": 1, "gigahertz": 4, "features": {}, "threads": 1.5})", "threads"},
          wrong{R"({"seconds": 1, "gigahertz": 4, "features": {}, "threads": 0})", "threads"},
          wrong{R"({"seconds": 1, "gigahertz": 4, "features": {}, "kernel": 3})", "kernel"},
          wrong{R"({"seconds": 1, "gigahertz": 4, "features": {}, "ilp": "guess"})", "ilp"},
          wrong{R"({"seconds": 1, "gigahertz": 4, "features": {}, "colour": 3})", "colour"},
          wrong{"[1]", "object"},
          wrong{"{", ""}}) {
        auto const text = complaint(good + "\n\n" + std::string{line} + "\n" + good);
        CAPTURE(line, text);
        CHECK(text.find("kernels.jsonl, line 3: ") == 0);
        CHECK(text.find(told) != std::string::npos);
    }
}

} // namespace kernel_samples_test
