// Attention: FLOPs, bytes and kernels of device/cuda/attention.cu, which stores the scores of all
// (T, T) squares. They, and not the products, are what its time goes to.
#include <algorithm>

#include "common/device/check.h"
#include "common/device/simulated/check_types.h"
#include "common/device/simulated/simulated_device.h"

namespace zero {
namespace {

// Neighbouring heads of a sequence share a kernel as far as their squares fit into this scratch.
constexpr std::int64_t kScratch = 16 << 20;

struct Shape {
  int B, T, C, H;

  // Elements of (B, H, T, T); of what the mask leaves of it; of (B, T, C).
  double squares() const { return 1.0 * B * H * T * T; }
  double seen() const { return 1.0 * B * H * T * (T + 1) / 2; }
  double rows() const { return 1.0 * B * T * C; }
  // (T, D) times (D, T), or (T, T) times (T, D), for each head: D = C / H.
  double product() const { return 2.0 * B * T * T * C; }

  // How often a kernel is started to get through all heads, when an element takes `bytes` of
  // scratch.
  int groups(std::int64_t bytes) const {
    const std::int64_t head = std::max<std::int64_t>(std::int64_t{T} * T * bytes, 1);
    const std::int64_t together = std::clamp<std::int64_t>(kScratch / head, 1, H);
    return B * static_cast<int>((H + together - 1) / together);
  }
};

double width(const View& view) { return static_cast<double>(bytes_of(view.dtype())); }

}  // namespace

// Three kernels for each group of heads. A product covers the whole square:
//   scores = q k^T          reads q, k        writes the square in fp32
//   att = softmax(scores)   reads what is seen of it in fp32; writes the square
//   out = att v             reads the square and v; writes out
// FLOPs of the softmax: 7 for each score that is seen: the largest, then difference, exp and sum,
// then difference, exp and product.
void SimulatedDevice::attention_forward(View out, View att, View qkv, int B, int T, int C, int H) {
  const OperatorSpan span(*this, "attention_forward");
  check_attention_forward(out, att, qkv, B, T, C, H);
  check_types(qkv.dtype(), {out, att});
  const Shape shape{B, T, C, H};
  const double w = width(qkv);
  work({.product_flops = 2 * shape.product(),
        .flops = 7 * shape.seen(),
        .bytes = (4 + 2 * w) * shape.squares() + 4 * shape.seen() + w * 4 * shape.rows(),
        .launches = 3 * shape.groups(4)},
       qkv.dtype());
}

// Five kernels for each group of heads:
//   dv = att^T dout          reads the square and dout; writes dv
//   datt = dout v^T          reads dout, v     writes the square in fp32
//   dscores                  reads what is seen of datt in fp32, and of att; writes the square
//   dq = dscores k           reads the square and k; writes dq
//   dk = dscores^T q         reads the square and q; writes dk
// FLOPs of dscores = att (datt - sum(att datt)): 4 for each score that is seen.
void SimulatedDevice::attention_backward(View dqkv, View dout, View qkv, View att, int B, int T,
                                         int C, int H) {
  const OperatorSpan span(*this, "attention_backward");
  check_attention_backward(dqkv, dout, qkv, att, B, T, C, H);
  check_types(qkv.dtype(), {dqkv, dout, att});
  const Shape shape{B, T, C, H};
  const double w = width(qkv);
  work({.product_flops = 4 * shape.product(),
        .flops = 4 * shape.seen(),
        .bytes = (4 + 4 * w) * shape.squares() + (4 + w) * shape.seen() + w * 8 * shape.rows(),
        .launches = 5 * shape.groups(4 + bytes_of(qkv.dtype()))},
       qkv.dtype());
}

}  // namespace zero
