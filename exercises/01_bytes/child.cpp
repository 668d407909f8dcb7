// Calls the functions of an answer to exercise 01, one by one, and writes what they returned.
#include "exercises/api/child.h"

#include <exception>
#include <stdexcept>
#include <string>

#include "exercises/01_bytes/api.h"

namespace zero::exercise {
namespace {

using nlohmann::json;

ModelShape shape_of(const json& model) {
  return {.layers = model.at("layers"),
          .channels = model.at("channels"),
          .context = model.at("context"),
          .vocab = model.at("vocab")};
}

Precision precision_of(const std::string& name) {
  if (name == "fp32") return Precision::fp32;
  if (name == "mixed") return Precision::mixed;
  if (name == "mixed_with_fp32_gradients") return Precision::mixed_with_fp32_gradients;
  throw std::invalid_argument("no such precision: " + name);
}

json returned(const json& call) {
  const std::string name = call.at("function");
  if (name == "gibibytes") return gibibytes(call.at("bytes"));
  if (name == "gigabytes") return gigabytes(call.at("bytes"));
  const ModelShape model = shape_of(call.at("model"));
  if (name == "num_parameters") return num_parameters(model);
  const StateBytes bytes = state_bytes(model, call.at("stage"), call.at("world_size"),
                                       call.at("rank"), precision_of(call.at("precision")));
  return {bytes.parameters, bytes.gradients, bytes.optimizer_states};
}

// A function that throws, perhaps because it is still blank, is told apart from the others: each
// is a rung of its own.
json answer(const json& instance) {
  json results = json::array();
  for (const json& call : instance.at("calls")) {
    try {
      results.push_back({{"returned", returned(call)}});
    } catch (const std::exception& error) {
      results.push_back({{"threw", error.what()}});
    }
  }
  return results;
}

}  // namespace
}  // namespace zero::exercise

int main(int argc, char** argv) {
  return zero::exercise::run_child(argc, argv, zero::exercise::answer);
}
