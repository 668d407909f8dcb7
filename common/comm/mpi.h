// What the files on MPI share.
#pragma once

#include <mpi.h>

#include <string>

namespace zero {

// Throws std::runtime_error with MPI's own words, the call and the place, unless `result` is
// MPI_SUCCESS. The place is the caller's. (std::source_location, which clang 14 lacks, is made of
// these two built-ins.)
void check(int result, const char* call, const char* file = __builtin_FILE(),
           int line = __builtin_LINE());

// Initialises MPI unless that has been done. Errors are returned, and MPI is finalised when the
// process exits.
void start_mpi();

// Says why on standard error and ends the processes of all ranks with this exit status.
void end_all(const std::string& reason, int status) noexcept;

// While it lives, a SIGTERM (Open MPI sends it when another rank was killed) makes this process say
// what it waits for before it ends. Cheap enough for every wait that is not over at once.
class Waiting {
 public:
  Waiting(int rank, const std::string& what);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
};
void handle_sigterm(int rank);
void release_sigterm();  // from here on it ends the process without a word

}  // namespace zero
