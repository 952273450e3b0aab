// The pass manager: passes by name, named lists, requirements, and runs of a list.
#pragma once

#include <gsub/passes/manager/instrumentation.hpp>
#include <gsub/passes/manager/order.hpp>
#include <gsub/passes/pass.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace gsub {

/// A type-erased pass. Cheap to copy.
class any_pass {
public:
    /// A pass, under its own name or another, e.g. for a `pipeline`.
    template <pass P>
    requires(!std::same_as<P, any_pass>) any_pass(P p, std::string_view name = {})
        : info_(pass_info::of<P>()), object_(std::make_shared<P const>(std::move(p))), run_(&run_one<P>) {
        if constexpr (requires(P const& q) { std::string{q.arguments()}; })
            if (std::string const given{static_cast<P const*>(object_.get())->arguments()}; !given.empty())
                arguments_ = "(" + given + ")";
        if constexpr (from_text<P>) parse_ = [](std::string_view text) { return parse_one<P>(text); };
        if (!name.empty()) {
            name_ = std::make_shared<std::string const>(name);
            info_.name = *name_;
        }
    }

    [[nodiscard]] pass_info const& info() const noexcept { return info_; }
    [[nodiscard]] std::string_view name() const noexcept { return info_.name; }
    /// Text of the pass in lists: its name, with the arguments in parentheses that `with` was given or that
    /// `arguments()` of the pass tells.
    [[nodiscard]] std::string text() const { return std::string{info_.name} + arguments_; }
    /// Runs the pass as `run_pass` does.
    result<pass_outcome> operator()(module& m, pass_context& cx) const { return run_(object_.get(), info_, m, cx); }
    /// Parses arguments by `static result<P> P::from_text(std::string_view)`; the pass made keeps this one's name.
    /// *Errors* `usage` where it takes none, and those of `from_text`.
    GSUB_LAZY [[nodiscard]] result<any_pass> with(std::string_view arguments) const;
    [[nodiscard]] bool takes_arguments() const noexcept { return parse_ != nullptr; }

private:
    template <class P>
    static constexpr bool from_text = requires(std::string_view text) {
        { P::from_text(text) } -> std::same_as<result<P>>;
    };
    template <class P>
    static result<pass_outcome> run_one(void const* object, pass_info const& info, module& m, pass_context& cx) {
        return detail::run_named(info, *static_cast<P const*>(object), m, cx);
    }
    template <class P>
    static result<any_pass> parse_one(std::string_view text) {
        auto made = P::from_text(text);
        if (!made) return made.error();
        return any_pass{std::move(*made)};
    }

    pass_info info_;
    std::shared_ptr<void const> object_;
    std::shared_ptr<std::string const> name_;
    std::string arguments_; // with their parentheses
    result<pass_outcome> (*run_)(void const*, pass_info const&, module&, pass_context&);
    result<any_pass> (*parse_)(std::string_view) = nullptr;
};

/// A named list of passes.
struct pass_list {
    std::string name;
    std::string passes;   ///< as `pass_manager::parse` reads them
    std::string sentence; ///< what it is
};

/// How a manager treats a list that breaks an ordering rule.
enum class order_policy {
    refuse, ///< hard rules are errors, others are notes
    note,   ///< all are notes
    ignore,
};

struct pass_run_options {
    instrument_options instrument{};
    order_policy order = order_policy::refuse;
};

/// Result of running a list.
struct pass_run {
    pass_outcome outcome; ///< the sum
    std::vector<pass_record> records;
    std::vector<std::string> notes; ///< ordering rules that the list breaks
};

/// Pass manager: a registry of passes and lists. Names and aliases are compared without case and without anything but
/// letters and digits, so `FoldConstant`, `fold_constant` and `fold-constant` are one.
class pass_manager {
public:
    /// Registers a pass; it replaces one of that name.
    GSUB_LAZY pass_manager& add(any_pass p);
    GSUB_LAZY pass_manager& add_list(pass_list list);
    [[nodiscard]] std::span<any_pass const> passes() const noexcept { return passes_; }
    [[nodiscard]] std::span<pass_list const> lists() const noexcept { return lists_; }

    /// Finds a pass by a name or an alias. *Errors* `usage`, with the nearest name.
    GSUB_LAZY [[nodiscard]] result<any_pass> find(std::string_view name) const;
    /// Parses a list: names of passes, with arguments in parentheses where they take some, and of lists, separated by
    /// commas, e.g. `BL, convert-layout(NCHW16c), FuseOps`. *Errors* `usage`: unknown names, all of them and each with
    /// the nearest one; unbalanced parentheses; arguments that a pass does not take.
    GSUB_LAZY [[nodiscard]] result<std::vector<any_pass>> parse(std::string_view text) const;
    /// Adds the passes that a list requires, as they run where no pass changes anything. *Errors* `usage` for
    /// requirements that are not registered or cyclic.
    GSUB_LAZY [[nodiscard]] result<std::vector<any_pass>> with_required(std::span<any_pass const> list) const;

    /// Runs exactly what the list names, in its order, each under the instrument. What a pass requires runs before it,
    /// unless it has run and since then only passes that preserve it have changed the module. *Errors* as above and
    /// those of passes; `usage` for a list that breaks a hard ordering rule. The module is then as it was before the
    /// call.
    GSUB_LAZY result<pass_run> run(std::span<any_pass const> list, module& m, pass_context& cx,
                                   pass_run_options const& options = {}) const;
    /// Parses a text, and runs the list.
    GSUB_LAZY result<pass_run> run(std::string_view text, module& m, pass_context& cx,
                                   pass_run_options const& options = {}) const;

private:
    std::vector<any_pass> passes_;
    std::vector<pass_list> lists_;
};

namespace passes {

/// `none`, `default`, and the lists of the literature as data: `BL`, `tvm_o0` ... `tvm_o4`, `AS-0`, `AS-1`, `PO-0` ...
/// `PO-3`.
/// *Source* Tables 4 and 5 of the architecture-aware selection paper, TVM 0.8.
GSUB_LAZY [[nodiscard]] std::vector<pass_list> standard_lists();
/// Pass manager with all passes of the library, with default arguments, and the standard lists. Add your own to it.
GSUB_LAZY [[nodiscard]] pass_manager standard_passes();

} // namespace passes

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/passes/manager/impl/manager.ipp>
#include <gsub/passes/manager/impl/standard_passes.ipp>
#endif
