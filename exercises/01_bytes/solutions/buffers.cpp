// Allocates each buffer that a program would allocate, in a ledger that only adds up sizes.
#include <cmath>

#include "exercises/01_bytes/api.h"

namespace zero::exercise {
namespace {

class Unit {
 public:
  Unit& linear(std::int64_t out, std::int64_t in) {
    size_ += out * in + out;
    return *this;
  }
  Unit& vectors(std::int64_t many, std::int64_t channels) {
    size_ += many * channels;
    return *this;
  }
  std::int64_t size() const { return size_; }

 private:
  std::int64_t size_ = 0;
};

struct Rank {
  std::int64_t padded;
  std::int64_t world_size;

  std::int64_t allocate(std::int64_t bytes, bool sharded) const {
    return bytes * (sharded ? padded / world_size : padded);
  }
};

}  // namespace

std::int64_t num_parameters(const ModelShape& model) {
  const std::int64_t C = model.channels;
  const Unit embedding = Unit().vectors(model.vocab, C).vectors(model.context, C);
  const Unit block =
      Unit().vectors(2, C).linear(3 * C, C).linear(C, C).vectors(2, C).linear(4 * C, C).linear(
          C, 4 * C);
  const Unit head = Unit().vectors(2, C).vectors(model.vocab, C);
  std::int64_t total = embedding.size() + head.size();
  for (std::int64_t l = 0; l < model.layers; ++l) total += block.size();
  return total;
}

StateBytes state_bytes(const ModelShape& model, int stage, int world_size, int /*rank*/,
                       Precision precision) {
  Rank rank{num_parameters(model), world_size};
  while (rank.padded % world_size != 0) ++rank.padded;

  StateBytes held;
  bool parameters = false, gradients = false, optimizer = false;  // sharded?
  switch (stage) {
    case 3:
      parameters = true;
      [[fallthrough]];
    case 2:
      gradients = true;
      [[fallthrough]];
    case 1:
      optimizer = true;
      [[fallthrough]];
    default:
      break;
  }
  const bool mixed = precision != Precision::fp32;
  held.parameters += rank.allocate(mixed ? 2 : 4, parameters);
  held.gradients += rank.allocate(mixed ? 2 : 4, gradients);
  if (mixed) held.optimizer_states += rank.allocate(4, optimizer);  // master
  held.optimizer_states += rank.allocate(4, optimizer);             // exp_avg
  held.optimizer_states += rank.allocate(4, optimizer);             // exp_avg_sq
  if (precision == Precision::mixed_with_fp32_gradients) {
    held.optimizer_states += rank.allocate(4, optimizer);
  }
  return held;
}

double gibibytes(std::int64_t bytes) { return std::ldexp(static_cast<double>(bytes), -30); }

double gigabytes(std::int64_t bytes) { return static_cast<double>(bytes) / std::pow(10.0, 9); }

}  // namespace zero::exercise
