// The replay of real traces of all four stages, against what the programs counted themselves.
#include <map>
#include <random>

#include "catch.h"
#include "common/comm/partition.h"
#include "tests/support/files.h"
#include "tests/support/stage.h"
#include "visualizer/replay/alignment.h"
#include "visualizer/replay/player.h"

namespace zero::replay {
namespace {

using nlohmann::json;

json run_traced(const std::string& stage, int ranks, const std::string& folder) {
  Work work;
  work.ranks = ranks;
  work.batch = 2 * ranks;
  work.iterations = 2;
  work.more = {"--trace", folder, "--trace-iterations", "0"};
  return run_stage(stage, work);
}

// Live bytes by category, counted from the buffers that the world shows.
std::array<std::int64_t, kMemoryCategories> count(const RankState& state) {
  std::array<std::int64_t, kMemoryCategories> live{};
  for (const Buffer& buffer : state.buffers) {
    live[static_cast<std::size_t>(buffer.info->allocate->category)] += buffer.info->allocate->bytes;
  }
  return live;
}

void check_memory(const Run& run) {
  World world(run);
  std::vector<std::array<event::Bytes, kMemoryCategories>> naive(world.ranks.size());
  std::size_t iterations = 0;
  while (world.position < run.size()) {
    const EventIndex e = world.position;
    world.apply(run);
    const auto r = static_cast<std::size_t>(run.rank_of(e));
    const RankState& state = world.ranks[r];
    const auto live = count(state);
    std::int64_t total = 0;
    bool right = true;
    for (std::size_t c = 0; c < live.size(); ++c) {
      total += live[c];
      naive[r][c].peak = std::max(naive[r][c].peak, live[c]);
      right = right && state.memory[c].live == live[c] && state.memory[c].peak == naive[r][c].peak;
    }
    if (!right || state.total.live != total) FAIL(run.where(e));
    if (const auto* told = std::get_if<event::Iteration>(&run.event(e).what)) {
      ++iterations;
      for (std::size_t c = 0; c < live.size(); ++c) {
        CHECK(state.memory[c].live == told->memory[c].live);
        CHECK(state.memory[c].peak == told->memory[c].peak);
      }
      CHECK(state.total.live == told->total.live);
      CHECK(state.total.peak == told->total.peak);
    }
  }
  CHECK(iterations == 2 * world.ranks.size());
  CHECK(world.in_flight.empty());
  for (int r = 0; r < run.world_size(); ++r) {
    const RankState& state = world.ranks[static_cast<std::size_t>(r)];
    CHECK(run.at(*state.peak + 1).ranks[static_cast<std::size_t>(r)].total.live ==
          state.total.peak);
    std::int64_t highest = 0;
    for (const MemoryPoint& point : run.memory(r)) {
      std::int64_t sum = 0;
      for (const std::int64_t bytes : point.live) sum += bytes;
      highest = std::max(highest, sum);
    }
    CHECK(highest == state.total.peak);
  }
}

// At the end of the last step with this number before the state is saved.
World end_of_step(const Run& run, int number) {
  for (std::size_t c = run.chapters().size(); c-- > 0;) {
    if (run.chapters()[c].number == number) return run.at(run.chapters()[c].end - 1);
  }
  throw std::logic_error("no such step");
}

// Who holds what when an iteration is over, told by category and range, not by name.
void check_contents(const Run& run, const std::string& stage, int K) {
  const Partition partition(run.header().num_parameters, K);
  const World world = end_of_step(run, 6);
  std::int64_t parameters = 0, gradients = 0;
  for (int r = 0; r < K; ++r) {
    for (const Buffer& buffer : world.ranks[static_cast<std::size_t>(r)].buffers) {
      const event::Allocate& allocate = *buffer.info->allocate;
      if (!allocate.range) continue;
      for (const Cell& cell : buffer.cells().all()) {
        for (std::int64_t i = cell.begin; i < cell.end; ++i) {
          const auto owner = static_cast<int>((allocate.range->begin + i) / partition.shard_size());
          const Content& content = cell.content;
          bool right = true;
          if (allocate.category == Memory::parameters) {
            ++parameters;
            const bool gathered = stage != "ddp" && owner != r;
            right = content.kind == (gathered ? Kind::gathered : Kind::cast) &&
                    content.contributors == RankSet(gathered ? owner : r);
          } else if (allocate.category == Memory::gradients && K > 1) {
            ++gradients;
            const bool reduced = stage == "ddp" || owner == r;
            right = content.kind == (reduced ? Kind::reduced : Kind::local_gradient) &&
                    content.contributors.size() == (reduced ? K : 1) && content.divided == reduced;
            // The padding of a rank's own gradients is zeros, not gradients.
            right = right || content.kind == Kind::zero;
          }
          if (!right) {
            FAIL("rank " << r << ", " << allocate.name << " at " << i << ": "
                         << to_string(content.kind) << " of " << content.contributors.size());
          }
        }
      }
    }
  }
  const std::int64_t N = partition.all().end;
  CHECK(parameters == (stage == "zero3" ? N : K * N));
  if (K > 1) CHECK(gradients == (stage == "ddp" || stage == "zero1" ? K * N : N));
}

TEST_CASE("of all stages and numbers of ranks, memory, traffic and contents are as counted") {
  for (const std::string& stage : kStages) {
    for (int K = 1; K <= 8; ++K) {
      INFO(stage << ", " << K << " ranks");
      const TemporaryFolder folder;
      const json result = run_traced(stage, K, folder.path());
      const auto run = Run::open(folder.path());
      CHECK(run->notes().empty());
      check_memory(*run);
      check_contents(*run, stage, K);
      const World end = run->at(run->size());
      for (int r = 0; r < K; ++r) {
        const auto i = static_cast<std::size_t>(r);
        const std::int64_t sent = result["ranks"][i]["sent_bytes_per_iteration"];
        CHECK(end.ranks[i].sent == 2 * sent);
        CHECK(end.ranks[i].over);
        CHECK_FALSE(end.ranks[i].waiting());
        CHECK(end.ranks[i].operators.empty());
      }
    }
  }
}

TEST_CASE("seeking to any position gives the world that playing from the start gives") {
  std::mt19937 random(1);
  for (const std::string& stage : {std::string("zero1"), std::string("zero3")}) {
    const TemporaryFolder folder;
    run_traced(stage, 3, folder.path());
    // Few and many keyframes, and so little memory for them that most are dropped again.
    for (const Keyframes keep : {Keyframes{}, Keyframes{7, 1 << 28}, Keyframes{3, 100'000}}) {
      LogReader reader(folder.path());
      reader.read();
      const auto run = Run::from(reader.log(), Order::logical, nullptr, keep);
      std::vector<World> played = {World(*run)};
      while (played.back().position < run->size()) {
        World next = played.back();
        next.apply(*run);
        played.push_back(std::move(next));
      }
      Player player(run);
      for (int i = 0; i < 300; ++i) {
        const std::size_t position = random() % (run->size() + 1);
        REQUIRE(run->at(position) == played[position]);
        player.seek(position);
        REQUIRE(player.world() == played[position]);
      }
      REQUIRE_FALSE(played[run->size() / 2] == played[run->size() / 2 + 1]);
    }
  }
}

TEST_CASE("four stages on one clock: the same step of the same unit at the same time") {
  std::vector<std::unique_ptr<TemporaryFolder>> folders;
  std::vector<std::shared_ptr<const Run>> runs;
  for (const std::string& stage : kStages) {
    folders.push_back(std::make_unique<TemporaryFolder>());
    run_traced(stage, 3, folders.back()->path());
    runs.push_back(Run::open(folders.back()->path()));
  }
  const Alignment alignment(runs);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    std::size_t before = 0;
    for (std::size_t p = 0; p <= runs[r]->size(); ++p) {
      REQUIRE(alignment.position(r, alignment.clock(r, p)) == p);
    }
    for (double clock = 0; clock < alignment.length() + 2; clock += 0.7) {
      const std::size_t now = alignment.position(r, clock);
      REQUIRE(now >= before);
      before = now;
    }
    CHECK(alignment.position(r, 0) == 0);
    CHECK(alignment.position(r, alignment.length()) == runs[r]->size());
  }
  // In the middle of a phase, the runs that have it are in its step, and work on its unit.
  int all_four = 0, some = 0;
  for (const Alignment::Phase& phase : alignment.phases()) {
    const double middle = (phase.begin + phase.end) / 2;
    CHECK(alignment.phases()[alignment.phase_at(middle)].begin == phase.begin);
    std::size_t having = 0;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      if (!phase.has[r]) {
        // It waits.
        CHECK(alignment.position(r, phase.begin) == alignment.position(r, middle));
        continue;
      }
      ++having;
      const std::size_t position = alignment.position(r, middle);
      const auto chapter = runs[r]->chapter_at(position);
      if (!chapter) continue;
      CHECK(runs[r]->chapters()[*chapter].iteration == phase.iteration);
      CHECK(runs[r]->chapters()[*chapter].number == phase.number);
    }
    (having == runs.size() ? all_four : some) += 1;
  }
  // Forward and backward of each unit, 4, 5 and 6, in both iterations at least.
  CHECK(all_four >= 2 * (4 + 4 + 3));
  CHECK(some > 0);  // ZeRO-2 and ZeRO-3 reduce unit by unit
}

}  // namespace
}  // namespace zero::replay
