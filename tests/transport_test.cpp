// What goes over the transport, message by message, and what happens when a rank does not take
// part.
#include "common/comm/transport.h"

#include <array>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

#include "catch.h"
#include "common/comm/threads.h"
#include "common/comm/world.h"
#include "tests/collectives.h"
#include "tests/support/thread_ranks.h"

namespace zero {
namespace {

// Shows each tensor message of its rank to `look` before it leaves; what `look` changes is sent.
class OpenTransport : public ThreadTransport {
 public:
  using Look = std::function<void(const Hop&, std::vector<std::byte>&)>;
  OpenTransport(ThreadGroup& group, int rank, Look look)
      : ThreadTransport(group, rank), look_(std::move(look)) {}

 protected:
  void start_send(int to, std::span<const std::byte> bytes, const Hop* hop) override {
    if (!look_ || !hop || hop->step == 0 || hop->algorithm.empty()) {
      ThreadTransport::start_send(to, bytes, hop);
      return;
    }
    message_.assign(bytes.begin(), bytes.end());
    look_(*hop, message_);
    ThreadTransport::start_send(to, message_, hop);
  }

 private:
  Look look_;
  std::vector<std::byte> message_;
};

std::vector<Failure> run(int K, const std::function<void(Transport&)>& program,
                         const OpenTransport::Look& look = {}, double timeout = 60) {
  return run_ranks<OpenTransport>(K, timeout, program, look);
}

std::vector<float> values(View view) {
  std::vector<float> result;
  for (std::int64_t i = 0; i < view.size(); ++i) result.push_back(load(view, i));
  return result;
}

using AllValues = std::vector<std::vector<float>>;  // of every rank

// One all_reduce or reduce_scatter over K ranks.
AllValues results(int K, std::int64_t N, Algorithm algorithm, const std::string& name,
                  const OpenTransport::Look& look = {}) {
  AllValues all(static_cast<std::size_t>(K));
  const auto failures = run(
      K,
      [&](Transport& transport) {
        Member member(transport, algorithm, Dtype::fp32, 2);
        const Partition partition(N, K);
        Buffer buffer = member.filled(partition.all());
        if (name == "all_reduce") member.comm->all_reduce(buffer, partition);
        else member.comm->reduce_scatter(buffer, partition);
        all[static_cast<std::size_t>(transport.rank())] = values(buffer);
      },
      look);
  REQUIRE(failures.empty());
  return all;
}

// Which ranks hold a wrong value when the sum for position p of owner o was changed in one message.
// The reduction's part of all_reduce has K - 1 steps, the gathering's part as many.
std::vector<bool> wrong_ranks(int K, const std::string& name, Algorithm algorithm, int step, int to,
                              int owner) {
  std::vector<bool> wrong(static_cast<std::size_t>(K), false);
  if (step <= K - 1) {
    // A changed contribution: everyone who gets the average; in reduce_scatter its owner.
    for (int rank = 0; rank < K; ++rank) {
      wrong[static_cast<std::size_t>(rank)] = name == "all_reduce" || rank == owner;
    }
    return wrong;
  }
  // A changed copy: its receiver, and in a ring everyone after it, up to the rank before the owner.
  wrong[static_cast<std::size_t>(to)] = true;
  if (algorithm == Algorithm::ring) {
    for (int rank = to; rank != owner; rank = (rank + 1) % K) {
      wrong[static_cast<std::size_t>(rank)] = true;
    }
  }
  return wrong;
}

TEST_CASE("one changed message changes the predicted element on the predicted ranks only") {
  const int K = GENERATE(3, 5);
  const Algorithm algorithm = GENERATE(Algorithm::ring, Algorithm::direct);
  const std::string name = GENERATE("reduce_scatter", "all_reduce");
  const std::int64_t N = 3 * K - 1;  // shards of 3: two chunks, the second of one element
  const Partition partition(N, K);
  const AllValues good = results(K, N, algorithm, name);

  // Every message of the collective in turn.
  std::mutex mutex;
  std::vector<Hop> hops;
  results(K, N, algorithm, name, [&](const Hop& hop, std::vector<std::byte>&) {
    const std::lock_guard lock(mutex);
    hops.push_back(hop);
  });
  const std::size_t parts = name == "all_reduce" ? 2 : 1;
  REQUIRE(hops.size() == parts * static_cast<std::size_t>(2 * K * (K - 1)));

  for (const Hop& target : hops) {
    const AllValues bad =
        results(K, N, algorithm, name, [&](const Hop& hop, std::vector<std::byte>& bytes) {
          if (hop.step != target.step || hop.source != target.source ||
              hop.destination != target.destination || hop.chunk != target.chunk) {
            return;
          }
          float first = 0;
          std::memcpy(&first, bytes.data(), sizeof first);
          first += 1000;
          std::memcpy(bytes.data(), &first, sizeof first);
        });
    const std::int64_t changed = target.range.begin;
    const int owner = static_cast<int>(changed / partition.shard_size());
    const auto wrong = wrong_ranks(K, name, algorithm, target.step, target.destination, owner);
    for (std::size_t rank = 0; rank < good.size(); ++rank) {
      for (std::size_t i = 0; i < good[rank].size(); ++i) {
        const bool predicted = wrong[rank] && static_cast<std::int64_t>(i) == changed;
        CAPTURE(K, name, target.step, target.source, target.destination, owner, rank, i);
        REQUIRE((good[rank][i] != bad[rank][i]) == predicted);
      }
    }
  }
}

TEST_CASE("values of 2^rank show whose sum every message of a ring carries") {
  const int K = GENERATE(3, 5, 8);
  const Partition partition(2 * K - 1, K);
  std::mutex mutex;
  int messages = 0;
  bool as_expected = true;
  const auto failures = run(
      K,
      [&](Transport& transport) {
        Member member(transport, Algorithm::ring, Dtype::fp32, 1);
        Buffer buffer = member.garbage(partition.all());
        for (std::int64_t i = 0; i < buffer.view().size(); ++i) {
          store(buffer, i, std::ldexp(1.0f, transport.rank()));
        }
        member.comm->reduce_scatter(buffer, partition);
        for (int owner = 0; owner < K; ++owner) {
          const Piece piece{partition.shard(0), owner};
          Buffer send = member.garbage(partition.shard(0));
          for (std::int64_t i = 0; i < send.view().size(); ++i) {
            store(send, i, std::ldexp(1.0f, transport.rank()));
          }
          Buffer receive = member.garbage(partition.shard(0));
          member.comm->reduce(send, receive, piece);
        }
      },
      [&](const Hop& hop, std::vector<std::byte>& bytes) {
        // Step i carries the values of i ranks: the sender and those before it, from owner + 1 on.
        float expected = 0;
        for (int back = 0; back < hop.step; ++back) {
          expected += std::ldexp(1.0f, (hop.source - back + K) % K);
        }
        float sum = 0;
        std::memcpy(&sum, bytes.data(), sizeof sum);
        const std::lock_guard lock(mutex);
        ++messages;
        if (sum != expected) as_expected = false;
      });
  CHECK(failures.empty());
  CHECK(as_expected);
  CHECK(messages == 2 * K * (K - 1) + 2 * K * (K - 1));
}

TEST_CASE("a partial sum of fp16 can overflow in a ring, and does not in direct") {
  const int K = 3;
  const float near_limit = 40000;
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
    const auto failures = run(K, [&](Transport& transport) {
      Member member(transport, algorithm, Dtype::fp16, 64);
      const Partition partition(6, K);
      Buffer buffer = member.garbage(partition.all());
      for (std::int64_t i = 0; i < 6; ++i) store(buffer, i, near_limit);
      member.comm->all_reduce(buffer, partition);
      for (const float x : values(buffer)) {
        const bool overflow = std::isinf(x) && x > 0;
        if (overflow != (algorithm == Algorithm::ring)) throw std::logic_error("not as documented");
        if (!overflow && x != near_limit) throw std::logic_error("not the average");
      }
      // Everyone learns of it.
      const bool finite = std::isfinite(member.comm->global_norm(buffer, partition));
      if (finite == (algorithm == Algorithm::ring)) throw std::logic_error("norm");
    });
    CHECK(failures.empty());
  }
}

TEST_CASE("one value that is not finite makes the norm not finite on every rank") {
  const float bad =
      GENERATE(std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
               std::numeric_limits<float>::quiet_NaN());
  std::array<bool, 3> finite{true, true, true};
  const auto failures = run(3, [&](Transport& transport) {
    Member member(transport, Algorithm::ring, Dtype::bf16, 64);
    const Partition partition(7, 3);
    Buffer shard = member.filled(partition.shard(transport.rank()));
    if (transport.rank() == 1) store(shard, 2, bad);
    const double norm = member.comm->global_norm(shard, partition);
    finite[static_cast<std::size_t>(transport.rank())] = std::isfinite(norm);
  });
  CHECK(failures.empty());
  CHECK(finite == std::array<bool, 3>{});
}

TEST_CASE("the scratch of a communicator does not grow with what it reduces") {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
    std::array<std::int64_t, 2> peaks{};
    for (const std::size_t i : {0, 1}) {
      const auto failures = run(3, [&](Transport& transport) {
        Member member(transport, algorithm, Dtype::fp16, 16);
        const Partition partition(i == 0 ? 10 : 5000, 3);
        Buffer buffer = member.filled(partition.all());
        member.comm->all_reduce(buffer, partition);
        member.comm->reduce(buffer, buffer, {partition.all(), 1});
        member.comm->broadcast(buffer, buffer, {partition.all(), 2});
        if (transport.rank() == 0) peaks[i] = member.tracker.peak(Memory::communication);
      });
      CHECK(failures.empty());
    }
    CHECK(peaks[0] == peaks[1]);
    CHECK(peaks[0] == (algorithm == Algorithm::ring ? 16 * 2 + 16 * 2 : 16 * 2 + 16 * 4));
  }
}

TEST_CASE("scalars and control messages are counted apart from tensors") {
  const int K = 3;
  const auto failures = run(K, [&](Transport& transport) {
    Member member(transport, Algorithm::ring, Dtype::fp32, 64);
    const std::int64_t before = member.comm->scalar_bytes_sent();
    member.comm->all_gather_scalar(1.0);
    const std::int64_t scalars = member.comm->scalar_bytes_sent() - before;
    if (scalars != 8 * (K - 1) + 72) throw std::logic_error("scalar bytes");
    if (member.comm->tensor_bytes_sent() != 0) throw std::logic_error("tensor bytes");
  });
  CHECK(failures.empty());
}

// ---- ranks that do not take part ----------------------------------------------------------------

bool says(const std::string& message, std::initializer_list<const char*> words) {
  for (const char* word : words) {
    if (message.find(word) == std::string::npos) return false;
  }
  return true;
}

// Rank 1 of 3 runs `other` instead of an all_reduce of 30 fp32 values.
std::vector<Failure> rank_1_differs(const std::function<void(Member&)>& other,
                                    double timeout = 60) {
  return run(
      3,
      [&](Transport& transport) {
        Member member(transport, Algorithm::ring, Dtype::fp32, 4);
        const Partition partition(30, 3);
        Buffer buffer = member.filled(partition.all());
        member.comm->all_gather(buffer, partition);
        if (transport.rank() == 1) other(member);
        else member.comm->all_reduce(buffer, partition);
      },
      {}, timeout);
}

TEST_CASE("ranks that call different things get a message on time, not a hang") {
  const Partition partition(30, 3);
  const std::vector<std::function<void(Member&)>> others = {
      [&](Member& m) {  // another size
        m.comm->all_reduce(m.filled({0, 33}), Partition(33, 3));
      },
      [&](Member& m) {
        m.comm->reduce_scatter(m.filled({0, 30}), partition);
      },
      [&](Member& m) {
        m.comm->reduce(m.filled({0, 30}), m.filled({0, 30}), {{0, 30}, 2});
      },
      [&](Member& m) { m.comm->all_gather_scalar(1); }, [&](Member& m) {  // another range
        m.comm->all_reduce(m.filled({3, 33}), Partition(Range{3, 33}, 3));
      }};
  for (const auto& other : others) {
    const auto failures = rank_1_differs(other);
    REQUIRE(failures.size() == 3);  // everyone ends
    INFO(failures[0].message);
    CHECK(!failures[0].aborted);
    CHECK(says(failures[0].message, {"rank 1", "collective 2", "all_reduce", "expected"}));
  }
}

// Rank 1 is the one that differs from the others; it and its neighbour 2 see that at once.
TEST_CASE("who calls with another type, algorithm or owner sends no tensor") {
  const auto differ = [](const std::function<void(Transport&)>& program) {
    std::mutex mutex;
    int messages = 0;
    const auto failures = run(3, program, [&](const Hop& hop, std::vector<std::byte>&) {
      const std::lock_guard lock(mutex);
      if (hop.source != 0) ++messages;
    });
    return failures.size() == 3 && messages == 0;
  };
  const Partition partition(30, 3);
  CHECK(differ([&](Transport& transport) {
    const bool other = transport.rank() == 1;
    Member member(transport, Algorithm::ring, other ? Dtype::fp16 : Dtype::bf16, 4);
    member.comm->all_reduce(member.filled({0, 30}), partition);
  }));
  CHECK(differ([&](Transport& transport) {
    const bool other = transport.rank() == 1;
    Member member(transport, other ? Algorithm::ring : Algorithm::direct, Dtype::fp32, 4);
    member.comm->all_reduce(member.filled({0, 30}), partition);
  }));
  CHECK(differ([&](Transport& transport) {
    Member member(transport, Algorithm::ring, Dtype::fp32, 4);
    Buffer buffer = member.filled({0, 30});
    member.comm->broadcast(buffer, buffer, {{0, 30}, transport.rank() == 1 ? 1 : 0});
  }));
}

TEST_CASE("a rank that throws ends the others, who say where they waited and for whom") {
  const auto failures =
      rank_1_differs([](Member&) { throw std::runtime_error("broken on purpose"); });
  REQUIRE(failures.size() == 3);
  CHECK(failures[0].message == "broken on purpose");
  for (const std::size_t other : {1, 2}) {
    INFO(failures[other].message);
    CHECK(failures[other].aborted);
    // The collective before it may still be under way there, when rank 1 is through.
    CHECK(
        says(failures[other].message, {"(ring, collective ", "waiting for rank", "rank 1 failed"}));
  }
}

TEST_CASE("a rank that ends early or never comes is named by those who wait for it") {
  const auto ended = rank_1_differs([](Member&) {});
  REQUIRE(ended.size() == 2);
  CHECK(says(ended[0].message, {"all_reduce", "rank 1", "has ended"}));

  const auto missing = rank_1_differs(
      [](Member&) { std::this_thread::sleep_for(std::chrono::milliseconds(1500)); }, 0.2);
  REQUIRE(missing.size() == 2);
  CHECK(!missing[0].aborted);
  CHECK(says(missing[0].message, {"all_reduce", "nothing from rank", "0.2 seconds"}));
  for (const Failure& failure : missing) {
    INFO(failure.message);
    CHECK(says(failure.message, {"all_reduce (ring, collective 2", "rank"}));
    CHECK((failure.rank == 0 || says(failure.message, {"rank 2", "rank 1"})));
  }
}

TEST_CASE("what a rank cannot do is refused before anything is sent") {
  const auto failures = run(2, [&](Transport& transport) {
    Member member(transport, Algorithm::ring, Dtype::fp32, 4);
    Buffer buffer = member.filled({0, 10});
    const std::int64_t before = transport.scalar_bytes_sent();
    const auto refused = [&](const std::function<void()>& call) {
      try {
        call();
      } catch (const std::logic_error& error) {  // out_of_range and invalid_argument
        return says(error.what(), {"rank"}) || says(error.what(), {"threads"});
      }
      return false;
    };
    Communicator& comm = *member.comm;
    Buffer half = member.device.allocate(Memory::gradients, "half", Dtype::fp16, Range{0, 10});
    const bool all_refused = refused([&] { comm.all_reduce(buffer, Partition(12, 2)); }) &&
                             refused([&] { comm.all_reduce(buffer, Partition(9, 3)); }) &&
                             refused([&] { comm.all_reduce(half, Partition(10, 2)); }) &&
                             refused([&] {
                               comm.reduce(buffer, buffer, {{0, 10}, 2});
                             }) &&
                             refused([&] {
                               comm.broadcast(buffer, buffer, {{0, 10}, -1});
                             }) &&
                             refused([&] {
                               comm.broadcast(buffer, buffer, {{5, 11}, 0});
                             }) &&
                             refused([&] {
                               make_communicator(Algorithm::library, transport, member.device,
                                                 member.trace, Dtype::fp32);
                             });
    if (!all_refused) throw std::logic_error("something was not refused");
    if (transport.scalar_bytes_sent() != before) throw std::logic_error("something was sent");
  });
  CHECK(failures.empty());
}

TEST_CASE("run_on_threads returns 1 when a rank fails, and 0 otherwise") {
  CHECK(run_on_threads(3, 60, [](Transport&) {}) == 0);
  CHECK(run_on_threads(3, 60, [](Transport& transport) {
          if (transport.rank() == 2) throw std::runtime_error("broken on purpose: a test");
          Member member(transport, Algorithm::direct, Dtype::fp32, 4);
          member.comm->all_gather_scalar(1);
        }) == 1);
}

}  // namespace
}  // namespace zero
