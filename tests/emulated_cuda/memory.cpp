// The memory of the devices: allocations between guards, filled with NaN, poisoned for the host.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "annotations.h"
#include "emulator.h"

namespace zero::emulator {
namespace {

constexpr std::size_t kAlignment = 256;  // of cudaMalloc, and the size of each guard
constexpr unsigned char kGuard = 0xa5;
constexpr int kNaN = 0xff;  // bytes of which every floating point type makes a NaN

struct Allocation {
  std::size_t bytes = 0;
  int device = 0;
  bool freed = false;  // cudaFreeAsync was called, its turn in the stream has not come
};

// All allocations of all devices. Whoever only looks does not order threads for the thread
// sanitizer: shared locks do not.
struct Table {
  std::shared_mutex mutex;
  std::map<std::uintptr_t, Allocation> allocations;
  std::map<std::uintptr_t, std::size_t> pinned;  // of cudaMallocHost
  std::map<int, std::size_t> used;               // bytes of each device
};
Table& table() {
  static Table* const table = new Table;  // streams may run until the very end of the program
  return *table;
}

// How many kernels and copies are under way: the host may touch device memory only by them.
struct Accesses {
  std::mutex mutex;
  int count = 0;
};
Accesses& accesses() {
  static Accesses* const accesses = new Accesses;
  return *accesses;
}

std::size_t padded(std::size_t bytes) {
  return (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

unsigned char* bytes_at(std::uintptr_t address) {
  return reinterpret_cast<unsigned char*>(address);
}

bool untouched(const unsigned char* from, const unsigned char* to) {
  return std::all_of(from, to, [](unsigned char byte) { return byte == kGuard; });
}

void check_guards(std::uintptr_t address, std::size_t bytes) {
  unsigned char* data = bytes_at(address);
  const unsigned char* end = data + padded(bytes) + kAlignment;
  annotations::unpoison(data - kAlignment, kAlignment);
  annotations::unpoison(data + bytes, static_cast<std::size_t>(end - (data + bytes)));
  if (!untouched(data - kAlignment, data)) {
    fail("something wrote before an allocation of " + std::to_string(bytes) + " bytes");
  }
  if (!untouched(data + bytes, end)) {
    fail("something wrote behind an allocation of " + std::to_string(bytes) + " bytes");
  }
}

// With the table locked.
const Allocation* find(const void* address, std::size_t bytes, int device) {
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  auto found = table().allocations.upper_bound(start);
  if (found == table().allocations.begin()) return nullptr;
  --found;
  const Allocation& allocation = found->second;
  const std::size_t offset = start - found->first;
  const bool inside = offset <= allocation.bytes && bytes <= allocation.bytes - offset;
  const bool right = device < 0 || device == allocation.device;
  return inside && right && !allocation.freed ? &allocation : nullptr;
}

cudaError_t allocate(void** address, std::size_t bytes, int device) {
  *address = nullptr;
  if (bytes == 0) return cudaSuccess;
  const std::unique_lock lock(table().mutex);
  if (bytes > settings().memory - table().used[device]) return cudaErrorMemoryAllocation;
  const std::size_t whole = kAlignment + padded(bytes) + kAlignment;
  auto* memory = static_cast<unsigned char*>(std::aligned_alloc(kAlignment, whole));
  if (memory == nullptr) return cudaErrorMemoryAllocation;
  std::memset(memory, kGuard, whole);
  unsigned char* data = memory + kAlignment;
  std::memset(data, kNaN, bytes);
  {
    // A kernel that runs now has not been given this address yet.
    const std::lock_guard none(accesses().mutex);
    annotations::poison(memory, whole);
    if (accesses().count > 0) annotations::unpoison(data, bytes);
    table().allocations[reinterpret_cast<std::uintptr_t>(data)] = {bytes, device, false};
  }
  table().used[device] += bytes;
  *address = data;
  return cudaSuccess;
}

// Its turn has come: nobody may use it any more.
void release(void* address) {
  const std::unique_lock lock(table().mutex);
  const auto found = table().allocations.find(reinterpret_cast<std::uintptr_t>(address));
  const std::size_t bytes = found->second.bytes;
  {
    const std::lock_guard none(accesses().mutex);
    annotations::unpoison(address, bytes);
    check_guards(found->first, bytes);
    table().used[found->second.device] -= bytes;
    table().allocations.erase(found);
  }
  std::memset(address, kNaN, bytes);
  std::free(static_cast<unsigned char*>(address) - kAlignment);
}

// Marks it; false when there is no such allocation.
bool mark_freed(void* address) {
  const std::unique_lock lock(table().mutex);
  const auto found = table().allocations.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == table().allocations.end() || found->second.freed) return false;
  found->second.freed = true;
  return true;
}

}  // namespace

bool is_device_memory(const void* address, std::size_t bytes, int device) {
  const std::shared_lock lock(table().mutex);
  return find(address, bytes, device) != nullptr;
}

bool is_pinned(const void* address) {
  const std::shared_lock lock(table().mutex);
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  auto found = table().pinned.upper_bound(start);
  if (found == table().pinned.begin()) return false;
  --found;
  return start - found->first < found->second;
}

DeviceAccess::DeviceAccess() {
  if (!annotations::has_poison()) return;
  const std::shared_lock lock(table().mutex);
  const std::lock_guard count(accesses().mutex);
  if (accesses().count++ > 0) return;
  for (const auto& [address, allocation] : table().allocations) {
    annotations::unpoison(bytes_at(address), allocation.bytes);
  }
}

DeviceAccess::~DeviceAccess() {
  if (!annotations::has_poison()) return;
  const std::shared_lock lock(table().mutex);
  const std::lock_guard count(accesses().mutex);
  if (--accesses().count > 0) return;
  for (const auto& [address, allocation] : table().allocations) {
    annotations::poison(bytes_at(address), allocation.bytes);
  }
}

}  // namespace zero::emulator

using namespace zero::emulator;

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
  const cudaError_t error = check_device(current_device());
  if (error != cudaSuccess) return tell(error);
  return tell(allocate(address, bytes, current_device()));
}

cudaError_t cudaFree(void* address) {
  if (address == nullptr) return cudaSuccess;
  finish_device(current_device());
  if (!mark_freed(address)) return tell(cudaErrorInvalidValue);
  release(address);
  return cudaSuccess;
}

cudaError_t cudaMallocAsync(void** address, std::size_t bytes, cudaStream_t stream) {
  const cudaError_t error = check_device(current_device());
  if (error != cudaSuccess) return tell(error);
  if (!is_stream(stream)) return tell(cudaErrorInvalidResourceHandle);
  cudaError_t result = allocate(address, bytes, device_of(stream));
  if (result == cudaErrorMemoryAllocation) {  // what the stream still has to free is for this one
    finish(stream);
    result = allocate(address, bytes, device_of(stream));
  }
  return tell(result);
}

cudaError_t cudaFreeAsync(void* address, cudaStream_t stream) {
  if (address == nullptr) return cudaSuccess;
  if (!is_stream(stream)) return tell(cudaErrorInvalidResourceHandle);
  if (!mark_freed(address)) return tell(cudaErrorInvalidValue);
  enqueue(stream, [address] { release(address); });
  return cudaSuccess;
}

cudaError_t cudaMallocHost(void** address, std::size_t bytes) {
  const cudaError_t error = check_device(current_device());
  if (error != cudaSuccess) return tell(error);
  *address = nullptr;
  if (bytes == 0) return cudaSuccess;
  *address = std::aligned_alloc(kAlignment, padded(bytes));
  if (*address == nullptr) return tell(cudaErrorMemoryAllocation);
  const std::unique_lock lock(table().mutex);
  table().pinned[reinterpret_cast<std::uintptr_t>(*address)] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* address) {
  if (address == nullptr) return cudaSuccess;
  finish_device(current_device());
  {
    const std::unique_lock lock(table().mutex);
    if (table().pinned.erase(reinterpret_cast<std::uintptr_t>(address)) == 0) {
      return tell(cudaErrorInvalidValue);
    }
  }
  std::free(address);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const cudaError_t error = check_device(current_device());
  if (error != cudaSuccess) return tell(error);
  const std::unique_lock lock(table().mutex);
  *total = settings().memory;
  *free = *total - table().used[current_device()];
  return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  const cudaError_t error = check_device(device);
  if (error != cudaSuccess) return tell(error);
  static char pools[64];  // addresses that nobody reads
  *pool = reinterpret_cast<cudaMemPool_t>(&pools[device]);
  return cudaSuccess;
}

// Memory that was freed is not kept, whatever the threshold.
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  const bool known = attribute == cudaMemPoolAttrReleaseThreshold;
  if (pool == nullptr || value == nullptr || !known) return tell(cudaErrorInvalidValue);
  return cudaSuccess;
}
