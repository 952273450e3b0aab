#include <gsub/report.hpp>
#include <gsub/report/impl/dot.ipp>
#include <gsub/report/impl/json.ipp>
#include <gsub/report/impl/progress.ipp>
#include <gsub/report/impl/summary.ipp>
#include <gsub/report/impl/table.ipp>
#include <gsub/report/impl/units.ipp>
#include <gsub/report/json.hpp>
