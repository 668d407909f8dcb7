// What the matrices of stages, ranks and types have in common: shapes, and the stages' agreement.
#pragma once

#include <string>
#include <vector>

#include "catch.h"
#include "tests/support/stage.h"

namespace zero {

using Problems = std::vector<std::string>;

// An odd shape for each number of ranks, which its parameters are not a multiple of.
inline Work shape_for(int ranks) {
  Work work;
  work.ranks = ranks;
  const auto shape = [&](int layers, int heads, int channels, int context, int vocab) {
    work.layers = layers;
    work.heads = heads;
    work.channels = channels;
    work.context = context;
    work.vocab = vocab;
  };
  switch (ranks) {
    case 1:
      shape(1, 3, 15, 7, 256);
      break;
    case 2:
      shape(2, 3, 15, 9, 256);
      break;
    case 3:
      shape(2, 5, 25, 7, 256);
      break;
    case 4:
      shape(1, 5, 15, 7, 256);
      break;
    case 5:
      shape(3, 3, 21, 7, 256);
      break;
    default:
      shape(2, 7, 21, 7, 257);
      break;
  }
  const Expected expected("ddp", work);
  REQUIRE((expected.padded > expected.num_parameters || ranks == 1));
  return work;
}

inline void check_iterations(const nlohmann::json& result, const Work& work) {
  REQUIRE(result.at("iterations").size() == static_cast<std::size_t>(work.iterations));
  nlohmann::json before;
  for (const nlohmann::json& iteration : result.at("iterations")) {
    CHECK_FALSE(iteration.at("skipped").get<bool>());
    CHECK(iteration.at("loss").is_number());
    CHECK(iteration.at("gradient_norm").get<double>() > 0);
    CHECK(iteration.at("fingerprint") != before);  // a state that moves
    before = iteration.at("fingerprint");
  }
}

// All stages, each started by `launcher`; returns their bits.
inline nlohmann::json check_stages_agree(const Work& work,
                                         const std::vector<std::string>& launcher = {}) {
  nlohmann::json expected;
  for (const std::string& stage : kStages) {
    INFO(stage << ", " << work.ranks << " ranks, " << work.dtype << ", " << work.collectives);
    const nlohmann::json result = run_stage(stage, work, launcher);
    CHECK(check_formulas(result, stage, work) == Problems{});
    CHECK(result.at("dtype") == work.dtype);
    check_iterations(result, work);
    if (expected.is_null()) expected = bits(result);
    CHECK(bits(result) == expected);
  }
  return expected;
}

}  // namespace zero
