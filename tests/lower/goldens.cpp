// What lowering makes of the networks that gsub ships, as files: a change of the passes shows as a change of these.
// `GSUB_WRITE_GOLDENS=1 test_lower "goldens*"` writes them.
#include "catch.hpp"
#include "kernel_graphs.hpp"
#include <gsub/lower/kernel_graph_text.hpp>
#include <gsub/models/catalogue.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <sstream>
#include <string>

namespace goldens_test {

using namespace kernel_graphs;

std::string file_of(std::string const& name) {
    return GSUB_GOLDENS "/" + name + ".txt";
}
std::vector<std::string> lines_of(std::istream& in) {
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}
// The lines that are only in one of two texts, in order: what a reader of a change looks at first.
std::string differences(std::vector<std::string> const& before, std::vector<std::string> const& after) {
    std::multiset<std::string> const old(before.begin(), before.end()), fresh(after.begin(), after.end());
    std::string text;
    for (auto const& line : before)
        if (fresh.count(line) < old.count(line)) text += "- " + line + "\n";
    for (auto const& line : after)
        if (old.count(line) < fresh.count(line)) text += "+ " + line + "\n";
    return text.empty() ? "the same lines in another order" : text;
}
// Compares a text with its file, or writes the file.
void compare_golden(std::string const& name, std::string const& text) {
    auto const* const write = std::getenv("GSUB_WRITE_GOLDENS");
    if (write && std::string_view{write} == "1") {
        std::ofstream out{file_of(name)};
        out << text;
        REQUIRE(out.flush());
        return;
    }
    std::ifstream file{file_of(name)};
    INFO("The kernels of " << name << " are not those of " << file_of(name)
                           << ". If they are meant to be, write the goldens anew: see docs/lower.md.");
    REQUIRE(file);
    std::istringstream now{text};
    auto const before = lines_of(file), after = lines_of(now);

    if (before != after) FAIL(differences(before, after));
}

// Weights are made by functions of the C library, which may differ in a last bit: goldens do not have them.
kernel_graph without_elements(kernel_graph k) {
    for (auto& v : k.values) v.data = {}, v.left_out = {};
    return k;
}

void compare_networks(std::span<models::catalogue_entry const> table) {
    for (auto const& entry : table) {
        auto const keep = [&](kernel_graph const& k) {
            if (k.stage == lowering_stage::selected) compare_golden(std::string{entry.name}, summary(k));
        };
        lowering_options options;
        options.on_stage = keep; // in the middle of it, so that no stage is kept
        static_cast<void>(lower_graph(entry.build(1), evaluators, isa::avx512, options).value());
    }
}

} // namespace goldens_test

TEST_CASE("goldens of classifiers") {
    goldens_test::compare_networks(gsub::models::classifier_entries);
}
TEST_CASE("goldens of networks for other tasks") {
    goldens_test::compare_networks(gsub::models::task_entries);
}
TEST_CASE("goldens of small graphs") {
    goldens_test::compare_networks(gsub::models::test_graph_entries);
}

TEST_CASE("goldens of every stage") {
    using namespace goldens_test;
    for (std::string const name : {"t1", "t2", "t14"})
        for (auto const& k : stages(models::find_model(name)->build(1), isa::avx512)) {
            auto const text = to_text(without_elements(k));
            compare_golden(name + "." + std::string{to_string(k.stage)}, text);
            CHECK(to_text(parsed(text)) == text);
        }
}

TEST_CASE("there is a golden of each network and no other") {
    using namespace goldens_test;
    std::set<std::string> expected, found;
    for (auto const& entry : models::catalogue()) expected.insert(std::string{entry.name} + ".txt");
    for (std::string const name : {"t1", "t2", "t14"})
        for (auto const stage :
             {lowering_stage::fused, lowering_stage::selected, lowering_stage::laid_out, lowering_stage::scheduled})
            expected.insert(name + "." + std::string{to_string(stage)} + ".txt");
    std::uintmax_t bytes = 0;
    for (auto const& file : std::filesystem::directory_iterator{GSUB_GOLDENS}) {
        found.insert(file.path().filename().string());
        bytes += file.file_size();
    }
    CHECK(found == expected);
    CHECK(bytes < 300'000); // they are read by people
}
