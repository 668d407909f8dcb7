// The CUDA device's memory, stream and copies.
#include "common/device/cuda/cuda_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "common/device/check.h"
#include "common/device/cuda/cuda_check.h"
#include "common/memory/bytes.h"

namespace zero {
namespace {

// cuBLAS's own recommendation for GPUs before Hopper; fixed, since with another size it may choose
// another algorithm, and so other bits.
constexpr std::int64_t kBlasWorkspace = 4 << 20;

// How long a wait looks at the stream without a pause, for how long it then lets others run between
// two looks, and how long it sleeps between them after that; and how often it calls the watch.
constexpr auto kPatience = std::chrono::microseconds(200), kImpatience = kPatience * 50;
constexpr auto kSleep = std::chrono::microseconds(50);
constexpr auto kWatchEvery = std::chrono::milliseconds(1);

[[noreturn]] void throw_out_of_memory() {
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  throw OutOfMemory(fmt::format("the GPU has no memory left: of its {} only {} are free",
                                format_bytes(static_cast<std::int64_t>(total)),
                                format_bytes(static_cast<std::int64_t>(free))));
}

// Memory that was given back stays with the process for its next allocation: asking the driver each
// time would cost more than most kernels do.
void keep_released_memory(int gpu) {
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, gpu), "cudaDeviceGetDefaultMemPool");
  std::uint64_t threshold = UINT64_MAX;
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold),
        "cudaMemPoolSetAttribute");
}

}  // namespace

CudaDevice::CudaDevice(MemoryTracker& tracker, HeapObserver* observer, bool fill_nan, int rank,
                       int gpu)
    : Device(tracker, observer, fill_nan, rank), gpu_(gpu) {
  check(cudaSetDevice(gpu_), "cudaSetDevice");
  keep_released_memory(gpu_);
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  // Here, since it takes memory of its own and so may wait for the GPU: later, kernels of NCCL
  // could be waiting there for a rank that waits here.
  check(cublasCreate(&blas_), "cublasCreate");
  check(cublasSetStream(blas_, stream_), "cublasSetStream");
  // Sums of 16-bit products stay in fp32, also where a product is split among blocks.
  check(cublasSetMathMode(
            blas_, static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                             CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)),
        "cublasSetMathMode");
}

CudaDevice::~CudaDevice() {
  workspace_.release();
  blas_workspace_.release();
  if (blas_) cublasDestroy(blas_);
  cudaStreamDestroy(stream_);
}

void CudaDevice::synchronize() {
  if (!watch_) {
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    return;
  }
  const auto begin = std::chrono::steady_clock::now();
  auto next_watch = begin + kWatchEvery;
  for (;;) {
    const cudaError_t state = cudaStreamQuery(stream_);
    if (state == cudaSuccess) return;
    if (state != cudaErrorNotReady) check(state, "cudaStreamQuery");
    const auto now = std::chrono::steady_clock::now();
    if (now > next_watch) {
      watch_(now - begin);
      next_watch = now + kWatchEvery;
    }
    if (now > begin + kImpatience) std::this_thread::sleep_for(kSleep);
    else if (now > begin + kPatience) std::this_thread::yield();
  }
}

// Both wait first: a copy from or to pageable memory would wait too, but where no watch is called.
void CudaDevice::download(View from, std::span<std::byte> to) {
  check_shape("download", from.bytes().size() == to.size(), "sizes in bytes differ");
  synchronize();
  if (to.empty()) return;
  check(cudaMemcpyAsync(to.data(), from.data(), to.size(), cudaMemcpyDeviceToHost, stream_),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

void CudaDevice::upload(std::span<const std::byte> from, View to) {
  check_shape("upload", from.size() == to.bytes().size(), "sizes in bytes differ");
  synchronize();
  if (from.empty()) return;
  check(cudaMemcpyAsync(to.data(), from.data(), from.size(), cudaMemcpyHostToDevice, stream_),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

// On this stream, so that memory which is given back is taken again only by what comes later.
std::byte* CudaDevice::take(std::int64_t bytes, std::int64_t offset) {
  void* block = nullptr;
  const std::size_t size = static_cast<std::size_t>(std::max<std::int64_t>(bytes + offset, 1));
  cudaError_t result = cudaMallocAsync(&block, size, stream_);
  if (result == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw_out_of_memory();
  }
  check(result, "cudaMallocAsync");
  return static_cast<std::byte*>(block) + offset;
}

void CudaDevice::give_back(std::byte* data, std::int64_t, std::int64_t offset) {
  cudaFreeAsync(data - offset, stream_);  // a stream that has failed says so at its next wait
}

std::byte* CudaDevice::workspace(std::int64_t bytes) {
  if (bytes == 0) return nullptr;
  if (workspace_.empty() || workspace_.view().size() * 4 < bytes) {
    workspace_.release();
    workspace_ = allocate(Memory::workspace, "workspace", Dtype::fp32, (bytes + 3) / 4);
  }
  return workspace_.view().data();
}

cublasHandle_t CudaDevice::blas() {
  if (blas_workspace_.empty()) {
    blas_workspace_ =
        allocate(Memory::workspace, "cuBLAS workspace", Dtype::fp32, kBlasWorkspace / 4);
    check(cublasSetWorkspace(blas_, blas_workspace_.view().data(), kBlasWorkspace),
          "cublasSetWorkspace");
  }
  return blas_;
}

void CudaDevice::check_ids_on_device(std::string_view op, View ids, std::int64_t limit) {
  std::vector<std::int32_t> host(static_cast<std::size_t>(ids.size()));
  download(ids, std::as_writable_bytes(std::span(host)));
  check_ids(op, host.data(), ids.size(), limit);
}

}  // namespace zero
