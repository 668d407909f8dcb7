// Point-to-point messages over MPI, with a limit to every wait.
#include "common/comm/mpi_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>

namespace zero {
namespace {

// MPI counts in int: longer messages go in parts. An empty message is one empty part.
constexpr std::size_t kPart = std::size_t{1} << 30;

std::size_t parts_of(std::size_t size) { return size == 0 ? 1 : (size + kPart - 1) / kPart; }

// Looks at a request before a wait counts as one: most messages are there by then.
constexpr int kLooks = 200;

}  // namespace

MpiTransport::MpiTransport(double timeout_seconds) : timeout_(timeout_seconds) {
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &world_size_), "MPI_Comm_size");
  sends_.resize(static_cast<std::size_t>(world_size_));
}

void MpiTransport::abort(const std::string& reason) noexcept { end_all(reason, 1); }

// MPI itself ends this process when another rank has failed. What is left to do is to know where it
// was then; nobody says when the wait is over, so the next message does.
void MpiTransport::check_peers(const Hop* hop) {
  elsewhere_.emplace(rank_, describe(hop) + ", or soon after");
}

void MpiTransport::start_send(int to, std::span<const std::byte> bytes, const Hop*) {
  elsewhere_.reset();
  for (std::size_t part = 0; part < parts_of(bytes.size()); ++part) {
    const auto rest = bytes.subspan(part * kPart);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Isend(rest.data(), static_cast<int>(std::min(rest.size(), kPart)), MPI_BYTE, to, 0,
                    MPI_COMM_WORLD, &request),
          "MPI_Isend");
    sends_[static_cast<std::size_t>(to)].push_back(request);
  }
}

void MpiTransport::finish_send(int to, const Hop* hop) {
  auto& requests = sends_[static_cast<std::size_t>(to)];
  for (MPI_Request& request : requests) wait(request, to, hop);
  requests.clear();
}

void MpiTransport::receive_bytes(int from, std::span<std::byte> bytes, const Hop* hop) {
  elsewhere_.reset();
  for (std::size_t part = 0; part < parts_of(bytes.size()); ++part) {
    const auto rest = bytes.subspan(part * kPart);
    const int expected = static_cast<int>(std::min(rest.size(), kPart));
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Irecv(rest.data(), expected, MPI_BYTE, from, 0, MPI_COMM_WORLD, &request),
          "MPI_Irecv");
    const MPI_Status status = wait(request, from, hop);
    int received = 0;
    check(MPI_Get_count(&status, MPI_BYTE, &received), "MPI_Get_count");
    if (received != expected) {
      throw std::length_error(fmt::format("rank {}, {}: rank {} sent {} bytes, expected {}", rank_,
                                          describe(hop), from, received, expected));
    }
  }
}

MPI_Status MpiTransport::wait(MPI_Request& request, int peer, const Hop* hop) {
  std::optional<Waiting> waiting;
  std::chrono::steady_clock::time_point begin;
  for (std::int64_t look = 0;; ++look) {
    int done = 0;
    MPI_Status status;
    const int result = MPI_Test(&request, &done, &status);
    if (result != MPI_SUCCESS) {
      int kind = MPI_SUCCESS;
      MPI_Error_class(result, &kind);
      if (kind == MPI_ERR_TRUNCATE) {
        throw std::length_error(fmt::format("rank {}, {}: rank {} sent more bytes than expected",
                                            rank_, describe(hop), peer));
      }
      check(result, "MPI_Test");
    }
    if (done) return status;
    if (look < kLooks) continue;
    if (!waiting) {
      waiting.emplace(rank_, fmt::format("{}, waiting for rank {}", describe(hop), peer));
      begin = std::chrono::steady_clock::now();
    }
    std::this_thread::yield();
    if (std::chrono::steady_clock::now() - begin > timeout_) {
      throw std::runtime_error(fmt::format("rank {}, {}: nothing from rank {} for {} seconds",
                                           rank_, describe(hop), peer, timeout_.count()));
    }
  }
}

}  // namespace zero
