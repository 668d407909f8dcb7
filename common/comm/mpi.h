// What the files on MPI share.
#pragma once

#include <mpi.h>

#include <source_location>
#include <string>

namespace zero {

// Throws std::runtime_error with MPI's own words, the call and the place, unless `result` is
// MPI_SUCCESS.
void check(int result, const char* call,
           std::source_location place = std::source_location::current());

// Initialises MPI unless that has been done. Errors are returned, and MPI is finalised when the
// process exits.
void start_mpi();

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
