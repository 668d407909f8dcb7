// How fast the device's operators are: bytes per second where memory is the limit, operations per
// second in the matrix products.
#pragma once

#include <string>
#include <vector>

#include "common/device/device.h"
#include "tests/gpu/pace.h"

namespace zero {

// The shapes that are timed. The large ones exceed every cache of a GPU several times.
struct Sizes {
  std::int64_t elements;  // of operators on any range; AdamW has a quarter of it
  int rows;               // of layernorm
  int sequences;          // of the embedding, T tokens each
  int B, T, C, H, V;      // of the products, attention and cross-entropy: R = B*T
};

struct Timed {
  std::string name, size;
  double seconds = 0;    // 0: not measured
  double amount = 0;     // bytes that must at least be read or written, or operations
  std::string why = {};  // it was not measured
};

// In bf16 storage, as in mixed-precision training. An operator that does not fit into the GPU's
// memory is there without a time.
std::vector<Timed> time_memory_bound(Device& device, const Sizes& sizes, const Pace& pace);
std::vector<Timed> time_products(Device& device, const Sizes& sizes, const Pace& pace);

// Token ids with about the frequencies of words: the k-th most frequent is there 1/k times as often
// as the first.
std::vector<std::int32_t> word_like_ids(std::int64_t count, int vocab, unsigned seed);

}  // namespace zero
