// Linear layers on a GPU: out = x W^T + bias, and its three gradients.
#include "common/device/check.h"
#include "common/device/cuda/column_sums.cuh"
#include "common/device/cuda/cuda_device.h"
#include "common/device/cuda/eight.cuh"
#include "common/device/cuda/gemm.h"
#include "common/device/cuda/launch.h"

namespace zero {
namespace {

// out[r] = bias. A thread copies eight neighbours of one row, and the threads of a warp write
// neighbouring eights, so that the writes are full lines whatever O is.
template <class T>
__global__ void __launch_bounds__(kBlockSize)
    fill_rows_kernel(T* out,         // (R, O)
                     const T* bias,  // (O)
                     std::int64_t R, std::int64_t O, bool aligned) {
  const std::int64_t eights = (O + kEight - 1) / kEight;  // of a row
  const std::int64_t index = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index >= R * eights) return;
  const std::int64_t row = index / eights, first = index % eights * kEight;
  const int count = O - first < kEight ? static_cast<int>(O - first) : kEight;
  float values[kEight];  // fp32 holds every 16-bit number, so what comes out is what went in
  load_eight(values, bias + first, count, aligned);
  store_eight(out + row * O + first, values, count, aligned);
}

template <class T>
void fill_rows(cudaStream_t stream, T* out, const T* bias, std::int64_t R, std::int64_t O) {
  if (R == 0 || O == 0) return;
  const bool aligned = is_aligned(out) && is_aligned(bias) && O % kEight == 0;
  const std::int64_t eights = R * ((O + kEight - 1) / kEight);
  launch(fill_rows_kernel<T>, blocks_for(eights, kBlockSize), kBlockSize, stream, out, bias, R, O,
         aligned);
}

// c = op(a) op(b) + beta c, where c has no gaps between its rows. A sum of no terms (K = 0) is
// zero.
template <class T>
void product(cudaStream_t stream, cublasHandle_t blas, GpuOp op_a, GpuOp op_b,
             const Extents& extents, GpuMatrix<const T> a, GpuMatrix<const T> b, float beta,
             GpuMatrix<T> c) {
  if (extents.K > 0) {
    gpu_gemm<T, T>(blas, op_a, op_b, extents, 1, a, b, beta, c);
  } else if (beta == 0 && extents.M > 0 && extents.N > 0) {
    const std::size_t bytes =
        sizeof(T) * static_cast<std::size_t>(extents.M) * static_cast<std::size_t>(extents.N);
    check(cudaMemsetAsync(c.data, 0, bytes, stream), "cudaMemsetAsync");
  }
}

}  // namespace

void CudaDevice::linear_forward(View out, View x, View weight, View bias, int R, int I, int O) {
  const OperatorSpan span(*this, "linear_forward");
  check_linear_forward(out, x, weight, bias, R, I, O);
  with_gpu_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    const GpuMatrix<const T> input{pointer<T>(x), I};                      // (R, I)
    const GpuMatrix<const T> weights{pointer<T>(weight), I};               // (O, I)
    const T* const biases = bias.size() > 0 ? pointer<T>(bias) : nullptr;  // (O)
    const GpuMatrix<T> output{pointer<T>(out), O};                         // (R, O)
    // The product is added to the bias in fp32 and rounded once: a bias that lies in `out` already
    // (exactly, as it is) costs no rounding.
    if (biases != nullptr) fill_rows(stream_, output.data, biases, R, O);
    product<T>(stream_, blas(), GpuOp::plain, GpuOp::transposed, {R, O, I}, input, weights,
               biases != nullptr ? 1.0f : 0.0f, output);
  });
}

void CudaDevice::linear_backward(View dx, View dweight, View dbias, View dout, View x, View weight,
                                 int R, int I, int O) {
  const OperatorSpan span(*this, "linear_backward");
  check_linear_backward(dx, dweight, dbias, dout, x, weight, R, I, O);
  with_gpu_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    const GpuMatrix<const T> gradient{pointer<T>(dout), O};   // (R, O)
    const GpuMatrix<const T> input{pointer<T>(x), I};         // (R, I)
    const GpuMatrix<const T> weights{pointer<T>(weight), I};  // (O, I)
    const GpuMatrix<T> dinput{pointer<T>(dx), I};             // (R, I)
    const GpuMatrix<T> dweights{pointer<T>(dweight), I};      // (O, I)
    product<T>(stream_, blas(), GpuOp::plain, GpuOp::plain, {R, I, O}, gradient, weights, 0,
               dinput);
    product<T>(stream_, blas(), GpuOp::transposed, GpuOp::plain, {O, I, R}, gradient, input, 0,
               dweights);
    if (dbias.size() > 0) {
      column_sums(stream_, pointer<T>(dbias), gradient.data, R, O,
                  workspace(column_sums_bytes(1, R, O)));
    }
  });
}

}  // namespace zero
