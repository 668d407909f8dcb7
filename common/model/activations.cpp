// One micro-batch's tokens on the device, and where the units put what they keep.
#include "common/model/activations.h"

#include <fmt/format.h>

#include <stdexcept>

#include "common/train/rank.h"

namespace zero {

Activations::Activations(Rank& rank, const Batch& batch, float loss_scale)
    : Activations(rank.device, rank.place(), rank.model.config(), rank.options.dtype, batch,
                  loss_scale) {}

Activations::Activations(Device& device, Place& place, const ModelConfig& config, Dtype dtype,
                         const Batch& batch, float loss_scale)
    : device_(device),
      place_(place),
      config_(config),
      dtype_(dtype),
      loss_scale_(loss_scale),
      loss_weight_(batch.loss_weight),
      B_(batch.B),
      T_(batch.T),
      R_(batch.B * batch.T),
      stream_(static_cast<std::size_t>(config.layers) + 1),
      blocks_(static_cast<std::size_t>(config.layers)) {
  const std::size_t rows = static_cast<std::size_t>(R_);
  if (B_ < 1 || T_ < 1 || T_ > config.context || batch.tokens.size() != rows ||
      batch.targets.size() != rows) {
    throw std::invalid_argument(fmt::format(
        "a batch of {} sequences of {} tokens (context {}) with {} tokens and {} targets", B_, T_,
        config.context, batch.tokens.size(), batch.targets.size()));
  }
  tokens_ = device_.allocate(Memory::activations, "tokens", Dtype::int32, R_);
  targets_ = device_.allocate(Memory::activations, "targets", Dtype::int32, R_);
  device_.upload(std::as_bytes(std::span(batch.tokens)), tokens_);
  device_.upload(std::as_bytes(std::span(batch.targets)), targets_);
}

std::int64_t Activations::bytes_after_forward(const ModelConfig& config, int B, Dtype dtype) {
  const std::int64_t C = config.channels, T = config.context, R = B * T;
  // Each block: ln_1, qkv, att_out, middle, ln_2, fc, gelu and its output; att; means and rstds.
  const std::int64_t block = 16 * R * C + R * config.heads * T, block_fp32 = 4 * R;
  // The first stream, ln_f, logits; ln_f's mean and rstd and log_sum; tokens and targets.
  const std::int64_t rest = 2 * R * C + R * config.vocab, rest_fp32 = 3 * R, ids = 2 * R;
  return (config.layers * block + rest) * bytes_of(dtype) +
         (config.layers * block_fp32 + rest_fp32) * bytes_of(Dtype::fp32) +
         ids * bytes_of(Dtype::int32);
}

Buffer Activations::allocate(std::string_view name, std::int64_t size) const {
  return device_.allocate(Memory::activations, name, dtype_, size);
}

Buffer Activations::allocate_fp32(std::string_view name, std::int64_t size) const {
  return device_.allocate(Memory::activations, name, Dtype::fp32, size);
}

}  // namespace zero
