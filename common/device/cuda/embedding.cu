// Token and position embedding, forward and backward.
#include "common/device/check.h"
#include "common/device/cuda/cuda_device.h"
#include "common/device/cuda/eight.cuh"
#include "common/device/cuda/launch.h"
#include "common/device/cuda/reduce.cuh"

namespace zero {
namespace {

constexpr int kWarps = kBlockSize / kWarp;
constexpr int kWarpColumns = kWarp * kEight;  // channels that a warp handles at a time

// A warp per row, a lane eight channels at a time.
template <class S>
__global__ void __launch_bounds__(kBlockSize)
    embedding_forward_kernel(S* out,                      // (R, C)
                             const std::int32_t* tokens,  // (R)
                             const S* wte,                // (V, C)
                             const S* wpe,                // (>= T, C)
                             std::int64_t R, int positions, std::int64_t C, bool aligned) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t row = std::int64_t{blockIdx.x} * kWarps + warp;
  if (row >= R) return;
  const S* const of_token = wte + std::int64_t{tokens[row]} * C;
  const S* const of_position = wpe + row % positions * C;
  for (std::int64_t column = lane * kEight; column < C; column += kWarpColumns) {
    const int count = rest_of(C, column);
    float x[kEight], y[kEight];
    load_eight(x, of_token + column, count, aligned);
    load_eight(y, of_position + column, count, aligned);
    for (int i = 0; i < kEight; ++i) x[i] += y[i];
    store_eight(out + row * C + column, x, count, aligned);
  }
}

// Writes down, in order, which of kBlockSize positions from `from` on hold `token`. Returns how
// many. All threads of the block must call it; `matches` may be read when it returns, until the
// next call: that writes them only after its first barrier.
__device__ int find_token(int (&matches)[kBlockSize], int (&counts)[kWarps],
                          const std::int32_t* tokens,  // (R)
                          std::int32_t token, std::int64_t from, std::int64_t R) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t position = from + threadIdx.x;
  const bool is_match = position < R && tokens[position] == token;
  const unsigned in_warp = __ballot_sync(kAllLanes, is_match);
  if (lane == 0) counts[warp] = __popc(in_warp);
  __syncthreads();
  int before = __popc(in_warp & ((1u << lane) - 1));
  int all = 0;
  for (int w = 0; w < kWarps; ++w) {
    if (w < warp) before += counts[w];
    all += counts[w];
  }
  if (is_match) matches[before] = static_cast<int>(threadIdx.x);
  __syncthreads();
  return all;
}

// sum += the rows matches[0 .. count-1], in this order; four are on their way at a time.
template <class S>
__device__ void add_rows(float (&sum)[kEight],
                         const S* dout,  // (rows, C), from the thread's first channel on
                         const int* matches, int count, std::int64_t C, int width, bool aligned) {
  constexpr int kTogether = 4;
  for (int first = 0; first < count; first += kTogether) {
    float rows[kTogether][kEight];
    for (int j = 0; j < kTogether; ++j) {  // past the end: the last again, which is not added
      const int match = matches[first + j < count ? first + j : count - 1];
      load_eight(rows[j], dout + match * C, width, aligned);
    }
    for (int j = 0; j < kTogether; ++j) {
      if (first + j == count) break;
      for (int i = 0; i < kEight; ++i) sum[i] += rows[j][i];
    }
  }
}

// dwte of one token: the sum, in order of position, over the positions that hold it. A block per
// position; it goes on only if it is the first with its token. Its threads look at 256 positions
// at a time and share the channels, eight each.
template <class S>
__global__ void __launch_bounds__(kBlockSize)
    tokens_backward_kernel(S* dwte,                     // (V, C)
                           const S* dout,               // (R, C)
                           const std::int32_t* tokens,  // (R)
                           std::int64_t R, std::int64_t C, bool aligned) {
  __shared__ int matches[kBlockSize];
  __shared__ int counts[kWarps];
  const std::int64_t row = blockIdx.x;
  const std::int32_t token = tokens[row];
  bool is_seen = false;
  for (std::int64_t r = threadIdx.x; r < row && !is_seen; r += kBlockSize) {
    is_seen = tokens[r] == token;
  }
  if (__syncthreads_or(is_seen)) return;

  // One turn for each 2048 channels. A thread without channels still helps to look.
  for (std::int64_t group = 0; group < C; group += kBlockSize * kEight) {
    const std::int64_t column = group + std::int64_t{threadIdx.x} * kEight;
    const int width = column < C ? rest_of(C, column) : 0;
    float sum[kEight];
    load_eight(sum, dout + row * C + column, width, aligned);
    for (std::int64_t from = row + 1; from < R; from += kBlockSize) {
      const int count = find_token(matches, counts, tokens, token, from, R);
      if (width > 0) {
        add_rows(sum, dout + from * C + column, matches, count, C, width, aligned);
      }
    }
    store_eight(dwte + token * C + column, sum, width, aligned);
  }
}

// dwpe of position t: the sum over the sequences, in order. A warp per position and 256 channels.
template <class S>
__global__ void __launch_bounds__(kBlockSize)
    positions_backward_kernel(S* dwpe,        // (>= T, C)
                              const S* dout,  // (B, T, C)
                              std::int64_t B, std::int64_t positions, std::int64_t C,
                              unsigned groups, bool aligned) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t t = std::int64_t{blockIdx.x / groups} * kWarps + warp;
  const std::int64_t column = std::int64_t{blockIdx.x % groups} * kWarpColumns + lane * kEight;
  if (t >= positions || column >= C) return;
  const int count = rest_of(C, column);
  float sum[kEight] = {};
  for (std::int64_t b = 0; b < B; ++b) {
    float value[kEight];
    load_eight(value, dout + (b * positions + t) * C + column, count, aligned);
    for (int i = 0; i < kEight; ++i) sum[i] += value[i];
  }
  store_eight(dwpe + t * C + column, sum, count, aligned);
}

}  // namespace

void CudaDevice::embedding_forward(View out, View tokens, View wte, View wpe, int B, int T, int C) {
  const OperatorSpan span(*this, "embedding_forward");
  const std::int64_t R = std::int64_t{B} * T;
  check_embedding("embedding_forward", out, tokens, wte, wpe, R, T, C);
  const std::int32_t* const token = pointer<std::int32_t>(tokens);  // (B, T)
  check_ids_on_device("embedding_forward", tokens, wte.size() / C);
  if (R == 0) return;
  with_gpu_type(out.dtype(), [&](auto type) {
    using S = decltype(type);
    S* const rows = pointer<S>(out);                  // (B, T, C)
    const S* const token_table = pointer<S>(wte);     // (V, C)
    const S* const position_table = pointer<S>(wpe);  // (>= T, C)
    const bool aligned = is_aligned(rows) && is_aligned(token_table) &&
                         is_aligned(position_table) && C % kEight == 0;
    launch(embedding_forward_kernel<S>, blocks_for(R, kWarps), kBlockSize, stream_, rows, token,
           token_table, position_table, R, T, C, aligned);
  });
}

void CudaDevice::embedding_backward(View dwte, View dwpe, View dout, View tokens, int B, int T,
                                    int C) {
  const OperatorSpan span(*this, "embedding_backward");
  const std::int64_t R = std::int64_t{B} * T;
  check_embedding("embedding_backward", dout, tokens, dwte, dwpe, R, T, C);
  const std::int32_t* const token = pointer<std::int32_t>(tokens);  // (B, T)
  check_ids_on_device("embedding_backward", tokens, dwte.size() / C);
  with_gpu_type(dout.dtype(), [&](auto type) {
    using S = decltype(type);
    S* const token_table = pointer<S>(dwte);     // (V, C)
    S* const position_table = pointer<S>(dwpe);  // (>= T, C)
    const S* const gradient = pointer<S>(dout);  // (B, T, C)
    for (const View& table : {dwte, dwpe}) {
      if (table.size() == 0) continue;
      check(cudaMemsetAsync(table.data(), 0, table.bytes().size(), stream_), "cudaMemsetAsync");
    }
    if (R == 0) return;
    const bool aligned = is_aligned(token_table) && is_aligned(position_table) &&
                         is_aligned(gradient) && C % kEight == 0;
    launch(tokens_backward_kernel<S>, blocks_for(R, 1), kBlockSize, stream_, token_table, gradient,
           token, R, C, aligned);
    const unsigned groups = blocks_for(C, kWarpColumns);
    launch(positions_backward_kernel<S>, blocks_for(T, kWarps) * groups, kBlockSize, stream_,
           position_table, gradient, B, T, C, groups, aligned);
  });
}

}  // namespace zero
