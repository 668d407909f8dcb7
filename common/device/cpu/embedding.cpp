// Token and position embedding, forward and backward.
#include <algorithm>
#include <cstring>

#include "common/device/check.h"
#include "common/device/cpu/cpu_device.h"
#include "common/device/cpu/loops.h"

namespace zero {
namespace {

// dwte of one token: the sum, in order of position, over the positions that hold it.
template <class T>
void sum_of_token(T* dwte_row,                 // (C)
                  const T* dout,               // (R, C)
                  const std::int32_t* tokens,  // (R)
                  std::int64_t first, std::int64_t R, std::int64_t C, float* sum) {
  for (std::int64_t i = 0; i < C; ++i) sum[i] = widen(dout[first * C + i]);
  for (std::int64_t r = first + 1; r < R; ++r) {
    if (tokens[r] != tokens[first]) continue;
    const T* const row = dout + r * C;
    for (std::int64_t i = 0; i < C; ++i) sum[i] += widen(row[i]);
  }
  for (std::int64_t i = 0; i < C; ++i) dwte_row[i] = narrow<T>(sum[i]);
}

}  // namespace

void CpuDevice::embedding_forward(View out, View tokens, View wte, View wpe, int B, int T, int C) {
  const OperatorSpan span(*this, "embedding_forward");
  const std::int64_t R = std::int64_t{B} * T;
  check_embedding("embedding_forward", out, tokens, wte, wpe, R, T, C);
  const std::int32_t* const token = tokens.as<std::int32_t>();  // (B, T)
  check_ids("embedding_forward", token, R, wte.size() / C);
  with_type(out.dtype(), [&](auto type) {
    using S = decltype(type);
    S* const rows = out.as<S>();                  // (B, T, C)
    const S* const token_table = wte.as<S>();     // (V, C)
    const S* const position_table = wpe.as<S>();  // (>= T, C)
    workers_.split(R, 16, [&](int, std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        map(rows + r * C, token_table + std::int64_t{token[r]} * C, position_table + r % T * C, C,
            [](float x, float y) { return x + y; });
      }
    });
  });
}

void CpuDevice::embedding_backward(View dwte, View dwpe, View dout, View tokens, int B, int T,
                                   int C) {
  const OperatorSpan span(*this, "embedding_backward");
  const std::int64_t R = std::int64_t{B} * T;
  check_embedding("embedding_backward", dout, tokens, dwte, dwpe, R, T, C);
  const std::int32_t* const token = tokens.as<std::int32_t>();  // (B, T)
  check_ids("embedding_backward", token, R, dwte.size() / C);
  with_type(dout.dtype(), [&](auto type) {
    using S = decltype(type);
    S* const token_table = dwte.as<S>();     // (V, C)
    S* const position_table = dwpe.as<S>();  // (>= T, C)
    const S* const gradient = dout.as<S>();  // (B, T, C)
    float* const sum = workspace(C);

    std::memset(dwte.data(), 0, dwte.bytes().size());
    for (std::int64_t r = 0; r < R; ++r) {
      const bool is_first = std::find(token, token + r, token[r]) == token + r;
      if (!is_first) continue;
      sum_of_token(token_table + std::int64_t{token[r]} * C, gradient, token, r, R, C, sum);
    }

    std::memset(dwpe.data(), 0, dwpe.bytes().size());
    for (std::int64_t t = 0; t < T; ++t) {
      for (std::int64_t i = 0; i < C; ++i) sum[i] = 0;
      for (std::int64_t b = 0; b < B; ++b) {
        const S* const row = gradient + (b * T + t) * C;
        for (std::int64_t i = 0; i < C; ++i) sum[i] += widen(row[i]);
      }
      for (std::int64_t i = 0; i < C; ++i) position_table[t * C + i] = narrow<S>(sum[i]);
    }
  });
}

}  // namespace zero
