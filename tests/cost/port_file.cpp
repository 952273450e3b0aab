#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/cost/lowered.hpp>
#include <gsub/cost/port_file.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace port_file_test {

using namespace gsub;

measured_ports random_measurement(std::uint64_t seed) {
    random_stream r{seed};
    auto const gigahertz = 1 + r.uniform(0, 10);
    auto const seconds = r.uniform(0, 9);
    measured_ports out{"zen5", "a \"machine\"\n", "2026-11-26", "a test", gigahertz, seconds};
    std::vector<std::uint32_t> sets(most_port_sets);
    for (auto& s : sets) s = static_cast<std::uint32_t>(1 + r.below(0xffffffffu));
    for (std::size_t c = 0; c < instruction_classes; ++c)
        for (auto const bytes : {8, 64}) {
            auto const latency = r.uniform(1, 20);
            auto const busy = r.uniform(0.2, 5);
            out.uses.push_back(
                {static_cast<instruction_class>(c), bytes, latency, busy, sets[r.below(most_port_sets)]});
        }
    return out;
}
std::string with(std::string text, std::string_view what, std::string_view instead) {
    auto const at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), instead);
}

TEST_CASE("measured ports are read as they were written") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto const m = random_measurement(seed);
        CHECK(cost::parse_ports(cost::to_json(m)).value() == m);
    }
    auto const path = (std::filesystem::temp_directory_path() / "gsub-port-file-test.json").string();
    auto const m = random_measurement(7);
    cost::write_ports(path, m).value();
    CHECK(cost::read_ports(path).value() == m);
    auto bad = m;
    bad.uses[0].latency = -1;
    cost::write_ports(path, bad).value();
    CHECK(cost::read_ports(path).error().id() == errors::cost_file);
    CHECK(cost::read_ports(path).error().message().find("gsub-port-file-test.json") != std::string::npos);
    std::filesystem::remove(path);
    CHECK(cost::read_ports(path).error().id() == errors::file_access);
}

TEST_CASE("a port file that is none is refused, naming what is wrong and where") {
    auto const text = cost::to_json(random_measurement(1));
    auto const refused = [](std::string const& bad, std::string const& words) {
        auto const read = cost::parse_ports(bad);
        CAPTURE(words);
        REQUIRE_FALSE(read);
        CHECK(read.error().code() == error_code::invalid_input);
        CAPTURE(read.error().message());
        CHECK(read.error().message().find(words) != std::string::npos);
    };
    refused("", "JSON");
    refused("[]", "the file is no object");
    refused("{}", "has no format");
    refused(with(text, "gsub ports 1", "gsub ports 9"), "gsub ports 9");
    refused(with(text, "\"multiply\"", "\"mutliply\""), "mutliply");
    refused(with(text, "\"multiply\"", "3"), "use 2 has a class that is no text");
    refused(with(text, "\"latency\": ", "\"latency\": -"), "use 0 has a latency");
    refused(with(text, "\"latency\": ", "\"latency\": \"nan\", \"was\": "), "use 0 has a latency");
    refused(with(text, "\"cycles\": ", "\"cycles\": null, \"was\": "), "use 0 has a cycles");
    refused(with(text, "\"cycles\": ", "\"cycles\": 1e999, \"was\": "), "");
    refused(with(text, "\"bytes\": 8", "\"bytes\": 8.5"), "whole number");
    refused(with(text, "\"bytes\": 8", "\"bytes\": 1e300"), "whole number");
    refused(with(text, "\"ports\": [", "\"ports\": [32, "), "use 0 has a port");
    refused(with(text, "\"ports\": [", "\"ports\": [-1, "), "use 0 has a port");
    refused(with(text, "\"ports\": [", "\"ports\": [], \"was\": ["), "fma at 8 bytes has no port");
    refused(std::string((std::size_t{1} << 20) + 1, ' '), "1 MiB");
    for (std::size_t length = 0; length < text.size(); length += 97)
        CHECK_FALSE(cost::parse_ports(text.substr(0, length)));
}

TEST_CASE("a cost model with measured ports is another one") {
    auto const m = random_measurement(3), other = random_measurement(4);
    measured_port_table const a{m, microarchitectures()[0]}, b{other, microarchitectures()[0]};
    auto const key = [](port_table const* ports) { return cost::lowered::on(host(), {.ports = ports}).parameters(); };
    CHECK(key(&a.table()) == key(&a.table()));
    CHECK(key(&a.table()) != key(&b.table()));
    CHECK(key(&a.table()) != key(nullptr));
    CHECK(cost::lowered::on(host(), {.ports = &a.table()}).core().ports == &a.table());
}

} // namespace port_file_test
