// What the forward pass leaves for the backward pass: one rank's micro-batch, one iteration.
#pragma once

#include <vector>

#include "common/device/device.h"
#include "common/memory/tracker.h"
#include "common/model/model.h"

namespace zero {

class Rank;

// Belongs to the stage: its memory is released when it goes out of scope. Each unit allocates what
// it keeps when its forward runs and releases it when its backward is done, so that activations
// grow through the forward pass and shrink through the backward pass.
class Activations {
 public:
  // Bytes that are alive when every unit's forward has run, on B sequences of config.context
  // tokens.
  static std::int64_t bytes_after_forward(const ModelConfig& config, int B, Dtype dtype);

  // For rank's device. Copies the batch's tokens to it.
  Activations(Rank& rank, const Batch& batch, float loss_scale);

  // The same without a Rank, for tests: training type `dtype`. `place` gets the unit's name.
  Activations(Device& device, Place& place, const ModelConfig& config, Dtype dtype,
              const Batch& batch, float loss_scale);

  // The mean over this rank's tokens, unscaled. Requires that every unit's forward has run.
  double loss() const { return loss_; }

 private:
  friend class Unit;
  friend class EmbeddingUnit;
  friend class BlockUnit;
  friend class HeadUnit;

  // What one block keeps. All in the training type but the means and rstds (fp32).
  struct Block {
    Buffer ln_1, ln_1_mean, ln_1_rstd;  // (R, C), (R), (R)
    Buffer qkv;                         // (R, 3*C)
    Buffer att;                         // (B, H, T, T)
    Buffer att_out;                     // (R, C)
    Buffer middle;                      // (R, C), the residual stream after attention
    Buffer ln_2, ln_2_mean, ln_2_rstd;  // (R, C), (R), (R)
    Buffer fc;                          // (R, 4*C), before the GELU
    Buffer gelu;                        // (R, 4*C)
  };

  Buffer allocate(std::string_view name, std::int64_t size) const;       // training type
  Buffer allocate_fp32(std::string_view name, std::int64_t size) const;  // statistics

  Device& device_;
  Place& place_;
  ModelConfig config_;
  Dtype dtype_;
  float loss_scale_;
  float loss_weight_;
  int B_, T_, R_;
  double loss_ = 0;

  Buffer tokens_, targets_;     // (B, T) int32
  std::vector<Buffer> stream_;  // L + 1 of (R, C): the input of block l; of the head, l = L
  std::vector<Block> blocks_;
  Buffer ln_f_, ln_f_mean_, ln_f_rstd_;  // (R, C), (R), (R)
  Buffer logits_;                        // (R, V); its gradient replaces it
  Buffer log_sum_;                       // (R) fp32
  Buffer d_stream_;                      // (R, C): the gradient that travels back
};

}  // namespace zero
