// `result<T>`: a value or an error, and errors caused from outside (input, files, shapes, devices).
#pragma once

#include <gsub/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace gsub {

/// Kind of an error. The numbers are the exit codes of the command line.
enum class error_code : int {
    negative = 1,      ///< the answer is no: models differ, a rule is refuted
    usage = 2,         ///< the request makes no sense: unknown rule name, alpha below one
    unsupported = 3,   ///< valid, but outside of what this version does
    invalid_input = 4, ///< the file or value is malformed or ill-typed
    environment = 5,   ///< the operating system or a device refuses
    internal = 6,      ///< a fault in gsub itself
};

/// Name of an error code as it is printed, e.g. `not supported`.
[[nodiscard]] constexpr std::string_view to_string(error_code code) noexcept {
    constexpr std::string_view names[] = {"unknown",       "negative result", "usage",         "not supported",
                                          "invalid input", "environment",     "internal error"};
    auto const number = static_cast<std::size_t>(code);
    return names[number < std::size(names) ? number : 0];
}

/// Diagnostic of one fault, with what the reader needs to act on it.
struct problem {
    error_code code = error_code::invalid_input;
    std::string node{};   ///< name of the node or value concerned, may be empty
    std::string op{};     ///< operator with version, e.g. `Resize-19`, may be empty
    std::string reason{}; ///< what was found and what was expected
    std::string hint{};   ///< what to do about it, may be empty
};

/// Text of a problem: `not supported: Resize-19 (node "up"): reason; try: hint`
[[nodiscard]] inline std::string to_string(problem const& p) {
    std::string text{to_string(p.code)};
    text += ": ";
    if (!p.op.empty()) text += p.op + " ";
    if (!p.node.empty()) text += "(node \"" + p.node + "\") ";
    if (text.back() == ' ' && (!p.op.empty() || !p.node.empty())) text.back() = ':', text += ' ';
    text += p.reason;
    if (!p.hint.empty()) text += "; try: " + p.hint;
    return text;
}

/// An error: a code, one or several problems, and a chain of contexts (outermost first). Cheap to copy.
class error : public std::exception {
public:
    /// An error with one problem that consists of a reason alone.
    error(error_code code, std::string reason) : error(problem{code, {}, {}, std::move(reason), {}}) {}
    explicit error(problem one) : error(std::vector<problem>{std::move(one)}) {}

    /// Several problems reported together. *Requires* at least one.
    explicit error(std::vector<problem> problems) : error(std::move(problems), {}) {}

    /// The gravest code among the problems, in the order of their numbers: malformed input outweighs what is merely not
    /// supported.
    [[nodiscard]] error_code code() const noexcept { return data_->code; }
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
        error_code code;
        std::vector<problem> problems;
        std::vector<std::string> context;
        std::string message;
    };

    error(std::vector<problem> problems, std::vector<std::string> context) {
        GSUB_ASSERT(!problems.empty(), "an error needs at least one problem");
        auto code = problems.front().code;
        for (auto const& p : problems) code = std::max(code, p.code);
        std::string text;
        for (auto const& c : context) text += c + ": ";
        if (problems.size() > 1) text += std::to_string(problems.size()) + " problems";
        auto const shown = std::min(problems.size(), max_shown_problems);
        for (std::size_t i = 0; i < shown; ++i) text += (problems.size() > 1 ? "\n  " : "") + to_string(problems[i]);
        if (shown < problems.size()) text += "\n  and " + std::to_string(problems.size() - shown) + " more";
        data_ = std::make_shared<data const>(data{code, std::move(problems), std::move(context), std::move(text)});
    }

    std::shared_ptr<data const> data_;
};

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
