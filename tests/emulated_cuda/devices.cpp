// What the runtime says of its devices, and the last error of each thread.
#include <cstdio>
#include <cstring>

#include "emulator.h"

namespace zero::emulator {
namespace {

thread_local int device_of_thread = 0;
thread_local cudaError_t last_error = cudaSuccess;

struct Named {
  cudaError_t error;
  const char* name;
  const char* text;
};
constexpr Named kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const Named* find(cudaError_t error) {
  for (const Named& one : kErrors) {
    if (one.error == error) return &one;
  }
  return nullptr;
}

}  // namespace

cudaError_t tell(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

cudaError_t check_device(int device) {
  const int devices = settings().devices;
  if (devices < 0) return cudaErrorInsufficientDriver;
  if (devices == 0) return cudaErrorNoDevice;
  return device >= 0 && device < devices ? cudaSuccess : cudaErrorInvalidDevice;
}

int current_device() { return device_of_thread; }

}  // namespace zero::emulator

using namespace zero::emulator;

cudaError_t cudaGetDeviceCount(int* count) {
  *count = settings().devices < 0 ? 0 : settings().devices;
  return tell(check_device(0));
}

cudaError_t cudaSetDevice(int device) {
  const cudaError_t error = check_device(device);
  if (error == cudaSuccess) device_of_thread = device;
  return tell(error);
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device();
  return tell(check_device(current_device()));
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const cudaError_t error = check_device(device);
  if (error != cudaSuccess) return tell(error);
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "Emulated GPU");
  properties->totalGlobalMem = settings().memory;
  properties->sharedMemPerBlock = std::size_t{48} << 10;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->major = settings().major;
  properties->minor = settings().minor;
  properties->multiProcessorCount = 2;
  properties->pciBusID = device + 1;
  properties->memoryBusWidth = 64;
  properties->l2CacheSize = 1 << 20;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int bytes, int device) {
  const cudaError_t error = check_device(device);
  if (error != cudaSuccess) return tell(error);
  if (bytes < 13) return tell(cudaErrorInvalidValue);
  std::snprintf(id, static_cast<std::size_t>(bytes), "0000:%02X:00.0", device + 1);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  const cudaError_t error = check_device(device);
  if (error != cudaSuccess) return tell(error);
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, device);
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = properties.maxThreadsPerBlock;
      break;
    case cudaDevAttrWarpSize:
      *value = properties.warpSize;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = properties.multiProcessorCount;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = properties.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = properties.minor;
      break;
    case cudaDevAttrMemoryPoolsSupported:
      *value = 1;
      break;
    default:
      return tell(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = settings().devices < 0 ? 0 : CUDART_VERSION;  // 0: there is no driver
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  const cudaError_t error = check_device(current_device());
  if (error == cudaSuccess) finish_device(current_device());
  return tell(error);
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}
cudaError_t cudaPeekAtLastError() { return last_error; }
const char* cudaGetErrorName(cudaError_t error) {
  const Named* found = find(error);
  return found == nullptr ? "unrecognized error code" : found->name;
}
const char* cudaGetErrorString(cudaError_t error) {
  const Named* found = find(error);
  return found == nullptr ? "unrecognized error code" : found->text;
}
