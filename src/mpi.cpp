#include <gsub/tune/impl/mpi_scorer.ipp>
