// Models by name: shapes from papers, as a GPT of this project.
#pragma once

#include <string>
#include <vector>

#include "common/model/config.h"

namespace zero {

struct ModelPreset {
  std::string key;  // "gpt2-xl", as on the command line
  ModelConfig config;
  std::string note;  // where the shape is from, and what it only approximates; one sentence
};

// In order of size. The number of parameters is what make_layout says, never a number kept here.
const std::vector<ModelPreset>& model_presets();

// Null when there is none of this name.
const ModelPreset* find_model_preset(const std::string& key);

}  // namespace zero
