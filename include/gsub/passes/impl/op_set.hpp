// op_set: a set of operators as data, for tables that say what a pass knows of operators.
#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/ir/ops/op.hpp>

#include <array>
#include <span>

namespace gsub::passes::detail {

template <operation... Ops>
inline constexpr std::array<op_id, sizeof...(Ops)> op_ids{id_of<Ops>...};

/// A set of operators: `op_set of = op_ids<ops::add, ops::sub>`; `contains` asks it.
using op_set = std::span<op_id const>;

} // namespace gsub::passes::detail
