#pragma once

#include <gsub/driver/bisect.hpp>
#include <gsub/ir/traversal.hpp>
#include <gsub/passes/manager/instrumentation.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace gsub {

namespace detail {

template <class = void>
class bisection {
    using nodes = std::vector<node_id>;

public:
    bisection(module const& m, std::vector<any_pass> list, pass_context const& cx, pass_failure fails,
              bisect_options const& options)
        : start_(m), list_(std::move(list)), cx_(cx), fails_(fails), options_(options) {}

    bisect_report run() {
        if (!find_pass()) return std::move(report_);
        report_.found = true;
        report_.pass = list_[report_.position].name();
        report_.nodes_at_start = report_.nodes = operators(entry(report_.before)).size();
        if (!broken(report_.before, all)) {
            report_.only_together = true;
            return std::move(report_);
        }
        find_place();
        shrink();
        keep_result();
        return std::move(report_);
    }

private:
    static constexpr auto all = std::numeric_limits<std::uint64_t>::max();

    struct step {
        module after;
        std::optional<error> failure{};
        std::uint64_t taken = 0; // places that the pass asked for
    };

    // Runs a pass; what fails leaves the module as it was.
    step run_one(any_pass const& p, module const& before, std::uint64_t places) {
        ++report_.tries;
        step s{before};
        auto left = places;
        checking_instrument instrument{{.prune = false}};
        auto inner = cx_;
        inner.observe = nullptr;
        inner.instrument = &instrument;
        inner.bisect_limit = &left;
        if (auto const done = p(s.after, inner); !done) s.failure = done.error();
        s.taken = places - left;
        return s;
    }

    bool broken(module const& before, std::uint64_t places) {
        auto const s = run_one(list_[report_.position], before, places);
        return s.failure || fails_(before, s.after);
    }

    // Modules after each pass are kept: copies share what is equal.
    bool find_pass() {
        std::vector<module> after{start_};
        std::optional<error> failure;
        for (auto const& p : list_) {
            auto s = run_one(p, after.back(), all);
            failure = s.failure;
            if (failure) break;
            after.push_back(std::move(s.after));
        }
        std::size_t good = 0, bad = after.size() - 1;
        if (failure) {
            good = bad; // the pass behind the last module fails by an error, if none before it does otherwise
            if (bad > 0 && fails_(start_, after[bad]))
                good = 0, failure.reset();
            else
                report_.failure = failure->message();
        } else if (bad == 0 || !fails_(start_, after[bad])) {
            return false;
        }
        if (!failure)
            while (bad - good > 1) {
                auto const middle = good + (bad - good) / 2;
                (fails_(start_, after[middle]) ? bad : good) = middle;
            }
        report_.position = good;
        report_.before = after[good];
        return true;
    }

    void find_place() {
        auto const whole = run_one(list_[report_.position], report_.before, all);
        report_.rewrites = whole.taken;
        if (whole.taken == 0 || broken(report_.before, 0)) return;
        std::uint64_t good = 0, bad = whole.taken;
        while (bad - good > 1) {
            auto const middle = good + (bad - good) / 2;
            (broken(report_.before, middle) ? bad : good) = middle;
        }
        report_.rewrite = bad;
    }

    // ---- smaller models

    static any_graph const& entry(module const& m) { return m.find(m.entry_points().front())->body; }
    static nodes operators(any_graph const& g) {
        nodes out;
        for (auto n : g.order())
            if (n != g.return_node() && !g.is<ops::input>(n) && !g.is<ops::constant>(n)) out.push_back(n);
        return out;
    }

    // The module with a part of its entry point; nothing where that is no module.
    std::optional<module> with(nodes const& part) const {
        auto const& m = report_.before;
        auto extracted = extract(entry(m), part);
        if (extracted.results.empty()) return std::nullopt;
        module smaller = m;
        smaller.find(m.entry_points().front())->body = std::move(extracted.graph);
        for (bool again = true; again;) { // functions that nothing calls any more
            again = false;
            module kept;
            kept.set_entry_points(smaller.entry_points());
            for (auto const& f : smaller.functions())
                if (is_entry(smaller, f.name) || called(smaller, f.name))
                    kept.add(f.name, f.body, f.attributes);
                else
                    again = true;
            smaller = std::move(kept);
        }
        return check(smaller).empty() ? std::optional{std::move(smaller)} : std::nullopt;
    }
    static bool is_entry(module const& m, std::string const& name) {
        return std::find(m.entry_points().begin(), m.entry_points().end(), name) != m.entry_points().end();
    }
    static bool called(module const& m, std::string const& name) {
        for (auto const& f : m.functions())
            for (auto n : f.body.order()) {
                if (f.body.is<ops::call>(n) && f.body.attributes<ops::call>(n).callee == name) return true;
                if (!f.body.is<ops::if_else>(n)) continue;
                auto const& branches = f.body.attributes<ops::if_else>(n);
                if (branches.then_branch == name || branches.else_branch == name) return true;
            }
        return false;
    }

    bool still_fails(nodes const& part) {
        if (part.empty() || left_ == 0) return false;
        --left_;
        auto const smaller = with(part);
        return smaller && broken(*smaller, all);
    }

    // Delta debugging: a chunk alone, then all but a chunk, then smaller chunks.
    void shrink() {
        left_ = options_.max_tries;
        auto part = operators(entry(report_.before));
        for (std::size_t chunks = 2; part.size() > 1 && left_ > 0;) {
            auto const cut = [&](std::size_t i) {
                return part.begin() + static_cast<std::ptrdiff_t>(part.size() * i / chunks);
            };
            bool smaller = false;
            for (std::size_t i = 0; i < chunks && !smaller; ++i)
                if (nodes const chunk(cut(i), cut(i + 1)); still_fails(chunk)) part = chunk, chunks = 2, smaller = true;
            for (std::size_t i = 0; i < chunks && !smaller && chunks > 2; ++i) {
                nodes rest(part.begin(), cut(i));
                rest.insert(rest.end(), cut(i + 1), part.end());
                if (still_fails(rest))
                    part = std::move(rest), chunks = std::max<std::size_t>(chunks - 1, 2), smaller = true;
            }
            if (smaller) continue;
            if (chunks >= part.size()) break;
            chunks = std::min(chunks * 2, part.size());
        }
        report_.exhausted = left_ == 0;
        if (part.size() == report_.nodes_at_start) return;
        report_.before = *with(part);
        report_.nodes = part.size();
    }

    void keep_result() {
        auto s = run_one(list_[report_.position], report_.before, all);
        report_.after = std::move(s.after);
        if (s.failure) report_.failure = s.failure->message();
    }

    module start_;
    std::vector<any_pass> list_;
    pass_context cx_;
    pass_failure fails_;
    bisect_options options_;
    bisect_report report_;
    std::size_t left_ = 0;
};

} // namespace detail

GSUB_LAZY_BODY result<bisect_report> bisect(module const& m, pass_manager const& known, std::span<any_pass const> list,
                                            pass_context const& cx, pass_failure fails, bisect_options const& options) {
    return capture([&] { return detail::bisection<>{m, known.with_required(list).value(), cx, fails, options}.run(); });
}

GSUB_LAZY_BODY bool numbers_differ::operator()(module const& before, module const& after) const {
    pass_info allowed;
    allowed.exact = exactness::approximate;
    allowed.tolerance = relative;
    auto const verdict = numeric_verifier{*cx}(before, after, allowed);
    return verdict.compared && !verdict.equal;
}

} // namespace gsub
