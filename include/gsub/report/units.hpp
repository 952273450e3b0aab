// Number formatting: quantities as people read them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gsub::report {

/// A quantity with three significant digits and a prefix: `1.50 ms`, `4.09 GFLOP`, `102 MB`. Bytes count in powers of
/// ten.
[[nodiscard]] std::string human(double amount, std::string_view unit);
/// A number with a fixed number of decimals, whatever the locale. *Requires* decimals >= 0.
[[nodiscard]] std::string fixed(double number, int decimals);
/// A number with two significant digits, for errors and the like: `4.7e-07`, `0.0e+00`.
[[nodiscard]] std::string brief(double number);
/// A share in percent: `12.3 %`
[[nodiscard]] std::string percent(double share);

} // namespace gsub::report

#ifndef GSUB_COMPILED
#include <gsub/report/impl/units.ipp>
#endif
