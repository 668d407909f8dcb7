// What PyTorch printed: tests/reference/golden, as its script writes it.
#pragma once

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/model/config.h"
#include "tests/support/stage.h"

namespace zero {

struct Golden {
  std::string data;  // the file of tokens
  ModelConfig model;
  int batch = 0;
  std::uint64_t seed = 0;
  double learning_rate = 0, weight_decay = 0, clip = 0;
  int warmup = 0;
  nlohmann::json tensors;              // list of {name, shape}
  std::string initial_checksum;        // of the initial weights' bits
  std::vector<double> losses;          // before each update
  std::vector<double> gradient_norms;  // before clipping
  std::vector<float> gradients;        // of the first iteration, as the flat vector
};

inline Golden read_golden(const std::string& name) {
  const std::string base = source_path("tests/reference/golden/" + name);
  std::ifstream text(base + ".json");
  const nlohmann::json json = nlohmann::json::parse(text);
  const nlohmann::json& c = json.at("config");
  Golden golden{.data = base + ".tokens.bin",
                .model = {.layers = c.at("layers"),
                          .heads = c.at("heads"),
                          .channels = c.at("channels"),
                          .context = c.at("context"),
                          .vocab = c.at("vocab")},
                .batch = c.at("batch"),
                .seed = c.at("seed"),
                .learning_rate = json.at("learning_rate"),
                .weight_decay = json.at("weight_decay"),
                .clip = json.at("clip"),
                .warmup = json.at("warmup"),
                .tensors = json.at("tensors"),
                .initial_checksum = json.at("initial_checksum"),
                .losses = json.at("losses"),
                .gradient_norms = json.at("gradient_norms"),
                .gradients = {}};

  std::ifstream file(base + ".gradients.f32", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  golden.gradients.resize(bytes.size() / sizeof(float));
  bytes.copy(reinterpret_cast<char*>(golden.gradients.data()),
             golden.gradients.size() * sizeof(float));
  return golden;
}

}  // namespace zero
