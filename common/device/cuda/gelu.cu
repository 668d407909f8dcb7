// GELU, tanh approximation, forward and backward: the CPU's formulas, with the GPU's own expf.
#include "common/device/check.h"
#include "common/device/cpu/math.h"
#include "common/device/cuda/cuda_device.h"
#include "common/device/cuda/map.cuh"

namespace zero {
namespace {

// x/2 (1 + tanh(u)) = x / (1 + e^(-2u)).
struct Gelu {
  __device__ float operator()(float x) const {
    const float u2 = kGeluScale * x * (1.0f + kGeluCubic * x * x);  // 2u
    return x / (1.0f + expf(-u2));
  }
};

// dy GELU'(x), with s = 1/(1 + e^(-2u)): GELU' = s + x s (1 - s) (2u)'. p and q are s and 1 - s, or
// the other way round.
struct GeluBackward {
  __device__ float operator()(float dy, float x) const {
    const float square = kGeluCubic * x * x;
    const float u2 = kGeluScale * x * (1.0f + square);
    const float slope = kGeluScale * (1.0f + 3.0f * square);
    const float e = expf(u2 < 0 ? u2 : -u2);
    const float p = 1.0f / (1.0f + e);
    const float q = e * p;
    return dy * ((x < 0 ? q : p) + x * (p * q) * slope);
  }
};

}  // namespace

void CudaDevice::gelu_forward(View out, View x) {
  const OperatorSpan span(*this, "gelu_forward");
  check_size("gelu_forward", "out", out, x.size());
  with_gpu_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    map(stream_, pointer<T>(out), pointer<T>(x), x.size(), Gelu{});
  });
}

void CudaDevice::gelu_backward(View dx, View dout, View x) {
  const OperatorSpan span(*this, "gelu_backward");
  check_size("gelu_backward", "dx", dx, x.size());
  check_size("gelu_backward", "dout", dout, x.size());
  with_gpu_type(x.dtype(), [&](auto type) {
    using T = decltype(type);
    map(stream_, pointer<T>(dx), pointer<T>(dout), pointer<T>(x), x.size(), GeluBackward{});
  });
}

}  // namespace zero
