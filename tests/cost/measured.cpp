#include "catch.hpp"
#include "ir/random_graph.hpp"
#include <gsub/cost/measured.hpp>
#include <gsub/eval/fold.hpp>
#include <gsub/io/file.hpp>
#include <gsub/io/json.hpp>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

namespace measured_test {

using namespace gsub;

// A folder that goes with the object.
struct workspace {
    std::filesystem::path folder;
    workspace() {
        static int count = 0;
        folder = std::filesystem::temp_directory_path() /
                 ("gsub-measured-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
        std::filesystem::create_directory(folder);
    }
    ~workspace() { std::filesystem::remove_all(folder); }
    std::string file() const { return (folder / "profile.jsonl").string(); }
};

std::vector<std::string> lines_of(std::string const& path) {
    std::vector<std::string> lines;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}
void write_lines(std::string const& path, std::vector<std::string> const& lines) {
    std::string text;
    for (auto const& line : lines) text += line + '\n';
    io::write_file(path, text).value();
}

cost::measured model(cost::profile p = {}, executor* threads = nullptr) {
    return cost::measured::over<standard_ops>(std::move(p), {.least_runs = 1, .least_seconds = 0, .threads = threads});
}

// relu(x), relu(y) of one type, tanh(x), a view and weight arithmetic.
graph small() {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {64, 64}, "x"), y = b.input(dtype::f32, {64, 64}, "y");
    auto const w = b.add<ops::relu>(b.constant(tensor::zeros(dtype::f32, ints{64, 64})));
    auto const flat = b.add<ops::reshape>({.shape = {4096}}, {b.add<ops::tanh>(x)});
    b.outputs({b.add<ops::relu>(x), b.add<ops::relu>(y), flat, b.add<ops::add>(x, w)});
    return g;
}

TEST_CASE("a graph takes the sum of its nodes' times, each distinct node run once") {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        CAPTURE(seed);
        auto g = random_graph::make(seed, 25);
        fold_constants(g).value();
        auto const m = model();
        double sum = 0;
        std::set<std::string> distinct;
        for (auto n : g.order()) {
            auto const time = m(g, n).amount;
            CHECK(time >= 0);
            CHECK(m(g, n).amount == time);
            CHECK((cost::is_executed(g, n) || time == 0));
            if (cost::is_executed(g, n)) distinct.insert(std::string{g.op(n).name} + cost::signature(g, n));
            sum += time;
        }
        CHECK(std::abs(m(g).amount - sum) <= 1e-12 * sum);
        CHECK(m.runs() == distinct.size());
        CHECK(m.unmeasured() == 0);
    }
    auto const m = model();
    CHECK(m(small()).amount > 0);
    CHECK(m.runs() == 3); // relu, tanh, add
    auto const copy = m;
    CHECK(copy(small()) == m(small()));
    CHECK(copy.runs() == 3);
}

TEST_CASE("signatures tell operand types, results, attributes and constness apart, names not") {
    graph g;
    graph_builder b{g};
    auto const x = b.input(dtype::f32, {4, 4}, "x"), y = b.input(dtype::f32, {4, 4}, "y"),
               z = b.input(dtype::f32, {1, 4}, "z");
    auto const w = b.constant(tensor::zeros(dtype::f32, ints{4, 4}));
    auto const text = [&](value_id v) { return cost::signature(g, v.node); };
    CHECK(text(b.add<ops::add>(x, y)) == text(b.add<ops::add>(y, x)));
    std::set<std::string> const different{text(b.add<ops::add>(x, y)),
                                          text(b.add<ops::add>(x, z)),
                                          text(b.add<ops::add>(x, w)),
                                          text(b.add<ops::relu>(x)),
                                          text(b.add<ops::softmax>({.axis = 0}, {x})),
                                          text(b.add<ops::softmax>({.axis = 1}, {x})),
                                          text(b.add<ops::split>({.axis = 0, .sizes = {1, 3}}, {x}, 2))};
    CHECK(different.size() == 7);
}

TEST_CASE("a profile is written once and read back, what it knows is not run again") {
    workspace const s;
    auto const g = small();
    seconds first;
    {
        auto const m = model(cost::profile::open(s.file()).value());
        first = m(g);
        CHECK(m.runs() == 3);
        CHECK(m(g) == first);
    }
    auto const lines = lines_of(s.file());
    REQUIRE(lines.size() == 3);
    for (auto const& line : lines) {
        auto const record = io::json::parse(line);
        for (auto const* key : {"op", "signature", "machine"}) CHECK(record.at(key).is_string());
        CHECK(record.at("seconds").get<double>() >= 0);
        CHECK(record.at("runs").get<std::size_t>() >= 1);
    }
    auto known = cost::profile::open(s.file()).value();
    CHECK(known.size() == 3);
    CHECK(known.skipped() == 0);
    auto const m = model(std::move(known));
    CHECK(m(g) == first);
    CHECK(m.runs() == 0);
    CHECK(lines_of(s.file()) == lines);
}

TEST_CASE("the last record of a node counts, and entries of other machines or thread counts do not") {
    workspace const s;
    auto const g = small();
    model(cost::profile::open(s.file()).value())(g);
    auto lines = lines_of(s.file());
    for (auto line : std::vector{lines}) {
        auto record = io::json::parse(line);
        record["seconds"] = 1000;
        lines.push_back(record.dump());
        record["machine"] = "another machine";
        record["seconds"] = 5000;
        lines.push_back(record.dump());
    }
    write_lines(s.file(), lines);
    auto const m = model(cost::profile::open(s.file()).value());
    CHECK(m(g).amount == 4000); // two relus, tanh, add
    CHECK(m.runs() == 0);
    fork_join_executor two{2};
    auto const other = model(cost::profile::open(s.file()).value(), &two);
    CHECK(other(g).amount < 100);
    CHECK(other.runs() == 3);
}

TEST_CASE("lines that are no records are passed over and counted") {
    workspace const s;
    auto const g = small();
    model(cost::profile::open(s.file()).value())(g);
    auto const good = lines_of(s.file());
    auto lines = good;
    for (auto const* bad :
         {"{\"op\":\"Relu\",\"signature\":\"(\",\"machine\":\"m\",\"seconds\":", "not json", "[1,2]", "42", "null",
          "{\"signature\":\"s\",\"machine\":\"m\",\"seconds\":1}",
          "{\"op\":\"Relu\",\"signature\":\"s\",\"seconds\":1}",
          "{\"op\":\"Relu\",\"signature\":\"s\",\"machine\":\"m\",\"seconds\":-1}",
          "{\"op\":\"Relu\",\"signature\":\"s\",\"machine\":\"m\",\"seconds\":\"1\"}",
          "{\"op\":1,\"signature\":\"s\",\"machine\":\"m\",\"seconds\":1}",
          "{\"op\":\"Relu\",\"signature\":\"s\",\"machine\":\"m\",\"seconds\":1e999}", "\xff\xfe\x01"})
        lines.push_back(bad);
    lines.push_back(std::string(100000, '['));
    lines.push_back("");
    write_lines(s.file(), lines);
    auto const p = cost::profile::open(s.file()).value();
    CHECK(p.size() == 3);
    CHECK(p.skipped() == 13);
    // Every prefix of a file is a profile.
    auto const whole = io::read_file(s.file()).value();
    for (std::size_t size = 0; size < whole.size() && size < 2000; size += 7) {
        std::ofstream(s.file(), std::ios::trunc) << whole.substr(0, size);
        CHECK(cost::profile::open(s.file()).value().size() <= 3);
    }
}

TEST_CASE("rates of machines stand in the same file, are read back, and take no part in the times") {
    workspace const s;
    auto const g = small();
    auto const first = model(cost::profile::open(s.file()).value())(g);
    auto const before = io::read_file(s.file()).value();
    CHECK(cost::profile::open(s.file()).value().rates().empty()); // a file from before there were rates
    cost::roofline const found{.launch = 2.5e-7, .flop_per_second = 2.7e11, .bytes_per_second = 1 / 3.0};
    {
        auto p = cost::profile::open(s.file()).value();
        p.add_rates("m", {.launch = 1, .flop_per_second = 1, .bytes_per_second = 1});
        p.add_rates("m", found);
        p.add_rates("other", {.launch = 0, .flop_per_second = 4, .bytes_per_second = 5});
        CHECK(p.rates().size() == 2);
    }
    CHECK(io::read_file(s.file()).value().starts_with(before));
    CHECK(lines_of(s.file()).size() == 6);
    auto p = cost::profile::open(s.file()).value();
    CHECK(p.size() == 3);
    CHECK(p.skipped() == 0);
    REQUIRE(p.rates().size() == 2);
    auto const& rates = p.rates().at("m");
    CHECK(rates.launch == found.launch);
    CHECK(rates.flop_per_second == found.flop_per_second);
    CHECK(rates.bytes_per_second == found.bytes_per_second);
    CHECK(p.rates().at("other").launch == 0);
    auto const m = model(std::move(p));
    CHECK(m(g) == first);
    CHECK(m.runs() == 0);
    // A reader that knows times alone passes over lines without an operator.
    for (auto const& line : lines_of(s.file())) {
        auto const record = io::json::parse(line);
        CHECK(record.contains("op") != record.contains("roofline"));
    }
}

TEST_CASE("damaged rates are passed over and counted, and hide no good ones") {
    workspace const s;
    auto const line = [](std::string const& rates) { return R"({"machine":"m","roofline":)" + rates + "}"; };
    std::vector<std::string> lines{line(R"({"launch":1,"flop_per_second":2,"bytes_per_second":3})")};
    for (auto const* bad :
         {"7", "null", "[1,2,3]", "{}", R"({"launch":1,"flop_per_second":2})",
          R"({"launch":-1,"flop_per_second":2,"bytes_per_second":3})",
          R"({"launch":1,"flop_per_second":0,"bytes_per_second":3})",
          R"({"launch":1,"flop_per_second":2,"bytes_per_second":"3"})",
          R"({"launch":1e999,"flop_per_second":2,"bytes_per_second":3})",
          R"({"launch":1,"flop_per_second":2,"bytes_per_second":null})", R"({"launch":1,"flop_per_second":2,)"})
        lines.push_back(line(bad));
    lines.emplace_back(R"({"roofline":{"launch":1,"flop_per_second":2,"bytes_per_second":3}})");
    lines.emplace_back(R"({"machine":1,"roofline":{"launch":1,"flop_per_second":2,"bytes_per_second":3}})");
    write_lines(s.file(), lines);
    auto const p = cost::profile::open(s.file()).value();
    CHECK(p.skipped() == lines.size() - 1);
    CHECK(p.size() == 0);
    REQUIRE(p.rates().size() == 1);
    CHECK(p.rates().at("m").bytes_per_second == 3);
}

TEST_CASE("rates that cannot be written are an error") {
    workspace const s;
    auto p = cost::profile::open((s.folder / "missing" / "profile.jsonl").string()).value();
    auto const done = capture([&] { p.add_rates("m", {}); });
    REQUIRE_FALSE(done);
    CHECK(done.error().id() == errors::file_access);
}

TEST_CASE("a record after a line that was cut off is not lost") {
    workspace const s;
    io::write_file(s.file(), "{\"op\":\"Relu\",\"sign").value();
    auto const m = model(cost::profile::open(s.file()).value());
    auto const time = m(small());
    auto const again = cost::profile::open(s.file()).value();
    CHECK(again.size() == 3);
    CHECK(again.skipped() == 1);
    auto const later = model(again);
    CHECK(later(small()) == time);
    CHECK(later.runs() == 0);
}

TEST_CASE("a profile that cannot be written is an error, not a profile that forgets") {
    workspace const s;
    auto const m = model(cost::profile::open((s.folder / "missing" / "profile.jsonl").string()).value());
    auto const done = capture([&] { return m(small()).amount; });
    REQUIRE_FALSE(done);
    CHECK(done.error().id() == errors::file_access);
    CHECK(done.error().message().find("profile.jsonl") != std::string::npos);
}

TEST_CASE("a profile that does not exist is empty, one that is no file is refused") {
    workspace const s;
    auto const p = cost::profile::open(s.file());
    REQUIRE(p);
    CHECK(p->size() == 0);
    CHECK_FALSE(std::filesystem::exists(s.file()));
    auto const folder = cost::profile::open(s.folder.string());
    REQUIRE_FALSE(folder);
    CHECK(folder.error().message().find(s.folder.string()) != std::string::npos);
}

TEST_CASE("what the runtime cannot compute is costed by the roofline, counted, and not recorded") {
    workspace const s;
    graph g;
    auto const x = g.add_input(tensor_type{dtype::f32, {8}}, "x");
    auto const type = g.type_of(x);
    auto const strange = g.add_opaque({.domain = "com.example", .op_type = "Strange"},
                                      tensor::zeros(dtype::u8, ints{1}), std::vector{x}, std::vector{type});
    graph_builder b{g};
    b.outputs({b.add<ops::relu>(value_id{strange, 0})});
    auto const m = model(cost::profile::open(s.file()).value());
    CHECK(m(g, strange) == cost::roofline{}(g, strange));
    CHECK(m(g, strange).amount > 0);
    CHECK(m(g).amount > 0);
    CHECK(m.unmeasured() == 1);
    CHECK(m.runs() == 1);
    CHECK(lines_of(s.file()).size() == 1);
}

TEST_CASE("several threads may ask at once, each node is still run once") {
    auto const g = small();
    auto const m = model();
    std::array<seconds, 16> costs{};
    fork_join_executor{4}.parallel_for(costs.size(), [&](std::size_t i) { costs[i] = m(g); });
    for (auto p : costs) CHECK(p == costs[0]);
    CHECK(m.runs() == 3);
}

TEST_CASE("an observer hears of each node that is measured") {
    struct : observer {
        std::vector<std::string> seen;
        void on_progress(progress const& p) override { seen.emplace_back(p.detail); }
    } observe;
    auto const m = cost::measured::over<standard_ops>({}, {.least_runs = 1, .least_seconds = 0, .observe = &observe});
    m(small());
    m(small());
    std::sort(observe.seen.begin(), observe.seen.end());
    CHECK(observe.seen == std::vector<std::string>{"Add", "Relu", "Tanh"});
}

} // namespace measured_test
