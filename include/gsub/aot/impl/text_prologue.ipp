// What the source of an exported model begins with; nothing in the text is of gsub.
#pragma once

namespace gsub::aot::detail {

// Before: the header of the model.
inline constexpr char const* export_includes = R"text(
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>
#if GSUB_THREADS
#include <condition_variable>
#include <mutex>
#include <thread>
#endif

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(long) == 8, "weights and kernels are for such machines");

)text";

// Opens the namespace.
inline constexpr char const* export_step_types = R"text(
namespace {

struct step {
    void (*kernel)(void* const* buffers, long begin, long end);
    std::int64_t positions;
    bool parallel;
    unsigned first_slot, slots;
    bool scratch; // a thread lends it memory, as one more buffer
};
enum : unsigned char { in_arena, in_weights, in_input, in_output, in_context };
struct slot {
    unsigned char where;
    unsigned position;
    std::size_t offset;
};

)text";

} // namespace gsub::aot::detail
