// GPT-2's tensors, one after the other, grouped into units.
#include "common/model/layout.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

namespace zero {
namespace {

// Appends tensors to a unit; each begins where the one before it ends.
class UnitBuilder {
 public:
  UnitBuilder(std::string name, std::int64_t begin)
      : unit_{.name = std::move(name), .parameters = {begin, begin}, .tensors = {}} {}

  // (rows, columns), normally distributed. Matrices, and nothing else, decay.
  UnitBuilder& embedding(std::string name, std::int64_t rows, std::int64_t columns) {
    return add({.name = std::move(name),
                .range = {},
                .shape = {rows, columns},
                .decay = true,
                .initial = Initial::normal,
                .deviation = kDeviation});
  }

  // weight: (out, in), bias: (out).
  UnitBuilder& linear(const std::string& name, std::int64_t out, std::int64_t in, float deviation) {
    add({.name = name + ".weight",
         .range = {},
         .shape = {out, in},
         .decay = true,
         .transposed_in_gpt2 = true,
         .initial = Initial::normal,
         .deviation = deviation});
    return vector(name + ".bias", out, Initial::zeros);
  }

  // weight, bias: (channels).
  UnitBuilder& layernorm(const std::string& name, std::int64_t channels) {
    vector(name + ".weight", channels, Initial::ones);
    return vector(name + ".bias", channels, Initial::zeros);
  }

  UnitInfo build() { return std::move(unit_); }

  // GPT-2's standard deviation, of the positions (wpe) too, as in its authors' later code and in
  // Hugging Face's; the first release of GPT-2 used 0.01 for them.
  static constexpr float kDeviation = 0.02f;

 private:
  UnitBuilder& vector(std::string name, std::int64_t size, Initial initial) {
    return add({.name = std::move(name), .range = {}, .shape = {size}, .initial = initial});
  }

  UnitBuilder& add(TensorInfo tensor) {
    std::int64_t size = 1;
    for (const std::int64_t extent : tensor.shape) size *= extent;
    tensor.range = {unit_.parameters.end, unit_.parameters.end + size};
    unit_.parameters.end += size;
    unit_.tensors.push_back(std::move(tensor));
    return *this;
  }

  UnitInfo unit_;
};

}  // namespace

std::vector<UnitInfo> make_layout(const ModelConfig& config) {
  const std::int64_t L = config.layers, C = config.channels;
  const std::int64_t T = config.context, V = config.vocab;
  if (L < 0 || C < 1 || T < 1 || V < 1 || config.heads < 1 || C % config.heads != 0) {
    throw std::invalid_argument(
        fmt::format("no such GPT: {} layers, {} heads, {} channels (a multiple of the heads), "
                    "context {}, vocabulary {}",
                    L, config.heads, C, T, V));
  }

  // The residual stream is a sum of 2L projections; GPT-2 keeps its variance independent of L.
  const float residual =
      L == 0 ? 0.0f : static_cast<float>(0.02 / std::sqrt(2.0 * static_cast<double>(L)));

  std::vector<UnitInfo> units;
  units.push_back(UnitBuilder("embedding", 0)
                      .embedding("wte.weight", V, C)
                      .embedding("wpe.weight", T, C)
                      .build());
  for (int l = 0; l < config.layers; ++l) {
    const std::string h = fmt::format("h.{}.", l);
    units.push_back(UnitBuilder(fmt::format("block {}", l), units.back().parameters.end)
                        .layernorm(h + "ln_1", C)
                        .linear(h + "attn.c_attn", 3 * C, C, UnitBuilder::kDeviation)
                        .linear(h + "attn.c_proj", C, C, residual)
                        .layernorm(h + "ln_2", C)
                        .linear(h + "mlp.c_fc", 4 * C, C, UnitBuilder::kDeviation)
                        .linear(h + "mlp.c_proj", C, 4 * C, residual)
                        .build());
  }
  units.push_back(UnitBuilder("head", units.back().parameters.end)
                      .layernorm("ln_f", C)
                      .embedding("lm_head.weight", V, C)  // a plain matrix too: no bias
                      .build());
  return units;
}

}  // namespace zero
