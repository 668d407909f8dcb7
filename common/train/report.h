// What a run measured, beside what its formulas say: on screen and as JSON.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/memory/tracker.h"
#include "common/train/closed_form.h"
#include "common/train/loss_scaler.h"
#include "common/train/options.h"

namespace zero {

class Model;

struct IterationRecord {
  int iteration = 0;  // from 0
  double loss = 0;    // mean over all ranks
  std::uint64_t fingerprint = 0;
  GradientNorm norm;
  double seconds = 0;  // of rank 0, from next_batch to report
  // Of rank 0 too, in a simulation: how it spent them, and FLOPs of matrix products.
  double computing_seconds = 0, communicating_seconds = 0, product_flops = 0;
};

// One rank's bytes; a plain value, so that ranks can gather it.
struct RankRecord {
  std::array<std::int64_t, kMemoryCategories> live{};
  std::array<std::int64_t, kMemoryCategories> peak{};
  std::int64_t peak_total = 0;
  std::array<char, 120> peak_step{};  // where the total was at its peak
  // Per iteration: the most and the least over the iterations. They are equal: see design of the
  // loss scaler, a skipped iteration sends the same bytes.
  std::int64_t sent = 0, sent_least = INT64_MAX;
  std::int64_t scalars = 0, scalars_least = INT64_MAX;
};

class Report {
 public:
  Report(const Options& options, const Model& model, const ClosedForm& form);

  void add(const IterationRecord& record) { iterations_.push_back(record); }
  void set_ranks(std::vector<RankRecord> ranks) { ranks_ = std::move(ranks); }
  const std::vector<IterationRecord>& iterations() const { return iterations_; }
  const std::vector<RankRecord>& ranks() const { return ranks_; }
  const ClosedFormBytes& closed_form() const { return closed_form_; }

  // For standard output. Nothing in them depends on time: the same command prints the same bits.
  std::string heading() const;
  std::string line(const IterationRecord& record) const;
  std::string summary() const;  // memory and traffic, measured and closed form

  bool none_accepted() const;  // every iteration was skipped
  double median_seconds() const;
  void write_json(const std::string& path) const;  // std::runtime_error when it cannot be written

 private:
  bool simulated() const { return options_.device == DeviceKind::simulated; }
  // What the last iteration took, for the summary of a simulation.
  std::string simulated_time() const;
  std::string json() const;

  const Options& options_;
  std::int64_t num_parameters_;
  std::int64_t padded_parameters_;
  ClosedFormBytes closed_form_;
  std::vector<IterationRecord> iterations_;
  std::vector<RankRecord> ranks_;
};

// Writes `content` beside `path` first and then renames, so that `path` is never half written; what
// is no regular file (a pipe, /dev/stdout) is written to as it is. std::runtime_error when it
// fails.
void write_file(const std::string& path, const std::string& content);

std::string options_json(const Options& options);
std::string closed_form_json(const ClosedFormBytes& bytes);

}  // namespace zero
