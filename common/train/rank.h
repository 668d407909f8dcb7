// What a stage program is given: one rank's communicator, model, memory and data.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "common/comm/communicator.h"
#include "common/comm/partition.h"
#include "common/device/device.h"
#include "common/device/simulated/virtual_clock.h"
#include "common/memory/buffer.h"
#include "common/model/activations.h"
#include "common/model/model.h"
#include "common/trace/trace.h"
#include "common/train/adamw.h"
#include "common/train/choose_device.h"
#include "common/train/closed_form.h"
#include "common/train/data_loader.h"
#include "common/train/loss_scaler.h"
#include "common/train/options.h"

namespace zero {

class Report;
struct RankRecord;

// Lives in one thread; nothing in it is shared but the transport and the (constant) model and data.
class Rank {
 public:
  // `host` reaches the other ranks; tensors take the way that `plan` says.
  Rank(const Options& options, const DevicePlan& plan, const Model& model, const Dataset& dataset,
       const ClosedForm& form, Transport& host);
  ~Rank();

  const Options& options;
  const Model& model;

 private:
  Place place_;
  MemoryTracker tracker_;
  Trace trace_;
  std::unique_ptr<Report> report_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Transport> transport_;  // null: the host's
  std::unique_ptr<Communicator> communicator_;

 public:
  Communicator& comm;
  Device& device;

  // Memory for the positions `range` of the flat vector, in the training type.
  Buffer allocate(Memory category, std::string_view name, Range range) {
    return device.allocate(category, name, options.dtype, range);
  }

  // This rank's next micro-batch; nothing after the last iteration.
  std::optional<Batch> next_batch();

  // Begins a step: "3. Reduce ...". Its number is the banner's. May be entered again: in ZeRO-2 and
  // ZeRO-3 steps alternate, once per unit.
  void step(std::string_view banner);
  void step(std::string_view banner, const Unit& unit);

  // Ends an iteration. Collective: gathers the mean loss over all ranks and the fingerprint of the
  // whole state, and writes what the options ask for. Throws when two ranks hold the same range
  // with different bits, or two norms.
  void report(double loss, const GradientNorm& norm, View params, const AdamW& optimizer);

  Place& place() { return place_; }
  const MemoryTracker& tracker() const { return tracker_; }
  Trace& trace() { return trace_; }
  const Report& result() const { return *report_; }

 private:
  std::unique_ptr<Device> open_traced_device(const DevicePlan& plan, Transport& host);
  void begin(std::string_view banner, std::string_view unit);
  std::uint64_t combine_fingerprints(View params, const AdamW& optimizer);
  void measure_traffic();
  void finish(View params, const AdamW& optimizer);

  const Dataset& dataset_;
  std::unique_ptr<RankRecord> record_;
  double iteration_began_ = 0;         // on the device's clock, in seconds
  const VirtualClock* virtual_clock_;  // null: time is real
  VirtualClock clock_before_;          // what it said when the iteration began
  double flops_before_ = 0;
  std::int64_t sent_before_ = 0, scalars_before_ = 0;
};

// What one rank runs: `train` on a Rank of its own. An error leaves it with the rank, the
// iteration, the step and the unit in front of its message, and as the last line of its trace.
void run_rank(const Options& options, const DevicePlan& plan, const Model& model,
              const Dataset& dataset, const ClosedForm& form, Transport& transport,
              void (*train)(Rank&));

// Runs `train` on every rank: `--ranks` threads, or the processes of mpirun. Returns the exit
// status: 0; 1: a rank failed; 2: a command line or an input that cannot be used, or a device that
// is too small. `form` is what the stage claims to keep and to send.
int launch(int argc, char** argv, void (*train)(Rank&), const ClosedForm& form);

}  // namespace zero
