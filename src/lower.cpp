#include <gsub/lower.hpp>
#include <gsub/lower/impl/scalar_lowering.ipp>

template struct gsub::detail::table_storage<gsub::scalar_row, gsub::standard_ops>;
