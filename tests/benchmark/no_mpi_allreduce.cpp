// Built without MPI: there is nothing to measure.
#include "tests/benchmark/collectives.h"

namespace zero {

double mpi_allreduce_seconds(std::int64_t, int) { return 0; }

}  // namespace zero
