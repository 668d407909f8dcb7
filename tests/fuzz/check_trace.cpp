// Every question that a view may ask, and the answers that cannot depend on what the trace says.
#include "tests/fuzz/check_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/trace/chrome.h"
#include "common/trace/reader.h"
#include "tests/fuzz/corpus.h"
#include "tests/support/told_event.h"
#include "visualizer/replay/alignment.h"
#include "visualizer/replay/collectives.h"
#include "visualizer/replay/player.h"
#include "visualizer/replay/run.h"

namespace zero::replay {
namespace {

void require(bool holds, std::string_view what) {
  if (!holds) throw Broken(std::string(what));
}

// ---- the two parsers ----------------------------------------------------------------------------

void check_parsers(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!std::getline(file, line)) return;
  event::Header header;
  try {
    header = parse_header(line);
  } catch (const BadLine&) {
    return;
  }
  const LineParser quick = fast_parser();
  while (std::getline(file, line)) {
    const std::string a = tell(quick, line, header), b = tell(parse_event, line, header);
    require(a == b, fmt::format("the parsers differ on {}\n{}\n{}", line, a, b));
  }
}

// ---- the order ----------------------------------------------------------------------------------

void check_order(const Run& run) {
  std::vector<std::size_t> next(static_cast<std::size_t>(run.world_size()), 0);
  for (EventIndex e = 0; e < run.size(); ++e) {
    require(run.own_index(e) == next[static_cast<std::size_t>(run.rank_of(e))]++,
            "a rank's own order is not kept");
    require(run.index_of(run.rank_of(e), run.own_index(e)) == e, "index_of is not the inverse");
    require(e == 0 || run.time(e - 1) <= run.time(e), "time decreases");
    const auto partner = run.partner(e);
    if (!partner) continue;
    require(run.partner(*partner) == e, "a message has one partner only");
    const bool receive = std::holds_alternative<event::Receive>(run.event(e).what);
    require(receive == (*partner < e), "a message is received before it is sent");
    require(run.hop(e)->step == run.hop(*partner)->step, "partners have different keys");
  }
  for (int r = 0; r < run.world_size(); ++r) {
    require(next[static_cast<std::size_t>(r)] == run.rank(r).events.size(), "events are lost");
  }
}

// ---- the worlds ---------------------------------------------------------------------------------

void check_pieces(const std::vector<Cell>& pieces, std::int64_t size) {
  std::int64_t end = 0;
  for (const Cell& piece : pieces) {
    require(piece.begin == end && piece.end > end, "a message has gaps");
    end = piece.end;
  }
  require(end == size, "a message has another size");
}

void check_rank(const Run& run, int r, const RankState& state) {
  std::int64_t total = 0;
  for (const event::Bytes& bytes : state.memory) {
    require(bytes.live >= 0 && bytes.peak >= bytes.live, "live bytes are more than at the peak");
    total += bytes.live;
  }
  require(total == state.total.live && total <= state.total.peak, "bytes do not add up");
  std::int64_t number = 0, held = 0;
  for (const Buffer& buffer : state.buffers) {
    require(buffer.number() > number, "buffers are not in order");
    number = buffer.number();
    require(state.buffer(number)->info == buffer.info, "a buffer is not found");
    require(run.buffer(r, number) == buffer.info, "a buffer has two births");
    held += buffer.info->allocate->bytes;
    std::int64_t end = 0;
    for (const Cell& cell : buffer.cells().all()) {
      require(cell.begin == end && cell.end > end, "cells have gaps");
      require(buffer.cells().at(cell.begin) == cell, "a cell is not found");
      require(buffer.cells().at(cell.end - 1) == cell, "a cell is not found by its end");
      end = cell.end;
    }
    require(end == buffer.info->allocate->size, "cells do not fill their buffer");
  }
  require(held == total, "bytes are not those of the buffers");
}

void check_world(const Run& run, const World& world) {
  for (int r = 0; r < run.world_size(); ++r) {
    check_rank(run, r, world.ranks[static_cast<std::size_t>(r)]);
  }
  EventIndex before = 0;
  for (const Transfer& transfer : world.in_flight) {
    require(transfer.send >= before, "transfers are not in order");
    before = transfer.send + 1;
    const auto* send = std::get_if<event::Send>(&run.event(transfer.send).what);
    require(send != nullptr, "what flies was not sent");
    require(transfer.receive == run.partner(transfer.send), "a transfer goes elsewhere");
    check_pieces(*transfer.content, send->hop.range.size());
  }
}

// Plays it once, checks worlds on the way, and that seeking gives the same ones.
void check_worlds(const Run& run) {
  const std::size_t stride = run.size() / 16 + 1;
  std::vector<World> some;
  World world(run);
  while (true) {
    if (world.position % stride == 0) some.push_back(world);
    if (world.position == run.size()) break;
    for (const Change& change : changes_of(run.event(world.position))) {
      require(change.size >= 0 && change.at >= 0, "a change is nowhere");
    }
    world.apply(run);
  }
  require(world == run.at(run.size()), "the end is another one after seeking");
  check_world(run, world);
  for (auto at = some.rbegin(); at != some.rend(); ++at) {
    check_world(run, *at);
    require(*at == run.at(at->position), "a world is another one after seeking");
  }
  for (int r = 0; r < run.world_size(); ++r) {
    const RankState& state = world.ranks[static_cast<std::size_t>(r)];
    const auto& memory = run.memory(r);
    for (std::size_t c = 0; !memory.empty() && c < kMemoryCategories; ++c) {
      require(memory.back().live[c] == state.memory[c].live, "memory ends elsewhere");
    }
    int asked = 0;
    for (const Buffer& buffer : state.buffers) {
      if (++asked > 4) break;  // each reads all events
      const auto touched = history(run, *buffer.info, buffer.info->allocate->size / 2);
      require(touched.front().event == buffer.info->birth, "a history begins before the birth");
    }
  }
}

// ---- moving about -------------------------------------------------------------------------------

void check_chapters(const Run& run) {
  std::size_t begin = 0;
  for (const Chapter& chapter : run.chapters()) {
    require(chapter.begin > begin, "chapters are not in order");
    begin = chapter.begin;
    require(chapter.all_in >= begin && chapter.all_in <= run.size(), "a chapter is never begun");
    require(chapter.end > begin || chapter.end == run.size(), "a chapter is empty");
    require(run.chapters()[*run.chapter_at(begin)].begin == begin, "a chapter is not found");
  }
}

void check_player(const std::shared_ptr<const Run>& run) {
  Player player(run);
  std::size_t at = 0;
  for (std::size_t i = 0; i < run->chapters().size() && i < 20; ++i) {
    player.next_step();
    require(player.position() > at, "next_step does not go on");
    at = player.position();
  }
  player.seek(run->size() / 2);
  player.previous_event();
  player.next_event(0);
  player.previous_step();
  require(player.world() == run->at(player.position()), "a player shows another world");
  player.seek(run->size() + 5);
  require(player.position() == run->size(), "a player goes beyond the end");
  player.replace(run);
  require(player.position() == run->size(), "a player does not stay at the end");
}

void check_alignment(const Alignment& alignment, std::size_t which, const Run& run) {
  double before = 0;
  for (std::size_t p = 0; p <= run.size(); ++p) {
    const double clock = alignment.clock(which, p);
    require(clock >= before && clock <= alignment.length(), "the clock goes back");
    before = clock;
    require(alignment.position(which, clock) == p, "the clock gives another position");
  }
}

// ---- all of it ----------------------------------------------------------------------------------

void check_run(const std::shared_ptr<const Run>& run, const std::string& directory) {
  for (const std::string& note : run->notes()) check_message(note, directory);
  require(run->notes().size() < 120, "too many notes");
  check_order(*run);
  check_worlds(*run);
  check_chapters(*run);
  check_player(run);
  for (const Collective& collective : collectives_of(*run)) {
    require(collective.begin <= run->size() && collective.end <= run->size(),
            "a collective is outside of the run");
    for (const Hop& hop : collective.hops) {
      require(run->hop(hop.send) != nullptr, "a hop is no message");
      require(!hop.receive || run->partner(hop.send) == hop.receive, "a hop goes elsewhere");
    }
  }
}

// Read in two parts, as a trace that grows, it is the same.
void check_growing(const std::string& directory, const Run& whole) {
  const std::string growing = directory + "/growing";
  std::filesystem::create_directories(growing);
  LogReader reader(growing);
  for (const std::size_t part : {2, 1}) {
    for (std::size_t r = 0; r < kMostFiles; ++r) {
      std::error_code error;
      const auto size = std::filesystem::file_size(rank_path(directory, r), error);
      if (error) continue;
      std::filesystem::copy_file(rank_path(directory, r), rank_path(growing, r),
                                 std::filesystem::copy_options::overwrite_existing);
      std::filesystem::resize_file(rank_path(growing, r), size / part);
    }
    try {
      reader.read();
    } catch (const TraceError&) {
      require(part == 2, "a trace that has grown cannot be read");
    }
  }
  const auto run = Run::from(reader.log());
  std::filesystem::remove_all(growing);
  require(run->size() == whole.size(), "a trace that has grown has other events");
  require(run->at(run->size()) == whole.at(whole.size()), "a trace that has grown ends elsewhere");
}

void check_export(const std::string& directory) {
  try {
    const RunTrace trace = read_run(directory);
    std::ostringstream out;
    write_chrome_trace(trace, out);
    require(nlohmann::json::accept(out.str()), "the Chrome trace is not JSON");
    for (const std::string& note : trace.notes) check_message(note, directory);
  } catch (const TraceError& error) {
    check_message(error.what(), directory);
  }
}

}  // namespace

std::vector<std::string> check_trace(const std::string& directory, bool also_other_readers) {
  if (also_other_readers) {
    for (std::size_t r = 0; r < kMostFiles; ++r) check_parsers(rank_path(directory, r));
    check_export(directory);
  }
  std::shared_ptr<const Run> run;
  try {
    run = Run::open(directory);
  } catch (const TraceError& error) {
    check_message(error.what(), directory);
    return {error.what()};
  }
  const std::vector<std::shared_ptr<const Run>> runs = {run, run->in_order(Order::measured)};
  const Alignment alignment(runs);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    check_run(runs[r], directory);
    check_alignment(alignment, r, *runs[r]);
  }
  if (also_other_readers) check_growing(directory, *run);
  return run->notes();
}

}  // namespace zero::replay
