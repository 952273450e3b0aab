// Search events, and the log of them from which a search is resumed or replayed.
#pragma once

#include <gsub/core/hash.hpp>
#include <gsub/core/interface.hpp>
#include <gsub/core/result.hpp>
#include <gsub/search/concepts.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub {

/// Exploration policy: which successors of a graph a search makes, see `substitution_problem` and `search::admission`.
enum class explored_moves {
    every,
    one_order,       ///< of independent moves one order only
    until_cheaper,   ///< in order, up to the first that costs less than the graph
    until_no_dearer, ///< the same with moves of equal cost
};
[[nodiscard]] constexpr std::string_view to_string(explored_moves m) noexcept {
    constexpr std::string_view names[] = {"every", "one", "until-cheaper", "until-no-dearer"};
    return names[static_cast<std::size_t>(m)];
}

/// Identity of a search: all that its expansions depend on. Searches of one identity expand a state alike.
struct search_identity {
    hash128 graph;    ///< at the start, with the ids of its nodes, by which rewrites are named
    hash128 rules;    ///< see `rule_index::hash`
    hash128 costs;    ///< unit and parameters of the cost model, and what the nodes of that graph cost
    std::string unit; ///< of the costs
    double cost = 0;  ///< of that graph
    explored_moves moves = explored_moves::every;

    [[nodiscard]] hash128 hash() const noexcept {
        return hasher{static_cast<std::uint64_t>(moves)}.add(graph).add(rules).add(costs).finish();
    }
    friend bool operator==(search_identity const&, search_identity const&) = default;
};

/// An event of a search. Costs are in the model's unit.
struct search_event {
    enum class kind : std::uint8_t {
        header,      ///< what will be searched; first of all, told by `optimize`
        begin,       ///< a search begins: of the graph, or of a part, whose costs and steps follow
        expand,      ///< the successors of a state are made; those that wait, are refused or known follow
        admit,       ///< a successor will wait
        refuse,      ///< a successor costs too much
        known,       ///< a successor was seen before
        expanded,    ///< all successors were told; an `admit` after it is of a state refused under a smaller alpha
        improvement, ///< the best cost so far has fallen
        stop,        ///< the end of all searches, and why
    };
    kind what = kind::expand;
    std::uint64_t steps = 0; ///< number of the expansion, from 0 on; of `improvement` and `stop`: how many there were
    double cost = 0;         ///< of the state; of `improvement` and `stop`: the best so far
    std::string_view rule{}, site{};                          ///< of a successor: the rewrite that leads to it
    search::stop_reason why = search::stop_reason::exhausted; ///< of `stop`
    hash128 key{};                                            ///< of a state: hash of its graph
    hash128 path{}; ///< of `begin` and `expand`: hash of the start and of all moves from there, see `extend_path`
    std::uint64_t move = 0;              ///< of a successor: hash of rule and match
    std::uint64_t failed = 0;            ///< of `expanded`: matches whose rewrite could not be applied
    search_identity const* of = nullptr; ///< of `header`
};
[[nodiscard]] constexpr std::string_view to_string(search_event::kind k) noexcept {
    constexpr std::string_view names[] = {"header", "begin",    "expand",      "admit", "refuse",
                                          "known",  "expanded", "improvement", "stop"};
    return names[static_cast<std::size_t>(k)];
}

/// Extends a path hash by one move. States with one path hash have the same graph, ids of nodes included.
[[nodiscard]] constexpr hash128 extend_path(hash128 path, std::uint64_t move) noexcept {
    return hasher{}.add(path).add(move).finish();
}

/// Search observer: gets each event of a search as it happens. The event lives for the length of the call. An error
/// that the observer throws ends the search, and the searching call returns it.
class search_observer : public interface {
public:
    virtual void on_event(search_event const& e) = 0;
};

/// Search log: the successors of each expanded state, by the path to the state. They follow from the identity of the
/// search alone, so a search that knows them gives the same result, only sooner. Interrupted expansions are left out.
/// *Memory* for each successor 64 bytes and its label.
class search_log {
public:
    struct successor {
        hash128 key;
        std::uint64_t move = 0;
        double cost = 0; ///< in the model's unit
        search_event::kind fate = search_event::kind::admit;
        std::uint32_t rule_size = 0, site_size = 0; ///< of the texts
        std::uint64_t text = 0;                     ///< where they begin
    };
    struct expansion {
        hash128 path;
        std::uint64_t failed = 0;         ///< matches whose rewrite could not be applied
        std::size_t first = 0, count = 0; ///< successors
    };
    /// One search: of the graph, or of a part.
    struct section {
        hash128 path; ///< of the start
        double cost = 0;
        std::size_t first = 0, count = 0; ///< expansions
    };
    /// The end of all searches.
    struct ending {
        bool recorded = false;
        std::uint64_t expanded = 0;
        double cost = 0; ///< of the best graph
        search::stop_reason why = search::stop_reason::exhausted;
    };

    /// Adds the next event of a search. *Errors* throws `error` (`invalid_input`) for an event that cannot follow those
    /// before it, and for costs that are negative or not finite.
    void add(search_event const& e);

    /// Identity of the whole search; null where there was no header.
    [[nodiscard]] search_identity const* identity() const noexcept { return headed_ ? &identity_ : nullptr; }
    /// The expansion of the state at the end of a path, or null.
    [[nodiscard]] expansion const* find(hash128 path) const;
    [[nodiscard]] std::span<section const> sections() const noexcept { return sections_; }
    [[nodiscard]] std::span<expansion const> expansions(section const& s) const noexcept {
        return std::span{expansions_}.subspan(s.first, s.count);
    }
    [[nodiscard]] std::span<successor const> successors(expansion const& e) const noexcept {
        return std::span{successors_}.subspan(e.first, e.count);
    }
    [[nodiscard]] std::string_view rule(successor const& s) const noexcept {
        return std::string_view{text_}.substr(s.text, s.rule_size);
    }
    [[nodiscard]] std::string_view site(successor const& s) const noexcept {
        return std::string_view{text_}.substr(s.text + s.rule_size, s.site_size);
    }
    [[nodiscard]] ending const& end() const noexcept { return end_; }

private:
    void append(search_event const& e);
    void drop_open();

    search_identity identity_;
    std::vector<section> sections_;
    std::vector<expansion> expansions_;
    std::vector<successor> successors_;
    std::string text_; // rules and sites
    std::map<hash128, std::size_t> by_path_;
    ending end_;
    bool headed_ = false, open_ = false; // open_: the last expansion goes on
};

/// Search observer that keeps a log in memory. On disk: `report::trace_writer` and `report::read_trace`.
class search_recorder : public search_observer {
public:
    void on_event(search_event const& e) override { log_.add(e); }
    [[nodiscard]] search_log const& log() const noexcept { return log_; }

private:
    search_log log_;
};

/// Cursor over the searches of a log, in their order.
class search_replay {
public:
    /// `log` must outlive it.
    explicit search_replay(search_log const& log) noexcept : log_(&log) {}
    [[nodiscard]] search_log const& log() const noexcept { return *log_; }
    [[nodiscard]] bool more() const noexcept { return next_ < log_->sections().size(); }
    /// The next search. *Errors* throws `error` (`invalid_input`) where there is none, or it starts elsewhere.
    search_log::section const& next(hash128 path);

private:
    search_log const* log_;
    std::size_t next_ = 0;
};

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/optimize/impl/search_log.ipp>
#endif
