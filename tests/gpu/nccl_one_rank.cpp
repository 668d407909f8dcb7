// NCCL itself, with the one rank that a machine with one GPU allows: the project's transport sends
// itself a message, and each collective of the library is called once. Exit status 0: all values
// were right.
#include <cuda_runtime.h>
#include <fmt/format.h>
#include <nccl.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "common/comm/world.h"
#include "common/device/cuda/cuda_check.h"
#include "common/train/gpu.h"

namespace zero {
namespace {

constexpr double kTimeout = 60;  // seconds

// Bytes that follow no simple pattern.
std::vector<std::byte> some_bytes(std::int64_t size) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  std::uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24 & 0x3f);  // small numbers in every type
  }
  return bytes;
}

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

// ---- the transport
// --------------------------------------------------------------------------------

void exchange_with_itself(Transport& nccl, Device& device) {
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
    for (const std::int64_t size : {std::int64_t{1}, std::int64_t{77}, 3 * nccl.chunk() + 5}) {
      const Buffer out = device.allocate(Memory::temporary, "out", dtype, size);
      const Buffer in = device.allocate(Memory::temporary, "in", dtype, size);
      const std::vector<std::byte> sent = some_bytes(size * bytes_of(dtype));
      std::vector<std::byte> received(sent.size());
      device.upload(sent, out);
      device.zero(in);
      const Hop hop{.collective = 1, .name = "exchange", .algorithm = "ring", .range = {0, size}};
      const std::int64_t before = nccl.tensor_bytes_sent();
      nccl.exchange(hop, out, hop, in);
      device.download(in, received);
      const std::string what = fmt::format("{} elements of {}", size, to_string(dtype));
      require(received == sent, what + ": not what was sent");
      require(nccl.tensor_bytes_sent() - before == std::ssize(sent), what + ": counted otherwise");
    }
  }
}

// ---- the library
// ----------------------------------------------------------------------------------

// A communicator of one rank, non-blocking as the project's own: every call may be under way still.
class OneRank {
 public:
  OneRank() {
    zero::check(cudaSetDevice(0), "cudaSetDevice");
    zero::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
                "cudaStreamCreateWithFlags");
    ncclUniqueId id;
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    check(ncclCommInitRankConfig(&comm_, 1, id, 0, &config), "ncclCommInitRankConfig");
  }
  ~OneRank() {
    if (comm_) ncclCommAbort(comm_);
    cudaStreamDestroy(stream_);
  }
  OneRank(const OneRank&) = delete;
  OneRank& operator=(const OneRank&) = delete;

  ncclComm_t comm() const { return comm_; }
  cudaStream_t stream() const { return stream_; }

  void check(ncclResult_t result, const char* call) {
    const auto begin = std::chrono::steady_clock::now();
    while (result == ncclInProgress) {
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
      require(waited.count() < kTimeout, std::string(call) + " did not end");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ncclCommGetAsyncError(comm_, &result);
    }
    require(result == ncclSuccess, std::string(call) + ": " + ncclGetErrorString(result));
  }

 private:
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

// Each collective of one rank gives it what it had.
void every_collective() {
  OneRank one;
  const ncclComm_t comm = one.comm();
  const cudaStream_t stream = one.stream();
  constexpr std::size_t kCount = 1'000'003;
  constexpr std::size_t kBytes = kCount * 4;
  void *send = nullptr, *receive = nullptr;
  zero::check(cudaMalloc(&send, kBytes), "cudaMalloc");
  zero::check(cudaMalloc(&receive, kBytes), "cudaMalloc");
  const std::vector<std::byte> sent = some_bytes(kBytes);
  zero::check(cudaMemcpy(send, sent.data(), kBytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  // It may still be on its way, and the other stream does not wait for it.
  zero::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

  const std::vector<std::pair<ncclDataType_t, std::size_t>> types = {
      {ncclFloat32, 4}, {ncclFloat16, 2}, {ncclBfloat16, 2}};
  for (const auto& [type, size] : types) {
    const auto expect = [&, bytes = kCount * size](ncclResult_t result, const char* call) {
      one.check(result, call);
      std::vector<std::byte> received(bytes);
      zero::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
      zero::check(cudaMemcpy(received.data(), receive, bytes, cudaMemcpyDeviceToHost),
                  "cudaMemcpy");
      zero::check(cudaMemset(receive, 0xff, kBytes), "cudaMemset");
      zero::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      require(std::memcmp(received.data(), sent.data(), bytes) == 0,
              fmt::format("{}, {} bytes an element: not what was sent", call, bytes / kCount));
    };
    expect(ncclAllReduce(send, receive, kCount, type, ncclSum, comm, stream), "ncclAllReduce");
    expect(ncclReduceScatter(send, receive, kCount, type, ncclSum, comm, stream),
           "ncclReduceScatter");
    expect(ncclAllGather(send, receive, kCount, type, comm, stream), "ncclAllGather");
    expect(ncclReduce(send, receive, kCount, type, ncclSum, 0, comm, stream), "ncclReduce");
    expect(ncclBroadcast(send, receive, kCount, type, 0, comm, stream), "ncclBroadcast");
    one.check(ncclGroupStart(), "ncclGroupStart");
    one.check(ncclSend(send, kCount, type, 0, comm, stream), "ncclSend");
    one.check(ncclRecv(receive, kCount, type, 0, comm, stream), "ncclRecv");
    expect(ncclGroupEnd(), "ncclSend and ncclRecv");
  }
  zero::check(cudaFree(send), "cudaFree");
  zero::check(cudaFree(receive), "cudaFree");
}

void rank_program(Transport& host) {
  const Place place;
  MemoryTracker tracker(place);
  gpu_module().count();  // says what is missing, if there is none
  const std::unique_ptr<Device> device = gpu_module().make_device(tracker, nullptr, true, 0, 0);
  const std::unique_ptr<Transport> nccl = gpu_module().make_nccl_transport(host, *device, kTimeout);
  require(nccl != nullptr, "this build has no NCCL");
  exchange_with_itself(*nccl, *device);
  every_collective();
  int version = 0;
  ncclGetVersion(&version);
  fmt::print("NCCL {}.{}.{}, one rank on {}: every value is right\n", version / 10000,
             version / 100 % 100, version % 100, gpu_module().describe(0));
}

}  // namespace
}  // namespace zero

int main() { return zero::run_on_threads(1, zero::kTimeout, zero::rank_program); }
