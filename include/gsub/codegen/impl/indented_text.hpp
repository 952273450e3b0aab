// indented_text: generated text under construction, line by line.
#pragma once

#include <gsub/core/config.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace gsub::codegen::detail {

/// Lines of text, each behind the indentation that holds when it is added.
class indented_text {
public:
    void line(std::string_view what) { text_.append(indentation_).append(what).append(1, '\n'); }
    void indent() { indentation_.append(2, ' '); }
    void dedent() { indentation_.resize(indentation_.size() - 2); }
    [[nodiscard]] std::string take() { return std::exchange(text_, {}); }

private:
    std::string text_, indentation_;
};

} // namespace gsub::codegen::detail
