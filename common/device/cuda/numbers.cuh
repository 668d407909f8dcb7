// The storage types on a GPU: widened to fp32 when loaded, rounded once when stored.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>

#include "common/memory/buffer.h"

namespace zero {

__device__ inline float to_fp32(float x) { return x; }
__device__ inline float to_fp32(__half x) { return __half2float(x); }
__device__ inline float to_fp32(__nv_bfloat16 x) { return __bfloat162float(x); }

// To nearest, ties to even.
template <class T>
__device__ T from_fp32(float x);
template <>
__device__ inline float from_fp32<float>(float x) {
  return x;
}
template <>
__device__ inline __half from_fp32<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ inline __nv_bfloat16 from_fp32<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

// Calls f with a value of the GPU's storage type of `dtype` (not int32), so that a template can be
// chosen at run time.
template <class F>
decltype(auto) with_gpu_type(Dtype dtype, F&& f) {
  if (dtype == Dtype::fp16) return f(__half{});
  if (dtype == Dtype::bf16) return f(__nv_bfloat16{});
  return f(float{});
}

template <class T>
inline constexpr Dtype kDtypeOnGpu = Dtype::fp32;
template <>
inline constexpr Dtype kDtypeOnGpu<__half> = Dtype::fp16;
template <>
inline constexpr Dtype kDtypeOnGpu<__nv_bfloat16> = Dtype::bf16;
template <>
inline constexpr Dtype kDtypeOnGpu<std::int32_t> = Dtype::int32;

// The view's first element, on the device. T is float, __half, __nv_bfloat16 or std::int32_t, as
// the view's dtype says; std::invalid_argument otherwise.
template <class T>
T* pointer(const View& view) {
  if (view.size() > 0 && view.dtype() != kDtypeOnGpu<T>) {
    throw std::invalid_argument("a view's elements are not of the type that the operator needs");
  }
  return reinterpret_cast<T*>(view.data());
}

}  // namespace zero
