// config_space: the named knobs of a kernel; every configuration of them has a number.
#pragma once

#include <gsub/core/random.hpp>
#include <gsub/core/small_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::loop {

/// Split policy: the factors that a split may have. `factors`: divisors of the extent, whose products divide it;
/// `power2`: powers of two; `verbose`: both; `candidate`: values that are listed. Products of `power2` and `verbose` go
/// up to the extent, so that there may be tails. *Source* AutoTVM, TVM v0.9.
enum class split_policy : std::uint8_t { factors, power2, verbose, candidate };

struct split_options {
    std::size_t parts = 2;
    split_policy policy = split_policy::factors;
    std::int64_t max_last = std::numeric_limits<std::int64_t>::max();   ///< of the innermost factor
    std::int64_t max_factor = std::numeric_limits<std::int64_t>::max(); ///< of each factor but the outermost
    std::vector<std::vector<std::int64_t>> candidates{};                ///< of policy `candidate`, outermost first
};

enum class choice_kind : std::uint8_t { number, boolean, text };

/// A value of a choice: a number, a truth value or a word.
class choice_value {
public:
    choice_value(bool flag) : number_(flag), kind_(choice_kind::boolean) {}
    choice_value(int number) : number_(number) {}
    choice_value(std::int64_t number) : number_(number) {}
    choice_value(char const* word) : choice_value(std::string{word}) {}
    choice_value(std::string word) : text_(std::move(word)), kind_(choice_kind::text) {}

    [[nodiscard]] choice_kind kind() const noexcept { return kind_; }
    [[nodiscard]] std::int64_t number() const noexcept { return number_; } ///< truth values: 0 and 1
    [[nodiscard]] std::string const& text() const noexcept { return text_; }
    friend bool operator==(choice_value const&, choice_value const&) = default;

private:
    std::string text_;
    std::int64_t number_ = 0;
    choice_kind kind_ = choice_kind::number;
};

/// Prints a choice value: `512`, `true`, `oc_outer`.
GSUB_LAZY [[nodiscard]] std::string to_string(choice_value const& v);

/// Knob of a config space: a split of an extent, or a choice from a list.
struct knob {
    std::string name;
    std::int64_t extent = 0;           ///< of a split
    std::size_t parts = 0;             ///< of a split; 0: this is a choice
    std::vector<std::int64_t> factors; ///< of a split: `parts` numbers a value, outermost first; -1: what is left
    std::vector<choice_value> choices;

    [[nodiscard]] bool is_split() const noexcept { return parts > 0; }
    [[nodiscard]] std::size_t size() const noexcept { return is_split() ? factors.size() / parts : choices.size(); }
    /// Factors of a value. *Requires* a split, and digit < size().
    [[nodiscard]] std::span<std::int64_t const> split(std::size_t digit) const noexcept {
        return as_span(factors).subspan(digit * parts, parts);
    }
};

class config_space;

/// Configuration: a point of a config space, a digit for each knob. Keeps a pointer to the space, which must outlive
/// it. *Errors* Functions that take a name throw `error` (`usage`) that names the knob, where it is unknown or of the
/// other kind.
class configuration {
public:
    [[nodiscard]] config_space const& space() const noexcept { return *space_; }
    [[nodiscard]] std::span<std::uint32_t const> digits() const noexcept { return {digits_.data(), digits_.size()}; }
    /// Number of the configuration in mixed radix; the knob defined first counts fastest.
    GSUB_LAZY [[nodiscard]] std::uint64_t index() const noexcept;

    /// Factors of a split, outermost first; the first is -1 where it is what is left.
    GSUB_LAZY [[nodiscard]] std::span<std::int64_t const> factors(std::string_view name) const;
    /// The innermost factor of a split.
    [[nodiscard]] std::int64_t last(std::string_view name) const { return factors(name).back(); }
    /// The outermost factor of a split, rounded up where the others do not divide.
    GSUB_LAZY [[nodiscard]] std::int64_t outer(std::string_view name) const;
    GSUB_LAZY [[nodiscard]] choice_value const& choice(std::string_view name) const;

    /// Gives a knob another value. A split's first factor may be -1 or what it stands for. *Errors* where it has none
    /// such.
    GSUB_LAZY void set(std::string_view name, std::span<std::int64_t const> factors);
    void set(std::string_view name, std::initializer_list<std::int64_t> factors) {
        set(name, std::span{factors.begin(), factors.size()});
    }
    GSUB_LAZY void set(std::string_view name, choice_value const& value);

    friend bool operator==(configuration const& a, configuration const& b) noexcept {
        return a.space_ == b.space_ && a.digits_ == b.digits_;
    }

private:
    friend class config_space;
    explicit configuration(config_space const& space) noexcept : space_(&space) {}
    config_space const* space_;
    small_vector<std::uint32_t, 14> digits_;
};

/// Prints a configuration: `tile_oc=[-1,16] tile_ow=[-1,7] unroll_kw=true`, which `config_space::parse` reads.
GSUB_LAZY [[nodiscard]] std::string to_string(configuration const& c);

/// Config space: named knobs in order, and restrictions. Its points are numbered from 0 to `size() - 1`, restricted
/// ones included, so that a restriction changes no number. Splits are enumerated depth first, the innermost factor
/// varying slowest, each factor from small to great. These are the numbers of AutoTVM's records, except for policy
/// `verbose`, where TVM follows the order of a Python set: read such a record by its values. *Errors* All of these
/// throw `error` (`usage`) that names the knob.
class config_space {
public:
    /// Adds a knob whose values are the ways to write an extent as `parts` nested loops. *Errors* for a name that is
    /// taken or not of letters, digits and underscores, an extent or number of parts below 1, a candidate of another
    /// length or below 1, a knob without values, more than 2^20 values, or a space of more than 2^63 points.
    GSUB_LAZY void split(std::string_view name, std::int64_t extent, split_options const& options = {});
    /// Adds a knob with the values of a list, in its order. *Errors* as `split`; for values that are written alike, and
    /// for words of other characters than letters, digits and underscores.
    GSUB_LAZY void choice(std::string_view name, std::vector<choice_value> values);
    /// Allows only points for which `allowed` holds. It must be a function of the values alone.
    void constrain(std::function<bool(configuration const&)> allowed) { restrictions_.push_back(std::move(allowed)); }

    [[nodiscard]] std::span<knob const> knobs() const noexcept { return as_span(knobs_); }
    /// Position of a knob. *Errors* where there is none of that name.
    GSUB_LAZY [[nodiscard]] std::size_t position(std::string_view name) const;
    /// Product of the sizes of all knobs; 1 where there are none.
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

    /// The point with a number, whether allowed or not. *Errors* beyond `size() - 1`, naming the knobs.
    GSUB_LAZY [[nodiscard]] configuration at(std::uint64_t index) const;
    /// Parses a point as `to_string` writes it, knobs in any order. *Errors* for knobs that are unknown, missing or
    /// named twice, and for values that a knob does not have.
    GSUB_LAZY [[nodiscard]] configuration parse(std::string_view text) const;
    GSUB_LAZY [[nodiscard]] bool allows(configuration const& c) const;

    /// Draws a random allowed point: uniformly where one in some hundred is allowed; nothing only where none is.
    /// *Complexity* up to 1000 draws, then the points in order from the last one drawn.
    GSUB_LAZY [[nodiscard]] std::optional<std::uint64_t> draw(random_stream& random) const;
    /// All allowed points that differ from a point in the value of one knob, by knob, then by value. *Errors* as `at`.
    GSUB_LAZY [[nodiscard]] std::vector<std::uint64_t> neighbours(std::uint64_t index) const;
    /// Draws one of the neighbours uniformly; nothing where there are none. *Errors* as `at`.
    GSUB_LAZY [[nodiscard]] std::optional<std::uint64_t> neighbour(std::uint64_t index, random_stream& random) const;

private:
    GSUB_LAZY void add(knob made);
    std::vector<knob> knobs_;
    std::vector<std::function<bool(configuration const&)>> restrictions_;
    std::uint64_t size_ = 1;
};

/// Prints a line for each knob: `tile_oc: 7 splits of 64 into 2`, `unroll_kw: true, false`.
GSUB_LAZY [[nodiscard]] std::string to_string(config_space const& space);

} // namespace gsub::loop

#ifndef GSUB_COMPILED
#include <gsub/loop/impl/config_space.ipp>
#include <gsub/loop/impl/split_factors.ipp>
#endif
