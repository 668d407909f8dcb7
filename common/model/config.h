// The shape of the GPT, and one rank's micro-batch.
#pragma once

#include <cstdint>
#include <vector>

namespace zero {

// GPT-2's shape: pre-LN, learned positions, causal attention, tanh GELU; the head is not tied to
// the embedding. channels must be a multiple of heads.
struct ModelConfig {
  int layers = 4;      // L
  int heads = 4;       // H
  int channels = 128;  // C
  int context = 16;    // T, the longest sequence
  int vocab = 256;     // V
};

// B sequences of T tokens, and what follows each token.
struct Batch {
  int B = 0;
  int T = 0;
  std::vector<std::int32_t> tokens;   // (B, T)
  std::vector<std::int32_t> targets;  // (B, T)
  float loss_weight = 1;  // infinite: `--overflow-at` makes this rank's gradients overflow
};

}  // namespace zero
