// `result<T>`: a value or an error, and errors caused from outside (input, files, shapes, devices).
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/error_id.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace gsub {

/// Diagnostic of one fault, with what the reader needs to act on it.
struct problem {
    error_id id{};        ///< which error it is; an `error_code` stands for those without a number of their own
    std::string node{};   ///< name of the node or value concerned, may be empty
    std::string op{};     ///< operator with version, e.g. `Resize-19`, may be empty
    std::string reason{}; ///< what was found and what was expected
    std::string hint{};   ///< what to do about it, may be empty
};

/// Text of a problem: `not supported: Resize-19 (node "up"): reason; try: hint`
[[nodiscard]] inline std::string to_string(problem const& p) {
    std::string text{to_string(p.id.code)};
    text += ": ";
    if (!p.op.empty()) text += p.op + " ";
    if (!p.node.empty()) text += "(node \"" + p.node + "\") ";
    if (text.back() == ' ' && (!p.op.empty() || !p.node.empty())) text.back() = ':', text += ' ';
    text += p.reason;
    if (!p.hint.empty()) text += "; try: " + p.hint;
    return text;
}

/// An error: an identity, one or several problems, and a chain of contexts (outermost first). Cheap to copy.
class error : public std::exception {
public:
    /// An error with one problem that consists of a reason alone.
    error(error_id id, std::string reason) : error(problem{id, {}, {}, std::move(reason), {}}) {}
    explicit error(problem one) : error(std::vector<problem>{std::move(one)}) {}

    /// Several problems reported together. *Requires* at least one.
    explicit error(std::vector<problem> problems) : error(std::move(problems), {}) {}

    /// The gravest code among the problems, in the order of their numbers: malformed input outweighs what is merely not
    /// supported.
    [[nodiscard]] error_code code() const noexcept { return data_->id.code; }
    /// The identity of the first problem of that code.
    [[nodiscard]] error_id id() const noexcept { return data_->id; }
    [[nodiscard]] std::vector<problem> const& problems() const noexcept { return data_->problems; }
    [[nodiscard]] std::vector<std::string> const& context() const noexcept { return data_->context; }

    /// How many problems a message has lines for.
    static constexpr std::size_t max_shown_problems = 100;
    /// The whole message: contexts, then a line for each problem, but for those beyond `max_shown_problems`, which are
    /// counted.
    [[nodiscard]] std::string const& message() const noexcept { return data_->message; }
    [[nodiscard]] char const* what() const noexcept override { return data_->message.c_str(); }

    /// The same error with one more context in front, e.g. the name of the file.
    [[nodiscard]] error within(std::string context) const {
        auto chain = data_->context;
        chain.insert(chain.begin(), std::move(context));
        return error{data_->problems, std::move(chain)};
    }

private:
    struct data {
        error_id id;
        std::vector<problem> problems;
        std::vector<std::string> context;
        std::string message;
    };

    error(std::vector<problem> problems, std::vector<std::string> context) {
        GSUB_ASSERT(!problems.empty(), "an error needs at least one problem");
        auto id = problems.front().id;
        for (auto const& p : problems)
            if (id.code < p.id.code) id = p.id;
        std::string text;
        for (auto const& c : context) text += c + ": ";
        if (problems.size() > 1) text += std::to_string(problems.size()) + " problems";
        auto const shown = std::min(problems.size(), max_shown_problems);
        for (std::size_t i = 0; i < shown; ++i) text += (problems.size() > 1 ? "\n  " : "") + to_string(problems[i]);
        if (shown < problems.size()) text += "\n  and " + std::to_string(problems.size() - shown) + " more";
        data_ = std::make_shared<data const>(data{id, std::move(problems), std::move(context), std::move(text)});
    }

    std::shared_ptr<data const> data_;
};

/// An error in lines for a person, each problem with its number: what is wrong, `in` what, `because` of what, and what
/// to `try`. `error[G0102]: not supported: Wobble (node "up")` is the first of them. They end with a line break.
[[nodiscard]] inline std::string to_lines(error const& e) {
    auto const& all = e.problems();
    auto const shown = std::min(all.size(), error::max_shown_problems);
    std::string where, text;
    for (auto const& c : e.context()) where += (where.empty() ? "  in:      " : ": ") + c;
    if (!where.empty()) where += '\n';
    if (all.size() > 1) text = "error: " + std::to_string(all.size()) + " problems\n" + std::exchange(where, {});
    for (auto const& p : std::span{all}.first(shown)) {
        text += "error[" + to_string(p.id) + "]: ";
        text += to_string(p.id.code);
        text += ": " + p.op;
        if (!p.node.empty()) text += p.op.empty() ? '"' + p.node + '"' : " (node \"" + p.node + "\")";
        auto const named = !p.op.empty() || !p.node.empty();
        text += (named ? "\n" : p.reason + "\n") + where;
        if (named) text += "  because: " + p.reason + "\n";
        if (!p.hint.empty()) text += "  try:     " + p.hint + "\n";
    }
    if (shown < all.size()) text += "and " + std::to_string(all.size() - shown) + " more\n";
    return text;
}

/// A value or an error. *Errors* `.value()` throws the `error` that it holds.
template <class T>
class [[nodiscard]] result {
    static_assert(!std::is_same_v<std::remove_cvref_t<T>, gsub::error>, "result<error> has no meaning");

public:
    using value_type = T;

    result(T value) : value_(std::move(value)) {}
    result(gsub::error e) : error_(std::move(e)) {}
    result(result const& other) requires std::is_copy_constructible_v<T> : error_(other.error_) {
        if (has_value()) std::construct_at(&value_, other.value_);
    }
    result(result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) : error_(other.error_) {
        if (has_value()) std::construct_at(&value_, std::move(other.value_));
    }
    result& operator=(result other) noexcept {
        static_assert(std::is_nothrow_move_constructible_v<T>, "a result is assigned by moving its value");
        destroy();
        error_ = other.error_;
        if (has_value()) std::construct_at(&value_, std::move(other.value_));
        return *this;
    }
    ~result() { destroy(); }

    [[nodiscard]] bool has_value() const noexcept { return !error_; }
    explicit operator bool() const noexcept { return has_value(); }

    [[nodiscard]] T& value() & { return throw_if_error(), value_; }
    [[nodiscard]] T const& value() const& { return throw_if_error(), value_; }
    [[nodiscard]] T&& value() && { return throw_if_error(), std::move(value_); }

    /// Unchecked access. *Requires* `has_value()`.
    T& operator*() & noexcept { return value_; }
    T const& operator*() const& noexcept { return value_; }
    T* operator->() noexcept { return &value_; }
    T const* operator->() const noexcept { return &value_; }

    /// *Requires* `!has_value()`.
    [[nodiscard]] gsub::error const& error() const {
        GSUB_ASSERT(!has_value(), "result::error() asks for the error of a result that has a value");
        return *error_;
    }
    [[nodiscard]] T value_or(T fallback) const& { return has_value() ? value_ : std::move(fallback); }

private:
    void throw_if_error() const {
        if (error_) throw *error_;
    }
    void destroy() noexcept {
        if (has_value()) value_.~T();
    }
    // Not a std::variant, which instantiates four times as much for each type.
    std::optional<gsub::error> error_{};
    union {
        T value_; // there is one where there is no error
    };
};

/// Success without a value, or an error.
template <>
class [[nodiscard]] result<void> {
public:
    using value_type = void;

    result() = default;
    result(gsub::error e) : error_(std::move(e)) {}

    [[nodiscard]] bool has_value() const noexcept { return !error_; }
    explicit operator bool() const noexcept { return has_value(); }
    void value() const {
        if (error_) throw *error_;
    }
    [[nodiscard]] gsub::error const& error() const {
        GSUB_ASSERT(!has_value(), "result::error() asks for the error of a result that has a value");
        return *error_;
    }

private:
    std::optional<gsub::error> error_;
};

/// Runs `f` and turns a thrown `gsub::error` into a result: the boundary between an engine, which throws, and its
/// public entry point, which does not. Other exceptions (`std::bad_alloc`, those of user code) pass through unchanged.
template <class F>
[[nodiscard]] auto capture(F&& f) -> result<std::invoke_result_t<F>> {
    try {
        if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
            std::forward<F>(f)();
            return {};
        } else {
            return std::forward<F>(f)();
        }
    } catch (error const& e) { return e; }
}

} // namespace gsub
