// The quick parser gives what the usual one gives, of every line.
#include <random>
#include <sstream>

#include "catch.h"
#include "tests/replay_runs.h"
#include "tests/small_run.h"
#include "tests/support/told_event.h"
#include "visualizer/replay/read.h"

namespace zero::replay {
namespace {

TEST_CASE("quick and usual parser give the same event, or the same message, for every line") {
  std::mt19937 random(2);
  int bad = 0, good = 0;
  for (const bool small : {true, false}) {
    const TemporaryFolder folder;
    if (small) SmallRun(folder.path(), {.world_size = 3, .iterations = 1});
    else run_collectives(folder.path(), Algorithm::direct, 3, 19);
    for (int r = 0; r < 3; ++r) {
      const LineParser quick = fast_parser();
      std::istringstream text(read_whole_file(folder / ("rank" + std::to_string(r) + ".jsonl")));
      std::string line;
      std::getline(text, line);
      const event::Header header = parse_header(line);
      while (std::getline(text, line)) {
        REQUIRE(tell(quick, line, header) == tell(parse_event, line, header));
        ++good;
        for (int i = 0; i < 30; ++i) {
          std::string changed = line;
          const std::size_t at = random() % changed.size();
          const unsigned what = random() % 4;
          if (what == 0) changed.erase(at, random() % 4);
          if (what == 1) changed[at] = static_cast<char>(random());
          if (what == 2) changed.insert(at, changed.substr(random() % changed.size(), 9));
          if (what == 3) changed.replace(at, 1, "-9007199254740993");
          INFO(changed);
          const std::string expected = tell(parse_event, changed, header);
          REQUIRE(tell(quick, changed, header) == expected);
          bad += expected.starts_with("bad: ");
        }
      }
    }
  }
  CHECK(good > 200);
  CHECK(bad > 1000);
}

}  // namespace
}  // namespace zero::replay
