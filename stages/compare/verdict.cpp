// Same bits or not: compares what the stages report, then what they hold.
#include "stages/compare/verdict.h"

#include <fmt/format.h>

#include <bit>
#include <stdexcept>

namespace zero {
namespace {

// -0 and 0 are different bits; two values that are not finite are taken as the same.
bool same(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return !a && !b;
  return std::bit_cast<std::uint64_t>(*a) == std::bit_cast<std::uint64_t>(*b);
}

std::string describe_work(const StageResult& result) {
  return fmt::format("{} ranks, {}, {} parameters, {} iterations", result.world_size, result.dtype,
                     result.num_parameters, result.iterations.size());
}

}  // namespace

std::string exact(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "not finite";
}

std::optional<ValueDifference> first_difference(const StageResult& reference,
                                                const StageResult& other) {
  ValueDifference found;
  found.stages[0] = reference.stage;
  found.stages[1] = other.stage;
  if (const std::string work = describe_work(reference); work != describe_work(other)) {
    found.what = "work";
    found.values[0] = work;
    found.values[1] = describe_work(other);
    return found;
  }
  for (std::size_t i = 0; i < reference.iterations.size(); ++i) {
    const IterationResult& a = reference.iterations[i];
    const IterationResult& b = other.iterations[i];
    found.iteration = static_cast<int>(i) + 1;
    found.state_differs = a.fingerprint != b.fingerprint;
    const auto differs = [&](const char* what, const std::string& first,
                             const std::string& second) {
      found.what = what;
      found.values[0] = first;
      found.values[1] = second;
      return found;
    };
    const auto word = [](bool skipped) { return skipped ? "skipped" : "accepted"; };
    // In the order in which an iteration computes them.
    if (!same(a.loss, b.loss)) return differs("loss", exact(a.loss), exact(b.loss));
    if (!same(a.gradient_norm, b.gradient_norm))
      return differs("gradient_norm", exact(a.gradient_norm), exact(b.gradient_norm));
    if (!same(a.loss_scale, b.loss_scale))
      return differs("loss_scale", exact(a.loss_scale), exact(b.loss_scale));
    if (a.skipped != b.skipped) return differs("skipped", word(a.skipped), word(b.skipped));
    if (found.state_differs) return differs("fingerprint", a.fingerprint, b.fingerprint);
  }
  return std::nullopt;
}

std::optional<ValueDifference> first_difference(const std::vector<StageResult>& results) {
  std::optional<ValueDifference> earliest;
  for (std::size_t i = 1; i < results.size(); ++i) {
    const auto found = first_difference(results.front(), results[i]);
    if (found && (!earliest || found->iteration < earliest->iteration)) earliest = found;
  }
  return earliest;
}

std::vector<DifferingElement> find_elements(const ValueDifference& difference,
                                            const StageRunner& runner,
                                            const CompareOptions& options) {
  std::string folders[2];
  for (int i = 0; i < 2; ++i) {
    const std::string& stage = difference.stages[i];
    folders[i] = runner.place(stage + ".state");
    auto arguments =
        with_option(options.passed_on, "--iterations", std::to_string(difference.iteration));
    arguments = with_option(arguments, "--dump-state", folders[i]);
    const StageRun run = runner.run(stage, options.launcher, arguments,
                                    fmt::format("{} again, with its state dumped", stage));
    if (!run.result) throw std::runtime_error(describe_failure(run));
  }
  return differing_elements(folders[0], folders[1]);
}

}  // namespace zero
