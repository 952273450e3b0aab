#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/impl/import_diagnostics.hpp>
#include <gsub/io/onnx_import.hpp>

namespace gsub::io::detail {

template <class T>
void import_diagnostics<T>::wrong(error_code code, std::string_view node, std::string_view op, std::string reason,
                                  std::string hint) {
    ++problem_count_;
    if (problems_.empty() || problems_.size() < options_.limits.max_problems)
        problems_.push_back({code, std::string{node}, std::string{op}, std::move(reason), std::move(hint)});
}

template <class T>
void import_diagnostics<T>::give_up_if_wrong() {
    if (problem_count_ == 0) return;
    if (problem_count_ > problems_.size())
        problems_.push_back({problems_.back().code,
                             {},
                             {},
                             format_text("{} more problems are not listed", problem_count_ - problems_.size()),
                             {}});
    throw error{std::move(problems_)};
}

template <class T>
void import_diagnostics<T>::note(std::string text) {
    if (options_.observe) options_.observe->on_note(text);
}

} // namespace gsub::io::detail
