// The three kinds of unit; only the model makes them.
#pragma once

#include "common/model/model.h"

namespace zero {

// wte + wpe: tokens become the residual stream.
class EmbeddingUnit : public Unit {
 public:
  using Unit::Unit;

 protected:
  void do_forward(View params, Activations& activations) const override;
  void do_backward(View params, View grads, Activations& activations) const override;
};

// One transformer block, pre-LN: x + attention(ln_1(x)), then + mlp(ln_2(.)).
class BlockUnit : public Unit {
 public:
  BlockUnit(UnitInfo info, Range range, int layer) : Unit(std::move(info), range), layer_(layer) {}

 protected:
  void do_forward(View params, Activations& activations) const override;
  void do_backward(View params, View grads, Activations& activations) const override;

 private:
  void forward_attention(View params, Activations& activations) const;
  void forward_mlp(View params, Activations& activations) const;
  void backward_mlp(View params, View grads, Activations& activations) const;
  void backward_attention(View params, View grads, Activations& activations) const;

  int layer_;
};

// ln_f, the logits and the loss.
class HeadUnit : public Unit {
 public:
  using Unit::Unit;

 protected:
  void do_forward(View params, Activations& activations) const override;
  void do_backward(View params, View grads, Activations& activations) const override;
};

}  // namespace zero
