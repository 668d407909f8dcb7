// The first unit: tokens and their places become the residual stream.
#include "common/model/activations.h"
#include "common/model/units.h"

namespace zero {
namespace {

enum Tensor { wte, wpe };  // in the order of the layout

}  // namespace

void EmbeddingUnit::do_forward(View params, Activations& a) const {
  const int B = a.B_, T = a.T_, C = a.config_.channels;
  a.stream_[0] = a.allocate("stream", std::int64_t{a.R_} * C);  // (B, T, C)
  a.device_.embedding_forward(a.stream_[0], a.tokens_, tensor(params, wte), tensor(params, wpe), B,
                              T, C);
}

void EmbeddingUnit::do_backward(View, View grads, Activations& a) const {
  const int B = a.B_, T = a.T_, C = a.config_.channels;
  a.device_.embedding_backward(tensor(grads, wte), tensor(grads, wpe), a.d_stream_, a.tokens_, B, T,
                               C);
  a.d_stream_.release();
  a.tokens_.release();
}

}  // namespace zero
