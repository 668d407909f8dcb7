// The two ways ranks exist: as threads of this process, or as processes under mpirun.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "common/comm/transport.h"

namespace zero {

// What one rank's program does with its transport.
using RankProgram = std::function<void(Transport&)>;

// Runs `program` on `world_size` threads. A rank that throws makes every other rank stop with
// Aborted. Messages go to standard error: first the failing rank's own, then one line per rank that
// was waiting, with the collective and whom it waited for; an empty message is not printed. Returns
// 0, or 1 when a rank failed. `timeout` in seconds is the longest that a rank waits for another.
int run_on_threads(int world_size, double timeout, const RankProgram& program);

// Whether this process was started by mpirun, mpiexec or srun as one of several (or one).
bool under_mpi();

// MPI_COMM_WORLD. Initialises MPI on first use, and finalises it when the process exits;
// std::runtime_error when built without MPI.
int mpi_rank();
int mpi_world_size();
int mpi_local_rank();  // among the processes of this machine

// The largest `status` of all processes; all of them must call it. So that a mistake which only one
// process can see (its machine lacks a file) ends all of them, before the ranks begin.
int mpi_worst_status(int status);

// What each process says, all of one size, in rank order: `all` is world_size times `mine`. All of
// them must call it.
void mpi_all_gather(std::span<const std::byte> mine, std::span<std::byte> all);

// Runs `program` as this process's rank. A rank that throws ends all processes. On SIGTERM (another
// rank was killed) it names the collective it waits in. Returns as run_on_threads does.
int run_on_mpi(double timeout, const RankProgram& program);

}  // namespace zero
