// What a simulated cluster is made of: GPUs, links between them, and how long work takes there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/device/simulated/virtual_clock.h"
#include "common/memory/dtype.h"

namespace zero {

// The numbers of a data sheet. GB are 10^9 bytes.
struct Gpu {
  std::string name;         // "H100"
  std::int64_t memory = 0;  // bytes
  double bandwidth = 0;     // of its memory, bytes per second
  double half_flops = 0;    // dense matrix products per second in fp16, and in bf16 where it can
  double bf16_flops = 0;
  double fp32_flops = 0;      // matrix products and everything else in fp32
  double launch_seconds = 0;  // what starting a kernel costs
};

// One direction of a link between two GPUs.
struct Link {
  std::string name;      // "NVLink 4"
  double latency = 0;    // seconds
  double bandwidth = 0;  // bytes per second
};

// GPU r is in node r / gpus_per_node; the last node may have fewer.
struct Hardware {
  Gpu gpu;
  Link link;     // between two GPUs of a node
  Link network;  // between two GPUs of different nodes
  int gpus_per_node = 8;
  // Control messages and scalars (losses, norms) travel through the hosts: so long each, wherever
  // the ranks are.
  double control_seconds = 5e-6;

  const Link& between(int from, int to) const {
    return from / gpus_per_node == to / gpus_per_node ? link : network;
  }
};

// The presets by their names on the command line, in the order in which --help lists them.
struct NamedGpu {
  std::string key;  // "h100"
  Gpu gpu;
  std::string link, network;  // the keys of the links such machines usually have
};
struct NamedLink {
  std::string key;  // "nvlink4"
  Link link;
};
const std::vector<NamedGpu>& gpu_presets();
const std::vector<NamedLink>& link_presets();

// What an operator asks of a GPU.
struct Cost {
  double product_flops = 0;  // of matrix products: at the rate of the type they multiply
  double flops = 0;          // all others: fp32
  double bytes = 0;          // read and written
  int launches = 1;          // kernels
};

// Matrix products per second of this type, in FLOP/s.
double product_rate(const Gpu& gpu, Dtype dtype);

// max(FLOPs / rate, bytes / bandwidth) + what starting its kernels costs: the roofline of Williams,
// Waterman and Patterson (2009).
Picoseconds time_of(const Cost& cost, Dtype dtype, const Gpu& gpu);

// latency + bytes / bandwidth; and the second part alone.
Picoseconds transfer_time(const Link& link, std::int64_t bytes);
Picoseconds wire_time(const Link& link, std::int64_t bytes);

Picoseconds to_picoseconds(double seconds);

// What the collectives ask for, of `size` elements of the wire type.
Cost add_cost(std::int64_t size, Dtype dtype);            // Device::add
Cost copy_cost(std::int64_t size, Dtype from, Dtype to);  // Device::copy

}  // namespace zero
