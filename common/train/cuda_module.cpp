// The module's door: what libzero_cuda.so gives to the programs.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <array>

#include "common/comm/nccl_transport.h"
#include "common/device/cuda/architectures.h"
#include "common/device/cuda/cuda_check.h"
#include "common/device/cuda/cuda_device.h"
#include "common/train/gpu.h"

namespace zero {
namespace {

class CudaModule : public GpuModule {
 public:
  int count() override {
    int devices = 0;
    const cudaError_t result = cudaGetDeviceCount(&devices);
    if (result == cudaSuccess && devices > 0) return with_kernels(devices);
    cudaGetLastError();
    if (result == cudaErrorInsufficientDriver) {
      int driver = 0, runtime = 0;
      cudaDriverGetVersion(&driver);
      cudaRuntimeGetVersion(&runtime);
      if (driver == 0) throw NoGpu("there is no NVIDIA driver on this machine");
      throw NoGpu(fmt::format(
          "the NVIDIA driver is too old: it supports CUDA {}.{}, and this program was built with "
          "{}.{} (update the driver)",
          driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10));
    }
    if (result == cudaSuccess || result == cudaErrorNoDevice) {
      throw NoGpu("there is no GPU that this process may use (CUDA_VISIBLE_DEVICES?)");
    }
    throw NoGpu(fmt::format("the GPUs cannot be used: {}", cudaGetErrorString(result)));
  }

  std::string describe(int gpu) override {
    const cudaDeviceProp properties = properties_of(gpu);
    return fmt::format("{}, {:.1f} GiB, compute capability {}.{}", properties.name,
                       static_cast<double>(properties.totalGlobalMem) / (1 << 30), properties.major,
                       properties.minor);
  }

  std::int64_t memory_bytes(int gpu) override {
    return static_cast<std::int64_t>(properties_of(gpu).totalGlobalMem);
  }

  std::string bus_id(int gpu) override {
    std::array<char, 32> text{};
    check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), gpu),
          "cudaDeviceGetPCIBusId");
    return text.data();
  }

  std::unique_ptr<Device> make_device(MemoryTracker& tracker, HeapObserver* observer, bool fill_nan,
                                      int rank, int gpu) override {
    return std::make_unique<CudaDevice>(tracker, observer, fill_nan, rank, gpu);
  }

  bool has_nccl() override { return zero::has_nccl(); }

  std::unique_ptr<Transport> make_nccl_transport(Transport& host, Device& device,
                                                 double timeout_seconds) override {
    return zero::make_nccl_transport(host, static_cast<CudaDevice&>(device), timeout_seconds);
  }

 private:
  // How many of the GPUs, from the first on, can run the kernels: CUDA counts the fastest first,
  // and a display's old card last. NoGpu when the first cannot. It looks without beginning to use
  // them.
  static int with_kernels(int devices) {
    for (int gpu = 0; gpu < devices; ++gpu) {
      int major = 0, minor = 0;
      check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu),
            "cudaDeviceGetAttribute");
      check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, gpu),
            "cudaDeviceGetAttribute");
      if (100 * major + 10 * minor >= lowest_architecture()) continue;
      if (gpu > 0) return gpu;
      throw NoGpu(fmt::format(
          "this GPU ({}, compute capability {}.{}) needs kernels that were not built: configure "
          "with -DCMAKE_CUDA_ARCHITECTURES={}{}",
          properties_of(gpu).name, major, minor, major, minor));
    }
    return devices;
  }

  static cudaDeviceProp properties_of(int gpu) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, gpu), "cudaGetDeviceProperties");
    return properties;
  }
};

}  // namespace
}  // namespace zero

extern "C" zero::GpuModule* zero_gpu_module() {
  static zero::CudaModule module;
  return &module;
}
