// What a build without MPI says when it is asked for processes.
#include <stdexcept>

#include "common/comm/world.h"

namespace zero {
namespace {

[[noreturn]] void no_mpi() {
  throw std::runtime_error(
      "this program was built without MPI: install Open MPI's development package and build again, "
      "or start it without mpirun");
}

}  // namespace

int mpi_rank() { no_mpi(); }
int mpi_world_size() { no_mpi(); }
int mpi_local_rank() { no_mpi(); }
int mpi_worst_status(int) { no_mpi(); }
void mpi_all_gather(std::span<const std::byte>, std::span<std::byte>) { no_mpi(); }
int run_on_mpi(double, const RankProgram&) { no_mpi(); }

}  // namespace zero
