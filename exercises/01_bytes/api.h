// Exercise 01: how many bytes of a model's states one rank holds.
#pragma once

#include <cstdint>

namespace zero::exercise {

// The shape of a GPT whose head has a matrix of its own (it is not tied to the embedding).
struct ModelShape {
  std::int64_t layers = 0;    // L
  std::int64_t channels = 0;  // C
  std::int64_t context = 0;   // T, the longest sequence
  std::int64_t vocab = 0;     // V
};

// In which types a model is trained with AdamW.
enum class Precision {
  fp32,                      // everything in fp32; the parameters are their own master
  mixed,                     // fp16 or bf16 parameters and gradients; fp32 optimizer states
  mixed_with_fp32_gradients  // the same, and the optimizer keeps an fp32 copy of its gradients
};

// What ONE rank holds, in bytes, with the padding.
struct StateBytes {
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer_states = 0;  // master, exp_avg, exp_avg_sq, fp32 copy of the gradients
};

// N: how many parameters the model has, up to about 10^12, without any padding.
std::int64_t num_parameters(const ModelShape& model);

// stage: 0 (DDP), 1, 2 or 3 (ZeRO). rank: 0 to world_size - 1.
StateBytes state_bytes(const ModelShape& model, int stage, int world_size, int rank,
                       Precision precision);

double gibibytes(std::int64_t bytes);  // GiB: 2^30 bytes
double gigabytes(std::int64_t bytes);  // GB: 10^9 bytes

}  // namespace zero::exercise
