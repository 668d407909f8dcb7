// The CPU device: host memory, and every operator as plain loops and OpenBLAS products.
#pragma once

#include <thread>

#include "common/device/cpu/workers.h"
#include "common/device/device.h"

namespace zero {

class CpuDevice : public Device {
 public:
  // `threads` threads share the work of an operator, the calling one included.
  CpuDevice(MemoryTracker& tracker, HeapObserver* observer, bool fill_nan, int rank, int threads);
  ~CpuDevice() override;

  void download(View from, std::span<std::byte> to) override;
  void upload(std::span<const std::byte> from, View to) override;

  void zero(View to) override;
  void copy(View from, View to) override;
  void add(View to, View a, View b, float divisor) override;
  void accumulate(View sum, View x) override;
  void divide(View to, View sum, float divisor) override;
  double sum_of_squares(View x) override;
  void adamw(View master, View exp_avg, View exp_avg_sq, View grads,
             const AdamWStep& step) override;

  void embedding_forward(View out, View tokens, View wte, View wpe, int B, int T, int C) override;
  void embedding_backward(View dwte, View dwpe, View dout, View tokens, int B, int T,
                          int C) override;
  void layernorm_forward(View out, View mean, View rstd, View x, View weight, View bias, int R,
                         int C) override;
  void layernorm_backward(View dx, View dweight, View dbias, View dout, View x, View mean,
                          View rstd, View weight, int R, int C) override;
  void linear_forward(View out, View x, View weight, View bias, int R, int I, int O) override;
  void linear_backward(View dx, View dweight, View dbias, View dout, View x, View weight, int R,
                       int I, int O) override;
  void attention_forward(View out, View att, View qkv, int B, int T, int C, int H) override;
  void attention_backward(View dqkv, View dout, View qkv, View att, int B, int T, int C,
                          int H) override;
  void gelu_forward(View out, View x) override;
  void gelu_backward(View dx, View dout, View x) override;
  void residual_forward(View out, View a, View b) override;
  double cross_entropy_forward(View logits, View log_sum, View targets, int R, int V) override;
  void cross_entropy_backward(View dlogits, View logits, View log_sum, View targets, float factor,
                              int R, int V) override;

 protected:
  std::byte* take(std::int64_t bytes, std::int64_t offset) override;
  void give_back(std::byte* data, std::int64_t bytes, std::int64_t offset) override;
  void fill(std::byte* data, std::int64_t bytes, std::uint16_t pattern) override;

 private:
  // Scratch of `size` fp32 elements, aligned to 256 bytes; what it held before is lost. It is one
  // buffer that the device keeps and that grows to the largest size ever asked for. The bounds,
  // none of which grows with N or the batch, per thread and in fp32 elements:
  //   linear      2 * 512 * 1024 + 512 * 512 (5 MiB); nothing in fp32
  //   attention   (4 * T + 3 * 64) * C/H + 2 * 64 * T
  //   layernorm   6 * C
  //   embedding   C
  float* workspace(std::int64_t size);

  // Makes BLAS calls from this thread run on this thread alone.
  void use_one_blas_thread();

  Buffer workspace_;
  std::thread::id blas_thread_;  // the thread that has been told
  Workers workers_;
};

}  // namespace zero
