// A simulated run against a real one of the same command: the same bytes in every category but
// workspace, the same peak at the same step, the same traffic, and the same events in the same
// order, for all stages, types and numbers of ranks; for a program that the simulator has never
// seen, too.
#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "catch.h"
#include "common/trace/reader.h"
#include "tests/support/files.h"
#include "tests/support/matrix.h"
#include "tests/support/told_event.h"

namespace zero {
namespace {

using nlohmann::json;

constexpr auto kWorkspace = static_cast<std::size_t>(Memory::workspace);

// What happened on a rank, as far as it must not depend on the device: no times, no addresses, no
// values, no workspace.
class Story {
 public:
  explicit Story(const RankTrace& trace) {
    for (const TraceEvent& event : trace.events) {
      event::Any what = event.what;
      if (std::visit([this](auto& e) { return tell(e); }, what)) {
        ToldEvent told;
        std::visit(told, what);
        events.push_back(fmt::format("{} {}", what.index(), told.text));
      }
    }
  }

  std::vector<std::string> events;
  std::int64_t peak = 0;  // bytes, of everything but workspace
  std::string peak_step;

 private:
  // Buffers are numbered without those of the workspace.
  void renumber(std::int64_t& buffer) { buffer = numbers_.at(buffer); }
  void renumber(event::Place& place) { renumber(place.buffer); }

  std::string place(const std::string& unit) const {
    return unit.empty() ? caption_ : fmt::format("{} ({})", caption_, unit);
  }

  // Whether this is to be told.
  bool tell(event::Allocate& e) {
    if (e.category == Memory::workspace) return false;
    numbers_[e.buffer] = static_cast<std::int64_t>(numbers_.size()) + 1;
    bytes_[e.buffer] = e.bytes;
    live_ += e.bytes;
    if (live_ > peak) {
      peak = live_;
      peak_step = place(unit_);
    }
    renumber(e.buffer);
    e.address.reset();
    return true;
  }
  bool tell(event::Free& e) {
    if (!numbers_.count(e.buffer)) return false;
    live_ -= bytes_.at(e.buffer);
    renumber(e.buffer);
    return true;
  }
  bool tell(event::Step& e) {
    caption_ = e.caption;
    unit_ = e.unit.value_or("");
    return true;
  }
  bool tell(event::OperatorBegin& e) {
    // A unit allocates before it runs, and names itself when it does.
    if (live_ == peak && peak_step == caption_ && e.unit) peak_step = place(*e.unit);
    return true;
  }
  bool tell(event::Write& e) {
    renumber(e.place);
    e.values.clear();
    return true;
  }
  bool tell(event::Send& e) {
    renumber(e.from);
    e.hop.values.clear();
    return true;
  }
  bool tell(event::Receive& e) {
    renumber(e.into);
    if (e.own) renumber(*e.own);
    e.hop.values.clear();
    return true;
  }
  bool tell(event::Move& e) {
    renumber(e.from);
    renumber(e.into);
    e.hop.values.clear();
    return true;
  }
  bool tell(event::Library& e) {
    renumber(e.into);
    e.values.clear();
    return true;
  }
  bool tell(event::Iteration& e) {
    e.loss.reset();
    e.memory[kWorkspace] = {};
    e.total = {};
    return true;
  }
  template <class Other>
  bool tell(Other&) {
    return true;
  }

  std::map<std::int64_t, std::int64_t> numbers_, bytes_;
  std::int64_t live_ = 0;
  std::string caption_, unit_;
};

struct Outcome {
  json result;
  std::vector<Story> ranks;
};

Outcome run_on(const std::string& device, const std::string& stage, Work work) {
  const TemporaryFolder folder;
  work.more.insert(work.more.end(),
                   {"--device", device, "--trace", folder / "trace", "--trace-iterations", "0"});
  Outcome outcome;
  outcome.result = run_stage(stage, work);
  for (const RankTrace& rank : read_run(folder / "trace").ranks) {
    CHECK(rank.header.clock == (device == "cpu" ? "wall" : "simulated"));
    outcome.ranks.emplace_back(rank);
  }
  return outcome;
}

json without_workspace(json rank) {
  rank.at("memory").erase("workspace");
  rank.erase("peak_total");
  rank.erase("peak_step");
  return rank;
}

// Everything that must be equal, and that there is something to compare.
void check_simulated_as_measured(const std::string& stage, const Work& work) {
  INFO(stage << ", " << work.ranks << " ranks, " << work.dtype << ", " << work.collectives);
  const Outcome measured = run_on("cpu", stage, work);
  const Outcome simulated = run_on("simulated", stage, work);
  REQUIRE(simulated.ranks.size() == static_cast<std::size_t>(work.ranks));
  REQUIRE(measured.ranks.size() == simulated.ranks.size());
  for (std::size_t r = 0; r < simulated.ranks.size(); ++r) {
    INFO("rank " << r);
    const json& rank = simulated.result.at("ranks").at(r);
    CHECK(without_workspace(rank) == without_workspace(measured.result.at("ranks").at(r)));
    CHECK(rank.at("memory").at("workspace").at("peak") == 0);
    CHECK(rank.at("peak_total") == measured.ranks[r].peak);
    CHECK(rank.at("peak_step") == measured.ranks[r].peak_step);
    REQUIRE(measured.ranks[r].events.size() > 100);
    CHECK(simulated.ranks[r].events == measured.ranks[r].events);
  }
  for (std::size_t i = 0; i < simulated.result.at("iterations").size(); ++i) {
    const json& iteration = simulated.result.at("iterations").at(i);
    const json& real = measured.result.at("iterations").at(i);
    CHECK(iteration.at("loss").is_null());
    CHECK(iteration.at("fingerprint").is_null());
    CHECK(iteration.at("skipped") == real.at("skipped"));
    CHECK(iteration.at("loss_scale") == real.at("loss_scale"));
    if (!real.at("skipped")) CHECK(iteration.at("gradient_norm").get<double>() == Approx(1));
  }
}

Work work_of(int ranks, const std::string& dtype, const std::string& collectives = "ring") {
  Work work = shape_for(ranks == 7 ? 3 : ranks);  // 7 does not divide it
  work.ranks = ranks;
  work.dtype = dtype;
  work.collectives = collectives;
  work.batch = 2 * ranks;
  work.iterations = 2;
  work.more = {"--loss-scale", "64"};  // so that no real gradient overflows
  return work;
}

}  // namespace

TEST_CASE("a simulated run keeps, sends and does what a real one does") {
  for (const std::string dtype : {"fp32", "fp16", "bf16"}) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
      for (const std::string& stage : kStages) {
        DYNAMIC_SECTION(stage << ", " << ranks << " ranks, " << dtype) {
          check_simulated_as_measured(stage, work_of(ranks, dtype));
        }
      }
    }
  }
}

TEST_CASE("a simulated run with direct collectives does what a real one does") {
  for (const int ranks : {1, 3, 5}) {
    for (const std::string& stage : kStages) {
      DYNAMIC_SECTION(stage << ", " << ranks << " ranks") {
        check_simulated_as_measured(stage, work_of(ranks, "fp16", "direct"));
      }
    }
  }
}

TEST_CASE("a simulated run keeps the fp32 gradient as a real one does") {
  for (const std::string& stage : kStages) {
    Work work = work_of(3, "bf16");
    work.more.push_back("--fp32-grads");
    DYNAMIC_SECTION(stage) { check_simulated_as_measured(stage, work); }
  }
}

TEST_CASE("a simulated run sends messages of other lengths as a real one does") {
  for (const std::string& stage : kStages) {
    Work work = work_of(5, "fp16");
    work.more.insert(work.more.end(), {"--chunk", "37"});
    work.iterations = 1;
    DYNAMIC_SECTION(stage) { check_simulated_as_measured(stage, work); }
  }
}

TEST_CASE("an iteration that one rank's overflow makes all skip is simulated as it happens") {
  for (const std::string dtype : {"fp16", "bf16", "fp32"}) {
    for (const std::string& stage : kStages) {
      Work work = work_of(3, dtype);
      work.iterations = 3;
      work.more.insert(work.more.end(), {"--overflow-at", "1:1"});
      DYNAMIC_SECTION(stage << ", " << dtype) { check_simulated_as_measured(stage, work); }
    }
  }
}

TEST_CASE("a program that the simulator has never seen is simulated as it runs") {
  for (const int ranks : {1, 3, 5}) {
    DYNAMIC_SECTION(ranks << " ranks") {
      check_simulated_as_measured("../tests/odd_stage/odd_stage", work_of(ranks, "fp16"));
    }
  }
}

}  // namespace zero
