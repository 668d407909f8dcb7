// Launches: their arguments and shapes are checked, and their blocks dealt out to the workers.
// Compiled without sanitizers, as the scheduler is.
#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "scheduler.h"
#include "streams.h"

namespace zero::emulator {
namespace {

// The kernel's name where it has one that can be seen; otherwise where it lies, for addr2line.
std::string name_of(const void* kernel) {
  Dl_info found{};
  if (dladdr(kernel, &found) == 0 || found.dli_fname == nullptr) return "a kernel";
  if (found.dli_sname != nullptr && found.dli_saddr == kernel) {
    int status = 0;
    char* readable = abi::__cxa_demangle(found.dli_sname, nullptr, nullptr, &status);
    const std::string name = status == 0 ? readable : found.dli_sname;
    std::free(readable);
    return "kernel " + name;
  }
  char offset[32];
  std::snprintf(offset, sizeof offset, "%#zx",
                static_cast<std::size_t>(static_cast<const char*>(kernel) -
                                         static_cast<const char*>(found.dli_fbase)));
  return std::string("the kernel at ") + found.dli_fname + "+" + offset;
}

std::string describe(dim3 shape) {
  return std::to_string(shape.x) + " x " + std::to_string(shape.y) + " x " +
         std::to_string(shape.z);
}

void check_shape(const cudaLaunchConfig_t& shape, const void* kernel) {
  const dim3 grid = shape.gridDim, block = shape.blockDim;
  const std::size_t threads = std::size_t{block.x} * block.y * block.z;
  if (threads < 1 || threads > 1024 || block.z > 64) {
    fail(name_of(kernel) + ": a block of " + describe(block) + " threads; 1 to 1024 are possible");
  }
  if (grid.x < 1 || grid.x > 0x7fffffffu || grid.y < 1 || grid.y > 65535 || grid.z < 1 ||
      grid.z > 65535) {
    fail(name_of(kernel) + ": a grid of " + describe(grid) +
         " blocks; at least 1, and at most 2147483647 x 65535 x 65535 are possible");
  }
  if (shape.dynamicSmemBytes != 0) fail(name_of(kernel) + ": dynamic shared memory");
  if (shape.numAttrs != 0) fail(name_of(kernel) + ": launch attributes");
  if (device_of(shape.stream) != current_device()) {
    fail(name_of(kernel) + ": the stream is of device " + std::to_string(device_of(shape.stream)) +
         ", the current device is " + std::to_string(current_device()));
  }
}

std::vector<unsigned> block_order(std::size_t blocks, std::minstd_rand& random) {
  std::vector<unsigned> order(blocks);
  std::iota(order.begin(), order.end(), 0u);
  if (settings().order == Order::reverse) std::reverse(order.begin(), order.end());
  if (settings().order == Order::random) std::shuffle(order.begin(), order.end(), random);
  return order;
}

}  // namespace

void check_argument(const void* kernel, int argument, const void* pointer) {
  if (pointer == nullptr || is_device_memory(pointer, 1)) return;
  char address[32];
  std::snprintf(address, sizeof address, "%p", pointer);
  fail(name_of(kernel) + ": argument " + std::to_string(argument) + " is " + address +
       ", which is no memory of device " + std::to_string(current_device()));
}

cudaError_t launch(const cudaLaunchConfig_t& shape, const void* kernel,
                   std::function<void()> thread) {
  if (const cudaError_t error = check_device(current_device()); error != cudaSuccess) {
    return tell(error);
  }
  if (!is_stream(shape.stream)) return tell(cudaErrorInvalidResourceHandle);
  check_shape(shape, kernel);
  enqueue(shape.stream, [grid = shape.gridDim, block = shape.blockDim, thread = std::move(thread)] {
    run_grid(grid, block, thread);
  });
  return cudaSuccess;
}

void run_grid(dim3 grid, dim3 block, const std::function<void()>& thread) {
  const std::shared_lock at_work(kernels());
  const DeviceAccess access;
  const int threads = static_cast<int>(block.x * block.y * block.z);
  std::minstd_rand random(settings().seed + 1);
  const std::vector<unsigned> order = block_order(std::size_t{grid.x} * grid.y * grid.z, random);
  const std::size_t workers = std::min<std::size_t>(settings().workers, order.size());

  const auto work = [&](std::size_t worker) {
    std::minstd_rand own_random(settings().seed + 1 + static_cast<unsigned>(worker));
    gridDim = grid;
    blockDim = block;
    for (std::size_t i = worker; i < order.size(); i += workers) {
      const unsigned plane = order[i] / grid.x;
      blockIdx = {order[i] % grid.x, plane % grid.y, plane / grid.y};
      run_block(threads, block, thread, own_random);
    }
  };
  if (workers == 1) return work(0);
  std::vector<std::thread> side_by_side;
  for (std::size_t i = 0; i < workers; ++i) side_by_side.emplace_back(work, i);
  for (std::thread& one : side_by_side) one.join();
}

}  // namespace zero::emulator
