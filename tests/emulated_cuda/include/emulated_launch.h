// Launching a kernel: its arguments are copied and checked, and it is put into a stream.
#pragma once

#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

#include "cuda_runtime_api.h"

struct cudaLaunchAttribute;  // none is supported

struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  std::size_t dynamicSmemBytes;  // must be 0
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;  // must be 0
};

namespace zero::emulator {

// Puts a kernel into its stream; `thread` is what each of its threads does.
cudaError_t launch(const cudaLaunchConfig_t& shape, const void* kernel,
                   std::function<void()> thread);
// Ends the program when a pointer is neither null nor memory of the current device.
void check_argument(const void* kernel, int argument, const void* pointer);

template <class T>
void check_if_pointer(const void* kernel, int argument, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>, "a kernel's arguments are copied byte by byte");
  if constexpr (std::is_pointer_v<T>) {
    check_argument(kernel, argument, static_cast<const void*>(value));
  }
}

}  // namespace zero::emulator

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* shape, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  static_assert((sizeof(Parameters) + ... + 0) <= 4096, "too many arguments");
  const void* address = reinterpret_cast<const void*>(kernel);
  // A function's parameters, so that arguments are converted to the kernel's types as in a call.
  return [&](Parameters... values) {
    int argument = 0;
    (zero::emulator::check_if_pointer(address, ++argument, values), ...);
    return zero::emulator::launch(*shape, address, [=] { kernel(values...); });
  }(std::forward<Arguments>(arguments)...);
}
