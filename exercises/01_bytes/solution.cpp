// Exercise 01: how many bytes of a model's states one rank holds.
#include "exercises/01_bytes/api.h"
#include "exercises/api/blank.h"

namespace zero::exercise {
namespace {

// Bytes of one element of each state.
StateBytes bytes_per_parameter(Precision precision) {
  const std::int64_t fp16 = 2, fp32 = 4;
  const std::int64_t moments = fp32 + fp32;  // exp_avg, exp_avg_sq
  if (precision == Precision::fp32) return {fp32, fp32, moments};
  const std::int64_t master = fp32;
  const std::int64_t copy = precision == Precision::mixed_with_fp32_gradients ? fp32 : 0;
  return {fp16, fp16, master + moments + copy};
}

}  // namespace

// N: the sum over the tensors of the table in README.md.
std::int64_t num_parameters(const ModelShape& model) {
  const std::int64_t L = model.layers, C = model.channels, T = model.context, V = model.vocab;
  const std::int64_t embedding = V * C + T * C;
  const std::int64_t layernorm = C + C;  // weight, bias
  const std::int64_t attention = (3 * C * C + 3 * C) + (C * C + C);
  const std::int64_t mlp = (4 * C * C + 4 * C) + (C * 4 * C + C);
  const std::int64_t block = layernorm + attention + layernorm + mlp;
  const std::int64_t head = layernorm + V * C;
  return embedding + L * block + head;
}

// Bytes of one rank: of each state, the elements it holds times the bytes of one element.
StateBytes state_bytes(const ModelShape& model, int stage, int world_size, int /*rank*/,
                       Precision precision) {
  const std::int64_t N = num_parameters(model);
  const std::int64_t shard = (N + world_size - 1) / world_size;  // the same on every rank
  const std::int64_t whole = shard * world_size;
  const StateBytes one = bytes_per_parameter(precision);
  return {.parameters = one.parameters * (stage >= 3 ? shard : whole),
          .gradients = one.gradients * (stage >= 2 ? shard : whole),
          .optimizer_states = one.optimizer_states * (stage >= 1 ? shard : whole)};
}

// 1 GiB = 2^30 B.
double gibibytes(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

// 1 GB = 10^9 B.
double gigabytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1e9; }

}  // namespace zero::exercise
