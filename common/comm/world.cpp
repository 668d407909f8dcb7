// Recognises a process that an MPI launcher has started.
#include "common/comm/world.h"

#include <cstdlib>

namespace zero {

bool under_mpi() {
  // Open MPI's mpirun; MPICH's, Intel's and Slurm's PMI; PMIx. SLURM_* alone is not a sign: they
  // are set in every shell of an allocation.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "PMIX_RANK"}) {
    if (std::getenv(name)) return true;
  }
  return false;
}

}  // namespace zero
