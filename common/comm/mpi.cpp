// Ranks as processes under mpirun: beginning and end.
#include "common/comm/mpi.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <thread>

#include "common/comm/mpi_transport.h"
#include "common/comm/world.h"

namespace zero {

void check(int result, const char* call, const char* file, int line) {
  if (result == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw std::runtime_error(fmt::format("{} failed: {} ({}:{})", call, text, file, line));
}

void end_all(const std::string& reason, int status) noexcept {
  release_sigterm();  // this rank says why it ends
  std::fprintf(stderr, "%s\n", reason.c_str());
  std::fflush(stderr);
  // mpirun ends all processes as soon as it hears of this, and drops what it has not read by then.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  MPI_Abort(MPI_COMM_WORLD, status);
}

void start_mpi() {
  int started = 0;
  check(MPI_Initialized(&started), "MPI_Initialized");
  if (started) return;
  int provided = 0;
  // Only one thread of a rank calls MPI, though its operators may use more.
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  // At exit, so that a program which stops early, after --help or a usage error, ends in order too.
  std::atexit([] {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized) MPI_Finalize();
  });
}

int mpi_rank() {
  start_mpi();
  int rank = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  return rank;
}

int mpi_world_size() {
  start_mpi();
  int size = 1;
  check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  return size;
}

int mpi_worst_status(int status) {
  start_mpi();
  int worst = status;
  check(MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
  return worst;
}

int mpi_local_rank() {
  start_mpi();
  MPI_Comm machine = MPI_COMM_NULL;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, mpi_rank(), MPI_INFO_NULL,
                            &machine),
        "MPI_Comm_split_type");
  int rank = 0;
  check(MPI_Comm_rank(machine, &rank), "MPI_Comm_rank");
  check(MPI_Comm_free(&machine), "MPI_Comm_free");
  return rank;
}

void mpi_all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  start_mpi();
  const int size = static_cast<int>(mine.size());
  check(MPI_Allgather(mine.data(), size, MPI_BYTE, all.data(), size, MPI_BYTE, MPI_COMM_WORLD),
        "MPI_Allgather");
}

int run_on_mpi(double timeout, const RankProgram& program) {
  start_mpi();
  MpiTransport transport(timeout);
  const std::string name = fmt::format("rank {}", transport.rank());
  handle_sigterm(transport.rank());
  std::string message;
  int status = 1;
  try {
    program(transport);
    // No rank finalises MPI while another may still abort: mpirun can hang then.
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    return 0;
  } catch (const OutOfMemory& error) {
    message = error.what();
    status = 2;  // a device that is too small, as on threads
  } catch (const std::exception& error) {
    message = error.what();
  } catch (...) {
    message = "an exception of unknown type";
  }
  // Errors of the communication name their rank already.
  if (!message.starts_with(name) || message.find_first_of(":,") != name.size()) {
    message = fmt::format("{}: {}", name, message);
  }
  end_all(message, status);
  return status;
}

}  // namespace zero
