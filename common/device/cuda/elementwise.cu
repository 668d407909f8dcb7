// Operators on any range of the flat vector, element by element: each thread takes eight
// neighbours.
#include <algorithm>
#include <array>
#include <exception>
#include <span>

#include "common/device/check.h"
#include "common/device/cuda/cuda_device.h"
#include "common/device/cuda/map.cuh"
#include "common/device/cuda/reduce.cuh"

namespace zero {
namespace {

struct AddAndDivide {
  float divisor;
  __device__ float operator()(float x, float y) const { return (x + y) / divisor; }
};
struct Add {
  __device__ float operator()(float x, float y) const { return x + y; }
};
struct Divide {
  float divisor;
  __device__ float operator()(float x) const { return x / divisor; }
};
struct Same {
  __device__ float operator()(float x) const { return x; }
};

// to[i] = pattern: a block writes 2048 neighbours, a thread eight of them.
__global__ void __launch_bounds__(kBlockSize) fill_kernel(std::uint16_t* to,  // (n)
                                                          std::int64_t n, std::uint16_t pattern) {
  const std::int64_t first = first_of_eight();
  for (std::int64_t i = first; i < n && i < first + kEight; ++i) to[i] = pattern;
}

// Partial sums of x[i]^2, one per block: block b takes every kSquareBlocks-th run of elements, so
// that the order depends on n alone; each of its threads takes eight neighbours of a run.
constexpr int kSquareBlocks = 512;
template <class T>
__global__ void __launch_bounds__(kBlockSize)
    squares_kernel(double* partial,  // (kSquareBlocks), or fewer where there are fewer runs
                   const T* x,       // (n)
                   std::int64_t n, bool aligned) {
  __shared__ double shared[kWarp];
  double sum = 0;
  for (std::int64_t first = first_of_eight(); first < n;
       first += std::int64_t{kSquareBlocks} * kBlockSize * kEight) {
    float value[kEight];
    load_eight(value, x + first, rest_of(n, first), aligned);
    for (int i = 0; i < kEight; ++i) {
      const double element = value[i];
      sum += element * element;
    }
  }
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

}  // namespace

// Also called when memory is given back while an error is under way: it must not add another.
void CudaDevice::fill(std::byte* data, std::int64_t bytes, std::uint16_t pattern) {
  if (bytes < 2) return;
  try {
    launch(fill_kernel, blocks_for(bytes / 2, kBlockSize * kEight), kBlockSize, stream_,
           reinterpret_cast<std::uint16_t*>(data), bytes / 2, pattern);
  } catch (const std::exception&) {
    // A stream that has failed says so at its next wait.
  }
}

void CudaDevice::zero(View to) {
  const OperatorSpan span(*this, "zero");
  if (to.size() == 0) return;
  check(cudaMemsetAsync(to.data(), 0, to.bytes().size(), stream_), "cudaMemsetAsync");
}

void CudaDevice::copy(View from, View to) {
  const OperatorSpan span(*this, "copy");
  check_size("copy", "to", to, from.size());
  if (from.dtype() == to.dtype()) {
    if (to.size() == 0 || from.data() == to.data()) return;
    check(cudaMemcpyAsync(to.data(), from.data(), to.bytes().size(), cudaMemcpyDeviceToDevice,
                          stream_),
          "cudaMemcpyAsync");
    return;
  }
  with_gpu_type(from.dtype(), [&](auto from_type) {
    using From = decltype(from_type);
    with_gpu_type(to.dtype(), [&](auto to_type) {
      using To = decltype(to_type);
      map(stream_, pointer<To>(to), pointer<From>(from), to.size(), Same{});
    });
  });
}

void CudaDevice::add(View to, View a, View b, float divisor) {
  const OperatorSpan span(*this, "add");
  check_size("add", "a", a, to.size());
  check_size("add", "b", b, to.size());
  with_gpu_type(to.dtype(), [&](auto type) {
    using T = decltype(type);
    map(stream_, pointer<T>(to), pointer<T>(a), pointer<T>(b), to.size(), AddAndDivide{divisor});
  });
}

void CudaDevice::accumulate(View sum, View x) {
  const OperatorSpan span(*this, "accumulate");
  check_size("accumulate", "x", x, sum.size());
  with_gpu_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    map(stream_, pointer<float>(sum), pointer<float>(sum), pointer<T>(x), sum.size(), Add{});
  });
}

void CudaDevice::divide(View to, View sum, float divisor) {
  const OperatorSpan span(*this, "divide");
  check_size("divide", "sum", sum, to.size());
  with_gpu_type(to.dtype(), [&](auto type) {
    using T = decltype(type);
    map(stream_, pointer<T>(to), pointer<float>(sum), to.size(), Divide{divisor});
  });
}

double CudaDevice::sum_of_squares(View x) {
  const OperatorSpan span(*this, "sum_of_squares");
  if (x.size() == 0) return 0;
  const unsigned blocks = static_cast<unsigned>(
      std::min<std::int64_t>(kSquareBlocks, blocks_for(x.size(), kBlockSize * kEight)));
  std::array<double, kSquareBlocks> all;
  const std::span<double> partial = std::span(all).first(blocks);
  const auto bytes = std::as_writable_bytes(partial);
  double* const sums = reinterpret_cast<double*>(workspace(std::ssize(bytes)));  // (blocks)
  with_gpu_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    const T* const values = pointer<T>(x);
    launch(squares_kernel<T>, blocks, kBlockSize, stream_, sums, values, x.size(),
           is_aligned(values));
  });
  download(workspace_.view().first(std::ssize(bytes) / 4), bytes);
  double total = 0;
  for (const double sum : partial) total += sum;
  return total;
}

void CudaDevice::residual_forward(View out, View a, View b) {
  const OperatorSpan span(*this, "residual_forward");
  check_size("residual_forward", "a", a, out.size());
  check_size("residual_forward", "b", b, out.size());
  with_gpu_type(out.dtype(), [&](auto type) {
    using T = decltype(type);
    map(stream_, pointer<T>(out), pointer<T>(a), pointer<T>(b), out.size(), Add{});
  });
}

}  // namespace zero
