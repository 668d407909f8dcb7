// Where each tensor of the model lies in the flat parameter vector.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/memory/range.h"
#include "common/model/config.h"

namespace zero {

enum class Initial { zeros, ones, normal };

struct TensorInfo {
  std::string name;                 // GPT-2's: "h.0.attn.c_attn.weight"
  Range range;                      // positions in the flat vector
  std::vector<std::int64_t> shape;  // row-major; a linear layer's weight is (out, in)
  bool decay = false;               // weight decay: matrices only
  bool transposed_in_gpt2 = false;  // GPT-2's files keep this matrix as (in, out)
  Initial initial = Initial::normal;
  float deviation = 0.02f;  // of Initial::normal
};

// A group of consecutive tensors that is gathered, used, reduced and released as a whole.
struct UnitInfo {
  std::string name;  // "embedding", "block 0", ..., "head"
  Range parameters;  // without the padding
  std::vector<TensorInfo> tensors;
};

// embedding, block 0 ... block L-1, head, without gap or overlap from position 0.
std::vector<UnitInfo> make_layout(const ModelConfig& config);

}  // namespace zero
