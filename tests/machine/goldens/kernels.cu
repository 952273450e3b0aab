// Kernels whose work is counted by hand in ptx_work.cpp. kernels.ptx is what NVRTC makes of them, and clang compiles
// them where it is there, with the words of CUDA that it lacks without a toolkit.
#ifdef GSUB_WITHOUT_TOOLKIT
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
struct gsub_index {
    int x, y, z;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
#define gsub_of(name) \
    (gsub_index{(int)__nvvm_read_ptx_sreg_##name##_x(), (int)__nvvm_read_ptx_sreg_##name##_y(), \
                (int)__nvvm_read_ptx_sreg_##name##_z()})
#define threadIdx gsub_of(tid)
#define blockDim gsub_of(ntid)
#define blockIdx gsub_of(ctaid)
#define gridDim gsub_of(nctaid)
#define __syncthreads() __nvvm_bar_sync(0)
#define __shfl_down_sync(mask, v, by) __nvvm_shfl_sync_down_f32(mask, v, by, 31)
#define exp2f(x) __nvvm_ex2_approx_ftz_f(x)
#define fmaxf(a, b) __nvvm_fmax_f(a, b)
#define fmaf(a, b, c) __builtin_fmaf(a, b, c)
#endif

// A tile of 64 by 64 of a product of 64 x 768 by 768 x n, 256 threads.
extern "C" __global__ void __launch_bounds__(256) product(float const* a, float const* b, float* c, int n) {
    __shared__ float as[8][64], bs[8][64];
    float sums[4][4] = {};
    int const column = threadIdx.x % 16, row = threadIdx.x / 16;
    for (int first = 0; first < 768; first += 8) {
        for (int i = threadIdx.x; i < 512; i += 256) {
            as[i / 64][i % 64] = a[i % 64 * 768 + first + i / 64];
            bs[i / 64][i % 64] = b[(first + i / 64) * n + blockIdx.x * 64 + i % 64];
        }
        __syncthreads();
#pragma unroll 2
        for (int k = 0; k < 8; ++k) {
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) sums[i][j] = fmaf(as[k][row * 4 + i], bs[k][column * 4 + j], sums[i][j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) c[(row * 4 + i) * n + blockIdx.x * 64 + column * 4 + j] = sums[i][j];
}

// The sum of each row of n numbers, 256 threads a row.
extern "C" __global__ void sum_rows(float const* x, float* y, int n) {
    __shared__ float parts[8];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 256) sum += x[blockIdx.x * n + i];
#pragma unroll
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll
        for (int i = 1; i < 8; ++i) sum += parts[i];
        y[blockIdx.x] = sum;
    }
}

// Elements in strides of the grid.
extern "C" __global__ void scale(float const* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = fmaf(x[i], 2, 1);
}

// Vectors of four, eight a thread.
extern "C" __global__ void copy(float4 const* x, float4* y) {
#pragma unroll 4
    for (int i = 0; i < 8; ++i) y[i * 256 + threadIdx.x] = x[i * 256 + threadIdx.x];
}

// A tile of 32 by 32 turned, 32 by 8 threads.
extern "C" __global__ void transpose(float const* x, float* y) {
    __shared__ float tile[32][33];
#pragma unroll 1
    for (int i = 0; i < 32; i += 8) tile[threadIdx.y + i][threadIdx.x] = x[(threadIdx.y + i) * 1024 + threadIdx.x];
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < 32; i += 8) y[(threadIdx.y + i) * 1024 + threadIdx.x] = tile[threadIdx.x][threadIdx.y + i];
}

// Exponentials of 2048 numbers by their sum, 256 threads that meet in a tree.
extern "C" __global__ void softmax(float const* x, float* y) {
    __shared__ float sums[256];
    float sum = 0;
#pragma unroll 1
    for (int i = 0; i < 2048; i += 256) sum += exp2f(x[i + threadIdx.x]);
    sums[threadIdx.x] = sum;
    __syncthreads();
#pragma unroll
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
#pragma unroll 1
    for (int i = 0; i < 2048; i += 256) y[i + threadIdx.x] = exp2f(x[i + threadIdx.x]) * sums[0];
}

// Maxima of windows of 3 by 3 of an image of 64 by 64, at every second pixel, with a border of one.
extern "C" __global__ void pool(float const* x, float* y) {
    int const row = blockIdx.x * 2 - 1, column = threadIdx.x * 2 - 1;
    float best = -1e30f;
#pragma unroll 1
    for (int i = 0; i < 3; ++i)
#pragma unroll 1
        for (int j = 0; j < 3; ++j)
            if (row + i >= 0 && row + i < 64 && column + j >= 0 && column + j < 64)
                best = fmaxf(best, x[(row + i) * 64 + column + j]);
    y[blockIdx.x * 32 + threadIdx.x] = best;
}

// Windows of 3 by 3 over 14 rows of a channel.
extern "C" __global__ void depthwise(float const* x, float const* w, float* y) {
#pragma unroll 1
    for (int row = 0; row < 14; ++row) {
        float sum = 0;
#pragma unroll
        for (int i = 0; i < 3; ++i)
#pragma unroll
            for (int j = 0; j < 3; ++j)
                sum = fmaf(x[(row + i) * 16 + threadIdx.x + j], w[i * 3 + j], sum);
        y[row * 14 + threadIdx.x] = sum;
    }
}

// A counter down by two, and one from below zero.
extern "C" __global__ void counters(float* y) {
    float sum = y[threadIdx.x];
#pragma unroll 1
    for (int i = 20; i > 0; i -= 2) sum = fmaf(sum, sum, 1);
#pragma unroll 1
    for (int i = -64; i != 0; i += 4) sum = fmaf(sum, 3, sum);
    y[threadIdx.x] = sum;
}

// Sides that numbers choose.
extern "C" __global__ void sides(float const* x, float* y) {
    float const v = x[threadIdx.x];
    if (v > 0) {
#pragma unroll 1
        for (int i = 0; i < 10; ++i) y[threadIdx.x * 16 + i] = fmaf(v, v, i);
    } else {
#pragma unroll 1
        for (int i = 0; i < 6; ++i) y[threadIdx.x * 16 + i] = exp2f(v + i);
    }
}
