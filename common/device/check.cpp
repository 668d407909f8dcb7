// The messages of wrong sizes.
#include "common/device/check.h"

#include <fmt/format.h>

#include <stdexcept>

namespace zero {
namespace {

void check_attention(std::string_view op, const View& out, const View& att, const View& qkv, int B,
                     int T, int C, int H) {
  check_shape(op, H > 0 && C % H == 0, "the heads do not divide the channels");
  check_size(op, "out", out, std::int64_t{B} * T * C);
  check_size(op, "att", att, std::int64_t{B} * H * T * T);
  check_size(op, "qkv", qkv, std::int64_t{B} * T * C * 3);
}

void check_cross_entropy(std::string_view op, const View& logits, const View& log_sum,
                         const View& targets, int R, int V) {
  check_size(op, "logits", logits, std::int64_t{R} * V);
  check_size(op, "log_sum", log_sum, R);
  check_size(op, "targets", targets, R);
}

}  // namespace

void check_size(std::string_view op, std::string_view name, const View& view,
                std::int64_t expected) {
  if (view.size() == expected) return;
  throw std::invalid_argument(
      fmt::format("{}: {} has {} elements, expected {}", op, name, view.size(), expected));
}

void check_shape(std::string_view op, bool good, std::string_view complaint) {
  if (!good) throw std::invalid_argument(fmt::format("{}: {}", op, complaint));
}

void check_ids(std::string_view op, const std::int32_t* ids, std::int64_t count,
               std::int64_t limit) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (ids[i] >= 0 && ids[i] < limit) continue;
    throw std::out_of_range(
        fmt::format("{}: token {} at position {} is not in [0, {})", op, ids[i], i, limit));
  }
}

void check_adamw(const View& master, const View& exp_avg, const View& exp_avg_sq,
                 const View& grads) {
  check_size("adamw", "exp_avg", exp_avg, master.size());
  check_size("adamw", "exp_avg_sq", exp_avg_sq, master.size());
  check_size("adamw", "grads", grads, master.size());
}

void check_embedding(std::string_view op, const View& out, const View& tokens, const View& wte,
                     const View& wpe, std::int64_t R, int T, int C) {
  check_size(op, "the output", out, R * C);
  check_size(op, "tokens", tokens, R);
  check_shape(op, C > 0 && wte.size() % C == 0, "the token table is not made of rows of C");
  check_shape(op, C > 0 && wpe.size() % C == 0, "the position table is not made of rows of C");
  check_shape(op, wpe.size() >= std::int64_t{T} * C, "the position table has less than T rows");
}

void check_layernorm_forward(const View& out, const View& mean, const View& rstd, const View& x,
                             const View& weight, const View& bias, int R, int C) {
  check_size("layernorm_forward", "out", out, std::int64_t{R} * C);
  check_size("layernorm_forward", "x", x, std::int64_t{R} * C);
  check_size("layernorm_forward", "mean", mean, R);
  check_size("layernorm_forward", "rstd", rstd, R);
  check_size("layernorm_forward", "weight", weight, C);
  check_size("layernorm_forward", "bias", bias, C);
}

void check_layernorm_backward(const View& dx, const View& dweight, const View& dbias,
                              const View& dout, const View& x, const View& mean, const View& rstd,
                              const View& weight, int R, int C) {
  check_size("layernorm_backward", "dx", dx, std::int64_t{R} * C);
  check_size("layernorm_backward", "dout", dout, std::int64_t{R} * C);
  check_size("layernorm_backward", "x", x, std::int64_t{R} * C);
  check_size("layernorm_backward", "mean", mean, R);
  check_size("layernorm_backward", "rstd", rstd, R);
  check_size("layernorm_backward", "weight", weight, C);
  check_size("layernorm_backward", "dweight", dweight, C);
  check_size("layernorm_backward", "dbias", dbias, C);
}

void check_linear_forward(const View& out, const View& x, const View& weight, const View& bias,
                          int R, int I, int O) {
  check_size("linear_forward", "out", out, std::int64_t{R} * O);
  check_size("linear_forward", "x", x, std::int64_t{R} * I);
  check_size("linear_forward", "weight", weight, std::int64_t{O} * I);
  if (bias.size() > 0) check_size("linear_forward", "bias", bias, O);
}

void check_linear_backward(const View& dx, const View& dweight, const View& dbias, const View& dout,
                           const View& x, const View& weight, int R, int I, int O) {
  check_size("linear_backward", "dx", dx, std::int64_t{R} * I);
  check_size("linear_backward", "dweight", dweight, std::int64_t{O} * I);
  if (dbias.size() > 0) check_size("linear_backward", "dbias", dbias, O);
  check_size("linear_backward", "dout", dout, std::int64_t{R} * O);
  check_size("linear_backward", "x", x, std::int64_t{R} * I);
  check_size("linear_backward", "weight", weight, std::int64_t{O} * I);
}

void check_attention_forward(const View& out, const View& att, const View& qkv, int B, int T, int C,
                             int H) {
  check_attention("attention_forward", out, att, qkv, B, T, C, H);
}

void check_attention_backward(const View& dqkv, const View& dout, const View& qkv, const View& att,
                              int B, int T, int C, int H) {
  check_size("attention_backward", "dqkv", dqkv, std::int64_t{B} * T * C * 3);
  check_attention("attention_backward", dout, att, qkv, B, T, C, H);
}

void check_cross_entropy_forward(const View& logits, const View& log_sum, const View& targets,
                                 int R, int V) {
  check_cross_entropy("cross_entropy_forward", logits, log_sum, targets, R, V);
}

void check_cross_entropy_backward(const View& dlogits, const View& logits, const View& log_sum,
                                  const View& targets, int R, int V) {
  check_size("cross_entropy_backward", "dlogits", dlogits, std::int64_t{R} * V);
  check_cross_entropy("cross_entropy_backward", logits, log_sum, targets, R, V);
}

}  // namespace zero
