// Traces that are cut off, growing, damaged or hostile.
#include <algorithm>
#include <chrono>
#include <random>
#include <sstream>
#include <thread>

#include "catch.h"
#include "tests/replay_runs.h"
#include "tests/small_run.h"
#include "visualizer/replay/loading.h"
#include "visualizer/replay/player.h"

namespace zero::replay {
namespace {

using nlohmann::json;

std::string rank_file(const TemporaryFolder& folder, int rank) {
  return folder / ("rank" + std::to_string(rank) + ".jsonl");
}

std::vector<std::string> lines_of(const std::string& path) {
  std::istringstream text(read_whole_file(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line + "\n");
  return lines;
}

void write_lines(const std::string& path, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  write_whole_file(path, text);
}

void require_same(const Run& a, const Run& b) {
  REQUIRE(a.size() == b.size());
  REQUIRE(a.chapters().size() == b.chapters().size());
  for (std::size_t p = 0; p <= a.size(); p += 1 + a.size() / 50) REQUIRE(a.at(p) == b.at(p));
  REQUIRE(a.at(a.size()) == b.at(b.size()));
}

TEST_CASE("a trace cut off after any line is shown up to there, and who waits is marked") {
  const TemporaryFolder folder;
  SmallRun(folder.path(), {.world_size = 3, .iterations = 1});
  const auto whole = lines_of(rank_file(folder, 1));
  int waiting = 0;
  for (std::size_t kept = 1; kept < whole.size(); ++kept) {
    for (const bool within : {false, true}) {
      auto lines = std::vector<std::string>(whole.begin(),
                                            whole.begin() + static_cast<std::ptrdiff_t>(kept));
      if (within) lines.push_back(whole[kept].substr(0, whole[kept].size() / 2));
      write_lines(rank_file(folder, 1), lines);
      INFO(kept << " lines" << (within ? " and a half" : ""));
      const auto run = Run::open(folder.path());
      bool open = false;
      for (std::size_t i = 0; i < kept; ++i) {
        const std::string kind = json::parse(whole[i])["e"];
        if (kind == "collective") open = true;
        if (kind == "collective_end") open = false;
      }
      const World end = run->at(run->size());
      CHECK(end.ranks[1].done == kept - 1);
      CHECK(end.ranks[1].over);
      CHECK(end.ranks[1].waiting() == open);
      CHECK_FALSE(end.ranks[0].waiting());
      CHECK_FALSE(run->rank(1).ended);
      CHECK_FALSE(run->notes().empty());
      waiting += open;
    }
  }
  CHECK(waiting > 10);
}

TEST_CASE(
    "all that is missing since a trace is cut off is one note, and of many notes few are said") {
  const TemporaryFolder folder;
  SmallRun(folder.path(), {.world_size = 3, .iterations = 2});
  const auto whole = lines_of(rank_file(folder, 1));
  const auto kept = static_cast<std::ptrdiff_t>(whole.size() / 2);
  int lost = 0;
  for (const std::string& line : std::vector<std::string>(whole.begin() + kept, whole.end())) {
    lost += json::parse(line)["e"] == "send";
  }
  REQUIRE(lost > 2);
  write_lines(rank_file(folder, 1), {whole.begin(), whole.begin() + kept});
  const auto run = Run::open(folder.path());
  REQUIRE(run->notes().size() == 2);  // the other is that the last line is missing
  CHECK(run->notes().back() == rank_file(folder, 1) + ":" + std::to_string(kept) +
                                   ": the trace ends here, so " + std::to_string(lost) +
                                   " messages from rank 1 are missing");
  CHECK(run->first_notes() == run->notes());

  const TemporaryFolder many;
  SmallRun(many.path(), {.world_size = 8, .iterations = 1});
  for (int r = 0; r < 8; ++r) {
    auto lines = lines_of(rank_file(many, r));
    lines.pop_back();
    write_lines(rank_file(many, r), lines);
  }
  const auto cut = Run::open(many.path());
  REQUIRE(cut->notes().size() == 8);
  const auto first = cut->first_notes();
  REQUIRE(first.size() == 6);
  CHECK(first[4] == cut->notes()[4]);
  CHECK(first[5] == many.path() + ": and 3 more");
}

TEST_CASE("a growing run, read on after any bytes, is the run that reading it whole gives") {
  const TemporaryFolder whole, growing;
  SmallRun(whole.path(), {.world_size = 3, .iterations = 2});
  std::mt19937 random(5);
  std::vector<std::string> texts;
  for (int r = 0; r < 3; ++r) texts.push_back(read_whole_file(rank_file(whole, r)));
  LogReader reader(growing.path());
  CHECK_THROWS_AS(reader.read(), TraceError);
  std::vector<std::size_t> written(3, 0);
  for (int round = 0;
       written[0] + written[1] + written[2] < texts[0].size() + texts[1].size() + texts[2].size();
       ++round) {
    // Rank 2 begins late.
    for (std::size_t r = 0; r < (round < 4 ? 2u : 3u); ++r) {
      written[r] = std::min(texts[r].size(), written[r] + random() % 3000);
      write_whole_file(rank_file(growing, static_cast<int>(r)), texts[r].substr(0, written[r]));
    }
    try {
      reader.read();
    } catch (const TraceError&) {
      continue;  // no header is whole yet
    }
    const auto followed = Run::from(reader.log());
    require_same(*followed, *Run::open(growing.path()));
  }
  CHECK(reader.all_ended());
  require_same(*Run::from(reader.log()), *Run::open(whole.path()));

  // Another run in the same directory, while it is followed.
  for (int r = 0; r < 3; ++r) std::filesystem::remove(rank_file(growing, r));
  SmallRun(growing.path(), {.world_size = 3, .iterations = 9, .run = "small 2"});
  CHECK(reader.read());
  require_same(*Run::from(reader.log()), *Run::open(growing.path()));
}

TEST_CASE("the lowest rank says which run it is, even if a file of another run was there first") {
  const TemporaryFolder older, newer, folder;
  SmallRun(older.path(), {.world_size = 3, .iterations = 1});
  SmallRun(newer.path(), {.world_size = 2, .iterations = 1, .run = "small 2"});
  write_whole_file(rank_file(folder, 2), read_whole_file(rank_file(older, 2)));
  LogReader reader(folder.path());
  reader.read();
  CHECK(Run::from(reader.log())->world_size() == 3);
  for (int r = 1; r >= 0; --r) {
    write_whole_file(rank_file(folder, r), read_whole_file(rank_file(newer, r)));
    CHECK(reader.read());
    CHECK(Run::from(reader.log())->header().run == "small 2");
  }
  require_same(*Run::from(reader.log()), *Run::open(newer.path()));
  CHECK(Run::from(reader.log())->notes().empty());
}

TEST_CASE("a run is loaded, followed to its end and cancelled in a thread of its own") {
  using namespace std::chrono_literals;
  const auto wait = [](const auto& done) {
    for (int i = 0; i < 3000 && !done(); ++i) std::this_thread::sleep_for(10ms);
    REQUIRE(done());
  };
  const TemporaryFolder whole, growing;
  SmallRun(whole.path(), {.world_size = 3, .iterations = 2});
  Loading once(whole.path());
  wait([&] { return once.finished(); });
  CHECK(once.progress() == 1);
  CHECK_FALSE(once.error());
  const auto run = once.take();
  REQUIRE(run);
  CHECK_FALSE(once.take());
  require_same(*run, *Run::open(whole.path()));

  Loading missing(growing.path());
  wait([&] { return missing.finished(); });
  REQUIRE(missing.error());
  CHECK(missing.error()->find("no trace here") != std::string::npos);
  CHECK_FALSE(missing.take());

  Loading follow(growing.path(), Order::logical, true);
  wait([&] { return follow.error().has_value(); });  // it waits for a first file
  for (int r = 0; r < 3; ++r) {
    const std::string text = read_whole_file(rank_file(whole, r));
    write_whole_file(rank_file(growing, r), text.substr(0, text.size() / 2));
  }
  std::shared_ptr<const Run> half;
  wait([&] {
    if (auto newer = follow.take()) half = newer;
    return half && half->size() > 20;
  });
  CHECK_FALSE(follow.finished());
  Player player(half);
  player.seek(half->size());
  for (int r = 0; r < 3; ++r) {
    write_whole_file(rank_file(growing, r), read_whole_file(rank_file(whole, r)));
  }
  std::shared_ptr<const Run> all;
  wait([&] {
    if (auto newer = follow.take()) all = newer;
    return follow.finished() && all;
  });
  require_same(*all, *run);
  player.replace(all);
  CHECK(player.position() == all->size());  // at the end it stays at the end
  CHECK(player.world() == all->at(all->size()));

  Loading cancelled(growing.path() + "/nothing", Order::logical, true);
  cancelled.cancel();
  wait([&] { return cancelled.finished(); });
}

TEST_CASE("what cannot be shown at all is one message with the file and the line") {
  const auto message = [](const std::string& directory) -> std::string {
    try {
      Run::open(directory);
    } catch (const TraceError& error) {
      return error.what();
    }
    return "";
  };
  const TemporaryFolder folder;
  CHECK(message(folder / "nothing").find("no such directory") != std::string::npos);
  CHECK(message(folder.path()).find("no trace here") != std::string::npos);
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string(1000, '\xff') + "\n", std::string(50, '\0'),
        std::string("{\"e\":\"header\"}\n"), std::string(100'000, '[') + "\n"}) {
    write_whole_file(rank_file(folder, 0), text);
    CHECK(message(folder.path()).find("rank0.jsonl:1: ") != std::string::npos);
  }
  SmallRun(folder.path(), {.world_size = 3, .iterations = 1});
  auto lines = lines_of(rank_file(folder, 0));
  const auto change = [&](const std::string& from, const std::string& to) {
    std::string line = lines[0];
    line.replace(line.find(from), from.size(), to);
    write_whole_file(rank_file(folder, 0), line);
    std::filesystem::remove(rank_file(folder, 1));
    std::filesystem::remove(rank_file(folder, 2));
    return message(folder.path());
  };
  CHECK(change("\"version\":1", "\"version\":2").find("rank0.jsonl:1: ") != std::string::npos);
  CHECK(change("\"world_size\":3", "\"world_size\":1000000").find("at most 1024") !=
        std::string::npos);
}

TEST_CASE("a damaged line ends its rank, with a note of the file and the line") {
  const TemporaryFolder folder;
  SmallRun(folder.path(), {.world_size = 3, .iterations = 1});
  auto lines = lines_of(rank_file(folder, 2));
  lines[20] = "{\"e\":\"send\",\"t\":-5}\n";
  write_lines(rank_file(folder, 2), lines);
  const auto run = Run::open(folder.path());
  CHECK(run->rank(2).events.size() == 19);
  CHECK(run->rank(1).ended);
  const auto& notes = run->notes();
  CHECK(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note.find("rank2.jsonl:21: ") != std::string::npos;
  }));
}

// Plays and asks everything; the result does not matter, only that there is one.
void play(const std::string& directory) {
  for (const Order order : {Order::logical, Order::measured}) {
    std::shared_ptr<const Run> run;
    try {
      run = Run::open(directory, order);
    } catch (const TraceError&) {
      return;
    }
    World world(*run);
    while (world.position < run->size()) world.apply(*run);
    REQUIRE(world == run->at(run->size()));
    for (int r = 0; r < run->world_size(); ++r) {
      for (const Buffer& buffer : world.ranks[static_cast<std::size_t>(r)].buffers) {
        std::int64_t end = 0;
        for (const Cell& cell : buffer.cells().all()) {
          REQUIRE(cell.begin == end);
          REQUIRE(cell.end > cell.begin);
          end = cell.end;
        }
        REQUIRE(end == buffer.info->allocate->size);
        history(*run, *buffer.info, buffer.info->allocate->size / 2);
      }
    }
    for (EventIndex e = 0; e < run->size(); ++e) changes_of(run->event(e));
  }
}

TEST_CASE("hostile traces are refused, or shown as far as they make sense") {
  const TemporaryFolder original, folder;
  SmallRun(original.path(), {.world_size = 3, .iterations = 1});
  std::vector<std::vector<std::string>> all;
  for (int r = 0; r < 3; ++r) all.push_back(lines_of(rank_file(original, r)));
  std::mt19937 random(11);
  const std::vector<std::string> numbers = {"0",
                                            "-1",
                                            "1",
                                            "2",
                                            "3",
                                            "7",
                                            "1000000",
                                            "9007199254740992",
                                            "9007199254740993",
                                            "9223372036854775807",
                                            "18446744073709551615",
                                            "1e300",
                                            "null",
                                            "\"x\"",
                                            "[]",
                                            "0.5"};
  for (int round = 0; round < 400; ++round) {
    for (int r = 0; r < 3; ++r) {
      auto lines = all[static_cast<std::size_t>(r)];
      for (int i = static_cast<int>(random() % 5); i > 0; --i) {
        const std::size_t line = random() % lines.size();
        const std::size_t other = random() % lines.size();
        const unsigned what = random() % 5;
        if (what == 0) {
          lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(line));
        } else if (what == 1) {
          const std::string copy = lines[other];
          lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(line), copy);
        } else if (what == 2) {
          std::swap(lines[line], lines[other]);
        } else {  // a number becomes another one
          const std::size_t digit = lines[line].find_first_of("0123456789", random() % 150);
          if (digit == std::string::npos) continue;
          const std::size_t end = lines[line].find_first_not_of("0123456789", digit);
          lines[line].replace(digit, end - digit, numbers[random() % numbers.size()]);
        }
      }
      // Times out of order would end most of these traces at once: they have a test of their own.
      for (std::string& line : lines) {
        const std::size_t t = line.find("\"t\":");
        if (t == std::string::npos) continue;
        const std::size_t end = line.find_first_of(",}", t);
        if (end != std::string::npos) line.replace(t, end - t, "\"t\":1");
      }
      write_lines(rank_file(folder, r), lines);
    }
    INFO("round " << round);
    play(folder.path());
  }
}

TEST_CASE("the sum of the sizes of buffers is never more than a number can be") {
  const TemporaryFolder folder;
  SmallRun(folder.path(), {.world_size = 1, .iterations = 1});
  auto lines = lines_of(rank_file(folder, 0));
  lines.resize(3);
  for (int i = 0; i < 2000; ++i) {
    lines.push_back(R"({"e":"allocate","t":999999999999,"buffer":)" + std::to_string(100 + i) +
                    R"(,"name":"huge","category":"temporary","dtype":"fp16","address":null,)"
                    R"("bytes":9007199254740992,"size":9007199254740992,"range":null})" +
                    "\n");
  }
  write_lines(rank_file(folder, 0), lines);
  const auto run = Run::open(folder.path());
  const World end = run->at(run->size());
  CHECK(end.ranks[0].total.live > 0);
  CHECK(end.ranks[0].total.live <= std::int64_t{1} << 60);
  CHECK(run->notes().size() > 10);
  CHECK(run->notes().size() < 100);
}

}  // namespace
}  // namespace zero::replay
