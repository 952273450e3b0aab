#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/random.hpp>
#include <gsub/passes/manager/order.hpp>
#include <gsub/passes/select/selection.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

namespace gsub {

namespace detail {

// Joined by commas.
template <class Names>
[[nodiscard]] std::string list_text(Names const& names) {
    std::string out;
    for (auto const& name : names) out += format_text("{}{}", out.empty() ? "" : ", ", name);
    return out;
}

// A sequence of passes, and the module that it makes.
struct pass_sequence {
    std::shared_ptr<module const> made;
    std::vector<std::uint32_t> list; // of candidates
    double cost = 0;
    hash128 key{};
};

template <class = void>
class pass_search {
public:
    using state = pass_sequence;

    pass_search(pass_manager const& known, std::span<any_pass const> candidates, pass_context& cx, module_cost cost,
                selection_options const& o)
        : known_(known), candidates_(candidates), cx_(cx), cost_(cost), o_(o) {
        for (auto const& p : candidates) names_.push_back(p.name());
    }

    [[nodiscard]] state start(module const& m) const {
        return {std::make_shared<module const>(m), {}, cost_(m), fingerprint(m)};
    }
    [[nodiscard]] double cost(state const& s) const { return s.cost; }
    [[nodiscard]] hash128 key(state const& s) const { return s.key; }
    [[nodiscard]] std::string label(state const& s) const {
        return s.list.empty() ? std::string{} : std::string{names_[s.list.back()]};
    }
    void expand(state const& s, function_ref<bool(state)> emit) {
        if (s.list.size() >= o_.longest) return;
        for (std::uint32_t i = 0; i < candidates_.size(); ++i)
            if (auto next = extended(s, i); next && !emit(std::move(*next))) return;
    }
    // With one more pass; nothing where that breaks a hard order, fails, or changes nothing.
    [[nodiscard]] std::optional<state> extended(state const& s, std::uint32_t with) {
        auto list = s.list;
        list.push_back(with);
        if (breaks_order(list)) return std::nullopt;
        auto made = std::make_shared<module>(*s.made);
        ++runs_;
        auto options = o_.run;
        options.order = order_policy::ignore;
        auto const done = known_.run(candidates_.subspan(with, 1), *made, cx_, options);
        if (!done || !done->outcome.changed) return std::nullopt;
        auto const key = fingerprint(*made);
        if (key == s.key) return std::nullopt;
        auto const cost = cost_(*made);
        return state{std::move(made), std::move(list), cost, key};
    }
    [[nodiscard]] state greedy(state best) {
        while (best.list.size() < o_.longest) {
            std::optional<state> next;
            expand(best, [&](state s) {
                if (s.cost < (next ? next->cost : best.cost)) next = std::move(s);
                return true;
            });
            if (!next) break;
            best = std::move(*next);
        }
        return best;
    }
    [[nodiscard]] state random(state const& from) {
        auto best = from;
        random_stream r{o_.seed};
        for (std::uint64_t t = 0; t < o_.trials && !candidates_.empty(); ++t) {
            cx_.check_stop();
            auto s = from;
            for (auto length = 1 + r.below(o_.longest); length > 0; --length)
                if (auto next = extended(s, static_cast<std::uint32_t>(r.below(candidates_.size()))))
                    s = std::move(*next);
            if (s.cost < best.cost) best = std::move(s);
        }
        return best;
    }
    [[nodiscard]] found_passes told(state const& before, state const& best) const {
        found_passes out{{}, before.cost, best.cost, runs_};
        std::vector<std::string> texts;
        for (auto i : best.list) texts.push_back(candidates_[i].text());
        out.list = list_text(texts);
        return out;
    }

private:
    [[nodiscard]] bool breaks_order(std::span<std::uint32_t const> list) const {
        std::vector<std::string_view> names;
        for (auto i : list) names.push_back(names_[i]);
        auto const breaches = check_order(names);
        return std::any_of(breaches.begin(), breaches.end(),
                           [](order_breach const& b) { return b.rule->kind == order_kind::hard; });
    }

    pass_manager const& known_;
    std::span<any_pass const> candidates_;
    pass_context& cx_;
    module_cost cost_;
    selection_options const& o_;
    std::vector<std::string_view> names_;
    std::uint64_t runs_ = 0;
};

} // namespace detail

GSUB_LAZY_BODY result<found_passes> search_passes(pass_manager const& known, std::span<any_pass const> candidates,
                                                  module const& m, pass_context& cx, module_cost cost,
                                                  selection_options const& options) {
    try {
        detail::pass_search s{known, candidates, cx, cost, options};
        auto const start = s.start(m);
        switch (options.method) {
        case selection_method::greedy:
            return s.told(start, s.greedy(start));
        case selection_method::random:
            return s.told(start, s.random(start));
        case selection_method::backtracking:
            break;
        }
        auto const best = search::backtracking(s, start, options.search).best;
        return s.told(start, best);
    } catch (error const& e) { return e; }
}

GSUB_LAZY_BODY found_passes const* selection_memory::find(module const& m) const {
    auto const found = found_.find(fingerprint(m));
    return found == found_.end() ? nullptr : &found->second;
}
GSUB_LAZY_BODY void selection_memory::remember(module const& m, found_passes found) {
    found_[fingerprint(m)] = std::move(found);
}

// hash, cost before, cost after, runs and the list, separated by blanks
GSUB_LAZY_BODY std::string selection_memory::to_text() const {
    std::string out;
    for (auto const& [key, f] : found_)
        out += format_text("{} {} {} {} {}\n", to_string(key), shortest{f.cost_before}, shortest{f.cost_after}, f.runs,
                           f.list);
    return out;
}
GSUB_LAZY_BODY result<selection_memory> selection_memory::from_text(std::string_view text) {
    selection_memory out;
    for (std::size_t line = 1; !text.empty(); ++line) {
        auto rest = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(rest.size() + 1, text.size()));
        auto const good = [&] {
            auto const read = [&](auto& value, auto... base) {
                auto const [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), value, base...);
                if (code != std::errc{}) return false;
                rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
                if (!rest.starts_with(' ')) return false;
                rest.remove_prefix(1);
                return true;
            };
            if (rest.size() < 33) return false;
            hash128 key;
            auto const half = [](std::string_view digits, std::uint64_t& to) {
                auto const [end, code] = std::from_chars(digits.data(), digits.data() + 16, to, 16);
                return code == std::errc{} && end == digits.data() + 16;
            };
            if (!half(rest.substr(0, 16), key.high) || !half(rest.substr(16, 16), key.low)) return false;
            rest.remove_prefix(32);
            if (!rest.starts_with(' ')) return false;
            rest.remove_prefix(1);
            found_passes f;
            if (!read(f.cost_before) || !read(f.cost_after) || !read(f.runs)) return false;
            f.list = rest;
            out.found_[key] = std::move(f);
            return true;
        }();
        if (!good) return error{error_code::invalid_input, format_text("line {} of remembered lists of passes", line)};
    }
    return out;
}

} // namespace gsub
