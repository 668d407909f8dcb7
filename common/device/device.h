// A device: the memory of one rank, and the operators that work on it.
#pragma once

#include <memory>

#include "common/memory/heap.h"
#include "common/trace/clock.h"

namespace zero {

// The numbers of one AdamW update (Loshchilov and Hutter 2019, algorithm 2), all fp32.
struct AdamWStep {
  float learning_rate;
  float beta1, beta2, epsilon;
  float weight_decay;              // of this range: 0 for vectors
  float correction1, correction2;  // 1 - beta1^t, 1 - beta2^t
  float grad_factor;               // 1 / loss scale, times the clipping factor
};

// The same operators under the same names on every device. Contract of all of them:
//   - arithmetic in fp32, storage in the views' own types (converted when loaded and stored);
//   - outputs are written, not added to, except where it says "adds to";
//   - one writer per output element, in an order that depends only on the shapes and on how many
//     threads work: not on timing, not on where a range starts, so that cutting a range in two
//     gives the same bits;
//   - sizes that do not fit throw std::invalid_argument before anything is written.
// Shapes: B sequences of T tokens, R = B*T rows, C channels, V vocabulary, H heads.
class Device : public Heap {
 public:
  using Heap::Heap;

  // Waits until everything asked for is done.
  virtual void synchronize() {}

  // The time on this device's clock, in seconds since some moment: the host's, unless the device is
  // simulated.
  virtual double seconds();

  // FLOPs of matrix products so far, where a simulation counts them; 0 elsewhere.
  virtual double product_flops() const { return 0; }

  // A clock for this device's trace, which may outlive the device, as long as nobody marks or waits
  // then.
  virtual std::unique_ptr<Clock> make_clock() { return make_wall_clock(); }

  // ---- any range of the flat vector -------------------------------------------------------------
  virtual void zero(View to) = 0;
  // to[i] = round(from[i]); types may differ; onto itself is allowed.
  virtual void copy(View from, View to) = 0;
  // to[i] = round((a[i] + b[i]) / divisor): one hop of the ring. `to` may be a or b.
  virtual void add(View to, View a, View b, float divisor) = 0;
  // sum[i] = sum[i] + x[i], sum in fp32.
  virtual void accumulate(View sum, View x) = 0;
  // to[i] = round(sum[i] / divisor), sum in fp32.
  virtual void divide(View to, View sum, float divisor) = 0;
  // The sum of x[i]^2 in fp64.
  virtual double sum_of_squares(View x) = 0;
  // With g = grads[i] * grad_factor:
  //   exp_avg    = beta1 * exp_avg + (1 - beta1) * g
  //   exp_avg_sq = beta2 * exp_avg_sq + (1 - beta2) * g * g
  //   master    -= learning_rate * (exp_avg / correction1 / (sqrt(exp_avg_sq / correction2) +
  //                epsilon) + weight_decay * master)
  // master, exp_avg, exp_avg_sq: fp32; grads: any type. An element that is zero with a zero
  // gradient stays zero.
  virtual void adamw(View master, View exp_avg, View exp_avg_sq, View grads,
                     const AdamWStep& step) = 0;

  // ---- the model ------------------------------------------------------------------------------
  // out = wte[token] + wpe[t].   out: (B, T, C); tokens: (B, T) int32; wte: (V, C); wpe: (>= T, C)
  virtual void embedding_forward(View out, View tokens, View wte, View wpe, int B, int T,
                                 int C) = 0;
  // Rows of dwte that no token names, and rows of dwpe from T on, are zero.
  virtual void embedding_backward(View dwte, View dwpe, View dout, View tokens, int B, int T,
                                  int C) = 0;

  // out = (x - mean) * rstd * weight + bias, epsilon 1e-5.
  // out, x: (R, C); mean, rstd: (R) fp32; weight, bias: (C)
  virtual void layernorm_forward(View out, View mean, View rstd, View x, View weight, View bias,
                                 int R, int C) = 0;
  // Adds to dx (the residual stream's gradient); writes dweight, dbias.
  virtual void layernorm_backward(View dx, View dweight, View dbias, View dout, View x, View mean,
                                  View rstd, View weight, int R, int C) = 0;

  // out = x W^T + bias.   out: (R, O); x: (R, I); weight: (O, I); bias: (O), or empty for none
  virtual void linear_forward(View out, View x, View weight, View bias, int R, int I, int O) = 0;
  // dx: (R, I); dweight: (O, I); dbias: (O), or empty; dout: (R, O)
  virtual void linear_backward(View dx, View dweight, View dbias, View dout, View x, View weight,
                               int R, int I, int O) = 0;

  // Causal self-attention, H heads of C/H channels, scores scaled by 1/sqrt(C/H).
  // out: (B, T, C); att: (B, H, T, T), after the softmax, zero above the diagonal;
  // qkv: (B, T, 3*C): query, key, value
  virtual void attention_forward(View out, View att, View qkv, int B, int T, int C, int H) = 0;
  // dqkv: (B, T, 3*C); dout: (B, T, C)
  virtual void attention_backward(View dqkv, View dout, View qkv, View att, int B, int T, int C,
                                  int H) = 0;

  // The tanh approximation, as in GPT-2. out may be x; dx may be dout. Any size.
  virtual void gelu_forward(View out, View x) = 0;
  virtual void gelu_backward(View dx, View dout, View x) = 0;

  // out = a + b. out may be a or b.
  virtual void residual_forward(View out, View a, View b) = 0;

  // Returns the sum over the rows of -log softmax(logits)[target], in fp64, in row order.
  // logits: (R, V); log_sum: (R) fp32, written: log of the sum of exp(logits); targets: (R) int32
  virtual double cross_entropy_forward(View logits, View log_sum, View targets, int R, int V) = 0;
  // dlogits = (softmax(logits) - onehot(target)) * factor. dlogits may be logits.
  virtual void cross_entropy_backward(View dlogits, View logits, View log_sum, View targets,
                                      float factor, int R, int V) = 0;
};

// A device on the host's processor with `threads` threads for its operators (1: none are started).
std::unique_ptr<Device> make_cpu_device(MemoryTracker& tracker, HeapObserver* observer,
                                        bool fill_nan, int rank, int threads);

}  // namespace zero
