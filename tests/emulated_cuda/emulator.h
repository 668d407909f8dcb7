// What the parts of the emulator tell each other; stand-ins for further libraries build on it too.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace zero::emulator {

// Ends the program with one line, "emulated CUDA: ...": for what a GPU may not be asked to do.
[[noreturn]] void fail(const std::string& message);
std::string describe(const Where& where);  // "file:line"

// ---- settings: the environment, read once
// --------------------------------------------------------
enum class Order { forward, reverse, random };
enum class StreamMode { eager, lazy, threads };

struct Settings {
  int devices = 1;  // -1: no driver
  std::size_t memory = std::size_t{8} << 30;
  int major = 9, minor = 0;  // compute capability
  Order order = Order::forward;
  unsigned seed = 0;  // of Order::random
  int workers = 1;
  StreamMode streams = StreamMode::eager;
};
const Settings& settings();

// ---- errors
// -------------------------------------------------------------------------------------- Remembers
// an error for cudaGetLastError, as each call of the runtime does, and returns it.
cudaError_t tell(cudaError_t error);
// cudaSuccess, or why there is no such device.
cudaError_t check_device(int device);
int current_device();  // of the calling thread

// ---- memory
// -------------------------------------------------------------------------------------- Whether
// [address, address + bytes) lies within one allocation of this device (-1: of any).
bool is_device_memory(const void* address, std::size_t bytes, int device);
inline bool is_device_memory(const void* address, std::size_t bytes) {
  return is_device_memory(address, bytes, current_device());
}

bool is_pinned(const void* address);  // of cudaMallocHost

// While one of these lives, device memory may be read and written: in kernels, copies, libraries.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

// ---- streams
// -------------------------------------------------------------------------------------
using Work = std::function<void()>;

// Puts work into a stream (nullptr: the current device's default stream), to be done in its order.
void enqueue(cudaStream_t stream, Work work);
// Waits for one stream, or for all of a device.
void finish(cudaStream_t stream);
void finish_device(int device);
// False for a stream that was destroyed or never created.
bool is_stream(cudaStream_t stream);
int device_of(cudaStream_t stream);

// ---- kernels
// ------------------------------------------------------------------------------------- Runs a grid
// now, on the calling thread (or on as many as there are workers).
void run_grid(dim3 grid, dim3 block, const std::function<void()>& thread);

}  // namespace zero::emulator
