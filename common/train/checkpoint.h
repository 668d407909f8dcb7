// Writing a model or a whole state to files, whichever rank holds which part.
#pragma once

#include <string>

#include "common/model/model.h"
#include "common/train/adamw.h"

namespace zero {

class Rank;

// Collective. Rank 0 writes all parameters, consolidated, to one safetensors file; what rank 0 does
// not hold comes from whichever rank does, chunk by chunk through constant scratch.
void save_model(Rank& rank, View params, const std::string& path);

// The initial weights, rounded to `dtype`. No rank needs to run: a value depends on its position.
void save_initial_model(const Model& model, Dtype dtype, const std::string& path);

// Collective. Every rank writes the parts it holds as raw little-endian arrays into `directory`;
// rank 0 writes index.json, which names file, type and flat range of each array, and the tensors.
void dump_state(Rank& rank, View params, const AdamW& optimizer, const std::string& directory);

}  // namespace zero
