// Runs of the stage programs for tests of the visualizer: traced into a temporary folder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/files.h"
#include "tests/support/stage.h"
#include "visualizer/view/session.h"

namespace zero {

// One run of each of `stages` on the same work; the traces live as long as this.
class TracedRuns {
 public:
  TracedRuns(const std::vector<std::string>& stages, Work work, bool values = false)
      : stages_(stages) {
    for (const std::string& stage : stages_) {
      Work traced = work;
      traced.more.insert(traced.more.end(), {"--trace", directory(stage)});
      if (values) traced.more.push_back("--trace-values");
      run_stage(stage, traced);
    }
  }

  std::string directory(const std::string& stage) const { return folder_ / stage; }
  std::vector<std::shared_ptr<const replay::Run>> open(
      replay::Order order = replay::Order::logical) const {
    std::vector<std::shared_ptr<const replay::Run>> runs;
    for (const std::string& stage : stages_)
      runs.push_back(replay::Run::open(directory(stage), order));
    return runs;
  }
  view::Session session() const { return view::Session(open()); }

 private:
  TemporaryFolder folder_;
  std::vector<std::string> stages_;
};

}  // namespace zero
