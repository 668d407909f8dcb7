// The list of units, what they have in common, and the initial values.
#include "common/model/model.h"

#include <span>

#include "common/comm/partition.h"
#include "common/memory/heap.h"
#include "common/model/activations.h"
#include "common/model/random.h"
#include "common/model/units.h"

namespace zero {
namespace {

// Initial values are made on the host, this many at a time, however large the model.
constexpr std::int64_t kStaging = 64 * 1024;

// The rank is in `unit` for as long as this lives.
class UnitPlace {
 public:
  UnitPlace(Place& place, const std::string& unit) : place_(place), before_(place.unit) {
    place_.unit = unit;
  }
  ~UnitPlace() { place_.unit = std::move(before_); }
  UnitPlace(const UnitPlace&) = delete;
  UnitPlace& operator=(const UnitPlace&) = delete;

 private:
  Place& place_;
  std::string before_;
};

// values: the initial values of positions from `begin` on, all inside `tensor`.
void make_initial_values(const TensorInfo& tensor, std::uint64_t seed, std::int64_t begin,
                         std::span<float> values) {
  if (tensor.initial == Initial::normal) {
    normal_numbers(seed, begin, tensor.deviation, values);
  } else {
    std::fill(values.begin(), values.end(), tensor.initial == Initial::ones ? 1.0f : 0.0f);
  }
}

// The host arrays through which initial values reach a device in the type of its buffer.
class Staging {
 public:
  Staging() : values_(kStaging), rounded_(kStaging * sizeof(float)) {}

  // `make(begin, values)` sets the values of the positions from `begin` on.
  template <class Make>
  void write(View to, Make make) {
    for (std::int64_t done = 0; done < to.size(); done += kStaging) {
      const View part = to.slice(done, std::min(kStaging, to.size() - done));
      const std::span<float> values(values_.data(), static_cast<std::size_t>(part.size()));
      make(part.range().begin, values);
      with_type(part.dtype(), [&](auto type) { upload<decltype(type)>(values, part); });
    }
  }

 private:
  template <class T>
  void upload(std::span<const float> values, View to) {
    T* rounded = reinterpret_cast<T*>(rounded_.data());
    for (std::size_t i = 0; i < values.size(); ++i) rounded[i] = narrow<T>(values[i]);
    to.heap().upload(std::as_bytes(std::span(rounded, values.size())), to);
  }

  std::vector<float> values_;
  std::vector<std::byte> rounded_;
};

}  // namespace

void Unit::forward(View params, Activations& activations) const {
  const UnitPlace place(activations.place_, name());
  do_forward(params[range()], activations);
}

void Unit::backward(View params, View grads, Activations& activations) const {
  const UnitPlace place(activations.place_, name());
  const View own = grads[parameters()];
  do_backward(params[range()], own, activations);
  own.heap().wrote(own, Written::local_gradient);

  const View padding = grads[Range{parameters().end, range().end}];
  if (padding.size() > 0) {
    activations.device_.zero(padding);
    padding.heap().wrote(padding, Written::zero);
  }
}

Model::Model(const ModelConfig& config, int world_size, std::uint64_t seed)
    : config_(config), seed_(seed) {
  std::vector<UnitInfo> layout = make_layout(config);
  num_parameters_ = layout.back().parameters.end;

  UnitInfo& embedding = layout.front();
  const Range first = embedding.parameters;
  owned_.push_back(std::make_unique<EmbeddingUnit>(std::move(embedding), first));
  for (int l = 0; l < config.layers; ++l) {
    UnitInfo& block = layout[static_cast<std::size_t>(l) + 1];
    const Range range = block.parameters;
    owned_.push_back(std::make_unique<BlockUnit>(std::move(block), range, l));
  }
  UnitInfo& head = layout.back();
  const Range last = {head.parameters.begin, Partition::padded_size(num_parameters_, world_size)};
  owned_.push_back(std::make_unique<HeadUnit>(std::move(head), last));

  for (const auto& unit : owned_) units_.push_back(*unit);
  reversed_.assign(units_.rbegin(), units_.rend());
}

std::vector<TensorInfo> Model::tensors() const {
  std::vector<TensorInfo> all;
  for (const Unit& unit : units_) {
    all.insert(all.end(), unit.tensors().begin(), unit.tensors().end());
  }
  return all;
}

void Model::initialize(View params) const {
  // A device that stores nothing gets no values; that they were written is told all the same.
  const bool stored = params.data() != nullptr;
  Staging staging;
  for (const Unit& unit : units_) {
    for (const TensorInfo& tensor : unit.tensors()) {
      const View part = params[tensor.range.intersect(params.range())];
      if (part.size() == 0) continue;
      if (stored) {
        staging.write(part, [&](std::int64_t begin, std::span<float> values) {
          make_initial_values(tensor, seed_, begin, values);
        });
      }
      part.heap().wrote(part, Written::initial);
    }
  }

  const Range padding = {num_parameters_, padded_parameters()};
  const View rest = params[padding.intersect(params.range())];
  if (rest.size() == 0) return;
  if (stored) {
    staging.write(rest, [](std::int64_t, std::span<float> values) {
      std::fill(values.begin(), values.end(), 0.0f);
    });
  }
  rest.heap().wrote(rest, Written::zero);
}

std::vector<float> Model::initial_values(Range range) const {
  std::vector<float> values(static_cast<std::size_t>(range.size()), 0.0f);
  for (const TensorInfo& tensor : tensors()) {
    const Range part = tensor.range.intersect(range);
    if (part.empty()) continue;
    make_initial_values(
        tensor, seed_, part.begin,
        std::span(values).subspan(static_cast<std::size_t>(part.begin - range.begin),
                                  static_cast<std::size_t>(part.size())));
  }
  return values;
}

}  // namespace zero
