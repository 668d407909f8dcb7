// Copies and fills, in stream order, with their ranges checked.
#include <cstring>
#include <memory>
#include <vector>

#include "emulator.h"

namespace zero::emulator {
namespace {

std::string describe(const void* address, std::size_t bytes) {
  return std::to_string(bytes) + " bytes at " +
         std::to_string(reinterpret_cast<std::size_t>(address));
}

// Whether one side of a copy is on a device: as `kind` says, or, with cudaMemcpyDefault, as it is.
bool on_device(const void* address, cudaMemcpyKind kind, cudaMemcpyKind one, cudaMemcpyKind other) {
  if (kind == cudaMemcpyDefault) return is_device_memory(address, 0, -1);
  return kind == one || kind == other;
}

// A copy that says "device" must lie within one allocation, and one that says "host" in none.
void check_side(const char* what, bool device, const void* address, std::size_t bytes) {
  if (device && !is_device_memory(address, bytes, -1)) {
    fail(std::string("a copy ") + what + " " + describe(address, bytes) +
         ": not within one allocation of device memory");
  }
  if (!device && is_device_memory(address, 1, -1)) {
    fail(std::string("a copy ") + what + " " + describe(address, bytes) +
         ", said to be host memory: it is device memory");
  }
}

}  // namespace
}  // namespace zero::emulator

using namespace zero::emulator;

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const cudaError_t error = check_device(current_device());
  if (error != cudaSuccess) return tell(error);
  if (!is_stream(stream)) return tell(cudaErrorInvalidResourceHandle);
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
    return tell(cudaErrorInvalidMemcpyDirection);
  }
  if (bytes == 0) return cudaSuccess;
  const bool to_device = on_device(to, kind, cudaMemcpyHostToDevice, cudaMemcpyDeviceToDevice);
  const bool from_device = on_device(from, kind, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice);
  check_side("to", to_device, to, bytes);
  check_side("from", from_device, from, bytes);

  // Ordinary host memory is read before the call returns, whatever waits in the stream; pinned
  // memory only when the copy's turn comes.
  if (to_device && !from_device && !is_pinned(from)) {
    const auto* source = static_cast<const char*>(from);
    enqueue(stream, [to, staged = std::vector<char>(source, source + bytes)] {
      const DeviceAccess access;
      std::memcpy(to, staged.data(), staged.size());
    });
    return cudaSuccess;
  }
  enqueue(stream, [to, from, bytes] {
    const DeviceAccess access;
    std::memmove(to, from, bytes);
  });
  if (!to_device && !is_pinned(to)) finish(stream);  // ordinary host memory: not asynchronous
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  // Between two places of devices it does not wait.
  const bool on_devices = is_device_memory(to, 0, -1) && is_device_memory(from, 0, -1);
  if (error == cudaSuccess && !on_devices) finish(nullptr);
  return error;
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  const cudaError_t error = check_device(current_device());
  if (error != cudaSuccess) return tell(error);
  if (!is_stream(stream)) return tell(cudaErrorInvalidResourceHandle);
  if (bytes == 0) return cudaSuccess;
  check_side("(cudaMemset) to", true, to, bytes);
  enqueue(stream, [to, value, bytes] {
    const DeviceAccess access;
    std::memset(to, value, bytes);
  });
  return cudaSuccess;
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, nullptr);
}
