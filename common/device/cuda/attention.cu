// Causal multi-head self-attention on a GPU: cuBLAS products for several heads at a time, and a
// softmax between them.
//
// Both operands of a product have one type. So the weights and, backward, the gradients of the
// scores are rounded to the storage type before they are multiplied, and 16-bit products run on
// tensor cores, which are much faster at them than a GPU is at fp32 ones. The CPU keeps them in
// fp32: there a 16-bit product is an fp32 product, and rounding would only cost. Scores and the
// softmax are in fp32 here too, and every sum is.
//
// A product covers the whole (T, T) square of a head, also what the mask hides.
#include <algorithm>
#include <cmath>

#include "common/device/check.h"
#include "common/device/cuda/cuda_device.h"
#include "common/device/cuda/gemm.h"
#include "common/device/cuda/launch.h"
#include "common/device/cuda/numbers.cuh"
#include "common/device/cuda/reduce.cuh"

namespace zero {
namespace {

constexpr GpuOp kPlain = GpuOp::plain, kTransposed = GpuOp::transposed;

constexpr int kRowsPerBlock = kBlockSize / kWarp;

// A warp takes one row, its lanes neighbouring elements: rows are short (T), and a warp needs no
// barrier. Row `row` of (heads, T, T) belongs to query row % T.
__device__ std::int64_t row_of_warp() {
  return std::int64_t{blockIdx.x} * kRowsPerBlock + threadIdx.x / kWarp;
}

// att = softmax over the keys up to the query's own; zero above the diagonal.
template <class T>
__global__ void __launch_bounds__(kBlockSize)
    causal_softmax_kernel(T* att,               // (heads, tokens, tokens)
                          const float* scores,  // (heads, tokens, tokens)
                          std::int64_t rows, int tokens) {
  const std::int64_t row = row_of_warp();
  if (row >= rows) return;  // the whole warp
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int seen = static_cast<int>(row % tokens) + 1;
  const float* const score = scores + row * tokens;  // (tokens)
  T* const weight = att + row * tokens;              // (tokens)
  float largest = -INFINITY;
  for (int i = lane; i < seen; i += kWarp) largest = fmaxf(largest, score[i]);
  largest = warp_max(largest);
  float sum = 0;
  for (int i = lane; i < seen; i += kWarp) sum += expf(score[i] - largest);
  const float factor = 1.0f / warp_sum(sum);
  for (int i = lane; i < tokens; i += kWarp) {
    weight[i] = from_fp32<T>(i < seen ? expf(score[i] - largest) * factor : 0.0f);
  }
}

// dscores = att (datt - sum(att datt)) for the keys up to the query's own; zero above the diagonal.
template <class T>
__global__ void __launch_bounds__(kBlockSize)
    softmax_backward_kernel(T* dscores,         // (heads, tokens, tokens)
                            const float* datt,  // (heads, tokens, tokens)
                            const T* att,       // (heads, tokens, tokens)
                            std::int64_t rows, int tokens) {
  const std::int64_t row = row_of_warp();
  if (row >= rows) return;  // the whole warp
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int seen = static_cast<int>(row % tokens) + 1;
  const float* const dweight = datt + row * tokens;  // (tokens)
  const T* const weight = att + row * tokens;        // (tokens)
  T* const dscore = dscores + row * tokens;          // (tokens)
  float sum = 0;
  for (int i = lane; i < seen; i += kWarp) sum += to_fp32(weight[i]) * dweight[i];
  const float weighted = warp_sum(sum);
  for (int i = lane; i < tokens; i += kWarp) {
    dscore[i] = from_fp32<T>(i < seen ? to_fp32(weight[i]) * (dweight[i] - weighted) : 0.0f);
  }
}

// Heads of one sequence share a launch: as many as fit into this much scratch, at least one. So the
// workspace is at most 16 MiB, or what one head needs if that is more.
constexpr std::int64_t kScratch = 16 << 20;

// Where each head of each sequence lies, and how many neighbouring heads share a launch.
struct Layout {
  int B, T, C, H;
  int together;

  int D() const { return C / H; }
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(D())); }
  std::int64_t square() const { return std::int64_t{T} * T; }
  std::int64_t scratch() const { return together * square(); }  // elements
  int heads_from(int h) const { return std::min(together, H - h); }

  // Head h of sequence b in (B, T, C), and its successors: (T, D) each.
  template <class S>
  GpuMatrix<S> channels(S* data, std::int64_t b, std::int64_t h) const {
    return {data + b * T * C + h * D(), C, D()};
  }
  // The same in the queries (part 0), keys (1) or values (2) of (B, T, 3*C).
  template <class S>
  GpuMatrix<S> part_of_qkv(int part, S* data, std::int64_t b, std::int64_t h) const {
    const std::int64_t stride = 3 * std::int64_t{C};
    return {data + b * T * stride + part * std::int64_t{C} + h * D(), stride, D()};
  }
  // The same in (B, H, T, T): (T, T) each.
  template <class S>
  GpuMatrix<S> weights(S* data, std::int64_t b, std::int64_t h) const {
    return {data + (b * H + h) * square(), T, square()};
  }
  // A group's squares in scratch: (T, T) each.
  template <class S>
  GpuMatrix<S> squares(S* data) const {
    return {data, T, square()};
  }
};

// When each element of a (T, T) square takes `bytes` of scratch: depends on the shape alone.
Layout make_layout(int B, int T, int C, int H, std::int64_t bytes) {
  const std::int64_t head = std::int64_t{T} * T * bytes;
  return {B, T, C, H, static_cast<int>(std::clamp<std::int64_t>(kScratch / head, 1, H))};
}

}  // namespace

void CudaDevice::attention_forward(View out, View att, View qkv, int B, int T, int C, int H) {
  const OperatorSpan span(*this, "attention_forward");
  check_attention_forward(out, att, qkv, B, T, C, H);
  if (qkv.size() == 0) return;
  with_gpu_type(qkv.dtype(), [&](auto type) {
    using S = decltype(type);
    const S* const input = pointer<S>(qkv);  // (B, T, 3*C)
    S* const output = pointer<S>(out);       // (B, T, C)
    S* const weights = pointer<S>(att);      // (B, H, T, T)
    const Layout at = make_layout(B, T, C, H, sizeof(float));
    float* const scores = reinterpret_cast<float*>(
        workspace(at.scratch() * std::int64_t{sizeof(float)}));  // (together, T, T)
    for (int b = 0; b < B; ++b) {
      for (int h = 0; h < H; h += at.together) {
        const int heads = at.heads_from(h);
        const std::int64_t rows = std::int64_t{heads} * T;
        const GpuMatrix<const S> q = at.part_of_qkv(0, input, b, h);
        const GpuMatrix<const S> k = at.part_of_qkv(1, input, b, h);
        const GpuMatrix<const S> v = at.part_of_qkv(2, input, b, h);
        const GpuMatrix<S> softmax = at.weights(weights, b, h);
        gpu_gemm<S, float>(blas(), kPlain, kTransposed, {T, T, at.D(), heads}, at.scale(), q, k, 0,
                           at.squares(scores));
        launch(causal_softmax_kernel<S>, blocks_for(rows, kRowsPerBlock), kBlockSize, stream_,
               softmax.data, scores, rows, T);
        gpu_gemm<S, S>(blas(), kPlain, kPlain, {T, at.D(), T, heads}, 1,
                       {softmax.data, softmax.stride, softmax.step}, v, 0,
                       at.channels(output, b, h));
      }
    }
  });
}

void CudaDevice::attention_backward(View dqkv, View dout, View qkv, View att, int B, int T, int C,
                                    int H) {
  const OperatorSpan span(*this, "attention_backward");
  check_attention_backward(dqkv, dout, qkv, att, B, T, C, H);
  if (qkv.size() == 0) return;
  with_gpu_type(qkv.dtype(), [&](auto type) {
    using S = decltype(type);
    const S* const input = pointer<S>(qkv);      // (B, T, 3*C)
    S* const dinput = pointer<S>(dqkv);          // (B, T, 3*C)
    const S* const gradient = pointer<S>(dout);  // (B, T, C)
    const S* const weights = pointer<S>(att);    // (B, H, T, T)
    const Layout at = make_layout(B, T, C, H, sizeof(float) + sizeof(S));
    // Where T is a multiple of 8 the second half is aligned to 256 bytes, too.
    float* const datt = reinterpret_cast<float*>(
        workspace(at.scratch() * std::int64_t{sizeof(float) + sizeof(S)}));  // (together, T, T)
    S* const dscores = reinterpret_cast<S*>(datt + at.scratch());            // (together, T, T)
    for (int b = 0; b < B; ++b) {
      for (int h = 0; h < H; h += at.together) {
        const int heads = at.heads_from(h);
        const std::int64_t rows = std::int64_t{heads} * T;
        const Extents to_squares{T, T, at.D(), heads}, to_channels{T, at.D(), T, heads};
        const GpuMatrix<const S> q = at.part_of_qkv(0, input, b, h);
        const GpuMatrix<const S> k = at.part_of_qkv(1, input, b, h);
        const GpuMatrix<const S> v = at.part_of_qkv(2, input, b, h);
        const GpuMatrix<const S> softmax = at.weights(weights, b, h);
        const GpuMatrix<const S> dresult = at.channels(gradient, b, h);
        const GpuMatrix<const S> dscore = at.squares<const S>(dscores);
        gpu_gemm<S, S>(blas(), kTransposed, kPlain, to_channels, 1, softmax, dresult, 0,
                       at.part_of_qkv(2, dinput, b, h));
        gpu_gemm<S, float>(blas(), kPlain, kTransposed, to_squares, 1, dresult, v, 0,
                           at.squares(datt));
        launch(softmax_backward_kernel<S>, blocks_for(rows, kRowsPerBlock), kBlockSize, stream_,
               dscores, datt, softmax.data, rows, T);
        gpu_gemm<S, S>(blas(), kPlain, kPlain, to_channels, at.scale(), dscore, k, 0,
                       at.part_of_qkv(0, dinput, b, h));
        gpu_gemm<S, S>(blas(), kTransposed, kPlain, to_channels, at.scale(), dscore, q, 0,
                       at.part_of_qkv(1, dinput, b, h));
      }
    }
  });
}

}  // namespace zero
