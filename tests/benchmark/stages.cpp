// Timing whole programs: children that are run in turn, so that a noisy machine is unfair to none.
#include "tests/benchmark/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "common/memory/tracker.h"
#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/stage.h"

namespace zero {
namespace {

const std::vector<std::string> kDtypes = {"fp32", "fp16", "bf16"};

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// One child: the median of its iterations but the first.
double time_once(const Candidate& candidate) {
  const TemporaryFolder folder;
  const Finished finished =
      run(joined(candidate.command, {"--json", folder / "json"}),
          {.seconds = 1800,
           .directory = "",
           .environment = {{"OMP_NUM_THREADS", "1"}, {"OPENBLAS_NUM_THREADS", "1"}}});
  if (finished.status != 0) throw std::runtime_error(finished.describe());
  const auto json = nlohmann::json::parse(read_whole_file(folder / "json"));
  std::vector<double> seconds;
  for (const auto& iteration : json.at("iterations")) seconds.push_back(iteration.at("seconds"));
  if (seconds.size() > 1) seconds.erase(seconds.begin());
  return median(seconds);
}

// How often a rank asks the tracker in one iteration, as the trace of a run of `command` tells.
std::int64_t allocations_per_iteration(const std::vector<std::string>& command) {
  const TemporaryFolder folder;
  const Finished finished =
      run(joined(command, {"--trace", folder / "trace", "--trace-iterations", "2"}),
          {.seconds = 1800, .directory = "", .environment = {}});
  if (finished.status != 0) throw std::runtime_error(finished.describe());
  const std::string text = read_whole_file(folder / "trace/rank0.jsonl");
  std::int64_t count = 0;
  bool counting = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (line.find("\"iteration\":1,") != std::string::npos) counting = true;
    if (counting && line.starts_with("{\"e\":\"allocate\"")) ++count;
    at = end + 1;
  }
  return count;
}

// Seconds for one allocation and its release, with about as many blocks alive as in a run.
double tracker_seconds() {
  const Place place;
  MemoryTracker tracker(place);
  const auto allocate = [&] {
    Allocation allocation;
    allocation.name = "a name of some length";
    allocation.category = Memory::activations;
    allocation.bytes = 4096;
    return tracker.allocate(allocation).id;
  };
  for (int i = 0; i < 200; ++i) allocate();
  constexpr int kTimes = 100000;
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < kTimes; ++i) tracker.release(allocate());
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - began;
  return elapsed.count() / kTimes;
}

}  // namespace

std::vector<std::string> Shape::options(int ranks) const {
  std::vector<std::string> all;
  for (const auto& [option, value] :
       std::vector<std::pair<const char*, int>>{{"--layers", layers},
                                                {"--heads", heads},
                                                {"--channels", channels},
                                                {"--context", context},
                                                {"--vocab", vocab},
                                                {"--batch", batch * ranks},
                                                {"--iterations", iterations}})
    all = joined(all, {option, std::to_string(value)});
  return all;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double Candidate::seconds() const { return median(rounds); }

void run_in_turn(std::vector<Candidate>& candidates, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      fmt::print(stderr, "\r\033[Kround {} of {}: {}", round + 1, rounds, candidates[i].name);
      candidates[i].rounds.push_back(time_once(candidates[i]));
    }
  }
  fmt::print(stderr, "\r\033[K");
}

double ratio(const Candidate& a, const Candidate& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < a.rounds.size(); ++i) ratios.push_back(a.rounds[i] / b.rounds[i]);
  return median(ratios);
}

void print_stages(const StageTable& table) {
  const Shape& shape = table.shape;
  const std::vector<std::string> options = shape.options(table.ranks);
  const TemporaryFolder traces;
  std::vector<Candidate> candidates;
  std::map<std::string, std::size_t> index;
  const auto add = [&](const std::string& name, const std::vector<std::string>& command) {
    index[name] = candidates.size();
    candidates.push_back({name, command});
  };
  for (const std::string& dtype : kDtypes) {
    for (const std::string& stage : kStages) {
      const std::vector<std::string> command = joined(
          {stage_path(stage), "--quiet", "--ranks", std::to_string(table.ranks), "--dtype", dtype},
          options);
      add(stage + " " + dtype, command);
      if (dtype == "fp16") {
        add(stage + " traced",
            joined(command, {"--trace", traces / stage, "--trace-iterations", "0"}));
      }
    }
    if (dtype == "fp32" && !table.pytorch.empty()) {
      const std::vector<std::string> script =
          joined({table.pytorch, source_path("tests/benchmark/pytorch_step.py"), "--processes",
                  std::to_string(table.ranks)},
                 options);
      add("PyTorch", script);
      if (table.ranks > 1) add("PyTorch ZeRO-1", joined(script, {"--zero"}));
    }
  }
  run_in_turn(candidates, table.rounds);
  const auto find = [&](const std::string& name) { return candidates[index.at(name)]; };

  fmt::print("{}: L{} H{} C{} T{} V{}, {} x {} sequences, {} rank{}: milliseconds per iteration\n",
             shape.name, shape.layers, shape.heads, shape.channels, shape.context, shape.vocab,
             table.ranks, shape.batch, table.ranks, table.ranks > 1 ? "s" : "");
  fmt::print("{:16}{:>9}{:>7}{:>9}{:>7}{:>7}{:>9}{:>7}{:>7}{:>8}{:>9}\n", "", "fp32", "/DDP",
             "fp16", "/DDP", "/fp32", "bf16", "/DDP", "/fp32", "trace", "tracker");
  const double tracker = tracker_seconds();
  for (const std::string& stage : kStages) {
    const Candidate fp32 = find(stage + " fp32");
    fmt::print("{:16}{:>9.2f}{:>7.2f}", stage, fp32.seconds() * 1e3, ratio(fp32, find("ddp fp32")));
    for (const std::string dtype : {"fp16", "bf16"}) {
      const Candidate half = find(stage + " " + dtype);
      fmt::print("{:>9.2f}{:>7.2f}{:>7.2f}", half.seconds() * 1e3,
                 ratio(half, find("ddp " + dtype)), ratio(half, fp32));
    }
    const Candidate plain = find(stage + " fp16");
    const double asked = static_cast<double>(allocations_per_iteration(plain.command)) * tracker;
    fmt::print("{:>7.1f}%{:>8.3f}%\n", (ratio(find(stage + " traced"), plain) - 1) * 100,
               asked / plain.seconds() * 100);
  }
  for (const std::string name : {"PyTorch", "PyTorch ZeRO-1"}) {
    if (!index.contains(name)) continue;
    const std::string stage = name == "PyTorch" ? "ddp" : "zero1";
    fmt::print("{:16}{:>9.2f}        {} / this: {:.2f}\n", name, find(name).seconds() * 1e3, stage,
               ratio(find(stage + " fp32"), find(name)));
  }
  fmt::print("\n");
  std::fflush(stdout);
}

}  // namespace zero
