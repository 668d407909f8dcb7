// Kernels and programs with one fault each, by which is shown that the emulator finds it.
// Usage: planted_faults FAULT (--help lists them). The lines that a message must name are marked
// "fault: ...".
#include <cstdio>
#include <vector>

#include "device_data.h"
#include "launch_sample.h"
#include "plant.h"

namespace zero {
namespace {

constexpr unsigned kAll = 0xffffffffu;
constexpr int kThreads = 64;

__global__ void no_barrier_kernel(int* to) {
  __shared__ int held[kThreads];
  const unsigned me = threadIdx.x;
  held[me] = static_cast<int>(me);   // fault: written here
  to[me] = held[kThreads - 1 - me];  // fault: read without a barrier
}

// Each passes its number to the next, twice: a thread may write again before its neighbour has
// read.
__global__ void second_barrier_kernel(int* to) {
  __shared__ int passed[kThreads];
  const unsigned me = threadIdx.x;
  int mine = static_cast<int>(me);
  for (int round = 0; round < 2; ++round) {
    passed[me] = mine;  // fault: written too early
    __syncthreads();
    mine = passed[(me + 1) % kThreads];  // fault: read, and no barrier behind it
  }
  to[me] = mine;
}

// to[i] = the thread whose turn is the i-th, where one runs at a time.
__global__ void turns_kernel(int* to) {
  __shared__ int turn;
  if (threadIdx.x == 0) turn = 0;
  __syncthreads();
  to[turn++] = static_cast<int>(threadIdx.x);
}

__global__ void barrier_in_branch_kernel(int* to) {
  if (threadIdx.x < 40) {
    __syncthreads();  // fault: some are here
    to[threadIdx.x] = 1;
  } else {
    __syncthreads();  // fault: others are here
  }
}

__global__ void early_exit_kernel(int* to) {
  if (threadIdx.x >= 50) return;
  __syncthreads();  // fault: not all come
  to[threadIdx.x] = 1;
}

__global__ void missing_lanes_kernel(int* to) {
  int mine = static_cast<int>(threadIdx.x);
  if (threadIdx.x % 32 < 16) mine = __shfl_xor_sync(kAll, mine, 1);  // fault: half a warp
  to[threadIdx.x] = mine;
}

__global__ void exited_lane_kernel(int* to) {
  if (threadIdx.x == 5) return;
  to[threadIdx.x] = __shfl_down_sync(kAll, 1, 1);  // fault: lane 5 has gone
}

__global__ void outside_lane_kernel(int* to) {
  if (threadIdx.x < 16) {
    to[threadIdx.x] = __shfl_sync(0x0000ffffu, 1, 20);  // fault: no such lane takes part
  }
}

// to[i] = i for first <= i < end.
__global__ void write_kernel(int* to, int first, int end) {
  const int i = first + static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < end) to[i] = i;  // fault: writes
}

__global__ void read_kernel(int* to, const int* from) { to[threadIdx.x] = from[threadIdx.x]; }

__global__ void block_race_kernel(int* to) {
  to[threadIdx.x] += 1;  // fault: every block adds to the same
}

__global__ void shared_outside_kernel(int* to) {
  __shared__ int held[kThreads];
  held[threadIdx.x + 1] = 1;  // fault: one behind the end
  __syncthreads();
  to[threadIdx.x] = held[threadIdx.x];
}

__global__ void misaligned_kernel(int* to, const int4* from) {
  to[threadIdx.x] = from[threadIdx.x].x;  // fault: no multiple of 16
}

// ---- the programs ----

int shown(const DeviceData<int>& data) {
  for (const int x : data.read()) std::printf("%d ", x);
  std::printf("\n");
  return 0;
}

template <class... Parameters, class... Arguments>
int run(void (*kernel)(Parameters...), dim3 grid, const DeviceData<int>& to,
        Arguments... arguments) {
  must(launch_sample(kernel, grid, kThreads, nullptr, to.get(), arguments...));
  return shown(to);
}

// 100 threads write, memory is for 98.
int writes_outside(int allocated, int written) {
  const DeviceData<int> to(static_cast<std::size_t>(allocated));
  must(launch_sample(write_kernel, 2, kThreads, nullptr, to.get(), 0, written));
  return shown(to);
}

int writes_before() {
  const DeviceData<int> to(kThreads);
  must(launch_sample(write_kernel, 1, kThreads, nullptr, to.get(), -1, kThreads));
  return shown(to);
}

int host_pointer() {
  std::vector<int> host(kThreads);
  const DeviceData<int> to(kThreads);
  return run(read_kernel, 1, to, host.data());
}

int other_device() {
  must(cudaSetDevice(1));
  const DeviceData<int> there(kThreads);
  must(cudaSetDevice(0));
  return run(read_kernel, 1, DeviceData<int>(kThreads), there.get());
}

int misaligned() {
  const DeviceData<int> to(kThreads), from(4 * kThreads + 1);
  return run(misaligned_kernel, 1, to, reinterpret_cast<const int4*>(from.get() + 1));
}

int host_reads() {
  const DeviceData<int> data(std::vector<int>(kThreads, 7));
  std::printf("%d\n", data.get()[3]);  // fault: the host reads device memory
  return 0;
}

int used_after_free() {
  const DeviceData<int> to(kThreads);
  int* gone = nullptr;
  must(cudaMalloc(&gone, kThreads * sizeof(int)));
  must(cudaFree(gone));
  return run(read_kernel, 1, to, gone);
}

// One stream writes, the other reads, and nothing says that it must wait. The right program has one
// line more.
int two_streams(bool waits) {
  const DeviceData<int> middle(std::vector<int>(kThreads, 0)), to(std::vector<int>(kThreads, 0));
  const Stream first, second;
  cudaEvent_t written = nullptr;
  must(cudaEventCreateWithFlags(&written, cudaEventDisableTiming));
  must(launch_sample(write_kernel, 1, kThreads, first, middle.get(), 0, kThreads));
  must(cudaEventRecord(written, first));
  if (waits) must(cudaStreamWaitEvent(second, written));
  must(launch_sample(read_kernel, 1, kThreads, second, to.get(), middle.get()));
  second.finish();
  first.finish();
  must(cudaEventDestroy(written));
  return shown(to);
}

int copies_too_much() {
  const DeviceData<int> data(10);
  std::vector<int> host(11);
  must(cudaMemcpy(data.get(), host.data(), 11 * sizeof(int), cudaMemcpyHostToDevice));
  return 0;
}

int copies_wrong_way() {
  const DeviceData<int> data(10);
  std::vector<int> host(10);
  must(cudaMemcpy(data.get(), host.data(), 10 * sizeof(int), cudaMemcpyDeviceToHost));
  return 0;
}

int too_many_threads() {
  const DeviceData<int> to(1);
  must(launch_sample(write_kernel, 1, 1025, nullptr, to.get(), 0, 1));
  return 0;
}

int no_blocks() {
  const DeviceData<int> to(1);
  must(launch_sample(write_kernel, 0, 32, nullptr, to.get(), 0, 1));
  return 0;
}

int unwritten_memory() {
  const DeviceData<float> data(3);
  for (const float x : data.read()) std::printf("%g ", static_cast<double>(x));
  std::printf("\n");
  return 0;
}

int dispatch(int argc, char** argv) {
  const auto memory = [] { return std::vector<int>(kThreads, 0); };
  const PlantedFaults programs = {
      {"no_barrier", [&] { return run(no_barrier_kernel, 1, DeviceData<int>(memory())); }},
      {"second_barrier", [&] { return run(second_barrier_kernel, 1, DeviceData<int>(memory())); }},
      {"turns", [&] { return run(turns_kernel, 1, DeviceData<int>(memory())); }},
      {"barrier_in_branch",
       [&] { return run(barrier_in_branch_kernel, 1, DeviceData<int>(memory())); }},
      {"early_exit", [&] { return run(early_exit_kernel, 1, DeviceData<int>(memory())); }},
      {"missing_lanes", [&] { return run(missing_lanes_kernel, 1, DeviceData<int>(memory())); }},
      {"exited_lane", [&] { return run(exited_lane_kernel, 1, DeviceData<int>(memory())); }},
      {"outside_lane", [&] { return run(outside_lane_kernel, 1, DeviceData<int>(memory())); }},
      {"writes_inside", [] { return writes_outside(100, 100); }},
      {"writes_outside", [] { return writes_outside(98, 100); }},
      {"writes_before", writes_before},
      {"block_race", [&] { return run(block_race_kernel, 8, DeviceData<int>(memory())); }},
      {"host_pointer", host_pointer},
      {"host_reads", host_reads},
      {"other_device", other_device},
      {"shared_outside", [&] { return run(shared_outside_kernel, 1, DeviceData<int>(memory())); }},
      {"misaligned", misaligned},
      {"used_after_free", used_after_free},
      {"no_wait", [] { return two_streams(false); }},
      {"waits", [] { return two_streams(true); }},
      {"copies_too_much", copies_too_much},
      {"copies_wrong_way", copies_wrong_way},
      {"too_many_threads", too_many_threads},
      {"no_blocks", no_blocks},
      {"unwritten_memory", unwritten_memory},
  };
  return plant(argc, argv, programs);
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) { return zero::dispatch(argc, argv); }
