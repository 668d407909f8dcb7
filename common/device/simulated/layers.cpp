// The model's layers but attention: FLOPs, bytes and kernels as device/cuda has them. Each kernel
// reads and writes its operands once; what it reads again comes from a cache. w: bytes of an
// element.
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/device/check.h"
#include "common/device/simulated/check_types.h"
#include "common/device/simulated/simulated_device.h"

namespace zero {
namespace {

double width(const View& view) { return static_cast<double>(bytes_of(view.dtype())); }

// Two kernels that sum the rows of a matrix. Their partial sums, at most 512 KiB or one row of
// fp32, are left out of the bytes.
constexpr int kColumnSums = 2;

// Rows whose losses are on their way to the host at a time: a kernel each.
constexpr int kLossRows = 1 << 14;

}  // namespace

// FLOPs: R C. Bytes: a row of each table is read and one is written, w 3 R C; tokens, 4 R.
void SimulatedDevice::embedding_forward(View out, View tokens, View wte, View wpe, int B, int T,
                                        int C) {
  const OperatorSpan span(*this, "embedding_forward");
  const std::int64_t R = std::int64_t{B} * T;
  check_embedding("embedding_forward", out, tokens, wte, wpe, R, T, C);
  check_types(Dtype::int32, {tokens});
  check_types(out.dtype(), {wte, wpe});
  const double rows = static_cast<double>(R), size = rows * C;
  work({.flops = size, .bytes = width(out) * 3 * size + 4 * rows}, out.dtype());
}

// FLOPs: 2 R C, dout summed by token and by position. Bytes: both tables zeroed, dout read twice,
// the sums written: T rows, and as many as there are different tokens. Which they are nobody knows
// here: at most min(R, V). Four kernels: zero, zero, tokens, positions.
void SimulatedDevice::embedding_backward(View dwte, View dwpe, View dout, View tokens, int B, int T,
                                         int C) {
  const OperatorSpan span(*this, "embedding_backward");
  const std::int64_t R = std::int64_t{B} * T;
  check_embedding("embedding_backward", dout, tokens, dwte, dwpe, R, T, C);
  check_types(Dtype::int32, {tokens});
  check_types(dout.dtype(), {dwte, dwpe});
  const double rows = static_cast<double>(R), size = rows * C;
  const double tables = static_cast<double>(dwte.size() + dwpe.size());
  const double sums = static_cast<double>(std::min(R * C, dwte.size()) + std::int64_t{T} * C);
  work({.flops = 2 * size,
        .bytes = width(dout) * (tables + 2 * size + sums) + 4 * rows,
        .launches = 4},
       dout.dtype());
}

// FLOPs: 8 R C: 1 for the mean, 3 for the variance, 4 to apply both. Bytes: x read, out written,
// weight and bias read, w (2 R C + 2 C); mean and rstd written, 8 R.
void SimulatedDevice::layernorm_forward(View out, View mean, View rstd, View x, View weight,
                                        View bias, int R, int C) {
  const OperatorSpan span(*this, "layernorm_forward");
  check_layernorm_forward(out, mean, rstd, x, weight, bias, R, C);
  check_types(x.dtype(), {out});
  check_types(Dtype::fp32, {mean, rstd});
  check_types(x.dtype(), {weight, bias});
  const double rows = R, channels = C, size = rows * channels;
  work({.flops = 8 * size, .bytes = width(x) * (2 * size + 2 * channels) + 8 * rows}, x.dtype());
}

// FLOPs: 19 R C: 5 for the sums of dweight and dbias, 6 for the two means, 8 for dx.
// Bytes: the sums read dout, x, mean and rstd, and write dweight and dbias; dx reads those four,
// weight and itself, and is written: w (6 R C + 3 C) + 16 R. Three kernels.
void SimulatedDevice::layernorm_backward(View dx, View dweight, View dbias, View dout, View x,
                                         View mean, View rstd, View weight, int R, int C) {
  const OperatorSpan span(*this, "layernorm_backward");
  check_layernorm_backward(dx, dweight, dbias, dout, x, mean, rstd, weight, R, C);
  check_types(x.dtype(), {dx, dweight, dbias, dout});
  check_types(Dtype::fp32, {mean, rstd});
  check_types(x.dtype(), {weight});
  const double rows = R, channels = C, size = rows * channels;
  work({.flops = 19 * size,
        .bytes = width(x) * (6 * size + 3 * channels) + 16 * rows,
        .launches = kColumnSums + 1},
       x.dtype());
}

// Product FLOPs: 2 R I O. Bytes: w (R I + O I + R O). With a bias `out` is filled with it first,
// and read by the product: w (O + 2 R O) more, and a second kernel.
void SimulatedDevice::linear_forward(View out, View x, View weight, View bias, int R, int I,
                                     int O) {
  const OperatorSpan span(*this, "linear_forward");
  check_linear_forward(out, x, weight, bias, R, I, O);
  check_types(x.dtype(), {weight});
  if (bias.size() > 0) check_types(x.dtype(), {bias});
  check_types(x.dtype(), {out});
  const double rows = R, in = I, to = O;
  double moved = rows * in + to * in + rows * to;
  if (bias.size() > 0) moved += to + 2 * rows * to;
  work({.product_flops = 2 * rows * in * to,
        .bytes = width(x) * moved,
        .launches = bias.size() > 0 ? 2 : 1},
       x.dtype());
}

// Product FLOPs: 4 R I O, for dx = dout W and dW = dout^T x. Bytes: w (R O + O I + R I) for each.
// With a bias dout is read once more and summed: R O FLOPs, w (R O + O) bytes.
void SimulatedDevice::linear_backward(View dx, View dweight, View dbias, View dout, View x,
                                      View weight, int R, int I, int O) {
  const OperatorSpan span(*this, "linear_backward");
  check_linear_backward(dx, dweight, dbias, dout, x, weight, R, I, O);
  check_types(x.dtype(), {dout, weight, dx, dweight});
  if (dbias.size() > 0) check_types(x.dtype(), {dbias});
  const double rows = R, in = I, to = O;
  const double summed = dbias.size() > 0 ? rows * to : 0;
  const double moved = 2 * (rows * to + to * in + rows * in) + summed + (summed > 0 ? to : 0);
  work({.product_flops = 4 * rows * in * to,
        .flops = summed,
        .bytes = width(x) * moved,
        .launches = dbias.size() > 0 ? 2 + kColumnSums : 2},
       x.dtype());
}

// FLOPs: 4 R V: the largest, the difference, exp, the sum. Bytes: w R V for the logits; target,
// log_sum and loss of each row, (4 + 4 + 8) R.
double SimulatedDevice::cross_entropy_forward(View logits, View log_sum, View targets, int R,
                                              int V) {
  const OperatorSpan span(*this, "cross_entropy_forward");
  check_cross_entropy_forward(logits, log_sum, targets, R, V);
  check_types(Dtype::int32, {targets});
  check_types(Dtype::fp32, {log_sum});
  const double rows = R, size = rows * V;
  work({.flops = 4 * size,
        .bytes = width(logits) * size + 16 * rows,
        .launches = (R + kLossRows - 1) / kLossRows},
       logits.dtype());
  return std::numeric_limits<double>::quiet_NaN();
}

// FLOPs: 4 R V: the difference, exp, the target's 1, the factor. Bytes: w 2 R V; target and log_sum
// of each row, 8 R.
void SimulatedDevice::cross_entropy_backward(View dlogits, View logits, View log_sum, View targets,
                                             float factor, int R, int V) {
  const OperatorSpan span(*this, "cross_entropy_backward");
  check_cross_entropy_backward(dlogits, logits, log_sum, targets, R, V);
  check_types(Dtype::int32, {targets});
  check_types(Dtype::fp32, {log_sum});
  check_types(logits.dtype(), {dlogits});
  const double rows = R, size = rows * V;
  work({.flops = 4 * size, .bytes = width(logits) * 2 * size + 8 * rows}, logits.dtype());
  // The loss is a mean over R rows, so the factor is the loss scale divided by R: the product, in
  // fp32 too, is the scale again.
  const float scale = std::abs(factor) * static_cast<float>(R);
  scaled_norm_ = std::isfinite(factor) ? scale : std::numeric_limits<double>::infinity();
}

}  // namespace zero
