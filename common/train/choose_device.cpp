// Asks every process for its GPU, and decides.
#include "common/train/choose_device.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <span>
#include <string_view>

#include "common/comm/world.h"
#include "common/memory/bytes.h"
#include "common/train/gpu.h"

namespace zero {
namespace {

// What one rank can work on. A plain value, so that processes can send it to each other.
struct Seat {
  std::array<char, 400> missing{};  // why there is no GPU; empty: there is
  std::array<char, 80> machine{};   // its name
  std::array<char, 48> boot{};      // and what tells it from another of that name
  std::array<char, 40> bus_id{};    // of the GPU, in the machine
  std::int64_t memory = 0;
  std::int32_t gpu = 0;
  std::int32_t nccl = 0;

  bool same_machine(const Seat& other) const {
    return machine == other.machine && boot == other.boot;
  }
  bool same_gpu(const Seat& other) const { return same_machine(other) && bus_id == other.bus_id; }
};

template <std::size_t size>
void put(std::array<char, size>& field, std::string_view text) {
  field = {};
  text.copy(field.data(), size - 1);
}

Seat seat_of(int local_rank) {
  Seat seat;
  gethostname(seat.machine.data(), seat.machine.size() - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  put(seat.boot, boot);
  try {
    GpuModule& module = gpu_module();
    seat.gpu = local_rank % module.count();
    seat.memory = module.memory_bytes(seat.gpu);
    seat.nccl = module.has_nccl();
    put(seat.bus_id, module.bus_id(seat.gpu));
  } catch (const std::exception& error) {  // above all NoGpu
    put(seat.missing, error.what());
  }
  return seat;
}

// By rank.
std::vector<Seat> all_seats(int ranks, bool mpi) {
  std::vector<Seat> seats(static_cast<std::size_t>(ranks));
  if (mpi) {
    const Seat mine = seat_of(mpi_local_rank());
    mpi_all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(seats)));
  } else {
    for (int rank = 0; rank < ranks; ++rank) seats[static_cast<std::size_t>(rank)] = seat_of(rank);
  }
  return seats;
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Why the GPUs cannot be used, or nothing. Where only some ranks have none, the first of them is
// named.
std::string what_is_missing(const std::vector<Seat>& seats) {
  const auto has_none = [](const Seat& seat) { return seat.missing[0] != 0; };
  const auto first = std::find_if(seats.begin(), seats.end(), has_none);
  if (first == seats.end()) return "";
  if (std::all_of(seats.begin(), seats.end(), has_none)) return first->missing.data();
  return fmt::format("rank {} ({}): {}", first - seats.begin(), first->machine.data(),
                     first->missing.data());
}

// "4 ranks on 4 GPUs", "4 ranks share 2 GPUs"
std::string where_they_sit(const DevicePlan& plan, const std::vector<Seat>& seats) {
  std::set<std::string> machines, gpus;
  for (const Seat& seat : seats) {
    const std::string machine = fmt::format("{} {}", seat.machine.data(), seat.boot.data());
    machines.insert(machine);
    gpus.insert(fmt::format("{} {}", machine, seat.bus_id.data()));
  }
  std::string text = fmt::format("{} {} {}", counted(seats.size(), "rank"),
                                 plan.shared ? "share" : "on", counted(gpus.size(), "GPU"));
  if (machines.size() > 1) text += fmt::format(" of {} machines", machines.size());
  return text;
}

const char* how_they_speak(const DevicePlan& plan) {
  if (plan.nccl) return "NCCL";
  return plan.shared ? "which NCCL refuses: tensors travel through the host"
                     : "built without NCCL: tensors travel through the host";
}

void check_library(const DevicePlan& plan, const std::vector<Seat>& seats) {
  if (plan.nccl) return;
  if (plan.shared) {
    throw UsageError(
        fmt::format("--collectives library: NCCL needs a GPU for each rank, and here {}; use ring "
                    "or direct, or fewer ranks",
                    where_they_sit(plan, seats)));
  }
  throw UsageError(
      "--collectives library: this program was built without NCCL; use ring or direct");
}

// "device: simulated; 64 x H100, 80 GB each, in 8 nodes; NVLink 4 inside, InfiniBand NDR between;
// every message is simulated"
DevicePlan simulated_plan(const Options& options) {
  const Hardware& hardware = options.simulation.hardware;
  const int per_node = std::min(hardware.gpus_per_node, options.ranks);
  const int nodes = (options.ranks + per_node - 1) / per_node;
  DevicePlan plan;
  plan.kind = DeviceKind::simulated;
  plan.memory = hardware.gpu.memory;
  plan.notice = fmt::format("device: simulated; {} x {} with {} each", with_commas(options.ranks),
                            hardware.gpu.name, format_bytes(hardware.gpu.memory));
  const auto described = [](const Link& link) {
    return fmt::format("{} ({:.4g} GB/s, {:.3g} us)", link.name, link.bandwidth / 1e9,
                       link.latency * 1e6);
  };
  if (per_node > 1) plan.notice += fmt::format("; {} inside a node", described(hardware.link));
  if (nodes > 1)
    plan.notice +=
        fmt::format("; {} between {} nodes", described(hardware.network), with_commas(nodes));
  plan.notice +=
      options.simulation.closed_form ? "; collectives in closed form" : "; message by message";
  if (options.simulation.representative) plan.notice += "; rank 0 stands for all";
  return plan;
}

}  // namespace

DevicePlan choose_device(const Options& options, bool mpi) {
  DevicePlan plan;
  if (options.device == DeviceKind::cpu) return plan;
  if (options.device == DeviceKind::simulated) return simulated_plan(options);
  const std::vector<Seat> seats = all_seats(options.ranks, mpi);
  const std::string missing = what_is_missing(seats);
  if (!missing.empty()) {
    if (options.device == DeviceKind::cuda)
      throw UsageError(fmt::format("--device cuda: {}; use --device cpu", missing));
    plan.no_gpu = missing;
    plan.notice = fmt::format("device: the CPU; {}", missing);
    return plan;
  }
  plan.kind = DeviceKind::cuda;
  plan.nccl = true;
  for (const Seat& seat : seats) {
    const auto here = std::count_if(seats.begin(), seats.end(),
                                    [&](const Seat& other) { return seat.same_gpu(other); });
    plan.gpus.push_back(seat.gpu);
    plan.shared = plan.shared || here > 1;
    plan.nccl = plan.nccl && here == 1 && seat.nccl;
    if (plan.memory == 0 || seat.memory / here < plan.memory / plan.ranks_in_memory) {
      plan.memory = seat.memory;
      plan.ranks_in_memory = static_cast<int>(here);
    }
  }
  if (options.collectives == Algorithm::library) check_library(plan, seats);
  if (!mpi || mpi_rank() == 0) {
    plan.notice = fmt::format("device: {} ({}, {})", gpu_module().describe(seats[0].gpu),
                              where_they_sit(plan, seats), how_they_speak(plan));
  }
  return plan;
}

}  // namespace zero
