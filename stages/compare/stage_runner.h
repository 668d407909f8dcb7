// Runs one stage program after the other and reads what each measured.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stages/compare/options.h"
#include "stages/compare/process.h"
#include "stages/compare/stage_result.h"

namespace zero {

// An empty folder of this program's own, removed at the end with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct StageRun {
  std::string stage;
  std::vector<std::string> command;  // for the user to repeat: without compare's temporary files
  int status = 0;
  std::string errors;                 // what it wrote to standard error, or what is wrong with it
  std::optional<StageResult> result;  // when it succeeded
  nlohmann::json json;                // the same, as it was written
};

class StageRunner {
 public:
  // Both must outlive it.
  StageRunner(const CompareOptions& options, const ProcessRunner& processes)
      : options_(options), processes_(processes) {}

  // `arguments` are the stage's; `what` is said in front of the progress on standard error. What
  // the stage writes to standard error is in the result; when it succeeds its warnings are passed
  // on. On which device it runs is no error: that is told once for all stages that say the same.
  StageRun run(const std::string& stage, const std::vector<std::string>& launcher,
               const std::vector<std::string>& arguments, const std::string& what) const;

  // A folder for what a stage is told to write; unique for each name.
  std::string place(const std::string& name) const { return (folder_.path() / name).string(); }

 private:
  void tell_notices(StageRun& run) const;

  const CompareOptions& options_;
  const ProcessRunner& processes_;
  mutable std::set<std::string> told_;  // notices
  TemporaryFolder folder_;
};

// For one that failed: its message and what to type to see it alone. Several lines.
std::string describe_failure(const StageRun& run);

}  // namespace zero
