// Observer and progress events: the only way in which the library reports during a call. It prints nothing itself.
#pragma once

#include <cstdint>
#include <string_view>

namespace gsub {

/// Progress event: a step of a long task. `total` is 0 where it is not known.
struct progress {
    std::string_view phase{};  ///< e.g. `search`
    std::uint64_t done = 0;    ///< in the phase's own unit
    std::uint64_t total = 0;   ///< in the same unit
    std::string_view detail{}; ///< e.g. the best cost so far
};

/// Observer: receives the events of a call. Override what you care about. Called on the calling thread only.
class observer {
public:
    virtual ~observer() = default;

    virtual void on_progress(progress const&) {}
    /// A note: something that the user should know and that is no error, in one sentence.
    virtual void on_note(std::string_view) {}
};

/// The observer that ignores everything.
[[nodiscard]] inline observer& silent() {
    static observer none;
    return none;
}

} // namespace gsub
