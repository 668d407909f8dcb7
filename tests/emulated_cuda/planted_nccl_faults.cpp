// Programs with one fault each in how they use NCCL; the stand-in must end them with a line that
// says what is wrong.
#include <nccl.h>

#include <functional>
#include <thread>
#include <vector>

#include "plant.h"

namespace zero {
namespace {

// What one rank does with its communicator, on its GPU.
using RankProgram =
    std::function<void(ncclComm_t comm, int rank, float* data, cudaStream_t stream)>;

int on_two_ranks(const RankProgram& program) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&program, id, rank] {
      cudaSetDevice(rank);
      float* data = nullptr;
      cudaMalloc(&data, 100 * sizeof(float));
      cudaStream_t stream = nullptr;
      cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
      ncclComm_t comm = nullptr;
      if (ncclCommInitRankConfig(&comm, 2, id, rank, nullptr) != ncclSuccess) return;
      program(comm, rank, data, stream);
      cudaStreamSynchronize(stream);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return 0;
}

int other_counts() {
  return on_two_ranks([](ncclComm_t comm, int rank, float* data, cudaStream_t stream) {
    ncclAllReduce(data, data, rank == 0 ? 5 : 6, ncclFloat32, ncclSum, comm, stream);
  });
}

int other_roots() {
  return on_two_ranks([](ncclComm_t comm, int rank, float* data, cudaStream_t stream) {
    if (rank == 0) ncclSend(data, 7, ncclFloat32, 1, comm, stream);
    else ncclBroadcast(data, data, 7, ncclFloat32, 0, comm, stream);
  });
}

int used_after_abort() {
  return on_two_ranks([](ncclComm_t comm, int rank, float* data, cudaStream_t stream) {
    if (rank == 1) return;
    ncclCommAbort(comm);
    ncclSend(data, 7, ncclFloat32, 1, comm, stream);
  });
}

int destroyed_at_once() {
  return on_two_ranks([](ncclComm_t comm, int rank, float*, cudaStream_t) {
    if (rank == 0) ncclCommDestroy(comm);
  });
}

int dispatch(int argc, char** argv) {
  const PlantedFaults programs = {
      {"other_counts", other_counts},
      {"other_roots", other_roots},
      {"used_after_abort", used_after_abort},
      {"destroyed_at_once", destroyed_at_once},
  };
  return plant(argc, argv, programs);
}

}  // namespace
}  // namespace zero

int main(int argc, char** argv) { return zero::dispatch(argc, argv); }
