// The stage programs themselves, on several ranks, against one process of PyTorch.
#include <cmath>

#include "catch.h"
#include "tests/golden.h"
#include "tests/support/stage.h"

namespace zero {
namespace {

// Shortest digits that read back as the same number.
std::string text(double number) { return nlohmann::json(number).dump(); }

void check_stage(const std::string& stage, const std::string& name, int ranks) {
  const Golden golden = read_golden(name);
  Work work{.ranks = ranks,
            .dtype = "fp32",
            .collectives = "ring",
            .layers = golden.model.layers,
            .heads = golden.model.heads,
            .channels = golden.model.channels,
            .context = golden.model.context,
            .vocab = golden.model.vocab,
            .batch = golden.batch,
            .iterations = static_cast<int>(golden.losses.size()),
            .seed = golden.seed,
            .more = {"--data", golden.data, "--learning-rate", text(golden.learning_rate),
                     "--warmup", std::to_string(golden.warmup), "--weight-decay",
                     text(golden.weight_decay), "--clip", text(golden.clip)}};
  const nlohmann::json result = run_stage(stage, work);
  REQUIRE(result.at("num_parameters") == golden.gradients.size());
  const nlohmann::json& iterations = result.at("iterations");
  REQUIRE(iterations.size() == golden.losses.size());
  for (std::size_t i = 0; i < golden.losses.size(); ++i) {
    const double loss = iterations[i].at("loss"), norm = iterations[i].at("gradient_norm");
    INFO(stage << ", " << name << ", K = " << ranks << ", iteration " << i << ": loss " << loss
               << ", PyTorch's " << golden.losses[i] << "; norm " << norm << ", PyTorch's "
               << golden.gradient_norms[i]);
    CHECK(std::fabs(loss - golden.losses[i]) <= 1e-4 * golden.losses[i]);
    CHECK(std::fabs(norm - golden.gradient_norms[i]) <= 1e-3 * golden.gradient_norms[i]);
  }
}

TEST_CASE("every stage on one rank and on several has PyTorch's loss curve") {
  for (const std::string& stage : kStages) {
    check_stage(stage, "small", 1);
    check_stage(stage, "small", 5);
    check_stage(stage, "deep", 3);
  }
}

}  // namespace
}  // namespace zero
