// The CPU device's memory: taken from the operating system and really given back.
#include "common/device/cpu/cpu_device.h"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "common/device/check.h"
#include "common/device/cpu/gemm.h"

namespace zero {
namespace {

constexpr std::int64_t kAlignment = 256;
constexpr std::int64_t kPage = 64 << 10;  // a multiple of every system's page
constexpr std::int64_t kHugePage = 2 << 20;
// From here on a block is a mapping of its own: released memory is no longer the process's. Smaller
// blocks come and go with every unit; the C library keeps their pages for the next one, since a
// page that is new costs a fault and is zeroed.
constexpr std::int64_t kLarge = 32 << 20;

std::int64_t round_up(std::int64_t bytes, std::int64_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

std::int64_t mapped_bytes(std::int64_t bytes, std::int64_t offset) {
  return round_up(bytes + offset, kPage);
}

[[noreturn]] void throw_out_of_memory() {
  throw OutOfMemory("the operating system has no memory left");
}

// Aligned to a huge page, so that the kernel can use them: fewer page faults, fewer TLB misses.
std::byte* map_pages(std::int64_t bytes) {
  const std::int64_t spare = kHugePage;
  void* mapping = mmap(nullptr, static_cast<std::size_t>(bytes + spare), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw_out_of_memory();
  std::byte* const base = static_cast<std::byte*>(mapping);
  const std::int64_t address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(base));
  const std::int64_t before = round_up(address, kHugePage) - address;
  const std::int64_t after = spare - before;
  if (before > 0) munmap(base, static_cast<std::size_t>(before));
  if (after > 0) munmap(base + before + bytes, static_cast<std::size_t>(after));
  madvise(base + before, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
  return base + before;
}

}  // namespace

CpuDevice::CpuDevice(MemoryTracker& tracker, HeapObserver* observer, bool fill_nan, int rank,
                     int threads)
    : Device(tracker, observer, fill_nan, rank), workers_(threads, one_blas_thread) {}

CpuDevice::~CpuDevice() { workspace_.release(); }

std::byte* CpuDevice::take(std::int64_t bytes, std::int64_t offset) {
  if (bytes >= kLarge) return map_pages(mapped_bytes(bytes, offset)) + offset;
  const std::int64_t size = round_up(bytes + offset + 1, kAlignment);
  void* const block = std::aligned_alloc(kAlignment, static_cast<std::size_t>(size));
  if (block == nullptr) throw_out_of_memory();
  return static_cast<std::byte*>(block) + offset;
}

void CpuDevice::give_back(std::byte* data, std::int64_t bytes, std::int64_t offset) {
  if (bytes >= kLarge) {
    munmap(data - offset, static_cast<std::size_t>(mapped_bytes(bytes, offset)));
  } else {
    std::free(data - offset);
  }
}

void CpuDevice::fill(std::byte* data, std::int64_t bytes, std::uint16_t pattern) {
  std::fill_n(reinterpret_cast<std::uint16_t*>(data), bytes / 2, pattern);
}

void CpuDevice::download(View from, std::span<std::byte> to) {
  check_shape("download", from.bytes().size() == to.size(), "sizes in bytes differ");
  std::copy_n(from.data(), to.size(), to.data());
}

void CpuDevice::upload(std::span<const std::byte> from, View to) {
  check_shape("upload", from.size() == to.bytes().size(), "sizes in bytes differ");
  std::copy_n(from.data(), from.size(), to.data());
}

float* CpuDevice::workspace(std::int64_t size) {
  if (size == 0) return nullptr;
  if (workspace_.empty() || workspace_.view().size() < size) {
    workspace_.release();
    workspace_ = allocate(Memory::workspace, "workspace", Dtype::fp32, size);
  }
  return workspace_.view().as<float>();
}

void CpuDevice::use_one_blas_thread() {
  if (blas_thread_ == std::this_thread::get_id()) return;
  one_blas_thread();
  blas_thread_ = std::this_thread::get_id();
}

std::unique_ptr<Device> make_cpu_device(MemoryTracker& tracker, HeapObserver* observer,
                                        bool fill_nan, int rank, int threads) {
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_TRIM_THRESHOLD, 2 * kLarge);
  return std::make_unique<CpuDevice>(tracker, observer, fill_nan, rank, threads);
}

}  // namespace zero
