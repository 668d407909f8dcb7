// The traces of the stage programs: complete, in step with the counters, and without effect.
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "catch.h"
#include "common/comm/partition.h"
#include "common/trace/match.h"
#include "common/trace/reader.h"
#include "tests/naive_replay.h"
#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/stage.h"

namespace zero {
namespace {

using nlohmann::json;

Work small_work(int ranks, const std::string& collectives) {
  Work work;
  work.ranks = ranks;
  work.collectives = collectives;
  work.batch = 2 * ranks;
  work.iterations = 2;
  return work;
}

json run_traced(const std::string& stage, Work work, const std::string& folder) {
  work.more.insert(work.more.end(),
                   {"--trace", folder, "--trace-values", "--trace-iterations", "0"});
  return run_stage(stage, work);
}

// The memory that a rank's allocations and releases leave at the end of each iteration is what its
// tracker said there.
void check_memory(const RankTrace& trace) {
  std::map<std::int64_t, event::Allocate> alive;
  std::array<std::int64_t, kMemoryCategories> live{}, peak{};
  for (const TraceEvent& event : trace.events) {
    if (const auto* allocate = std::get_if<event::Allocate>(&event.what)) {
      const auto c = static_cast<std::size_t>(allocate->category);
      alive[allocate->buffer] = *allocate;
      peak[c] = std::max(peak[c], live[c] += allocate->bytes);
    } else if (const auto* free = std::get_if<event::Free>(&event.what)) {
      const event::Allocate& freed = alive.at(free->buffer);
      live[static_cast<std::size_t>(freed.category)] -= freed.bytes;
      alive.erase(free->buffer);
    } else if (const auto* iteration = std::get_if<event::Iteration>(&event.what)) {
      for (std::size_t c = 0; c < live.size(); ++c) {
        CHECK(iteration->memory[c].live == live[c]);
        CHECK(iteration->memory[c].peak == peak[c]);
      }
    }
  }
}

std::map<std::int64_t, std::int64_t> sent_by_iteration(const RankTrace& trace) {
  std::map<std::int64_t, std::int64_t> bytes;
  std::int64_t iteration = -1;
  for (const TraceEvent& event : trace.events) {
    if (const auto* step = std::get_if<event::Step>(&event.what)) {
      iteration = step->iteration;
      if (iteration >= 0) bytes[iteration] += 0;
    } else if (const auto* send = std::get_if<event::Send>(&event.what)) {
      bytes[iteration] += send->bytes;
    }
  }
  return bytes;
}

// Everyone's contribution in the gradients that a rank owns; only its own in those it does not.
void check_gradients(const std::string& stage, const NaiveReplay& replay, std::size_t rank, int K,
                     const Partition& partition) {
  const std::uint64_t everyone = (std::uint64_t{1} << K) - 1;
  const std::uint64_t self = std::uint64_t{1} << rank;
  const bool sharded = stage == "zero2" || stage == "zero3";
  const auto& cells = replay.last(rank, sharded ? "grads_shard" : "grads");
  const Range mine = partition.shard(static_cast<int>(rank));
  const std::int64_t begin = sharded ? mine.begin : 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::int64_t position = begin + static_cast<std::int64_t>(i);
    const bool own = mine.begin <= position && position < mine.end;
    REQUIRE(cells[i].ranks == (own || stage == "ddp" ? everyone : self));
  }
}

TEST_CASE("from a stage's traces the rules give the memory, the traffic and the contributors") {
  for (const std::string& stage : kStages) {
    for (const auto& [K, collectives] : {std::pair(1, "ring"), std::pair(3, "ring"),
                                         std::pair(3, "direct"), std::pair(5, "ring")}) {
      INFO(stage << ", " << K << " ranks, " << collectives);
      const TemporaryFolder folder;
      const json result = run_traced(stage, small_work(K, collectives), folder.path());
      const RunTrace run = read_run(folder.path());
      CHECK(run.notes.empty());
      REQUIRE(run.ranks.size() == static_cast<std::size_t>(K));
      const Matched matched = match_messages(run);
      CHECK(matched.never_sent.empty());
      CHECK(matched.never_received.empty());

      const NaiveReplay replay(run, /*powers=*/false);
      for (std::size_t r = 0; r < run.ranks.size(); ++r) {
        const event::Header& header = run.ranks[r].header;
        CHECK(header.program == stage);
        CHECK(header.num_parameters == result["num_parameters"]);
        check_memory(run.ranks[r]);
        const auto sent = sent_by_iteration(run.ranks[r]);
        CHECK(sent.size() == 2);
        for (const auto& [iteration, bytes] : sent) {
          CHECK(bytes == result["ranks"][r]["sent_bytes_per_iteration"]);
        }
        check_gradients(stage, replay, r, K, Partition(header.num_parameters, K));
      }
    }
  }
}

TEST_CASE("tracing changes no bit of a run") {
  for (const std::string& stage : kStages) {
    const TemporaryFolder folder;
    const Work work = small_work(3, "ring");
    CHECK(bits(run_stage(stage, work)) == bits(run_traced(stage, work, folder.path())));
  }
}

}  // namespace
}  // namespace zero
