#include <gsub/cost/impl/fitting.ipp>
