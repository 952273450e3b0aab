// What all benchmarks share: repeated timing, JSON lines on stdout, a table on stderr.
#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/json.hpp>
#include <gsub/report/table.hpp>
#include <gsub/report/units.hpp>
#include <gsub/target/target.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// Repeated measurements of one quantity.
struct sample {
    std::vector<double> values;
    [[nodiscard]] double at(double share) const {
        auto sorted = values;
        std::sort(sorted.begin(), sorted.end());
        return sorted.empty() ? 0 : sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
    }
    [[nodiscard]] double median() const { return at(0.5); }
};

/// Seconds that `f()` takes.
template <class F>
[[nodiscard]] double seconds_of(F&& f) {
    auto const begin = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Which side of its budget a median must lie on.
enum class budget_kind { at_most, at_least };

/// Collects figures, prints each as a JSON line at once and all as a table at the end. Counts those beyond their
/// budgets.
class reporter {
public:
    explicit reporter(std::string_view name) : name_(name) {
        auto const machine = gsub::host();
        std::printf(
            "%s\n",
            gsub::io::json{{"bench", name}, {"machine", machine.key()}, {"threads", machine.threads}}.dump().c_str());
        std::fprintf(stderr, "%s on %s, %u threads\n", name_.c_str(), machine.key().c_str(), machine.threads);
    }
    /// A figure in `unit`, least and most over repeats; budget 0: none.
    void add(std::string const& what, std::string const& on, sample const& s, std::string_view unit, double budget = 0,
             budget_kind kind = budget_kind::at_most) {
        auto const within = line(what, on, s, unit, budget, kind);
        auto const text = [&](double v) { // a ratio has no prefix
            return unit == "x" ? fmt::format("{} x", gsub::report::fixed(v, 2)) : gsub::report::human(v, unit);
        };
        table_.add({what, on, text(s.median()), text(s.at(0)), text(s.at(1)), fmt::format("{}", s.values.size()),
                    budget > 0 ? text(budget) : "",
                    budget <= 0 ? ""
                    : within    ? "yes"
                                : "NO"});
    }
    /// The same without a row in the table; whether the median is within its budget.
    bool line(std::string const& what, std::string const& on, sample const& s, std::string_view unit, double budget = 0,
              budget_kind kind = budget_kind::at_most) {
        gsub::io::json line{
            {"bench", name_},       {"what", what},     {"on", on},        {"unit", unit},
            {"median", s.median()}, {"least", s.at(0)}, {"most", s.at(1)}, {"repeats", s.values.size()}};
        auto const within = budget <= 0 || (kind == budget_kind::at_most ? s.median() <= budget : s.median() >= budget);
        if (budget > 0) line["budget"] = budget, line["within"] = within;
        beyond_ += !within;
        std::printf("%s\n", line.dump().c_str());
        std::fflush(stdout);
        return within;
    }
    /// Prints the table; the exit status of the program.
    [[nodiscard]] int finish() const {
        std::fprintf(stderr, "%s", table_.text().c_str());
        return beyond_ == 0 ? 0 : 1;
    }

private:
    std::string name_;
    gsub::report::table table_{{"what", "on", "median", "least", "most", "repeats", "budget", "within"}};
    int beyond_ = 0;
};

} // namespace bench
