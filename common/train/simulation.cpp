// The simulated cluster, as the command line describes it.
#include "common/train/simulation.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <limits>

#include "common/comm/partition.h"
#include "common/memory/bytes.h"
#include "common/model/layout.h"
#include "common/train/options.h"

namespace zero {
namespace {

constexpr const char* kGroup = "The cluster of --device simulated";

// --messages auto sends every message of a run that a CPU could do as well; its trace shows each.
constexpr int kFewRanks = 16;
constexpr std::int64_t kFewParameters = std::int64_t{32} << 20;

template <class Presets>
std::string keys(const Presets& presets) {
  std::string text;
  for (const auto& preset : presets) text += (text.empty() ? "" : ", ") + preset.key;
  return text;
}

template <class Presets>
const auto& find(const Presets& presets, const char* option, const std::string& key) {
  for (const auto& preset : presets) {
    if (preset.key == key) return preset;
  }
  throw UsageError(fmt::format("{} {}: choose one of {}", option, key, keys(presets)));
}

// Sets `number` if something was said: "3.35e12". Positive, or 0 where that is allowed.
void read_number(const char* option, const std::string& text, bool may_be_zero, double& number) {
  if (text.empty()) return;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(number) &&
      (number > 0 || (may_be_zero && number == 0)))
    return;
  throw UsageError(fmt::format("{} {}: write a number {} 0, as 3e-6 or 1.5e12", option, text,
                               may_be_zero ? "not below" : "above"));
}

// "900GB": bytes, or bytes per second.
std::int64_t read_bytes(const char* option, const std::string& text) {
  try {
    const std::int64_t bytes = parse_bytes(text);
    if (bytes > 0) return bytes;
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("{}: {}", option, error.what()));
  }
  throw UsageError(fmt::format("{} {}: must be more than nothing", option, text));
}

void read_link(const char* option, const std::string& key, const std::string& latency,
               const std::string& bandwidth, Link& link) {
  link = find(link_presets(), option, key).link;
  read_number(fmt::format("{}-latency", option).c_str(), latency, true, link.latency);
  if (!bandwidth.empty()) {
    link.bandwidth =
        static_cast<double>(read_bytes(fmt::format("{}-bandwidth", option).c_str(), bandwidth));
  }
}

Hardware read_hardware(const SimulationArguments& a) {
  const NamedGpu& preset = find(gpu_presets(), "--gpu", a.gpu);
  Hardware hardware;
  Gpu& gpu = hardware.gpu = preset.gpu;
  if (!a.gpu_memory.empty()) gpu.memory = read_bytes("--gpu-memory", a.gpu_memory);
  if (!a.gpu_bandwidth.empty())
    gpu.bandwidth = static_cast<double>(read_bytes("--gpu-bandwidth", a.gpu_bandwidth));
  if (!a.gpu_flops.empty()) {
    read_number("--gpu-flops", a.gpu_flops, false, gpu.half_flops);
    gpu.bf16_flops = gpu.half_flops;
  }
  read_number("--gpu-fp32-flops", a.gpu_fp32_flops, false, gpu.fp32_flops);
  read_number("--gpu-launch", a.gpu_launch, true, gpu.launch_seconds);
  if (a.gpus_per_node < 1)
    throw UsageError(fmt::format("--gpus-per-node {}: must be at least 1", a.gpus_per_node));
  hardware.gpus_per_node = a.gpus_per_node;
  read_link("--link", a.link.empty() ? preset.link : a.link, a.link_latency, a.link_bandwidth,
            hardware.link);
  read_link("--network", a.network.empty() ? preset.network : a.network, a.network_latency,
            a.network_bandwidth, hardware.network);
  read_number("--host-latency", a.host_latency, true, hardware.control_seconds);
  return hardware;
}

// Whether collectives take what a formula says.
bool read_messages(const SimulationArguments& a, const Options& options, bool few_parameters) {
  const bool direct = options.collectives == Algorithm::direct;
  if (a.messages != "auto" && a.messages != "each" && a.messages != "closed-form") {
    throw UsageError(
        fmt::format("--messages {}: choose one of auto, each, closed-form", a.messages));
  }
  if (a.representative && a.messages == "each") {
    throw UsageError(
        "--representative: one rank alone has nobody to send messages to; leave --messages each "
        "out");
  }
  if (direct && (a.representative || a.messages == "closed-form")) {
    throw UsageError(
        fmt::format("{}: the closed form is that of the ring; use --collectives ring, or leave it "
                    "out",
                    a.representative ? "--representative" : "--messages closed-form"));
  }
  if (a.representative || a.messages == "closed-form") return true;
  if (direct || a.messages == "each") return false;
  return options.ranks > kFewRanks || !few_parameters;
}

// Virtual time is counted in whole picoseconds, of which 63 bits hold 106 days. So much is an
// iteration at most, added up generously: every step of every ring with its latency and its chunk,
// every product and every byte that is moved several times.
void check_time_is_countable(const Options& o) {
  constexpr double kMostDays = 30;
  const Hardware& h = o.simulation.hardware;
  const double N = static_cast<double>(make_layout(o.model).back().parameters.end);
  const double K = o.ranks, L = o.model.layers + 2;
  const double rows = static_cast<double>(o.batch) / K * o.model.context;
  const double width = static_cast<double>(bytes_of(o.dtype));
  const double row = 40.0 * o.model.channels + o.model.vocab +
                     20.0 * o.model.heads * static_cast<double>(o.model.context);
  const double latency = std::max(h.link.latency, h.network.latency);
  const double bandwidth = std::min(h.link.bandwidth, h.network.bandwidth);
  const double chunk = static_cast<double>(o.chunk > 0 ? o.chunk : o.simulation.chunk) * width;
  const double copies = o.collectives == Algorithm::direct ? K : 1;  // that one rank sends
  const double messages = 4 * (L + K) * K + 4 * copies * N * width / chunk;
  const double seconds =
      4 * N * width / bandwidth + messages * (latency + chunk / bandwidth) +
      20 * N * rows / product_rate(h.gpu, o.dtype) + L * rows * row * 100 / h.gpu.fp32_flops +
      (20 * N + L * rows * row) * 10 / h.gpu.bandwidth + 3 * L * (L + K) * h.control_seconds +
      (L * (100 + 20 * rows * o.model.heads) + messages) * h.gpu.launch_seconds;
  const double days = seconds * o.iterations / 86'400;
  if (days < kMostDays) return;
  const std::string long_time =
      days < 1e6 ? fmt::format("{:.0f} days", days) : "more than a million days";
  throw UsageError(
      fmt::format("--device simulated: on such a cluster this run may take {}, and at most {:.0f} "
                  "days can be counted; use a faster one, fewer --iterations or a smaller model",
                  long_time, kMostDays));
}

}  // namespace

void add_simulation_options(CLI::App& app, SimulationArguments& a) {
  app.add_option("--gpu", a.gpu, keys(gpu_presets()))->group(kGroup);
  app.add_option("--gpu-memory", a.gpu_memory,
                 "80GB (10^9 bytes) or 80GiB (2^30); default: its own")
      ->group(kGroup);
  app.add_option("--gpu-bandwidth", a.gpu_bandwidth, "of its memory, per second: 3.35TB")
      ->group(kGroup);
  app.add_option("--gpu-flops", a.gpu_flops, "16-bit matrix products, FLOP/s: 500e12")
      ->group(kGroup);
  app.add_option("--gpu-fp32-flops", a.gpu_fp32_flops, "everything else, and fp32 products")
      ->group(kGroup);
  app.add_option("--gpu-launch", a.gpu_launch, "seconds that starting a kernel takes")
      ->group(kGroup);
  app.add_option("--gpus-per-node", a.gpus_per_node, "ranks of a node are neighbours")
      ->group(kGroup);
  app.add_option("--link", a.link,
                 "inside a node; default: what its GPU has. One of " + keys(link_presets()))
      ->group(kGroup);
  app.add_option("--link-latency", a.link_latency, "seconds")->group(kGroup);
  app.add_option("--link-bandwidth", a.link_bandwidth, "of one direction, per second: 450GB")
      ->group(kGroup);
  app.add_option("--network", a.network, "between nodes, of the same list")->group(kGroup);
  app.add_option("--network-latency", a.network_latency, "seconds")->group(kGroup);
  app.add_option("--network-bandwidth", a.network_bandwidth, "of one GPU, per second: 25GB")
      ->group(kGroup);
  app.add_option("--host-latency", a.host_latency,
                 "seconds that a scalar takes (a loss, a norm), from host to host")
      ->group(kGroup);
  app.add_option("--messages", a.messages,
                 "each; closed-form: a collective takes what a formula says; auto: each in small "
                 "runs")
      ->group(kGroup);
  app.add_flag("--representative", a.representative,
               "rank 0 alone is simulated and stands for all: quick at any number of ranks")
      ->group(kGroup);
}

void read_simulation(const CLI::App& app, const SimulationArguments& arguments, Options& options) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group() != kGroup || option->count() == 0) continue;
    if (options.device == DeviceKind::simulated) continue;
    throw UsageError(fmt::format("{}: describes a simulated cluster; add --device simulated",
                                 option->get_name()));
  }
  if (options.device != DeviceKind::simulated) return;
  options.simulation.hardware = read_hardware(arguments);
  options.simulation.representative = arguments.representative;
  // Each keeps what all of them gather: memory grows with the square of their number.
  constexpr int kMostOneByOne = 2048;
  if (!arguments.representative && options.ranks > kMostOneByOne) {
    throw UsageError(
        fmt::format("--ranks {}: at most {} are simulated one by one; add --representative: rank 0 "
                    "stands for all",
                    options.ranks, kMostOneByOne));
  }
  const bool few_parameters = make_layout(options.model).back().parameters.end <= kFewParameters;
  options.simulation.closed_form = read_messages(arguments, options, few_parameters);
  options.simulation.chunk = few_parameters ? kChunk : kGpuChunk;
  // Whichever rank overflows, the one that stands for all has to skip.
  if (arguments.representative && options.overflow_rank > 0) options.overflow_rank = 0;
  check_time_is_countable(options);
}

}  // namespace zero
