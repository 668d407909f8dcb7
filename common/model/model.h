// The GPT as a list of units: embedding, block 0 ... block L-1, head.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/memory/buffer.h"
#include "common/model/config.h"
#include "common/model/layout.h"

namespace zero {

class Activations;

class Unit {
 public:
  // `range` is the unit's parameters and, in the last unit, the padding behind them.
  Unit(UnitInfo info, Range range) : info_(std::move(info)), range_(range) {}
  virtual ~Unit() = default;
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;

  const std::string& name() const { return info_.name; }

  // Positions in the flat vector. The units cover it without gap or overlap; the last unit's range
  // includes the padding, which no operator reads.
  Range range() const { return range_; }
  Range parameters() const { return info_.parameters; }  // without the padding
  const std::vector<TensorInfo>& tensors() const { return info_.tensors; }

  // Reads params (all of range()) and the activations so far; allocates and writes its own
  // activations.
  void forward(View params, Activations& activations) const;

  // Reads params and activations. Writes, does not add to, every element of grads (all of range()):
  // this rank's gradient of loss_scale * its mean loss, and zero in the padding. Releases the
  // activations that only this unit needed.
  void backward(View params, View grads, Activations& activations) const;

 protected:
  virtual void do_forward(View params, Activations& activations) const = 0;
  // Writes all of grads[parameters()].
  virtual void do_backward(View params, View grads, Activations& activations) const = 0;

  // Tensor `index` of this unit, in `view` (params or grads).
  View tensor(View view, std::size_t index) const { return view[info_.tensors[index].range]; }

 private:
  UnitInfo info_;
  Range range_;
};

using UnitList = std::vector<std::reference_wrapper<const Unit>>;

// Constant after construction; shared by the ranks of a process.
class Model {
 public:
  // world_size decides the padding only; seed the initial values.
  Model(const ModelConfig& config, int world_size, std::uint64_t seed);

  const ModelConfig& config() const { return config_; }
  std::int64_t num_parameters() const { return num_parameters_; }  // N, without padding
  std::int64_t padded_parameters() const { return units_.back().get().range().end; }
  const UnitList& units() const { return units_; }
  const UnitList& units_reversed() const { return reversed_; }
  std::vector<TensorInfo> tensors() const;  // of all units, in order of position

  // Sets the parameters that `params` holds, whichever they are; padding is zero. The value at a
  // position depends on the seed and the position only.
  void initialize(View params) const;

  // The initial values of positions `range` in fp32, before rounding; padding is zero.
  std::vector<float> initial_values(Range range) const;

 private:
  ModelConfig config_;
  std::uint64_t seed_;
  std::int64_t num_parameters_ = 0;
  std::vector<std::unique_ptr<Unit>> owned_;
  UnitList units_;
  UnitList reversed_;
};

}  // namespace zero
