// The ceilings, in CUDA's and cuBLAS's own words: nothing of the project's device is in between.
#include "tests/gpu/ceilings.h"

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <memory>
#include <random>
#include <vector>

#include "common/device/cuda/cuda_check.h"
#include "common/memory/dtype.h"

namespace zero {
namespace {

using DeviceMemory = std::unique_ptr<void, cudaError_t (*)(void*)>;

DeviceMemory device_memory(std::int64_t bytes) {
  void* data = nullptr;
  check(cudaMalloc(&data, static_cast<std::size_t>(bytes)), "cudaMalloc");
  return {data, &cudaFree};
}

void wait() { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

// n x n random bf16.
DeviceMemory random_matrix(int n, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<Bf16> tile(std::size_t{1} << 16);  // repeated: a generator takes its time
  for (Bf16& value : tile) value = narrow<Bf16>(uniform(generator));
  std::vector<Bf16> values(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = tile[i % tile.size()];
  DeviceMemory matrix = device_memory(std::int64_t{2} * n * n);
  check(
      cudaMemcpy(matrix.get(), values.data(), values.size() * sizeof(Bf16), cudaMemcpyHostToDevice),
      "cudaMemcpy");
  wait();  // it may still be on its way, and the products' stream does not wait for it
  return matrix;
}

}  // namespace

double copied_bytes_per_second(std::int64_t bytes, const Pace& pace) {
  const DeviceMemory from = device_memory(bytes), to = device_memory(bytes);
  const auto size = static_cast<std::size_t>(bytes);
  check(cudaMemset(from.get(), 1, size), "cudaMemset");
  const auto copy = [&] {
    check(cudaMemcpyAsync(to.get(), from.get(), size, cudaMemcpyDeviceToDevice, nullptr),
          "cudaMemcpyAsync");
  };
  return 2 * static_cast<double>(bytes) / seconds_per_call(pace, copy, wait);
}

double product_operations_per_second(int n, const Pace& pace) {
  const DeviceMemory a = random_matrix(n, 1), b = random_matrix(n, 2);
  const DeviceMemory c = device_memory(std::int64_t{2} * n * n);
  cublasHandle_t blas = nullptr;
  check(cublasCreate(&blas), "cublasCreate");
  const float one = 1, zero = 0;
  const auto multiply = [&] {
    check(cublasGemmEx(blas, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &one, a.get(), CUDA_R_16BF, n,
                       b.get(), CUDA_R_16BF, n, &zero, c.get(), CUDA_R_16BF, n, CUBLAS_COMPUTE_32F,
                       CUBLAS_GEMM_DEFAULT),
          "cublasGemmEx");
  };
  const double seconds = seconds_per_call(pace, multiply, wait);
  check(cublasDestroy(blas), "cublasDestroy");
  return 2.0 * n * n * n / seconds;
}

}  // namespace zero
