// What the command line decides; the same in every program.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/comm/communicator.h"
#include "common/memory/dtype.h"
#include "common/memory/tracker.h"
#include "common/model/config.h"
#include "common/train/simulation.h"

namespace zero {

// Where the ranks compute. `automatic` (--device auto) becomes one of the others before they begin.
enum class DeviceKind { cpu, cuda, simulated, automatic };
std::string_view to_string(DeviceKind kind);  // "cpu", "cuda", "simulated", "auto"

struct Options {
  std::string program;  // "zero2": argv[0] without its folder
  int ranks = 4;
  Dtype dtype = Dtype::fp16;
  Algorithm collectives = Algorithm::ring;
  DeviceKind device = DeviceKind::cpu;
  Simulation simulation;   // of --device simulated
  std::int64_t chunk = 0;  // elements of a message; 0: what suits the transport
  ModelConfig model;
  std::string model_note;  // of --model: "llama3-8b: approximates ..."; one line
  int batch = 120;         // sequences per iteration, over all ranks
  int iterations = 20;
  double learning_rate = 1e-3;
  int warmup = 5;             // iterations of linear warm-up
  double clip = 1.0;          // global norm; 0: no clipping
  double weight_decay = 0.1;  // of matrices
  double loss_scale = 65536;  // the first; fp16 only
  int loss_scale_window = 1000;
  std::uint64_t seed = 1;
  std::string data;  // empty: the text that the project ships
  bool fp32_grads = false;
  std::int64_t memory_budget = MemoryTracker::kUnlimited;  // bytes per rank
  int threads = 1;                                         // per rank
  std::string trace;                                       // directory; empty: no trace
  int trace_iterations = 3;                                // 0: all
  std::vector<int> trace_ranks;                            // those that are traced; empty: all
  bool trace_values = false;
  std::string json, save, save_initial, dump_state;  // empty: not written
  bool quiet = false;
  bool fill_nan = false;   // debugging: fill fresh and freed memory with NaN
  int overflow_rank = -1;  // --overflow-at RANK:ITERATION
  int overflow_iteration = -1;
  double timeout = 300;  // seconds that a rank waits for another

  int optimizer_bytes_per_parameter() const {  // M
    return dtype == Dtype::fp32 ? 8 : fp32_grads ? 16 : 12;
  }
};

// Thrown for a command line or an input file that cannot be used: one line that says what to do.
// The programs print it and exit with 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What parse decided: run, or (after --help and --version) stop at once with this status.
struct Parsed {
  Options options;
  bool stop = false;
  int status = 0;
};

// Reads the command line. `mpi_processes` is 0 when this is not an MPI run: then --ranks threads.
// Under MPI the ranks are the processes; another --ranks is an error. Throws UsageError.
// Checks everything that can be known without reading the data.
Parsed parse_options(int argc, const char* const* argv, int mpi_processes);

// Throws UsageError when nothing has collectives of its own that these ranks could use.
// `no_gpu`: why --device auto chose the CPU, if it did.
void check_collectives(const Options& options, bool mpi, const std::string& no_gpu = "");

}  // namespace zero
