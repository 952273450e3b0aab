#pragma once

#include <gsub/target/microarchitecture.hpp>
#include <gsub/target/target.hpp>

namespace gsub {

GSUB_INLINE microarchitecture const& microarchitecture_of(target const& t) noexcept {
    auto const rows = microarchitectures();
    for (auto const& row : rows)
        if (row.isa == t.isa && (row.generic || t.name == row.name || row.reported_as(t.name))) return row;
    return rows.back();
}

} // namespace gsub
