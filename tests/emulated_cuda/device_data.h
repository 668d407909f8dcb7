// Host vectors in device memory and back, for the emulator's tests; what fails ends the test.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace zero {

inline void must(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorName(error));
}

// n elements of device memory.
template <class T>
class DeviceData {
 public:
  explicit DeviceData(std::size_t n) : n_(n) { must(cudaMalloc(&data_, n * sizeof(T))); }
  explicit DeviceData(const std::vector<T>& from) : DeviceData(from.size()) {
    must(cudaMemcpy(data_, from.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
    must(cudaDeviceSynchronize());  // the copy may still be on its way, and streams do not wait
  }
  ~DeviceData() { cudaFree(data_); }
  DeviceData(const DeviceData&) = delete;
  DeviceData& operator=(const DeviceData&) = delete;

  T* get() const { return data_; }
  // Waits for the whole device.
  std::vector<T> read() const {
    must(cudaDeviceSynchronize());
    std::vector<T> result(n_);
    must(cudaMemcpy(result.data(), data_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
    return result;
  }

 private:
  std::size_t n_;
  T* data_ = nullptr;
};

class Stream {
 public:
  Stream() { must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }
  void finish() const { must(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace zero
