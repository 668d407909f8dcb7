// MPI_Allreduce itself, with nothing of ours around it.
#include <mpi.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "tests/benchmark/collectives.h"

namespace zero {

double mpi_allreduce_seconds(std::int64_t count, int times) {
  if (count > std::numeric_limits<int>::max()) throw std::invalid_argument("too many for MPI");
  std::vector<float> data(static_cast<std::size_t>(count), 0.0f);
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < times; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, data.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
    double own = MPI_Wtime() - began, slowest = 0;
    MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    best = std::min(best, slowest);
  }
  return best;
}

}  // namespace zero
