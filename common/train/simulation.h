// The options of --device simulated: which cluster it is, and how closely it is followed.
#pragma once

#include <cstdint>
#include <string>

#include "common/device/simulated/hardware.h"

namespace CLI {
class App;
}

namespace zero {

struct Options;

struct Simulation {
  Hardware hardware;
  // Rank 0 alone is run and stands for all, which do the same work.
  bool representative = false;
  // A collective takes what a formula says (RingTime); otherwise every message is sent.
  bool closed_form = false;
  // Elements of a message: as on a CPU for a model that one could train, as between GPUs for a
  // larger one.
  std::int64_t chunk = 0;
};

// What the command line said, before it is understood.
struct SimulationArguments {
  std::string gpu = "h100";
  std::string gpu_memory, gpu_bandwidth, gpu_flops, gpu_fp32_flops, gpu_launch;
  int gpus_per_node = 8;
  std::string link, link_latency, link_bandwidth;
  std::string network, network_latency, network_bandwidth, host_latency;
  std::string messages = "auto";  // auto, each, closed-form
  bool representative = false;
};

// `arguments` must outlive the parsing.
void add_simulation_options(CLI::App& app, SimulationArguments& arguments);

// Understands them: options.simulation. Throws UsageError: an unknown name, a number that is none,
// or any of these options without --device simulated.
void read_simulation(const CLI::App& app, const SimulationArguments& arguments, Options& options);

}  // namespace zero
