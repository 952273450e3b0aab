// `table`: a cost model from a file. It has a cost for each kind of node, measured elsewhere or taken from a paper.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/cost/analytic.hpp>
#include <gsub/cost/concepts.hpp>
#include <gsub/ir/ops/op.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::cost {

/// Table cost model: a list of node signatures, each with its seconds. As text it is JSON lines, one object a line:
///
///     {"op": "Conv", "operands": ["f32[1,512,28,28]", "*"], "attributes": {"group": 8}, "seconds": 1.12e-4}
///     {"otherwise": "roofline"}
///
/// `operands` are types of the first operands as texts, in which `*` stands for any characters; `attributes` are those
/// that must have the given value; both may be left out. The first line that fits a node gives its cost. A node that no
/// line fits is an error, or costs what the line `otherwise` says: a number of seconds, or `roofline`. Views, constants
/// and weight arithmetic cost nothing and are not looked for. Safe to use from several threads. *Complexity* of a node:
/// that of its signature's text, plus O(lines of its operator) where the signature is new.
class table {
public:
    using unit = gsub::seconds;
    static constexpr bool by_clock = true;

    /// Reads a file. *Errors* as `io::read_file`; `invalid_input` naming file and line for a line that is no JSON, has
    /// an unknown or missing key, names an operator or attribute that is not among `operators`, or has a cost that is
    /// negative or no finite number.
    static result<table> open(std::string const& path, std::span<op_info const> operators,
                              split_lowering splits = split_lowering::view);
    /// Reads a text; `name` stands for the file in errors.
    static result<table> parse(std::string_view text, std::string name, std::span<op_info const> operators,
                               split_lowering splits = split_lowering::view);
    /// Reads a file for an operator set.
    template <class OpSet>
    static result<table> over(std::string const& path, split_lowering splits = split_lowering::view) {
        return open(path, dialect::of<OpSet>().ops, splits);
    }

    /// *Errors* throws `error` (`unsupported`) naming node, operator and signature where the table has no cost.
    unit operator()(any_graph const& g, node_id n) const;
    unit operator()(any_graph const& g) const { return sum_over_nodes(*this, g); }
    [[nodiscard]] hash128 parameters() const noexcept { return parameters_; }
    /// Lines with a cost.
    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
    /// Distinct signatures that `otherwise` has costed.
    [[nodiscard]] std::size_t otherwise_costed() const noexcept { return state_->fallbacks; }

private:
    struct entry {
        std::string_view op;                                     // of the operator table, which is static
        std::vector<std::string> operands;                       // texts with `*`
        std::vector<std::pair<std::size_t, std::string>> values; // attributes by number, as texts
        double seconds = 0;
    };
    struct state {
        std::mutex mutex;
        std::map<std::string, double> known; // by operator and signature
        std::size_t fallbacks = 0;
    };
    static bool fits(entry const& e, any_graph const& g, node_id n);

    std::string name_;
    std::vector<entry> entries_;
    std::optional<double> otherwise_; // negative: the roofline
    split_lowering splits_ = split_lowering::view;
    hash128 parameters_; // of the text and `splits_`
    std::shared_ptr<state> state_ = std::make_shared<state>();

    friend class table_reader;
};

} // namespace gsub::cost

#ifndef GSUB_COMPILED
#include <gsub/cost/impl/table.ipp>
#endif
