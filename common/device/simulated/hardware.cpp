// Data sheets of GPUs and links, and the roofline.
#include "common/device/simulated/hardware.h"

#include <algorithm>
#include <cmath>

namespace zero {
namespace {

constexpr double kGB = 1e9, kTB = 1e12, kTera = 1e12, kMicro = 1e-6;

// From the call of the launch to the kernel's start about 2 to 5 us pass on each of these GPUs; the
// programs here wait for no kernel, but most of theirs are too short to hide the next one's launch.
constexpr double kLaunch = 3 * kMicro;

// What NCCL itself expects of a step of its ring (src/graph/tuning.cc of NCCL 2.18 and later, the
// table hwLat, row Ring, protocol Simple): over NVLink, over PCIe, and over the network.
constexpr double kNvlinkLatency = 3.4 * kMicro;
constexpr double kPcieLatency = 5.7 * kMicro;
constexpr double kNetworkLatency = 14 * kMicro;

Gpu make_v100() {
  // NVIDIA V100 data sheet (January 2020), column SXM2, 32 GB.
  Gpu gpu;
  gpu.name = "V100";
  gpu.memory = std::int64_t{32} * 1'000'000'000;
  gpu.bandwidth = 900 * kGB;
  gpu.half_flops = 125 * kTera;
  gpu.bf16_flops = 15.7 * kTera;  // its tensor cores know no bf16: as fp32
  gpu.fp32_flops = 15.7 * kTera;
  gpu.launch_seconds = kLaunch;
  return gpu;
}

Gpu make_a100() {
  // NVIDIA A100 data sheet (June 2021), column 80GB SXM. Its TF32 (156 TFLOPS) is not fp32, and the
  // programs do not ask for it.
  Gpu gpu;
  gpu.name = "A100";
  gpu.memory = std::int64_t{80} * 1'000'000'000;
  gpu.bandwidth = 2039 * kGB;
  gpu.half_flops = 312 * kTera;
  gpu.bf16_flops = 312 * kTera;
  gpu.fp32_flops = 19.5 * kTera;
  gpu.launch_seconds = kLaunch;
  return gpu;
}

Gpu make_h100() {
  // NVIDIA H100 data sheet (2023), column SXM: 1,979 TFLOPS "with sparsity", so half of it dense.
  Gpu gpu;
  gpu.name = "H100";
  gpu.memory = std::int64_t{80} * 1'000'000'000;
  gpu.bandwidth = 3.35 * kTB;
  gpu.half_flops = 989.5 * kTera;
  gpu.bf16_flops = 989.5 * kTera;
  gpu.fp32_flops = 67 * kTera;
  gpu.launch_seconds = kLaunch;
  return gpu;
}

Gpu make_h200() {
  // NVIDIA H200 data sheet (2023), column SXM: the H100 with more and faster memory.
  Gpu gpu = make_h100();
  gpu.name = "H200";
  gpu.memory = std::int64_t{141} * 1'000'000'000;
  gpu.bandwidth = 4.8 * kTB;
  return gpu;
}

}  // namespace

const std::vector<NamedGpu>& gpu_presets() {
  // The links are those of NVIDIA's own machines: DGX-2 (V100; EDR), DGX A100 (HDR), DGX H100 and
  // DGX H200 (NDR).
  static const std::vector<NamedGpu> kPresets = {
      {"v100", make_v100(), "nvlink2", "edr"},
      {"a100", make_a100(), "nvlink3", "hdr"},
      {"h100", make_h100(), "nvlink4", "ndr"},
      {"h200", make_h200(), "nvlink4", "ndr"},
  };
  return kPresets;
}

const std::vector<NamedLink>& link_presets() {
  static const std::vector<NamedLink> kPresets = {
      // All of a GPU's links together. The data sheets name 300, 600 and 900 GB/s for the V100, the
      // A100 and the H100: both directions, so half of it in one.
      {"nvlink2", {"NVLink 2", kNvlinkLatency, 150 * kGB}},
      {"nvlink3", {"NVLink 3", kNvlinkLatency, 300 * kGB}},
      {"nvlink4", {"NVLink 4", kNvlinkLatency, 450 * kGB}},
      // 16 lanes. The same data sheets name 32 GB/s (V100), 64 GB/s (A100) and 128 GB/s (H100) for
      // both directions.
      {"pcie3", {"PCIe 3.0 x16", kPcieLatency, 16 * kGB}},
      {"pcie4", {"PCIe 4.0 x16", kPcieLatency, 32 * kGB}},
      {"pcie5", {"PCIe 5.0 x16", kPcieLatency, 64 * kGB}},
      // One adapter for each GPU. InfiniBand Trade Association, InfiniBand roadmap: four lanes of
      // EDR, HDR and NDR carry 100, 200 and 400 Gbit/s in one direction.
      {"edr", {"InfiniBand EDR", kNetworkLatency, 12.5 * kGB}},
      {"hdr", {"InfiniBand HDR", kNetworkLatency, 25 * kGB}},
      {"ndr", {"InfiniBand NDR", kNetworkLatency, 50 * kGB}},
  };
  return kPresets;
}

Picoseconds to_picoseconds(double seconds) { return std::llround(seconds * kPicosecondsPerSecond); }

double product_rate(const Gpu& gpu, Dtype dtype) {
  if (dtype == Dtype::fp16) return gpu.half_flops;
  if (dtype == Dtype::bf16) return gpu.bf16_flops;
  return gpu.fp32_flops;
}

Picoseconds time_of(const Cost& cost, Dtype dtype, const Gpu& gpu) {
  const double computing =
      cost.product_flops / product_rate(gpu, dtype) + cost.flops / gpu.fp32_flops;
  const double moving = cost.bytes / gpu.bandwidth;
  return to_picoseconds(std::max(computing, moving) + cost.launches * gpu.launch_seconds);
}

Picoseconds wire_time(const Link& link, std::int64_t bytes) {
  return to_picoseconds(static_cast<double>(bytes) / link.bandwidth);
}

Picoseconds transfer_time(const Link& link, std::int64_t bytes) {
  return to_picoseconds(link.latency) + wire_time(link, bytes);
}

// Reads two, writes one; an addition and a division for each element.
Cost add_cost(std::int64_t size, Dtype dtype) {
  const double n = static_cast<double>(size);
  return {.flops = 2 * n, .bytes = 3 * n * static_cast<double>(bytes_of(dtype))};
}

// Reads one, writes one.
Cost copy_cost(std::int64_t size, Dtype from, Dtype to) {
  const double width = static_cast<double>(bytes_of(from) + bytes_of(to));
  return {.bytes = static_cast<double>(size) * width};
}

}  // namespace zero
