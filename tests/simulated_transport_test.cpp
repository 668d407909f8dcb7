// Simulated ranks: when messages arrive, by hand, and what is said when they cannot.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "common/comm/communicator.h"
#include "common/comm/simulated.h"
#include "plain_heap.h"

namespace zero {
namespace {

constexpr Picoseconds kNs = 1000, kUs = 1000 * kNs;

// 1 byte per ns and 2 us of latency in a node; 1 byte per 4 ns and 10 us between nodes.
Hardware slow_links(int gpus_per_node) {
  Hardware hardware;
  hardware.link = {"link", 2e-6, 1e9};
  hardware.network = {"network", 10e-6, 0.25e9};
  hardware.gpus_per_node = gpus_per_node;
  hardware.control_seconds = 5e-6;
  return hardware;
}

using SimulatedProgram = std::function<void(SimulatedTransport&)>;

// What each rank threw, "" if nothing, and how many ranks threw at all.
struct Outcome {
  int status = 0;
  std::vector<std::string> messages;
  std::vector<int> order;  // of failing
};

Outcome run(const Hardware& hardware, int K, const SimulatedProgram& program,
            bool representative = false) {
  Outcome outcome;
  outcome.messages.resize(static_cast<std::size_t>(K));
  outcome.status = run_on_simulated_cluster(hardware, K, representative, [&](Transport& transport) {
    try {
      program(dynamic_cast<SimulatedTransport&>(transport));
    } catch (const std::exception& error) {
      outcome.messages[static_cast<std::size_t>(transport.rank())] = error.what();
      outcome.order.push_back(transport.rank());
      throw;
    }
  });
  return outcome;
}

// One of a rank's buffers: bytes as fp32 that nobody looks at have no address.
View nothing(std::int64_t bytes) {
  static const Allocation allocation;
  return View(allocation, nullptr, {0, bytes / 4});
}

Hop message(int step, int steps, int from, int to) {
  Hop hop;
  hop.collective = 7;
  hop.name = "reduce";
  hop.algorithm = "ring";
  hop.step = step;
  hop.steps = steps;
  hop.source = from;
  hop.destination = to;
  return hop;
}

void send(SimulatedTransport& transport, int to, std::int64_t bytes, int step = 1) {
  transport.send(message(step, 4, transport.rank(), to), nothing(bytes));
}
void receive(SimulatedTransport& transport, int from, std::int64_t bytes, int step = 1) {
  transport.receive(message(step, 4, from, transport.rank()), nothing(bytes));
}

using Times = std::vector<Picoseconds>;

// When each rank is done.
Times times(const Hardware& hardware, int K, const SimulatedProgram& program) {
  Times times(static_cast<std::size_t>(K));
  const Outcome outcome = run(hardware, K, [&](SimulatedTransport& transport) {
    program(transport);
    times[static_cast<std::size_t>(transport.rank())] = transport.virtual_clock()->now();
  });
  CHECK(outcome.status == 0);
  return times;
}

// ---- when tensors arrive ----

TEST_CASE("a chain passes a message on: each hop takes the latency and the bytes") {
  const Times chain = times(slow_links(8), 5, [](SimulatedTransport& transport) {
    const int rank = transport.rank();
    if (rank > 0) receive(transport, rank - 1, 4000);
    if (rank < 4) send(transport, rank + 1, 4000);
  });
  CHECK(chain == Times{6 * kUs, 12 * kUs, 18 * kUs, 24 * kUs, 24 * kUs});
}

TEST_CASE("a message that was sent long ago still takes its bytes' time to come in") {
  const Times late = times(slow_links(8), 3, [](SimulatedTransport& transport) {
    if (transport.rank() == 0) send(transport, 1, 4000);
    if (transport.rank() != 1) return;
    transport.virtual_clock()->compute(100 * kUs);
    receive(transport, 0, 4000);
    CHECK(transport.virtual_clock()->computing() == 100 * kUs);
    CHECK(transport.virtual_clock()->communicating() == 4 * kUs);
  });
  CHECK(late == Times{6 * kUs, 104 * kUs, 0});
}

TEST_CASE("a step of a ring takes one message's time, and as long as the slowest link") {
  const SimulatedProgram step = [](SimulatedTransport& transport) {
    const int K = transport.world_size(), rank = transport.rank();
    const int next = (rank + 1) % K, previous = (rank + K - 1) % K;
    transport.virtual_clock()->compute(rank * kUs);
    transport.exchange(message(1, 4, rank, next), nothing(4000), message(1, 4, previous, rank),
                       nothing(4000));
    CHECK(transport.tensor_bytes_sent() == 4000);
    CHECK(transport.scalar_bytes_sent() == 0);
  };
  // Rank 0 waits for the last, the others for themselves.
  CHECK(times(slow_links(8), 3, step) == Times{8 * kUs, 7 * kUs, 8 * kUs});
  CHECK(times(slow_links(8), 1, step) == Times{6 * kUs});
  // Nodes of 2 in 5 ranks: 26 us from 1 to 2, from 3 to 4 and from 4 to 0.
  CHECK(times(slow_links(2), 5, step) == Times{30 * kUs, 27 * kUs, 27 * kUs, 29 * kUs, 30 * kUs});
}

TEST_CASE("an owner takes in one message at a time, whoever comes first") {
  const Times incast = times(slow_links(8), 5, [](SimulatedTransport& transport) {
    if (transport.rank() != 2) {
      send(transport, 2, 4000);
      return;
    }
    for (const int from : {3, 4, 0, 1}) receive(transport, from, 4000);
  });
  CHECK(incast == Times{6 * kUs, 6 * kUs, (6 + 3 * 4) * kUs, 6 * kUs, 6 * kUs});
}

TEST_CASE("a sender is not slowed down by a receiver that takes its messages late") {
  const Times stream = times(slow_links(8), 3, [](SimulatedTransport& transport) {
    for (int step = 1; step <= 3; ++step) {
      if (transport.rank() == 0) send(transport, 1, 4000, step);
      if (transport.rank() == 1) receive(transport, 0, 4000, step);
      if (transport.rank() == 1) transport.virtual_clock()->compute(10 * kUs);
    }
  });
  CHECK(stream == Times{18 * kUs, (6 + 10 + 4 + 10 + 4 + 10) * kUs, 0});
}

TEST_CASE("tensors in host memory arrive as they were when they were sent") {
  const int K = 3;
  std::vector<float> sums(K);
  const Outcome outcome = run(slow_links(2), K, [&](SimulatedTransport& transport) {
    const Place place;
    MemoryTracker tracker(place);
    PlainHeap heap(tracker);
    const Buffer out = heap.allocate(Memory::communication, "out", Dtype::fp32, 7);
    const Buffer in = heap.allocate(Memory::communication, "in", Dtype::fp32, 7);
    const int rank = transport.rank();
    float* values = out.view().as<float>();
    for (int i = 0; i < 7; ++i) values[i] = static_cast<float>(10 * rank + i);
    const int next = (rank + 1) % K, previous = (rank + K - 1) % K;
    transport.send(message(1, 2, rank, next), out);
    std::fill_n(values, 7, -1.0f);
    transport.receive(message(1, 2, previous, rank), in);
    for (int i = 0; i < 7; ++i) sums[static_cast<std::size_t>(rank)] += in.view().as<float>()[i];
  });
  CHECK(outcome.status == 0);
  CHECK(sums == std::vector<float>{7 * 20 + 21, 21, 7 * 10 + 21});
}

// ---- scalars ----

TEST_CASE("scalars take the control time, wherever the ranks are, and are counted apart") {
  const Times exchange = times(slow_links(2), 5, [](SimulatedTransport& transport) {
    const int rank = transport.rank(), next = (rank + 1) % 5, previous = (rank + 4) % 5;
    transport.virtual_clock()->compute(rank * kUs);
    std::int64_t theirs = -1;
    const std::int64_t mine = 100 + rank;
    const Hop control = message(0, 4, 0, 0);
    transport.exchange_scalars(next, std::as_bytes(std::span(&mine, 1)), previous,
                               std::as_writable_bytes(std::span(&theirs, 1)), &control);
    CHECK(theirs == 100 + previous);
    CHECK(transport.scalar_bytes_sent() == 8);
    CHECK(transport.tensor_bytes_sent() == 0);
  });
  CHECK(exchange == Times{9 * kUs, 6 * kUs, 7 * kUs, 8 * kUs, 9 * kUs});
}

TEST_CASE("one value of each rank comes to all, K-1 rounds after the last rank") {
  for (const int K : {1, 3, 5}) {
    const Times gathered = times(slow_links(2), K, [&](SimulatedTransport& transport) {
      for (int again = 0; again < 3; ++again) {
        if (transport.rank() == K - 1) transport.virtual_clock()->compute(7 * kUs);
        const std::int64_t mine = 10 * transport.rank() + again;
        std::vector<std::int64_t> all(static_cast<std::size_t>(K), -1);
        transport.all_gather_scalars(std::as_bytes(std::span(&mine, 1)),
                                     std::as_writable_bytes(std::span(all)), nullptr);
        for (int rank = 0; rank < K; ++rank) {
          CHECK(all[static_cast<std::size_t>(rank)] == 10 * rank + again);
        }
      }
      CHECK(transport.scalar_bytes_sent() == 3 * (K - 1) * 8);
    });
    CHECK(gathered == Times(static_cast<std::size_t>(K), 3 * (7 + (K - 1) * 5) * kUs));
  }
}

TEST_CASE("ranks that meet go on together, after the last of them came") {
  for (const int K : {1, 3, 5}) {
    const Times met = times(slow_links(2), K, [&](SimulatedTransport& transport) {
      for (int again = 0; again < 3; ++again) {
        transport.virtual_clock()->compute((transport.rank() + again) % K * kUs);
        transport.meet(20 * kUs, 11, message(1, 1, 0, 0));
      }
      CHECK(transport.tensor_bytes_sent() == 33);
    });
    CHECK(met == Times(static_cast<std::size_t>(K), 3 * (20 + K - 1) * kUs));
  }
}

TEST_CASE("1,024 ranks meet, and one value of each comes to all") {
  constexpr int K = 1024;
  int wrong = 0;
  const Times met = times(slow_links(8), K, [&](SimulatedTransport& transport) {
    for (int again = 0; again < 10; ++again) transport.meet(kUs, 1, message(1, 1, 0, 0));
    const std::int32_t mine = transport.rank();
    std::vector<std::int32_t> all(K, -1);
    transport.all_gather_scalars(std::as_bytes(std::span(&mine, 1)),
                                 std::as_writable_bytes(std::span(all)), nullptr);
    for (int rank = 0; rank < K; ++rank) {
      if (all[static_cast<std::size_t>(rank)] != rank) ++wrong;
    }
  });
  CHECK(wrong == 0);
  CHECK(met == Times(K, (10 + 1023 * 5) * kUs));
}

// ---- failures ----

TEST_CASE("a rank that fails stops those that wait, in a collective or for all") {
  const Outcome outcome = run(slow_links(2), 5, [](SimulatedTransport& transport) {
    switch (transport.rank()) {
      case 2:
        receive(transport, 3, 400);
        break;
      case 3:
        throw std::runtime_error("broken on purpose");
      case 4:
        transport.meet(0, 0, message(1, 1, 0, 0));
        break;
      default:
        send(transport, 4, 400), send(transport, 4, 400, 3);
    }
  });
  CHECK(outcome.status == 1);
  CHECK(outcome.order == std::vector<int>{3, 4, 0, 1, 2});
  CHECK(outcome.messages[0] ==
        "rank 0: stopped in reduce (ring, collective 7, step 3 of 4) while waiting for rank 4, "
        "since rank 3 failed");
  CHECK(outcome.messages[2] ==
        "rank 2: stopped in reduce (ring, collective 7, step 1 of 4) while waiting for rank 3, "
        "since rank 3 failed");
  CHECK(outcome.messages[3] == "broken on purpose");
  CHECK(outcome.messages[4] ==
        "rank 4: stopped in reduce (ring, collective 7, step 1 of 1) while waiting for rank 0, "
        "since rank 3 failed");
}

TEST_CASE("a rank that ends without taking part is named, in a collective and where all meet") {
  const Outcome receiving = run(slow_links(2), 3, [](SimulatedTransport& transport) {
    if (transport.rank() == 1) receive(transport, 2, 400);
  });
  CHECK(receiving.status == 1);
  CHECK(receiving.messages[1] ==
        "rank 1, reduce (ring, collective 7, step 1 of 4): rank 2 has ended without taking part");

  // Rank 0 has not come either, but may still come.
  const Outcome meeting = run(slow_links(2), 5, [](SimulatedTransport& transport) {
    if (transport.rank() == 3) return;
    if (transport.rank() == 0) receive(transport, 4, 400);
    transport.meet(0, 0, message(1, 1, 0, 0));
  });
  CHECK(meeting.order == std::vector<int>{4, 1, 2, 0});
  CHECK(meeting.messages[4] ==
        "rank 4, reduce (ring, collective 7, step 1 of 1): rank 3 has ended without taking part");
}

TEST_CASE("what a rank sent before it ended still arrives") {
  const Times sent = times(slow_links(8), 3, [](SimulatedTransport& transport) {
    if (transport.rank() == 0) send(transport, 2, 4000);
    if (transport.rank() != 2) return;
    transport.virtual_clock()->compute(kUs);
    receive(transport, 0, 4000);
  });
  CHECK(sent == Times{6 * kUs, 0, 6 * kUs});
}

TEST_CASE("ranks that all wait for each other are told so at once") {
  const Outcome circle = run(slow_links(2), 3, [](SimulatedTransport& transport) {
    receive(transport, (transport.rank() + 2) % 3, 400);
  });
  CHECK(circle.order == std::vector<int>{0, 1, 2});
  CHECK(circle.messages[0] ==
        "rank 0, reduce (ring, collective 7, step 1 of 4): waits for rank 2, which waits itself: "
        "nobody can go on");
  CHECK(circle.messages[1] ==
        "rank 1: stopped in reduce (ring, collective 7, step 1 of 4) while waiting for rank 0, "
        "since rank 0 failed");

  const Outcome meeting = run(slow_links(2), 3, [](SimulatedTransport& transport) {
    std::int64_t value = 1;
    std::vector<std::int64_t> all(3);
    if (transport.rank() == 1) {
      transport.meet(0, 0, message(2, 3, 0, 0));
    } else {
      transport.all_gather_scalars(std::as_bytes(std::span(&value, 1)),
                                   std::as_writable_bytes(std::span(all)), nullptr);
    }
  });
  CHECK(meeting.messages[0] ==
        "rank 0, a control message: waits for rank 1, which waits itself: nobody can go on");
  CHECK(meeting.messages[1] ==
        "rank 1: stopped in reduce (ring, collective 7, step 2 of 3) while waiting for rank 0, "
        "since rank 0 failed");
}

TEST_CASE("a message of another size is an error that names both sizes") {
  const Outcome tensors = run(slow_links(2), 3, [](SimulatedTransport& transport) {
    if (transport.rank() == 0) send(transport, 1, 400);
    if (transport.rank() == 1) receive(transport, 0, 404);
  });
  CHECK(tensors.messages[1] ==
        "rank 1, reduce (ring, collective 7, step 1 of 4): rank 0 sent 400 bytes, expected 404");

  const Outcome scalars = run(slow_links(2), 3, [](SimulatedTransport& transport) {
    const std::vector<std::byte> mine(transport.rank() == 2 ? 4 : 8);
    std::vector<std::byte> all(3 * mine.size());
    transport.all_gather_scalars(mine, all, nullptr);
  });
  CHECK(scalars.messages[2] == "rank 2, a control message: rank 0 sent 8 bytes, expected 4");
}

// ---- one rank for all ----

TEST_CASE("one rank that stands for all gets what it sends, in the same time") {
  constexpr int K = 5;
  int runs = 0;
  const SimulatedProgram program = [&](SimulatedTransport& transport) {
    ++runs;
    CHECK(transport.rank() == 0);
    CHECK(transport.world_size() == K);
    const std::int64_t mine = 42;
    std::int64_t theirs = 0;
    transport.exchange_scalars(1, std::as_bytes(std::span(&mine, 1)), 4,
                               std::as_writable_bytes(std::span(&theirs, 1)), nullptr);
    CHECK(theirs == 42);
    std::vector<std::int64_t> all(K);
    transport.all_gather_scalars(std::as_bytes(std::span(&mine, 1)),
                                 std::as_writable_bytes(std::span(all)), nullptr);
    CHECK(all == std::vector<std::int64_t>(K, 42));
    transport.meet(3 * kUs, 1000, message(1, 1, 0, 0));
    CHECK(transport.virtual_clock()->now() == (5 + 4 * 5 + 3) * kUs);
    CHECK(transport.scalar_bytes_sent() == 8 + 4 * 8);
    CHECK(transport.tensor_bytes_sent() == 1000);
  };
  CHECK(run(slow_links(2), K, program, true).status == 0);
  CHECK(runs == 1);
}

TEST_CASE("one rank that stands for all cannot send a tensor") {
  const SimulatedProgram sends = [](SimulatedTransport& transport) {
    CHECK_THROWS_AS(send(transport, 1, 400), std::logic_error);
    CHECK_THROWS_AS(receive(transport, 4, 400), std::logic_error);
  };
  CHECK(run(slow_links(2), 5, sends, true).status == 0);
}

}  // namespace
}  // namespace zero
