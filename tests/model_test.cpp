// The model's memory, placement and gradients: against definitions and finite differences.
#include "common/model/model.h"

#include <cmath>
#include <cstring>

#include "catch.h"
#include "common/model/activations.h"
#include "common/model/random.h"

namespace zero {
namespace {

const ModelConfig kTiny{.layers = 2, .heads = 3, .channels = 15, .context = 7, .vocab = 29};

// Keeps what was said to have been written, and the unit that said it.
class Recorder : public HeapObserver {
 public:
  struct Write {
    std::string buffer, unit;
    Range range;
    Written what;
  };
  explicit Recorder(const Place& place) : place_(place) {}
  void allocated(const Allocation&) override {}
  void released(const Allocation&) override {}
  void wrote(View view, Written what) override {
    writes.push_back({view.allocation().name, place_.unit, view.range(), what});
  }
  void operator_begins(std::string_view) override { units.push_back(place_.unit); }
  void operator_ends(std::string_view) override {}

  std::vector<Write> writes;
  std::vector<std::string> units;  // in which each operator ran

 private:
  const Place& place_;
};

// One rank: fresh and freed memory is NaN.
struct Machine {
  Place place;
  MemoryTracker tracker{place};
  Recorder recorder{place};
  std::unique_ptr<Device> device = make_cpu_device(tracker, &recorder, true, 0, 1);
};

Batch make_tokens(int B, int T, int vocab) {
  Batch batch{.B = B, .T = T, .tokens = {}, .targets = {}};
  for (int i = 0; i < B * T; ++i) {
    batch.tokens.push_back(static_cast<int>(random_bits(7, 2 * i) % vocab));
    batch.targets.push_back(static_cast<int>(random_bits(7, 2 * i + 1) % vocab));
  }
  return batch;
}

template <class T>
void put(Device& device, const std::vector<float>& values, View to) {
  std::vector<T> rounded;
  for (const float value : values) rounded.push_back(narrow<T>(value));
  device.upload(std::as_bytes(std::span(rounded)), to);
}

std::vector<float> values_of(Device& device, View view) {
  std::vector<float> values;
  with_type(view.dtype(), [&](auto type) {
    std::vector<decltype(type)> stored(static_cast<std::size_t>(view.size()));
    device.download(view, std::as_writable_bytes(std::span(stored)));
    for (const auto value : stored) values.push_back(widen(value));
  });
  return values;
}

// Large enough weights and biases that every term of the gradient matters.
std::vector<float> lively_values(const Model& model) {
  std::vector<float> values = model.initial_values({0, model.padded_parameters()});
  for (const TensorInfo& tensor : model.tensors()) {
    for (std::int64_t i = tensor.range.begin; i < tensor.range.end; ++i) {
      const float noise = static_cast<float>(standard_normal(5, i));
      if (tensor.initial == Initial::normal) values[i] = 0.3f * noise;
      else values[i] += 0.2f * noise;
    }
  }
  return values;
}

struct Result {
  double loss = 0;
  std::vector<float> grads;  // with the padding
};

enum class Buffers { full, per_unit };

// One forward and backward pass from `values`; per_unit: as ZeRO-3 holds them.
Result run(Machine& machine, const Model& model, Dtype dtype, const std::vector<float>& values,
           const Batch& batch, float loss_scale = 1, Buffers buffers = Buffers::full) {
  Device& device = *machine.device;
  const Range all = {0, model.padded_parameters()};
  Buffer params = device.allocate(Memory::parameters, "params", dtype, all);
  with_type(dtype, [&](auto type) { put<decltype(type)>(device, values, params); });
  Activations activations(device, machine.place, model.config(), dtype, batch, loss_scale);

  Result result;
  result.grads.resize(values.size());
  const auto with_params = [&](const Unit& unit, auto body) {
    if (buffers == Buffers::full) return body(params.view());
    Buffer own = device.allocate(Memory::temporary, "unit_params", dtype, unit.range());
    device.copy(params[unit.range()], own);
    return body(own.view());
  };
  for (const Unit& unit : model.units()) {
    with_params(unit, [&](View view) { unit.forward(view, activations); });
  }
  result.loss = activations.loss();

  Buffer full;
  if (buffers == Buffers::full) full = device.allocate(Memory::gradients, "grads", dtype, all);
  for (const Unit& unit : model.units_reversed()) {
    Buffer own;
    if (full.empty()) own = device.allocate(Memory::temporary, "unit_grads", dtype, unit.range());
    const View grads = full.empty() ? own.view() : full.view();
    with_params(unit, [&](View view) { unit.backward(view, grads, activations); });
    const std::vector<float> part = values_of(device, grads[unit.range()]);
    std::copy(part.begin(), part.end(), result.grads.begin() + unit.range().begin);
  }
  CHECK(machine.tracker.live(Memory::activations) == 0);
  return result;
}

double loss_at(Machine& machine, const Model& model, const std::vector<float>& values,
               const Batch& batch) {
  Device& device = *machine.device;
  Buffer params = device.allocate(Memory::parameters, "params", Dtype::fp32,
                                  Range{0, model.padded_parameters()});
  put<float>(device, values, params);
  Activations activations(device, machine.place, model.config(), Dtype::fp32, batch, 1);
  for (const Unit& unit : model.units()) unit.forward(params, activations);
  return activations.loss();
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

double relative_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double distance = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    distance += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    norm += double{b[i]} * b[i];
  }
  return std::sqrt(distance / norm);
}

TEST_CASE("every tensor's gradient is the slope of the loss along random directions") {
  Machine machine;
  const Model model(kTiny, 1, 1);
  const Batch batch = make_tokens(2, 7, 29);
  const std::vector<float> values = lively_values(model);
  const Result result = run(machine, model, Dtype::fp32, values, batch);

  for (const TensorInfo& tensor : model.tensors()) {
    const auto size = static_cast<double>(tensor.range.size());
    for (std::uint64_t direction = 1; direction <= 3; ++direction) {
      const auto sign = [&](std::int64_t i) {
        return random_bits(direction, i) & 1 ? 1.0f : -1.0f;
      };
      double expected = 0, norm = 0;
      for (std::int64_t i = tensor.range.begin; i < tensor.range.end; ++i) {
        expected += double{sign(i)} * result.grads[i];
        norm += double{result.grads[i]} * result.grads[i];
      }
      // The slope from four points: its error is of fourth order in h.
      const auto h = static_cast<float>(0.04 / std::sqrt(size));
      const auto at = [&](float steps) {
        std::vector<float> moved = values;
        for (std::int64_t i = tensor.range.begin; i < tensor.range.end; ++i) {
          moved[i] += steps * h * sign(i);
        }
        return loss_at(machine, model, moved, batch);
      };
      const double slope = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * double{h});
      INFO(tensor.name << " direction " << direction << ": " << slope << ", backward: " << expected
                       << ", norm " << std::sqrt(norm));
      CHECK(std::sqrt(norm) > 1e-3);
      CHECK(std::fabs(slope - expected) <= 2e-3 * std::sqrt(norm));
    }
  }
}

TEST_CASE("single elements of every tensor have the gradient that finite differences give") {
  Machine machine;
  const Model model(kTiny, 1, 1);
  const Batch batch = make_tokens(2, 7, 29);
  const std::vector<float> values = lively_values(model);
  const Result result = run(machine, model, Dtype::fp32, values, batch);

  for (const TensorInfo& tensor : model.tensors()) {
    double norm = 0;
    for (std::int64_t i = tensor.range.begin; i < tensor.range.end; ++i) {
      norm += double{result.grads[i]} * result.grads[i];
    }
    for (std::uint64_t sample = 0; sample < 5; ++sample) {
      const std::int64_t i =
          tensor.range.begin +
          static_cast<std::int64_t>(random_bits(11, sample) % tensor.range.size());
      const float h = 0.02f;
      const auto at = [&](float steps) {
        std::vector<float> moved = values;
        moved[i] += steps * h;
        return loss_at(machine, model, moved, batch);
      };
      const double slope = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * double{h});
      INFO(tensor.name << " element " << i - tensor.range.begin << ": " << slope
                       << ", backward: " << result.grads[i]);
      CHECK(std::fabs(slope - result.grads[i]) <= 2e-3 * std::sqrt(norm));
    }
  }
}

TEST_CASE("backward writes every gradient and zeroes the padding, whatever was there before") {
  for (const int world_size : {1, 3, 5, 64}) {
    for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
      Machine machine;  // its fresh memory is NaN
      const Model model(kTiny, world_size, 1);
      const Result result =
          run(machine, model, dtype, lively_values(model), make_tokens(2, 5, 29), 8);
      INFO("K = " << world_size << ", " << to_string(dtype));
      std::int64_t finite = 0, zero = 0;
      for (std::int64_t i = 0; i < model.padded_parameters(); ++i) {
        if (i < model.num_parameters()) finite += std::isfinite(result.grads[i]) ? 1 : 0;
        else zero += result.grads[i] == 0 && !std::signbit(result.grads[i]) ? 1 : 0;
      }
      CHECK(finite == model.num_parameters());
      CHECK(zero == model.padded_parameters() - model.num_parameters());
    }
  }
}

TEST_CASE("one unit's temporary buffers give the same bits as the full vector") {
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
    Machine machine;
    const Model model(kTiny, 5, 1);
    const Batch batch = make_tokens(3, 7, 29);
    const std::vector<float> values = lively_values(model);
    const Result full = run(machine, model, dtype, values, batch, 64);
    const Result apart = run(machine, model, dtype, values, batch, 64, Buffers::per_unit);
    CHECK(full.loss == apart.loss);
    CHECK(same_bits(full.grads, apart.grads));
    const Result again = run(machine, model, dtype, values, batch, 64);
    CHECK(same_bits(full.grads, again.grads));
  }
}

TEST_CASE("the loss scale multiplies every gradient and leaves the loss alone") {
  Machine machine;
  const Model model(kTiny, 1, 1);
  const Batch batch = make_tokens(2, 7, 29);
  const std::vector<float> values = lively_values(model);
  const Result plain = run(machine, model, Dtype::fp32, values, batch);
  Result scaled = run(machine, model, Dtype::fp32, values, batch, 1024);
  CHECK(scaled.loss == plain.loss);
  // A power of two changes exponents only: the same bits, but where fp32's smallest numbers end.
  for (float& grad : scaled.grads) grad /= 1024;
  CHECK(relative_distance(scaled.grads, plain.grads) <= 1e-7);
}

TEST_CASE("an infinite loss weight makes gradients that are not finite, and no other loss") {
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
    Machine machine;
    const Model model(kTiny, 1, 1);
    Batch batch = make_tokens(2, 7, 29);
    const std::vector<float> values = lively_values(model);
    const Result plain = run(machine, model, dtype, values, batch);
    batch.loss_weight = INFINITY;
    const Result result = run(machine, model, dtype, values, batch);
    CHECK(result.loss == plain.loss);
    bool finite = true;
    for (const float grad : result.grads) finite = finite && std::isfinite(grad);
    CHECK(!finite);
  }
}

TEST_CASE("the gradient of a batch is the mean of its parts' gradients") {
  Machine machine;
  const Model model(kTiny, 1, 1);
  const std::vector<float> values = lively_values(model);
  const Batch batch = make_tokens(3, 7, 29);
  const Result whole = run(machine, model, Dtype::fp32, values, batch);
  std::vector<float> mean(values.size(), 0.0f);
  double loss = 0;
  for (int b = 0; b < 3; ++b) {
    const auto part_of = [&](const std::vector<std::int32_t>& all) {
      return std::vector<std::int32_t>(all.begin() + b * 7, all.begin() + (b + 1) * 7);
    };
    const Batch part{
        .B = 1, .T = 7, .tokens = part_of(batch.tokens), .targets = part_of(batch.targets)};
    const Result result = run(machine, model, Dtype::fp32, values, part);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += result.grads[i] / 3;
    loss += result.loss / 3;
  }
  CHECK(whole.loss == Approx(loss).epsilon(1e-6));
  CHECK(relative_distance(whole.grads, mean) <= 1e-5);
}

TEST_CASE("16-bit gradients are those of fp32 to the precision of the type") {
  Machine machine;
  const Model model(kTiny, 1, 1);
  const Batch batch = make_tokens(3, 7, 29);
  const std::vector<float> values = lively_values(model);
  const Result exact = run(machine, model, Dtype::fp32, values, batch, 256);
  const Result fp16 = run(machine, model, Dtype::fp16, values, batch, 256);
  const Result bf16 = run(machine, model, Dtype::bf16, values, batch, 256);
  CHECK(relative_distance(fp16.grads, exact.grads) <= 5e-3);
  CHECK(relative_distance(bf16.grads, exact.grads) <= 4e-2);
  CHECK(relative_distance(fp16.grads, exact.grads) > 1e-5);  // something was rounded
  CHECK(fp16.loss == Approx(exact.loss).epsilon(2e-3));
  CHECK(bf16.loss == Approx(exact.loss).epsilon(2e-2));
}

TEST_CASE("activations take exactly the bytes of their closed form and go back to zero") {
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16}) {
    for (const int B : {1, 2, 5}) {
      Machine machine;
      Device& device = *machine.device;
      const Model model(kTiny, 3, 1);
      Buffer params =
          device.allocate(Memory::parameters, "params", dtype, Range{0, model.padded_parameters()});
      model.initialize(params);
      const std::int64_t e = bytes_of(dtype), L = 2, H = 3, C = 15, T = 7, V = 29, R = B * T;
      const std::int64_t block = e * (15 * R * C + B * H * T * T) + 4 * (4 * R);
      const std::int64_t after_forward =
          4 * (2 * R) + e * (L + 1) * R * C + L * block + e * (R * C + R * V) + 4 * (3 * R);
      {
        Activations activations(device, machine.place, kTiny, dtype, make_tokens(B, T, V), 1);
        std::int64_t before = machine.tracker.live(Memory::activations);
        CHECK(before == 4 * (2 * R));
        for (const Unit& unit : model.units()) {
          unit.forward(params, activations);
          CHECK(machine.tracker.live(Memory::activations) > before);
          before = machine.tracker.live(Memory::activations);
        }
        CHECK(before == after_forward);
        CHECK(Activations::bytes_after_forward(kTiny, B, dtype) == after_forward);
        // A stage that stops here releases everything too.
      }
      CHECK(machine.tracker.live(Memory::activations) == 0);

      Activations activations(device, machine.place, kTiny, dtype, make_tokens(B, T, V), 1);
      for (const Unit& unit : model.units()) unit.forward(params, activations);
      Buffer grads =
          device.allocate(Memory::gradients, "grads", dtype, Range{0, model.padded_parameters()});
      std::int64_t before = machine.tracker.live(Memory::activations);
      for (const Unit& unit : model.units_reversed()) {
        unit.backward(params, grads, activations);
        CHECK(machine.tracker.live(Memory::activations) < before);
        before = machine.tracker.live(Memory::activations);
      }
      CHECK(before == 0);
      // Backward's own temporaries: at most an MLP's gradient beyond what forward left.
      CHECK(machine.tracker.peak(Memory::activations) <= after_forward + e * (R * C + 4 * R * C));
      CHECK(machine.tracker.live_total() == machine.tracker.live(Memory::parameters) +
                                                machine.tracker.live(Memory::gradients) +
                                                machine.tracker.live(Memory::workspace));
    }
  }
}

TEST_CASE("the place names the unit while it runs, and what backward wrote is told") {
  Machine machine;
  const Model model(kTiny, 64, 1);
  machine.place.unit = "before";
  run(machine, model, Dtype::fp32, lively_values(model), make_tokens(1, 3, 29));
  CHECK(machine.place.unit == "before");

  const auto& units = machine.recorder.units;
  for (const char* name : {"embedding", "block 0", "block 1", "head"}) {
    CHECK(std::count(units.begin(), units.end(), name) > 0);
  }
  std::vector<Recorder::Write> told;
  for (const auto& write : machine.recorder.writes) {
    if (write.buffer == "grads") told.push_back(write);
  }
  REQUIRE(told.size() == 5);
  CHECK((told[0].what == Written::local_gradient && told[0].unit == "head"));
  CHECK(told[1].what == Written::zero);
  CHECK(told[1].range == Range{model.num_parameters(), model.padded_parameters()});
  CHECK((told[2].unit == "block 1" && told[3].unit == "block 0" && told[4].unit == "embedding"));
  CHECK(told[4].range == Range{0, 29 * 15 + 7 * 15});
}

TEST_CASE("views that lack a part of the unit are refused") {
  Machine machine;
  const Model model(kTiny, 1, 1);
  const Unit& unit = model.units()[1];
  Buffer part = machine.device->allocate(Memory::parameters, "part", Dtype::fp32,
                                         Range{unit.range().begin + 1, unit.range().end});
  Activations activations(*machine.device, machine.place, kTiny, Dtype::fp32, make_tokens(1, 7, 29),
                          1);
  CHECK_THROWS_AS(unit.forward(part, activations), std::out_of_range);

  const Model padded(kTiny, 64, 1);  // the padding is part of the head's range
  const Unit& head = padded.units().back();
  REQUIRE(head.range() != head.parameters());
  Buffer whole = machine.device->allocate(Memory::parameters, "params", Dtype::fp32, head.range());
  for (const Unit& earlier : model.units()) {
    Buffer params =
        machine.device->allocate(Memory::parameters, "params", Dtype::fp32, earlier.range());
    model.initialize(params);
    if (earlier.name() != "head") earlier.forward(params, activations);
  }
  padded.initialize(whole);
  CHECK_THROWS_AS(head.forward(whole[head.parameters()], activations), std::out_of_range);
  CHECK_NOTHROW(head.forward(whole, activations));
  CHECK_THROWS_AS(
      Activations(*machine.device, machine.place, kTiny, Dtype::fp32, make_tokens(1, 8, 29), 1),
      std::invalid_argument);
}

}  // namespace
}  // namespace zero
