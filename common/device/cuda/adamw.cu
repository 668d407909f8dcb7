// AdamW with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2): one pass over
// memory.
#include "common/device/check.h"
#include "common/device/cuda/cuda_device.h"
#include "common/device/cuda/map.cuh"

namespace zero {
namespace {

// Each thread updates eight neighbours. The same operations in the same order as on the CPU, each
// rounded as IEEE 754 says: the same bits.
template <class T>
__global__ void __launch_bounds__(kBlockSize)
    adamw_kernel(float* master,      // (n)
                 float* exp_avg,     // (n)
                 float* exp_avg_sq,  // (n)
                 const T* grads,     // (n)
                 std::int64_t n, bool aligned, AdamWStep step) {
  const std::int64_t first = first_of_eight();
  if (first >= n) return;
  const int count = rest_of(n, first);
  float w[kEight], m[kEight], v[kEight], g[kEight];
  load_eight(w, master + first, count, aligned);
  load_eight(m, exp_avg + first, count, aligned);
  load_eight(v, exp_avg_sq + first, count, aligned);
  load_eight(g, grads + first, count, aligned);
  for (int i = 0; i < kEight; ++i) {
    g[i] *= step.grad_factor;
    m[i] = step.beta1 * m[i] + (1 - step.beta1) * g[i];
    v[i] = step.beta2 * v[i] + (1 - step.beta2) * g[i] * g[i];
    const float direction =
        m[i] / step.correction1 / (sqrtf(v[i] / step.correction2) + step.epsilon);
    w[i] -= step.learning_rate * (direction + step.weight_decay * w[i]);
  }
  store_eight(exp_avg + first, m, count, aligned);
  store_eight(exp_avg_sq + first, v, count, aligned);
  store_eight(master + first, w, count, aligned);
}

}  // namespace

void CudaDevice::adamw(View master, View exp_avg, View exp_avg_sq, View grads,
                       const AdamWStep& step) {
  const OperatorSpan span(*this, "adamw");
  const std::int64_t n = master.size();
  check_adamw(master, exp_avg, exp_avg_sq, grads);
  with_gpu_type(grads.dtype(), [&](auto type) {
    using T = decltype(type);
    float* const w = pointer<float>(master);
    float* const m = pointer<float>(exp_avg);
    float* const v = pointer<float>(exp_avg_sq);
    const T* const g = pointer<T>(grads);
    if (n == 0) return;
    const bool aligned = is_aligned(w) && is_aligned(m) && is_aligned(v) && is_aligned(g);
    launch(adamw_kernel<T>, blocks_for(n, kBlockSize * kEight), kBlockSize, stream_, w, m, v, g, n,
           aligned, step);
  });
}

}  // namespace zero
