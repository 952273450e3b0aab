#pragma once

#include <gsub/core/edit_distance.hpp>
#include <gsub/core/format.hpp>
#include <gsub/passes/manager/manager.hpp>

#include <algorithm>
#include <optional>

namespace gsub {

namespace detail {

/// What of a name counts when it is looked for.
GSUB_LAZY std::string name_key(std::string_view name) {
    std::string key;
    for (char c : name) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) key += c;
    }
    return key;
}

GSUB_LAZY std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
    return text;
}

struct pass_request {
    std::string_view name;
    std::optional<std::string_view> arguments{};
};

// The items of a list; names of lists are not looked into.
GSUB_LAZY std::vector<pass_request> split_list(std::string_view text) {
    std::vector<pass_request> out;
    std::size_t start = 0;
    int depth = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size()) depth += (text[i] == '(') - (text[i] == ')');
        if (depth < 0 || (i == text.size() && depth > 0))
            throw error{errors::pass_list, format_text("parentheses do not match in {}", quoted{text})};
        if (i < text.size() && (depth > 0 || text[i] != ',')) continue;
        auto item = trimmed(text.substr(start, i - start));
        start = i + 1;
        if (item.empty()) continue;
        pass_request request{item};
        if (auto const open = item.find('('); open != item.npos) {
            if (item.back() != ')')
                throw error{errors::pass_list, format_text("nothing is expected behind ')' in {}", quoted{item})};
            request = {trimmed(item.substr(0, open)), item.substr(open + 1, item.size() - open - 2)};
        }
        out.push_back(request);
    }
    return out;
}

// One reading of a text: collects what is unknown instead of ending at the first.
template <class = void>
class list_reader {
public:
    explicit list_reader(pass_manager const& passes) : passes_(passes) {}

    std::vector<any_pass> read(std::string_view text) {
        collect(text, 0);
        if (!problems_.empty()) throw error{std::move(problems_)};
        return std::move(found_);
    }

private:
    void collect(std::string_view text, std::size_t depth) {
        if (depth > 16) throw error{errors::pass_list, "lists of passes name each other in a circle"};
        for (auto const& request : split_list(text)) {
            if (auto p = passes_.find(request.name)) {
                if (request.arguments) p = p->with(*request.arguments);
                p ? found_.push_back(std::move(*p)) : add(p.error());
            } else if (auto const* list = find_list(request.name); list && !request.arguments) {
                collect(list->passes, depth + 1);
            } else {
                add(p.error());
            }
        }
    }
    void add(error const& e) { problems_.insert(problems_.end(), e.problems().begin(), e.problems().end()); }
    pass_list const* find_list(std::string_view name) const {
        for (auto const& l : passes_.lists())
            if (name_key(l.name) == name_key(name)) return &l;
        return nullptr;
    }

    pass_manager const& passes_;
    std::vector<any_pass> found_;
    std::vector<problem> problems_;
};

// Calls `run(pass, required_by)` for passes and, before each, for what it requires and what is not `valid(name)`.
template <class Run, class Valid>
class requirement_walk {
public:
    requirement_walk(pass_manager const& passes, Run run, Valid valid) : passes_(passes), run_(run), valid_(valid) {}

    void visit(any_pass const& p, std::string_view required_by = {}) {
        if (std::find(path_.begin(), path_.end(), p.name()) != path_.end()) {
            std::string text;
            for (auto name : path_) text += format_text("{} -> ", name);
            throw error{errors::pass_list, format_text("passes require each other in a circle: {}{}", text, p.name())};
        }
        path_.push_back(p.name());
        for (auto name : p.info().required) {
            auto const required = passes_.find(name);
            if (!required) throw required.error().within(format_text("pass {} requires another", p.name()));
            if (!valid_(required->name())) visit(*required, p.name());
        }
        path_.pop_back();
        run_(p, required_by);
    }

private:
    pass_manager const& passes_;
    Run run_;
    Valid valid_;
    std::vector<std::string_view> path_;
};

GSUB_LAZY std::vector<std::string> check_list(std::span<any_pass const> list, order_policy policy) {
    std::vector<std::string> notes;
    if (policy == order_policy::ignore) return notes;
    std::vector<std::string_view> names;
    for (auto const& p : list) names.push_back(p.name());
    std::vector<problem> hard;
    for (auto const& breach : check_order(names)) {
        if (breach.rule->kind == order_kind::hard && policy == order_policy::refuse)
            hard.push_back({errors::pass_list, {}, {}, breach.text(), {}});
        else
            notes.push_back(breach.text());
    }
    if (!hard.empty()) throw error{std::move(hard)};
    return notes;
}

} // namespace detail

GSUB_LAZY_BODY result<any_pass> any_pass::with(std::string_view arguments) const {
    if (!parse_)
        return error{errors::pass_arguments,
                     format_text("pass {} takes no arguments, here are {}", name(), quoted{arguments})};
    auto made = parse_(arguments);
    if (!made) return made.error().within(format_text("pass {}", name()));
    made->name_ = name_;
    made->info_.name = info_.name;
    made->arguments_ = format_text("({})", arguments);
    return made;
}

GSUB_LAZY_BODY pass_manager& pass_manager::add(any_pass p) {
    auto const key = detail::name_key(p.name());
    for (auto& known : passes_)
        if (detail::name_key(known.name()) == key) return known = std::move(p), *this;
    passes_.push_back(std::move(p));
    return *this;
}

GSUB_LAZY_BODY pass_manager& pass_manager::add_list(pass_list list) {
    auto const key = detail::name_key(list.name);
    for (auto& known : lists_)
        if (detail::name_key(known.name) == key) return known = std::move(list), *this;
    lists_.push_back(std::move(list));
    return *this;
}

GSUB_LAZY_BODY result<any_pass> pass_manager::find(std::string_view name) const {
    auto const key = detail::name_key(name);
    for (auto const& p : passes_)
        if (detail::name_key(p.name()) == key) return p;
    std::string_view nearest;
    auto least = std::min(key.size(), std::max<std::size_t>(3, key.size() / 2)); // further away is no help
    auto const compare_with = [&](std::string_view other) {
        if (auto const d = edit_distance(key, detail::name_key(other)); d < least) least = d, nearest = other;
    };
    for (auto const& p : passes_) {
        for (auto alias : p.info().aliases) {
            if (detail::name_key(alias) == key) return p;
            compare_with(alias);
        }
        compare_with(p.name());
    }
    for (auto const& l : lists_) compare_with(l.name);
    return error{problem{errors::unknown_pass,
                         {},
                         {},
                         format_text("there is no pass {}", quoted{name}),
                         nearest.empty() ? "`gsub passes` lists them" : std::string{nearest}}};
}

GSUB_LAZY_BODY result<std::vector<any_pass>> pass_manager::parse(std::string_view text) const {
    return capture([&] { return detail::list_reader<>{*this}.read(text); });
}

GSUB_LAZY_BODY result<std::vector<any_pass>> pass_manager::with_required(std::span<any_pass const> list) const {
    return capture([&] {
        std::vector<any_pass> out;
        auto const keep = [&](any_pass const& p, std::string_view) { out.push_back(p); };
        auto const kept = [&](std::string_view name) {
            return std::any_of(out.begin(), out.end(), [&](any_pass const& p) { return p.name() == name; });
        };
        detail::requirement_walk walk{*this, keep, kept};
        for (auto const& p : list) walk.visit(p);
        return out;
    });
}

GSUB_LAZY_BODY result<pass_run> pass_manager::run(std::span<any_pass const> list, module& m, pass_context& cx,
                                                  pass_run_options const& options) const {
    auto const kept = m;
    auto done = capture([&] {
        pass_run r;
        r.notes = detail::check_list(with_required(list).value(), options.order);
        for (auto const& note : r.notes)
            if (cx.observe) cx.observe->on_note(note);
        checking_instrument instrument{options.instrument};
        auto inner = cx;
        inner.instrument = &instrument;
        std::vector<std::string_view> valid; // passes whose work stands
        auto const run_one = [&](any_pass const& p, std::string_view required_by) {
            instrument.set_required_by(required_by);
            auto const place = instrument.records().size();
            r.outcome += p(m, inner).value();
            if (instrument.records()[place].changed)
                valid.erase(std::remove_if(valid.begin(), valid.end(),
                                           [&](std::string_view name) {
                                               auto const stays = p.info().preserved;
                                               return std::find(stays.begin(), stays.end(), name) == stays.end();
                                           }),
                            valid.end());
            if (std::find(valid.begin(), valid.end(), p.name()) == valid.end()) valid.push_back(p.name());
        };
        auto const is_valid = [&](std::string_view name) {
            return std::find(valid.begin(), valid.end(), name) != valid.end();
        };
        detail::requirement_walk walk{*this, run_one, is_valid};
        for (auto const& p : list) walk.visit(p);
        r.records = instrument.take_records();
        return r;
    });
    if (!done) m = kept;
    return done;
}

GSUB_LAZY_BODY result<pass_run> pass_manager::run(std::string_view text, module& m, pass_context& cx,
                                                  pass_run_options const& options) const {
    auto const list = parse(text);
    if (!list) return list.error();
    return run(std::span<any_pass const>{*list}, m, cx, options);
}

} // namespace gsub
