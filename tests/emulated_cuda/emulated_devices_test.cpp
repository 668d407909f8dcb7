// Devices and their memory. Run with EMU_DEVICES=3 and EMU_MEMORY=1000000, and where there is none.
#include <string>
#include <thread>

#include "catch.h"
#include "device_data.h"
#include "emulator.h"
#include "sample_kernels.h"

namespace zero {
namespace {

TEST_CASE("There are as many devices as were asked for", "[three]") {
  int count = 0;
  must(cudaGetDeviceCount(&count));
  CHECK(count == 3);
  CHECK(cudaSetDevice(3) == cudaErrorInvalidDevice);
  CHECK(cudaSetDevice(-1) == cudaErrorInvalidDevice);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  CHECK(std::string(cudaGetErrorString(cudaGetLastError())) == "invalid device ordinal");
  CHECK(cudaGetLastError() == cudaSuccess);

  char first[16], third[16];
  must(cudaDeviceGetPCIBusId(first, sizeof first, 0));
  must(cudaDeviceGetPCIBusId(third, sizeof third, 2));
  CHECK(std::string(first) == "0000:01:00.0");
  CHECK(std::string(third) == "0000:03:00.0");

  cudaDeviceProp properties;
  must(cudaGetDeviceProperties(&properties, 2));
  CHECK(std::string(properties.name) == "Emulated GPU");
  CHECK(properties.totalGlobalMem == 1000000);
  int pools = 0;
  must(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, 1));
  CHECK(pools == 1);
}

TEST_CASE("Each thread of the host has a device of its own", "[three]") {
  must(cudaSetDevice(1));
  int of_other = -1, mine = -1;
  std::thread([&] { must(cudaGetDevice(&of_other)); }).join();
  must(cudaGetDevice(&mine));
  CHECK(of_other == 0);
  CHECK(mine == 1);
  must(cudaSetDevice(0));
}

TEST_CASE("Memory ends where it was said to, on each device", "[three]") {
  void *most = nullptr, *more = nullptr;
  std::size_t free = 0, total = 0;
  must(cudaMalloc(&most, 999000));
  must(cudaMemGetInfo(&free, &total));
  CHECK(free == 1000);
  CHECK(total == 1000000);
  CHECK(cudaMalloc(&more, 1001) == cudaErrorMemoryAllocation);
  CHECK(more == nullptr);
  CHECK(std::string(cudaGetErrorName(cudaGetLastError())) == "cudaErrorMemoryAllocation");
  must(cudaMalloc(&more, 1000));
  must(cudaFree(more));

  must(cudaSetDevice(1));
  must(cudaMalloc(&more, 1000000));
  must(cudaFree(more));
  must(cudaSetDevice(0));

  must(cudaFree(most));
  must(cudaMemGetInfo(&free, &total));
  CHECK(free == total);
  CHECK(cudaFree(most) == cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST_CASE("What a stream still has to free is there for its next allocation", "[three]") {
  const Stream stream;
  for (int i = 0; i < 3; ++i) {
    void* most = nullptr;
    must(cudaMallocAsync(&most, 900000, stream));
    must(cudaFreeAsync(most, stream));
  }
}

TEST_CASE("Addresses are multiples of 256", "[three]") {
  for (const std::size_t bytes : {1, 255, 257}) {
    const DeviceData<char> data(bytes);
    CHECK(reinterpret_cast<std::size_t>(data.get()) % 256 == 0);
  }
}

TEST_CASE("Ranges are of one allocation and one device", "[three]") {
  const DeviceData<char> data(100);
  CHECK(emulator::is_device_memory(data.get(), 100));
  CHECK(emulator::is_device_memory(data.get() + 99, 1));
  CHECK_FALSE(emulator::is_device_memory(data.get() + 99, 2));
  CHECK_FALSE(emulator::is_device_memory(data.get() - 1, 1));
  CHECK_FALSE(emulator::is_device_memory(data.get(), 100, 1));
  CHECK(emulator::is_device_memory(data.get(), 100, -1));
  char on_host = 0;
  CHECK_FALSE(emulator::is_device_memory(&on_host, 1));
}

TEST_CASE("Copies go between devices", "[three]") {
  const std::vector<int> x = {1, 2, 3};
  const DeviceData<int> here(x);
  must(cudaSetDevice(1));
  const DeviceData<int> there(x.size());
  must(cudaMemcpy(there.get(), here.get(), 3 * sizeof(int), cudaMemcpyDeviceToDevice));
  CHECK(there.read() == x);
  must(cudaSetDevice(0));
}

void check_missing(cudaError_t expected, const std::string& text) {
  int count = -1;
  CHECK(cudaGetDeviceCount(&count) == expected);
  CHECK(count == 0);
  CHECK(cudaSetDevice(0) == expected);
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, 1) == expected);
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == expected);
  CHECK(std::string(cudaGetErrorString(cudaGetLastError())) == text);
}

TEST_CASE("Without a device every call says so", "[none]") {
  check_missing(cudaErrorNoDevice, "no CUDA-capable device is detected");
}

TEST_CASE("Without a driver every call says so", "[driver]") {
  check_missing(cudaErrorInsufficientDriver,
                "CUDA driver version is insufficient for CUDA runtime version");
  int version = -1;
  must(cudaDriverGetVersion(&version));
  CHECK(version == 0);
  must(cudaRuntimeGetVersion(&version));
  CHECK(version == CUDART_VERSION);
}

}  // namespace
}  // namespace zero
