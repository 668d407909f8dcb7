// A list of tensors, and a list of what the optimizer keeps, added up in loops.
#include <numeric>
#include <vector>

#include "exercises/01_bytes/api.h"

namespace zero::exercise {
namespace {

struct Tensor {
  std::int64_t rows, columns;
  std::int64_t times = 1;  // how often the model has it
};

std::vector<Tensor> tensors_of(const ModelShape& m) {
  const std::int64_t C = m.channels;
  std::vector<Tensor> tensors = {{m.vocab, C}, {m.context, C}, {2, C}, {m.vocab, C}};
  for (const Tensor& matrix : {Tensor{3 * C, C}, Tensor{C, C}, Tensor{4 * C, C}}) {
    tensors.push_back({matrix.rows, matrix.columns, m.layers});
    tensors.push_back({matrix.rows, 1, m.layers});  // its bias
  }
  tensors.push_back({C, 4 * C, m.layers});
  tensors.push_back({C, 1, m.layers});
  tensors.push_back({4, C, m.layers});  // two layernorms
  return tensors;
}

std::int64_t sum(const std::vector<std::int64_t>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

}  // namespace

std::int64_t num_parameters(const ModelShape& model) {
  std::int64_t parameters = 0;
  for (const Tensor& tensor : tensors_of(model)) {
    parameters += tensor.times * tensor.rows * tensor.columns;
  }
  return parameters;
}

StateBytes state_bytes(const ModelShape& model, int stage, int world_size, int rank,
                       Precision precision) {
  std::vector<std::int64_t> states = {4, 4};  // exp_avg, exp_avg_sq
  if (precision != Precision::fp32) states.push_back(4);
  if (precision == Precision::mixed_with_fp32_gradients) states.push_back(4);
  const std::int64_t trained = precision == Precision::fp32 ? 4 : 2;

  const std::int64_t N = num_parameters(model);
  const std::int64_t padding = (world_size - N % world_size) % world_size;
  const std::int64_t begin = (N + padding) / world_size * rank;
  const std::int64_t end = (N + padding) / world_size * (rank + 1);
  const auto elements = [&](bool sharded) { return sharded ? end - begin : N + padding; };

  StateBytes bytes;
  bytes.parameters = trained * elements(stage == 3);
  bytes.gradients = trained * elements(stage == 2 || stage == 3);
  bytes.optimizer_states = sum(states) * elements(stage != 0);
  return bytes;
}

double gibibytes(std::int64_t bytes) {
  double gib = static_cast<double>(bytes);
  for (int i = 0; i < 3; ++i) gib /= 1024;
  return gib;
}

double gigabytes(std::int64_t bytes) { return static_cast<double>(bytes) * 1e-9; }

}  // namespace zero::exercise
