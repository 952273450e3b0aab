// Memory that runs out where a test says: operator new, and the C functions that gsub and Eigen call, fail as told.
#pragma once

#include <cstdint>

namespace failing_new {

/// Which allocations fail: the n-th alone, or all from the n-th on.
enum class extent { once, from_then_on };

/// From now on allocations are counted, on any thread, and the n-th fails. *Requires* n >= 1; 0 lets none fail.
void arm(std::uint64_t n, extent which);
/// Ends that; whether an allocation has failed meanwhile.
bool disarm();
/// Allocations since the last call of `arm`, failed ones included.
std::uint64_t counted();
/// Blocks of operator new that are not deleted yet.
std::int64_t alive();

} // namespace failing_new
