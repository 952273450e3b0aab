// expect: text_format
#include <gsub/core/format.hpp>

std::string message() {
    return gsub::format_text("{} of {}", 1);
}
