// The CUDA device: one GPU's memory, one stream, and every operator as kernels and cuBLAS products.
//
// Everything a rank does, its communication included, happens on one stream, in order: what is
// asked for later sees what was asked for before. Nothing overlaps, and nothing has to be waited
// for but where values come to the host.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <chrono>
#include <functional>

#include "common/device/device.h"

namespace zero {

class CudaDevice : public Device {
 public:
  // On GPU number `gpu`, which becomes the current one of the calling thread. Takes no tracked
  // memory. Throws std::runtime_error.
  CudaDevice(MemoryTracker& tracker, HeapObserver* observer, bool fill_nan, int rank, int gpu);
  ~CudaDevice() override;

  cudaStream_t stream() const { return stream_; }

  // Waits until all that was asked for is done. While it waits it calls the watch, which may throw.
  void synchronize() override;
  std::unique_ptr<Clock> make_clock() override;  // times of CUDA events: cuda_clock.h
  // For whoever can tell that a wait is in vain (a rank that another waits for has died). Called
  // every millisecond or so with the time that this wait has taken; an empty function ends it.
  using Watch = std::function<void(std::chrono::duration<double> waited)>;
  void set_watch(Watch watch) { watch_ = std::move(watch); }

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
  // Scratch of `bytes`, aligned to 256; what it held before is lost. It is one buffer that the
  // device keeps and that grows to the largest size ever asked for. The bounds, none of which grows
  // with N or the batch, stand where it is used.
  std::byte* workspace(std::int64_t bytes);

  // The handle, on this stream, with a workspace of its own: a fixed one, so that cuBLAS has no
  // reason to choose another algorithm in another stage.
  cublasHandle_t blas();

  // Throws std::out_of_range unless each of the ids (int32, on the device) is in [0, limit).
  void check_ids_on_device(std::string_view op, View ids, std::int64_t limit);

  int gpu_;
  cudaStream_t stream_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  Watch watch_;
  Buffer workspace_;
  Buffer blas_workspace_;
};

}  // namespace zero
