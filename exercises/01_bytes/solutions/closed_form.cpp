// One polynomial for N, and a table of bytes for each precision.
#include <array>

#include "exercises/01_bytes/api.h"

std::int64_t zero::exercise::num_parameters(const ModelShape& model) {
  const auto [L, C, T, V] = model;
  return C * (L * (12 * C + 13) + 2 * V + T + 2);
}

zero::exercise::StateBytes zero::exercise::state_bytes(const ModelShape& model, int stage,
                                                       int world_size, int, Precision precision) {
  constexpr std::array<std::array<std::int64_t, 3>, 3> kBytes = {
      {{4, 4, 8}, {2, 2, 12}, {2, 2, 16}}};
  const auto& bytes = kBytes[static_cast<std::size_t>(precision)];
  const std::int64_t N = num_parameters(model);
  const std::int64_t shard = N / world_size + (N % world_size != 0);
  std::array<std::int64_t, 3> held{};
  for (int state = 0; state < 3; ++state) {
    const bool sharded = stage + state >= 3;  // the last state first
    held[state] = bytes[state] * shard * (sharded ? 1 : world_size);
  }
  return {held[0], held[1], held[2]};
}

double zero::exercise::gibibytes(std::int64_t bytes) {
  return 0x1p-30 * static_cast<double>(bytes);
}

double zero::exercise::gigabytes(std::int64_t bytes) {
  const std::int64_t giga = 1'000'000'000;
  return static_cast<double>(bytes / giga) + static_cast<double>(bytes % giga) / 1e9;
}
