// Small correct kernels, by which the emulator is tested.
#include "launch_sample.h"
#include "sample_kernels.h"

namespace zero {
namespace {

constexpr int kBlock = 256;
constexpr int kTile = 16;
constexpr unsigned kAll = 0xffffffffu;

__device__ float warp_sum(float x) {
  for (int flip = 16; flip > 0; flip /= 2) x += __shfl_xor_sync(kAll, x, flip);
  return x;
}

__global__ void __launch_bounds__(kBlock) block_sums_kernel(float* to, const float* x, int n) {
  __shared__ float of_warp[kBlock / 32];
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const float sum = warp_sum(i < n ? x[i] : 0.0f);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float all = 0;
    for (int warp = 0; warp < kBlock / 32; ++warp) all += of_warp[warp];
    to[blockIdx.x] = all;
  }
}

// A tile is read by rows and written by columns; one more column keeps the banks apart.
__global__ void __launch_bounds__(kTile* kTile)
    transpose_kernel(float* to, const float* from, int rows, int columns) {
  __shared__ float tile[kTile][kTile + 1];
  const int across = static_cast<int>(threadIdx.x), down = static_cast<int>(threadIdx.y);
  int column = static_cast<int>(blockIdx.x) * kTile + across;
  int row = static_cast<int>(blockIdx.y) * kTile + down;
  if (row < rows && column < columns) tile[down][across] = from[row * columns + column];
  __syncthreads();
  column = static_cast<int>(blockIdx.y) * kTile + across;
  row = static_cast<int>(blockIdx.x) * kTile + down;
  if (row < columns && column < rows) to[row * rows + column] = tile[across][down];
}

__global__ void add_kernel(float* to, const float* a, const float* b, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) to[i] = a[i] + b[i];
}

__global__ void copy_by_four_kernel(float4* to, const float4* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) to[i] = __ldg(x + i);
}

__global__ void numbers_kernel(int* to) {
  const unsigned block =
      blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * static_cast<unsigned>(blockIdx.z));
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned number = block * (blockDim.x * blockDim.y * blockDim.z) + thread;
  to[number] = static_cast<int>(number);
}

__global__ void block_votes_kernel(int* to, const int* x) {
  const int mine = x[threadIdx.x];
  const int count = __syncthreads_count(mine);
  const int any = __syncthreads_or(mine);
  const int all = __syncthreads_and(mine);
  if (threadIdx.x == blockDim.x - 1) {
    to[0] = count;
    to[1] = any;
    to[2] = all;
  }
}

__global__ void warp_words_kernel(int* to, const int* x) {
  const int lane = static_cast<int>(threadIdx.x);
  const int mine = x[lane];
  to[0 * 32 + lane] = __shfl_sync(kAll, mine, 5);
  to[1 * 32 + lane] = __shfl_xor_sync(kAll, mine, 6);
  to[2 * 32 + lane] = __shfl_down_sync(kAll, mine, 3);
  to[3 * 32 + lane] = __shfl_up_sync(kAll, mine, 3);
  to[4 * 32 + lane] = __shfl_down_sync(kAll, mine, 3, 8) + 1000 * __shfl_sync(kAll, mine, 9, 8);
  to[5 * 32 + lane] = static_cast<int>(__ballot_sync(kAll, mine != 0));
  to[6 * 32 + lane] = __any_sync(kAll, mine == 77);
  to[7 * 32 + lane] = __all_sync(kAll, mine >= 0);
}

__global__ void uneven_groups_kernel(int* to) {
  const int lane = static_cast<int>(threadIdx.x);
  int mine = lane;
  if (lane < 8) {
    for (int i = 0; i < 3; ++i) mine += __shfl_xor_sync(0x000000ffu, mine, 1 << i);
  } else {
    mine += __shfl_xor_sync(0xffffff00u, mine, 1);
  }
  to[lane] = __shfl_sync(kAll, mine, 31 - lane);
}

__global__ void pass_round_kernel(int* to, int rounds) {
  __shared__ int held[1024];
  const unsigned me = threadIdx.x, before = me == 0 ? blockDim.x - 1 : me - 1;
  int mine = static_cast<int>(me);
  for (int i = 0; i < rounds; ++i) {
    held[me] = mine;
    __syncthreads();
    mine = held[before];
    __syncthreads();
  }
  to[me] = mine;
}

__global__ void exchange_in_warp_kernel(int* to) {
  __shared__ int held[64];
  const unsigned me = threadIdx.x;
  held[me] = static_cast<int>(me);
  __syncwarp();
  const int other = held[me ^ 1u];
  __syncwarp();
  held[me] = other;
  __syncwarp(0x55555555u << (me & 1u));  // the even lanes, and the odd lanes
  to[me] = held[me ^ 2u];
}

}  // namespace

cudaError_t block_sums(float* to, const float* x, int n, cudaStream_t stream) {
  return launch_sample(block_sums_kernel, (n + kBlock - 1) / kBlock, kBlock, stream, to, x, n);
}
cudaError_t transpose(float* to, const float* from, int rows, int columns, cudaStream_t stream) {
  const dim3 grid((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  return launch_sample(transpose_kernel, grid, dim3(kTile, kTile), stream, to, from, rows, columns);
}
cudaError_t add(float* to, const float* a, const float* b, int n, cudaStream_t stream) {
  return launch_sample(add_kernel, (n + kBlock - 1) / kBlock, kBlock, stream, to, a, b, n);
}
cudaError_t copy_by_four(float* to, const float* x, int n, cudaStream_t stream) {
  return launch_sample(copy_by_four_kernel, (n / 4 + 63) / 64, 64, stream,
                       reinterpret_cast<float4*>(to), reinterpret_cast<const float4*>(x), n / 4);
}
cudaError_t numbers(int* to, dim3 blocks, dim3 block, cudaStream_t stream) {
  return launch_sample(numbers_kernel, blocks, block, stream, to);
}
cudaError_t block_votes(int* to, const int* x, int n, cudaStream_t stream) {
  return launch_sample(block_votes_kernel, 1, n, stream, to, x);
}
cudaError_t warp_words(int* to, const int* x, cudaStream_t stream) {
  return launch_sample(warp_words_kernel, 1, 32, stream, to, x);
}
cudaError_t uneven_groups(int* to, cudaStream_t stream) {
  return launch_sample(uneven_groups_kernel, 1, 32, stream, to);
}
cudaError_t pass_round(int* to, int n, int rounds, cudaStream_t stream) {
  return launch_sample(pass_round_kernel, 1, n, stream, to, rounds);
}
cudaError_t exchange_in_warp(int* to, cudaStream_t stream) {
  return launch_sample(exchange_in_warp_kernel, 1, 64, stream, to);
}

}  // namespace zero
