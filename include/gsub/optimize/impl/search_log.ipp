#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/format.hpp>
#include <gsub/optimize/search_log.hpp>

#include <limits>

namespace gsub {

GSUB_INLINE search_log::expansion const* search_log::find(hash128 path) const {
    auto const found = by_path_.find(path);
    return found == by_path_.end() ? nullptr : &expansions_[found->second];
}

// Forgets the expansion that was interrupted, if there is one.
GSUB_INLINE void search_log::drop_open() {
    if (!open_) return;
    open_ = false;
    auto const& last = expansions_.back();
    if (last.count > 0) text_.resize(successors_[last.first].text);
    successors_.resize(last.first);
    expansions_.pop_back();
    --sections_.back().count;
}

GSUB_INLINE void search_log::append(search_event const& e) {
    constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
    if (e.rule.size() > most || e.site.size() > most)
        throw error{errors::damaged_trace, "the names of a rewrite are too long"};
    successors_.push_back({e.key, e.move, e.cost, e.what, static_cast<std::uint32_t>(e.rule.size()),
                           static_cast<std::uint32_t>(e.site.size()), text_.size()});
    text_ += e.rule, text_ += e.site;
    ++expansions_.back().count;
}

GSUB_INLINE void search_log::add(search_event const& e) {
    using kind = search_event::kind;
    auto const refuse = [&](std::string_view why) {
        throw error{errors::damaged_trace, format_text("the event \"{}\" {}", to_string(e.what), why)};
    };
    if (!(e.cost >= 0 && e.cost <= std::numeric_limits<double>::max())) refuse("has a cost that is none");
    if (end_.recorded) refuse("comes after the end");
    if (e.what > kind::begin && e.what != kind::stop && sections_.empty()) refuse("comes before any search begins");
    auto const outside = [&] {
        if (open_) refuse("comes before an expansion is complete");
    };
    auto const in_turn = [&](std::size_t number) {
        if (e.steps != number) refuse(format_text("has number {}, it must be {}", e.steps, number));
    };
    switch (e.what) {
    case kind::header:
        if (headed_ || !sections_.empty() || !e.of) refuse("does not come first");
        identity_ = *e.of;
        headed_ = true;
        break;
    case kind::begin:
        drop_open();
        sections_.push_back({e.path, e.cost, expansions_.size(), 0});
        break;
    case kind::expand:
        outside();
        in_turn(sections_.back().count);
        expansions_.push_back({e.path, 0, successors_.size(), 0});
        ++sections_.back().count;
        open_ = true;
        break;
    case kind::admit:
        if (open_) append(e);
        break;
    case kind::refuse:
    case kind::known:
        if (!open_) refuse("does not belong to an expansion");
        append(e);
        break;
    case kind::expanded:
        if (!open_) refuse("does not belong to an expansion");
        in_turn(sections_.back().count - 1);
        expansions_.back().failed = e.failed;
        open_ = false;
        by_path_.emplace(expansions_.back().path, expansions_.size() - 1); // of several with one way the first
        break;
    case kind::improvement:
        outside();
        break;
    case kind::stop:
        drop_open();
        end_ = {true, e.steps, e.cost, e.why};
        break;
    }
}

GSUB_INLINE search_log::section const& search_replay::next(hash128 path) {
    if (!more())
        throw error{errors::damaged_trace, format_text("the trace ends before search number {} begins", next_ + 1)};
    auto const& s = log_->sections()[next_++];
    if (s.path != path)
        throw error{problem{errors::damaged_trace,
                            {},
                            {},
                            format_text("search number {} of the trace begins with another graph", next_),
                            "the options of the search that wrote the trace, those of parts above all"}};
    return s;
}

} // namespace gsub
