// The model, its gradients and its training against PyTorch (tests/reference).
#include "tests/golden.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "catch.h"
#include "common/device/device.h"
#include "common/model/activations.h"
#include "common/model/model.h"
#include "common/train/data_loader.h"

namespace zero {
namespace {

struct Machine {
  Place place;
  MemoryTracker tracker{place};
  std::unique_ptr<Device> device = make_cpu_device(tracker, nullptr, true, 0, 1);

  Buffer allocate(std::string_view name, const Model& model) {
    return device->allocate(Memory::parameters, name, Dtype::fp32,
                            Range{0, model.padded_parameters()});
  }
};

std::vector<float> values_of(Device& device, View view) {
  std::vector<float> values(static_cast<std::size_t>(view.size()));
  device.download(view, std::as_writable_bytes(std::span(values)));
  return values;
}

// Returns the loss.
double forward_backward(Machine& machine, const Model& model, View params, View grads,
                        const Batch& batch) {
  Activations activations(*machine.device, machine.place, model.config(), Dtype::fp32, batch, 1);
  for (const Unit& unit : model.units()) unit.forward(params, activations);
  for (const Unit& unit : model.units_reversed()) unit.backward(params, grads, activations);
  return activations.loss();
}

void check_initial_values(const std::string& name) {
  const Golden golden = read_golden(name);
  const Model model(golden.model, 3, golden.seed);
  const std::vector<TensorInfo> tensors = model.tensors();
  REQUIRE(tensors.size() == golden.tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    CHECK(tensors[i].name == golden.tensors[i].at("name"));
    CHECK(tensors[i].shape == golden.tensors[i].at("shape").get<std::vector<std::int64_t>>());
  }
  REQUIRE(golden.gradients.size() == static_cast<std::size_t>(model.num_parameters()));

  std::uint64_t checksum = 0, position = 0;
  for (const float value : model.initial_values({0, model.num_parameters()})) {
    checksum += ++position * std::bit_cast<std::uint32_t>(value);
  }
  CHECK(checksum == std::stoull(golden.initial_checksum, nullptr, 16));
}

TEST_CASE("numpy makes the same initial weights, bit for bit") {
  check_initial_values("small");
  check_initial_values("deep");
}

void check_gradients(const std::string& name) {
  const Golden golden = read_golden(name);
  const Dataset dataset(golden.data, golden.model.vocab);
  const Model model(golden.model, 1, golden.seed);
  Machine machine;
  Buffer params = machine.allocate("params", model);
  Buffer grads = machine.allocate("grads", model);
  model.initialize(params);
  const double loss =
      forward_backward(machine, model, params, grads,
                       make_batch(dataset, 0, golden.batch, golden.model.context, 0, 1));
  CHECK(loss == Approx(golden.losses[0]).epsilon(1e-6));

  const std::vector<float> found = values_of(*machine.device, grads);
  double worst = 0;
  for (const TensorInfo& tensor : model.tensors()) {
    // The middle third of c_attn's bias is the keys': a constant added to all of a row's scores,
    // which the softmax does not see. Mathematically zero; what is left is rounding.
    const bool has_keys = tensor.name.ends_with("c_attn.bias");
    const std::int64_t third = tensor.range.size() / 3;
    double distance = 0, norm = 0, keys = 0;
    for (std::int64_t i = 0; i < tensor.range.size(); ++i) {
      const double a = found[static_cast<std::size_t>(tensor.range.begin + i)];
      const double b = golden.gradients[static_cast<std::size_t>(tensor.range.begin + i)];
      if (has_keys && third <= i && i < 2 * third) {
        keys = std::max({keys, std::fabs(a), std::fabs(b)});
      } else {
        distance += (a - b) * (a - b);
        norm += b * b;
      }
    }
    INFO(name << ": " << tensor.name << ": distance " << std::sqrt(distance) << ", norm "
              << std::sqrt(norm) << ", keys " << keys);
    CHECK(norm > 0);
    CHECK(std::sqrt(distance) <= 1e-5 * std::sqrt(norm));
    CHECK(keys <= 1e-8);
    worst = std::max(worst, std::sqrt(distance / norm));
  }
  INFO(name << ": the worst tensor differs by " << worst);
  CHECK(worst > 0);  // the two add in different orders: equal bits would be a copy
}

TEST_CASE("each tensor's first gradient is PyTorch's") {
  check_gradients("small");
  check_gradients("deep");
}

// One iteration's update, written here a second time: no Rank, no communicator.
void update(Device& device, const Model& model, const Golden& golden, int steps, double norm,
            View params, View exp_avg, View exp_avg_sq, View grads) {
  constexpr float kBeta1 = 0.9f, kBeta2 = 0.999f;  // 1 - beta^t is of these, not of 0.9 and 0.999
  const double warm = std::min(1.0, static_cast<double>(steps) / golden.warmup);
  for (const TensorInfo& tensor : model.tensors()) {
    const double decay = tensor.shape.size() > 1 ? golden.weight_decay : 0.0;
    const AdamWStep step{
        .learning_rate = static_cast<float>(golden.learning_rate * warm),
        .beta1 = kBeta1,
        .beta2 = kBeta2,
        .epsilon = 1e-8f,
        .weight_decay = static_cast<float>(decay),
        .correction1 = static_cast<float>(1 - std::pow(double{kBeta1}, steps)),
        .correction2 = static_cast<float>(1 - std::pow(double{kBeta2}, steps)),
        .grad_factor = static_cast<float>(std::min(1.0, golden.clip / (norm + 1e-6)))};
    const Range range = tensor.range;
    device.adamw(params[range], exp_avg[range], exp_avg_sq[range], grads[range], step);
  }
}

void check_loss_curve(const std::string& name) {
  const Golden golden = read_golden(name);
  const Dataset dataset(golden.data, golden.model.vocab);
  const Model model(golden.model, 1, golden.seed);
  Machine machine;
  Device& device = *machine.device;
  Buffer params = machine.allocate("params", model);
  Buffer grads = machine.allocate("grads", model);
  Buffer exp_avg = machine.allocate("exp_avg", model);
  Buffer exp_avg_sq = machine.allocate("exp_avg_sq", model);
  model.initialize(params);
  device.zero(exp_avg);
  device.zero(exp_avg_sq);

  REQUIRE(golden.losses.size() == 50);
  double worst = 0;
  for (int i = 0; i < 50; ++i) {
    const Batch batch = make_batch(dataset, i, golden.batch, golden.model.context, 0, 1);
    const double loss = forward_backward(machine, model, params, grads, batch);
    const double norm = std::sqrt(device.sum_of_squares(grads));
    const std::size_t n = static_cast<std::size_t>(i);
    worst = std::max(worst, std::fabs(loss / golden.losses[n] - 1));
    INFO(name << ", iteration " << i << ": loss " << loss << ", PyTorch's " << golden.losses[n]
              << "; norm " << norm << ", PyTorch's " << golden.gradient_norms[n]);
    CHECK(std::fabs(loss - golden.losses[n]) <= 1e-4 * golden.losses[n]);
    CHECK(std::fabs(norm - golden.gradient_norms[n]) <= 1e-3 * golden.gradient_norms[n]);
    update(device, model, golden, i + 1, norm, params, exp_avg, exp_avg_sq, grads);
  }
  INFO(name << ": the worst loss differs by " << worst);
  CHECK(worst > 0);
}

TEST_CASE("the loss curve of 50 iterations of AdamW is PyTorch's") {
  check_loss_curve("small");
  check_loss_curve("deep");
}

}  // namespace
}  // namespace zero
