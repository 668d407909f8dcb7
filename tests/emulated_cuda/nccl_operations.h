// What the operations of the NCCL stand-in do when their stream comes to them.
#pragma once

#include <nccl.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "nccl_board.h"

namespace zero::emulator {

// One rank's place on a board. What is in a stream still needs it after the communicator's end.
struct Member {
  ~Member() {
    if (board) close_board(board);
  }

  std::string board_name;
  Board* board = nullptr;
  int rank = 0;
  int world_size = 1;
  int device = 0;
  std::atomic<bool> aborted = false;  // whoever waits gives up
};

enum class Kind : int { send, all_reduce, reduce_scatter, all_gather, reduce, broadcast };

// What ranks must agree on.
struct Operation {
  Kind kind;
  int root;  // -1: none
  ncclDataType_t type;
  int padding;
  std::size_t count;  // elements, as NCCL's function counts them

  bool operator==(const Operation&) const = default;
};

// One call of one rank. A send has no `to`, a receive no `from`.
struct Call {
  Operation operation;
  std::byte* from;
  std::byte* to;
  int peer;  // of a send or a receive
};

std::string describe(const Operation& operation);
std::size_t bytes_of(ncclDataType_t type);

// The calls of a group: its sends and receives all at once, its collectives in turn. Returns early,
// with anything in the buffers, when the member's communicator is aborted.
void run(Member& member, const std::vector<Call>& calls);

}  // namespace zero::emulator
