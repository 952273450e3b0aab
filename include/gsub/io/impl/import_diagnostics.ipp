#pragma once

#include <gsub/core/format.hpp>
#include <gsub/core/quoted.hpp>
#include <gsub/io/impl/import_diagnostics.hpp>
#include <gsub/io/onnx_import.hpp>

#include <algorithm>

namespace gsub::io::detail {

// The beginning of a text that a model gives, so that a report stays one that can be read.
GSUB_LAZY std::string beginning(std::string text, std::size_t most) {
    if (text.size() <= most) return text;
    auto end = most;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end; // within a character
    return format_text("{}... ({} bytes)", text.substr(0, end), text.size());
}
GSUB_LAZY_BODY std::string shown_operator(std::string_view domain, std::string_view type) {
    std::string text;
    for (char c : format_text("{}{}{}", domain, domain.empty() ? "" : ".", type))
        gsub::detail::append_printable(text, c);
    return beginning(std::move(text), most_shown / 4);
}

template <class T>
void import_diagnostics<T>::wrong(error_id id, std::string_view node, std::string_view op, std::string reason,
                                  std::string hint) {
    ++problem_count_;
    auto const most = std::min(options_.limits.max_problems, error::max_shown_problems - 1); // and one that counts
    if (problems_.empty() || problems_.size() < most)
        problems_.push_back({id, beginning(std::string{node}, most_shown), shown_operator({}, op),
                             beginning(std::move(reason), most_shown), std::move(hint)});
}

template <class T>
void import_diagnostics<T>::give_up_if_wrong() {
    if (problem_count_ == 0) return;
    if (problem_count_ > problems_.size())
        problems_.push_back({problems_.back().id,
                             {},
                             {},
                             format_text("{} more problems are not listed", problem_count_ - problems_.size()),
                             {}});
    throw error{std::move(problems_)};
}

template <class T>
void import_diagnostics<T>::note(std::string text) {
    if (options_.observe) options_.observe->on_note(beginning(std::move(text), most_shown));
}

} // namespace gsub::io::detail
