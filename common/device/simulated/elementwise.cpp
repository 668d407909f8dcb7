// Operators on any range of the flat vector: each is one kernel, as in device/cuda, and reads and
// writes each element once. n: elements; w: bytes of one.
#include <cmath>

#include "common/device/check.h"
#include "common/device/simulated/check_types.h"
#include "common/device/simulated/simulated_device.h"

namespace zero {
namespace {

double elements(const View& view) { return static_cast<double>(view.size()); }
double width(const View& view) { return static_cast<double>(bytes_of(view.dtype())); }

}  // namespace

// Bytes: w n.
void SimulatedDevice::zero(View to) {
  const OperatorSpan span(*this, "zero");
  work({.bytes = width(to) * elements(to)}, to.dtype());
}

void SimulatedDevice::copy(View from, View to) {
  const OperatorSpan span(*this, "copy");
  check_size("copy", "to", to, from.size());
  work(copy_cost(to.size(), from.dtype(), to.dtype()), to.dtype());
}

void SimulatedDevice::add(View to, View a, View b, float) {
  const OperatorSpan span(*this, "add");
  check_size("add", "a", a, to.size());
  check_size("add", "b", b, to.size());
  check_types(to.dtype(), {to, a, b});
  work(add_cost(to.size(), to.dtype()), to.dtype());
}

// FLOPs: n. Bytes: (4 + 4 + w) n, as the sum is read and written.
void SimulatedDevice::accumulate(View sum, View x) {
  const OperatorSpan span(*this, "accumulate");
  check_size("accumulate", "x", x, sum.size());
  check_types(Dtype::fp32, {sum});
  const double n = elements(x);
  work({.flops = n, .bytes = (8 + width(x)) * n}, x.dtype());
}

// FLOPs: n. Bytes: (4 + w) n.
void SimulatedDevice::divide(View to, View sum, float) {
  const OperatorSpan span(*this, "divide");
  check_size("divide", "sum", sum, to.size());
  check_types(Dtype::fp32, {sum});
  const double n = elements(to);
  work({.flops = n, .bytes = (4 + width(to)) * n}, to.dtype());
}

// FLOPs: 2 n, a square and a sum. Bytes: w n.
// Each rank has an equal share of the square of the whole gradient's norm, whatever x is.
double SimulatedDevice::sum_of_squares(View x) {
  const OperatorSpan span(*this, "sum_of_squares");
  const double n = elements(x);
  work({.flops = 2 * n, .bytes = width(x) * n}, x.dtype());
  return scaled_norm_ * scaled_norm_ / world_size_;
}

// FLOPs: 17 n: 1 for the gradient's factor, 3 for exp_avg, 4 for exp_avg_sq, 5 for the direction,
// 4 for the weight. Bytes: (24 + w) n, as three fp32 states are read and written, and the gradient
// is read.
void SimulatedDevice::adamw(View master, View exp_avg, View exp_avg_sq, View grads,
                            const AdamWStep&) {
  const OperatorSpan span(*this, "adamw");
  check_adamw(master, exp_avg, exp_avg_sq, grads);
  check_types(Dtype::fp32, {master, exp_avg, exp_avg_sq});
  const double n = elements(grads);
  work({.flops = 17 * n, .bytes = (24 + width(grads)) * n}, grads.dtype());
}

// FLOPs: 8 n: 5 for u, and exp, +, /. Bytes: 2 w n.
void SimulatedDevice::gelu_forward(View out, View x) {
  const OperatorSpan span(*this, "gelu_forward");
  check_size("gelu_forward", "out", out, x.size());
  check_types(x.dtype(), {out});
  const double n = elements(x);
  work({.flops = 8 * n, .bytes = 2 * width(x) * n}, x.dtype());
}

// FLOPs: 17 n: 5 for u, 3 for its derivative, 4 for the two sigmoids, 5 for their sum and products.
// Bytes: 3 w n.
void SimulatedDevice::gelu_backward(View dx, View dout, View x) {
  const OperatorSpan span(*this, "gelu_backward");
  check_size("gelu_backward", "dx", dx, x.size());
  check_size("gelu_backward", "dout", dout, x.size());
  check_types(x.dtype(), {dx, dout});
  const double n = elements(x);
  work({.flops = 17 * n, .bytes = 3 * width(x) * n}, x.dtype());
}

// FLOPs: n. Bytes: 3 w n.
void SimulatedDevice::residual_forward(View out, View a, View b) {
  const OperatorSpan span(*this, "residual_forward");
  check_size("residual_forward", "a", a, out.size());
  check_size("residual_forward", "b", b, out.size());
  check_types(out.dtype(), {a, b});
  const double n = elements(out);
  work({.flops = n, .bytes = 3 * width(out) * n}, out.dtype());
}

}  // namespace zero
