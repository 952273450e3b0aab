// emulated_warps: CUDA C++ on the host. Threads are fibers of one thread of the system; each runs until the lanes of
// its warp wait for each other, in an order that changes from one wait to the next: a barrier that is missing shows.
#pragma once

#include <gsub/codegen/cpp/typed_functions.hpp>
#include <gsub/codegen/cuda/emit_cuda.hpp>

#include <cstddef>
#include <string>

namespace emulated_warps {

using namespace gsub;

/// What CUDA C++ has and C++ has not, for texts compiled behind it.
inline constexpr auto header = R"(
#include <math.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#include <vector>
#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(n)
struct __attribute__((aligned(8))) float2 { float x, y; };
struct __attribute__((aligned(16))) float4 { float x, y, z, w; };
namespace emulated {
struct dimension { unsigned x; };
struct fiber { ucontext_t at; bool ended; };
static fiber fibers[1024];
static ucontext_t scheduler;
static void (*body)(void*);
static void* argument;
static unsigned running, lanes; // of a position
static unsigned long exchanged[1024];
constexpr unsigned long stack_bytes = 1 << 16;
static char stacks[1024 * stack_bytes];
static void wait() { swapcontext(&fibers[running].at, &scheduler); }
static void start() { body(argument); fibers[running].ended = true; swapcontext(&fibers[running].at, &scheduler); }
}
static emulated::dimension threadIdx, blockIdx, gridDim, blockDim;
namespace emulated {
static void run_warp(unsigned first) {
  for (unsigned t = first; t < first + 32; ++t) {
    getcontext(&fibers[t].at);
    fibers[t].at.uc_stack.ss_sp = stacks + t * stack_bytes, fibers[t].at.uc_stack.ss_size = stack_bytes;
    fibers[t].at.uc_link = nullptr, fibers[t].ended = false;
    makecontext(&fibers[t].at, start, 0);
  }
  for (unsigned turn = 0;; ++turn) {
    unsigned ended = 0;
    for (unsigned i = 0; i < 32; ++i) {
      running = first + (turn % 3 == 0 ? 31 - i : turn % 3 == 1 ? i : (i + 13) % 32);
      threadIdx.x = running;
      if (!fibers[running].ended) swapcontext(&scheduler, &fibers[running].at);
      ended += fibers[running].ended;
    }
    for (unsigned t = first; t < first + 32; ++t)
      if (fibers[t].ended != fibers[t - t % lanes].ended) std::fprintf(stderr, "lanes of a position part\n"), std::abort();
    if (ended == 32) return;
  }
}
template <class F> void launch(unsigned blocks, unsigned threads, unsigned together, F f) {
  lanes = together;
  body = [](void* p) { (*(F*)p)(); }, argument = &f;
  gridDim.x = blocks, blockDim.x = threads;
  for (unsigned b = 0; b < blocks; ++b)
    for (unsigned first = 0; first < threads; first += 32) blockIdx.x = b, run_warp(first);
}
}
static void __syncwarp(unsigned = 0) { emulated::wait(); }
template <class T> T __shfl_xor_sync(unsigned, T x, int apart) {
  const unsigned own = emulated::running;
  std::memcpy(&emulated::exchanged[own], &x, sizeof x);
  emulated::wait();
  T y;
  std::memcpy(&y, &emulated::exchanged[own ^ (unsigned)apart], sizeof y);
  emulated::wait();
  return y;
}
static unsigned __float_as_uint(float x) { unsigned y; std::memcpy(&y, &x, 4); return y; }
static float __uint_as_float(unsigned x) { float y; std::memcpy(&y, &x, 4); return y; }
static double __longlong_as_double(long long x) { double y; std::memcpy(&y, &x, 8); return y; }
)";

/// The text of a kernel and of a function that launches it as emulated warps: `symbol`, called as compiled kernels are.
/// It runs all positions below the end of its range.
inline std::string emit(codegen::kernel const& k, std::string const& symbol, codegen::thread_group group,
                        std::int64_t blocks = 3) {
    auto text = codegen::emit_cuda(k, "cuda_" + symbol, group);
    std::string arguments;
    std::size_t given = 0;
    for (std::size_t i = 0; i < k.buffers.size(); ++i)
        if (!k.buffers[i].workspace)
            arguments += "(" + std::string{k.buffers[i].written ? "" : "const "} +
                         std::string{codegen::c_type(k.buffers[i].element)} + "*)b[" + std::to_string(given++) + "], ";
    auto const lent = group.lent_bytes(k, blocks);
    if (lent > 0) arguments += "lent.data(), ";
    return text + "extern \"C\" __attribute__((visibility(\"default\"))) void " + symbol +
           "(void* const* b, long, long end) {\n  std::vector<char> lent(" + std::to_string(lent) +
           ", (char)0xff);\n  emulated::launch(" + std::to_string(blocks) + ", " + std::to_string(group.threads(k)) +
           ", " + std::to_string(k.lanes) + ", [&] { cuda_" + symbol + "(" + arguments + "end); });\n}\n";
}

} // namespace emulated_warps
