// Where the tokens come from: text as bytes, or llm.c's .bin files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/model/config.h"

namespace zero {

// All tokens of a data set. Constant after construction; shared by the ranks of a process.
class Dataset {
 public:
  // `path` empty: the text that the project ships. A name that ends in ".bin" is a file of token
  // ids as llm.c writes them: 256 int32 of header (magic 20240520, version 1, number of tokens),
  // then uint16. Anything else is text: one token per byte.
  // Throws UsageError: missing, empty, malformed, or a token that the vocabulary lacks.
  Dataset(const std::string& path, int vocab);

  // `size` tokens, all 0, for a simulation, which reads none.
  explicit Dataset(std::int64_t size) : tokens_(static_cast<std::size_t>(size)) {}

  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }
  const std::vector<std::uint16_t>& tokens() const { return tokens_; }

 private:
  std::vector<std::uint16_t> tokens_;
};

// The micro-batch of `rank` in `iteration`: rank r takes the r-th of world_size contiguous parts of
// the global batch, which is the same whatever world_size is. Sequence s of all (counted through
// the iterations) starts at token s*T, modulo what leaves room for T+1 tokens.
// Requires: world_size divides batch, and T + 1 <= dataset.size().
Batch make_batch(const Dataset& dataset, int iteration, int batch, int T, int rank, int world_size);

}  // namespace zero
