#include <gsub/runtime.hpp>
#include <gsub/runtime/impl/executable.ipp>
#include <gsub/runtime/impl/jit.ipp>
#include <gsub/runtime/impl/jit_cache.ipp>
#include <gsub/runtime/impl/jit_process.ipp>
#include <gsub/runtime/impl/memory_planner.ipp>
#include <gsub/runtime/impl/program.ipp>
#include <gsub/runtime/impl/thread_pool.ipp>
