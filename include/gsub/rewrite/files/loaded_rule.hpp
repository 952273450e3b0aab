// Loaded rules: rules from files, checked, proved, then matched and applied like those written in C++.
#pragma once

#include <gsub/rewrite/files/rule_description.hpp>
#include <gsub/rewrite/pattern/program.hpp>
#include <gsub/rewrite/verify/sample.hpp>
#include <gsub/rewrite/verify/verifier.hpp>

#include <memory>
#include <span>

namespace gsub {

namespace detail {
struct loaded_rule_data;
}

/// A described rule compiled to a match program. It matches floating-point tensors of fixed sizes, convolutions of two
/// spatial dimensions without bias and with the pads that the rule says; the shapes give the number of groups. Where
/// the target would be ill-typed, the rewrite fails and the rule does not apply. Cheap to copy.
class loaded_rule {
public:
    /// *Errors* as `check(rule_description)`.
    GSUB_LAZY [[nodiscard]] static result<loaded_rule> make(rule_description rule);

    /// Points into this object and its copies.
    [[nodiscard]] rule_program const& program() const noexcept;
    [[nodiscard]] rule_description const& description() const noexcept;
    /// Whether the operators that the rule replaces are connected, so that the matcher can find them. Other rules can
    /// be proved, but match nowhere.
    [[nodiscard]] bool connected() const noexcept;

private:
    std::shared_ptr<detail::loaded_rule_data const> data_;
};

/// Draws an instance of a loaded rule's source with the decisions of `choose`; null where they lead to none. Labels its
/// operators and binds its inputs, whether or not the matcher can find them.
GSUB_LAZY [[nodiscard]] std::unique_ptr<pattern_instance> draw_instance(loaded_rule const& rule, dialect const& d,
                                                                        chooser& choose);

/// Default verification options of loaded rules.
inline constexpr verify_options loaded_rule_options{.box = 2000, .samples = 200};

/// Verifies a loaded rule on instances whose shapes are legal for its source; see `draw_shapes`. *Requires*
/// `evaluate<Op>` for the operators of `rule_words`.
GSUB_LAZY [[nodiscard]] verification verify(loaded_rule const& rule, dialect const& d, eval_table evaluators,
                                            verify_options const& options = loaded_rule_options);

template <class OpSet = standard_ops>
[[nodiscard]] verification verify(loaded_rule const& rule, verify_options const& options = loaded_rule_options) {
    return verify(rule, dialect::of<OpSet>(), table_of<eval_row, OpSet>(), options);
}

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/rewrite/files/impl/loaded_rule.ipp>
#endif
