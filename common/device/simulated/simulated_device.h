// A GPU that stores nothing and computes nothing: it counts bytes, and time passes.
#pragma once

#include "common/device/device.h"
#include "common/device/simulated/hardware.h"
#include "common/device/simulated/virtual_clock.h"

namespace zero {

// Allocations are accounted for, with the same tracker as on any device, and have no address; an
// operator checks its sizes as elsewhere, is told to the observer, and advances the clock.
// Nothing is computed, so control values are fixed: the loss is not a number, and the gradient of
// every iteration has the norm 1 (times the loss scale), unless cross_entropy_backward is given a
// factor that is not finite: then it is infinite. It has no scratch of its own: no workspace.
class SimulatedDevice : public Device {
 public:
  // `clock` must outlive the device. `world_size` ranks have a part of the gradient each.
  SimulatedDevice(MemoryTracker& tracker, HeapObserver* observer, const Gpu& gpu, int world_size,
                  VirtualClock& clock);

  double product_flops() const override { return product_flops_; }
  double seconds() override;
  std::unique_ptr<Clock> make_clock() override;  // which must not outlive the VirtualClock

  // What is downloaded is zeros.
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
  void work(const Cost& cost, Dtype dtype);

  const Gpu gpu_;
  const int world_size_;
  VirtualClock& clock_;
  std::int64_t taken_ = 0;  // bytes
  double product_flops_ = 0;
  double scaled_norm_ = 1;  // of the whole gradient: the loss scale, or infinite
};

std::unique_ptr<Device> make_simulated_device(MemoryTracker& tracker, HeapObserver* observer,
                                              const Gpu& gpu, int world_size, VirtualClock& clock);

}  // namespace zero
