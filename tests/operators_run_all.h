// Every operator of the model once, so that tests can look at what a device does as a whole.
#pragma once

#include "tests/operators_fixture.h"

namespace zero::test {

// Every operator of the model once, forward and backward, for B sequences; returns the bits of all
// outputs, one after the other.
inline std::vector<std::byte> run_all(Fixture& fixture, Dtype dtype, int B, int T, int C, int H,
                                      int V) {
  Device& device = *fixture.device;
  const int R = B * T;
  std::vector<std::byte> all;
  const auto keep = [&](const View& view) {
    const auto bits = fixture.bits(view);
    all.insert(all.end(), bits.begin(), bits.end());
  };
  const auto random = [&](int size, unsigned seed) {
    return fixture.holding(dtype, random_values(dtype, size, seed));
  };
  const Buffer tokens = fixture.holding(Dtype::int32, random_ids(R, V, 1));
  const Buffer wte = random(V * C, 2), wpe = random(T * C, 3);
  const Buffer weight = random(3 * C * C, 4), bias = random(3 * C, 5);
  const Buffer gamma = random(C, 6), beta = random(C, 7), head = random(V * C, 8);
  Buffer x = fixture.fresh(dtype, R * C), ln = fixture.fresh(dtype, R * C);
  Buffer mean = fixture.fresh(Dtype::fp32, R), rstd = fixture.fresh(Dtype::fp32, R);
  Buffer qkv = fixture.fresh(dtype, R * 3 * C), att = fixture.fresh(dtype, B * H * T * T);
  Buffer out = fixture.fresh(dtype, R * C), logits = fixture.fresh(dtype, R * V);
  Buffer log_sum = fixture.fresh(Dtype::fp32, R);
  device.embedding_forward(x, tokens, wte, wpe, B, T, C);
  device.layernorm_forward(ln, mean, rstd, x, gamma, beta, R, C);
  device.linear_forward(qkv, ln, weight, bias, R, C, 3 * C);
  device.attention_forward(out, att, qkv, B, T, C, H);
  device.gelu_forward(out, out);
  device.linear_forward(logits, out, head, View(), R, C, V);
  const double loss = device.cross_entropy_forward(logits, log_sum, tokens, R, V);
  const auto* loss_bits = reinterpret_cast<const std::byte*>(&loss);
  all.insert(all.end(), loss_bits, loss_bits + sizeof(loss));
  for (const Buffer* buffer : {&x, &ln, &mean, &rstd, &qkv, &att, &out, &logits}) keep(*buffer);

  Buffer dout = fixture.fresh(dtype, R * C), dhead = fixture.fresh(dtype, V * C);
  Buffer dqkv = fixture.fresh(dtype, R * 3 * C), dweight = fixture.fresh(dtype, 3 * C * C);
  Buffer dbias = fixture.fresh(dtype, 3 * C), dln = fixture.fresh(dtype, R * C);
  Buffer dgamma = fixture.fresh(dtype, C), dbeta = fixture.fresh(dtype, C);
  Buffer dx = random(R * C, 9), dwte = fixture.fresh(dtype, V * C);
  Buffer dwpe = fixture.fresh(dtype, T * C);
  device.cross_entropy_backward(logits, logits, log_sum, tokens, 0.5f, R, V);
  device.linear_backward(dout, dhead, View(), logits, out, head, R, C, V);
  device.attention_backward(dqkv, dout, qkv, att, B, T, C, H);
  device.linear_backward(dln, dweight, dbias, dqkv, ln, weight, R, C, 3 * C);
  device.layernorm_backward(dx, dgamma, dbeta, dln, x, mean, rstd, gamma, R, C);
  device.embedding_backward(dwte, dwpe, dx, tokens, B, T, C);
  for (const Buffer* buffer : {&logits, &dout, &dhead, &dqkv, &dln, &dweight, &dbias, &dx, &dgamma,
                               &dbeta, &dwte, &dwpe}) {
    keep(*buffer);
  }
  return all;
}

}  // namespace zero::test
