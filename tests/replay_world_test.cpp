// The world at every event of the real collectives, against values, elements and changed traces.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include "catch.h"
#include "tests/replay_runs.h"
#include "visualizer/replay/player.h"

namespace zero::replay {
namespace {

using nlohmann::json;

// 2^rank of each contributor: the value that the collectives of run_collectives give.
double value_of(const Content& content, int K) {
  double sum = 0;
  for (int r = 0; r < K; ++r) {
    if (content.contributors.contains(r)) sum += std::ldexp(1.0, r);
  }
  return content.divided ? static_cast<float>(sum) / static_cast<float>(K) : sum;
}

// FORMAT.md's rules once more, element by element, for sets of at most 64 ranks.
class Elements {
 public:
  void apply(const Run& run, EventIndex e) {
    const int rank = run.rank_of(e);
    const event::Any& what = run.event(e).what;
    if (const auto* allocate = std::get_if<event::Allocate>(&what)) {
      all[{rank, allocate->buffer}].assign(static_cast<std::size_t>(allocate->size), 0);
    } else if (const auto* free = std::get_if<event::Free>(&what)) {
      all.erase({rank, free->buffer});
    } else if (const auto* write = std::get_if<event::Write>(&what)) {
      for (std::int64_t i = 0; i < write->size; ++i) {
        at(rank, write->place, i) = std::uint64_t{1} << rank;
      }
    } else if (const auto* send = std::get_if<event::Send>(&what)) {
      std::vector<std::uint64_t> message;
      for (std::int64_t i = 0; i < send->hop.range.size(); ++i) {
        message.push_back(at(rank, send->from, i));
      }
      mail_[key(send->hop)].push_back(message);
    } else if (const auto* receive = std::get_if<event::Receive>(&what)) {
      const auto message = mail_.at(key(receive->hop)).front();
      mail_.at(key(receive->hop)).pop_front();
      for (std::int64_t i = 0; i < receive->hop.range.size(); ++i) {
        std::uint64_t ranks = message[static_cast<std::size_t>(i)];
        if (receive->hop.effect == Effect::add) {
          ranks |= at(rank, receive->own.value_or(receive->into), i);
        }
        at(rank, receive->into, i) = ranks;
      }
    } else if (const auto* move = std::get_if<event::Move>(&what)) {
      for (std::int64_t i = 0; i < move->hop.range.size(); ++i) {
        std::uint64_t& into = at(rank, move->into, i);
        const std::uint64_t from = at(rank, move->from, i);
        into = move->hop.effect == Effect::add ? into | from : from;
      }
    }
  }
  std::map<std::pair<int, std::int64_t>, std::vector<std::uint64_t>> all;

 private:
  using Key = std::tuple<std::int64_t, int, std::int64_t, int, int>;
  static Key key(const event::Hop& hop) {
    return {hop.collective, hop.step, hop.chunk, hop.source, hop.destination};
  }
  std::uint64_t& at(int rank, event::Place place, std::int64_t i) {
    return all.at({rank, place.buffer}).at(static_cast<std::size_t>(place.at + i));
  }
  std::map<Key, std::deque<std::vector<std::uint64_t>>> mail_;
};

std::uint64_t mask(const RankSet& ranks) {
  std::uint64_t bits = 0;
  for (int r = 0; r < 64; ++r) bits |= std::uint64_t{ranks.contains(r)} << r;
  return bits;
}

int check_values(const std::vector<double>& values, const std::vector<Cell>& cells, int K) {
  int checked = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (const Cell& cell : cells) {
      const auto element = static_cast<std::int64_t>(i);
      if (element < cell.begin || element >= cell.end) continue;
      REQUIRE(static_cast<float>(values[i]) == static_cast<float>(value_of(cell.content, K)));
      ++checked;
    }
  }
  return checked;
}

TEST_CASE("with gradients of 2^rank the contributors shown are the traced value, at every event") {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
    for (const int K : {1, 2, 3, 4, 5, 8}) {
      INFO(to_string(algorithm) << ", " << K << " ranks");
      const TemporaryFolder folder;
      run_collectives(folder.path(), algorithm, K, 6 * K + 1);
      for (const Order order : {Order::logical, Order::measured}) {
        const auto run = Run::open(folder.path(), order);
        REQUIRE(run->notes().empty());
        World world(*run);
        Elements elements;
        int checked = 0, reduced = 0;
        while (world.position < run->size()) {
          const EventIndex e = world.position;
          world.apply(*run);
          elements.apply(*run, e);
          INFO(run->where(e));
          const RankState& state = world.ranks[static_cast<std::size_t>(run->rank_of(e))];
          const auto* write = std::get_if<event::Write>(&run->event(e).what);
          const std::vector<double> values = write         ? write->values
                                             : run->hop(e) ? run->hop(e)->values
                                                           : std::vector<double>();
          for (const Change& change : changes_of(run->event(e))) {
            const Cells& cells = state.buffer(change.buffer)->cells();
            checked += check_values(values, cells.slice(change.at, change.size), K);
          }
          if (std::holds_alternative<event::Send>(run->event(e).what)) {
            REQUIRE(world.in_flight.back().send == e);
            checked += check_values(values, *world.in_flight.back().content, K);
          }
          std::size_t buffers = 0;
          for (const RankState& rank : world.ranks) {
            for (const Buffer& buffer : rank.buffers) {
              ++buffers;
              const auto& naive = elements.all.at({buffer.info->rank, buffer.number()});
              for (const Cell& cell : buffer.cells().all()) {
                bool right = cell.content.kind != Kind::unknown && !cell.content.repeated;
                reduced += cell.content.kind == Kind::reduced;
                const std::uint64_t ranks = mask(cell.content.contributors);
                for (std::int64_t i = cell.begin; i < cell.end; ++i) {
                  right = right && ranks == naive[static_cast<std::size_t>(i)];
                }
                if (!right) FAIL("buffer " << buffer.number() << " at " << cell.begin);
              }
            }
          }
          REQUIRE(buffers == elements.all.size());
        }
        CHECK(world.in_flight.empty());
        CHECK(checked > 20 * K);
        CHECK((reduced > 0) == (K > 1));
      }
    }
  }
}

std::string key_of(const event::Hop& hop) {
  return fmt::format("{} {} {} {} {}", hop.collective, hop.step, hop.chunk, hop.source,
                     hop.destination);
}
std::string key_of(const json& line) {
  if (!line.contains("source")) return "";
  return fmt::format("{} {} {} {} {}", line["collective"].dump(), line["step"].dump(),
                     line["chunk"].dump(), line["source"].dump(), line["destination"].dump());
}

// What each buffer held at its end, scratch left out, and what each message but one held: element
// by element. Of a message also in which collective that was made: scratch may still hold the same
// ranks' sum from an earlier one.
std::vector<std::string> picture(const std::string& directory, const std::string& but) {
  const auto run = Run::open(directory);
  World world(*run);
  std::vector<std::string> result;
  const auto tell = [&](std::string text, const auto& cells, bool made) {
    for (const Cell& cell : cells) {
      const event::Hop* hop = made ? run->hop(cell.event) : nullptr;
      for (std::int64_t i = cell.begin; i < cell.end; ++i) {
        text += fmt::format(" {} {} {}", to_string(cell.content.kind),
                            mask(cell.content.contributors), hop ? hop->collective : 0);
      }
    }
    result.push_back(text);
  };
  const auto tell_buffer = [&](const Buffer& buffer) {
    if (buffer.info->allocate->category == Memory::communication) return;
    tell(fmt::format("rank {}, buffer {}:", buffer.info->rank, buffer.number()),
         buffer.cells().all(), false);
  };
  while (world.position < run->size()) {
    const EventIndex e = world.position;
    if (const auto* free = std::get_if<event::Free>(&run->event(e).what)) {
      tell_buffer(*world.ranks[static_cast<std::size_t>(run->rank_of(e))].buffer(free->buffer));
    }
    world.apply(*run);
    if (const auto* send = std::get_if<event::Send>(&run->event(e).what)) {
      if (key_of(send->hop) != but) tell(key_of(send->hop), *world.in_flight.back().content, true);
    }
  }
  for (const RankState& rank : world.ranks) {
    for (const Buffer& buffer : rank.buffers) tell_buffer(buffer);
  }
  std::sort(result.begin(), result.end());  // a missing message may change the order of others
  return result;
}

TEST_CASE("a transfer that is missing, or copies where it added, changes the picture") {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
    const TemporaryFolder original;
    run_collectives(original.path(), algorithm, 3, 7);
    std::map<std::string, bool> adds;  // by key of the message
    change_lines(original.path(), [&](json& line) {
      if (line["e"] == "send") adds[key_of(line)] = line["effect"] == "add";
    });
    REQUIRE(adds.size() > 20);
    for (const auto& [key, is_add] : adds) {
      for (const bool drop : {true, false}) {
        if (!drop && !is_add) continue;
        INFO(to_string(algorithm) << ": " << key << (drop ? " dropped" : " copied"));
        const TemporaryFolder changed;
        std::filesystem::copy(original.path(), changed.path(),
                              std::filesystem::copy_options::overwrite_existing |
                                  std::filesystem::copy_options::recursive);
        const std::string wanted = key;
        change_lines(changed.path(), [&](json& line) {
          if (key_of(line) != wanted) return;
          if (drop) line = nullptr;
          else line["effect"] = "copy";
        });
        const bool differs = picture(changed.path(), key) != picture(original.path(), key);
        CHECK(differs);
      }
    }
  }
}

TEST_CASE("the names of buffers and of the program mean nothing") {
  const TemporaryFolder folder;
  run_collectives(folder.path(), Algorithm::ring, 3, 19);
  const auto before = Run::open(folder.path());
  change_lines(folder.path(), [](json& line) {
    if (line["e"] == "allocate") line["name"] = std::to_string(std::hash<json>()(line));
    if (line["e"] == "header") line["program"] = "params";
  });
  const auto after = Run::open(folder.path());
  REQUIRE(before->size() == after->size());
  for (std::size_t p = 0; p <= before->size(); ++p) REQUIRE(before->at(p) == after->at(p));
}

TEST_CASE("an element's history is the events that a plain look at the trace finds") {
  const TemporaryFolder folder;
  run_collectives(folder.path(), Algorithm::ring, 3, 19);
  const auto run = Run::open(folder.path());
  int told = 0;
  for (int r = 0; r < 3; ++r) {
    for (EventIndex birth = 0; birth < run->size(); ++birth) {
      const auto* allocate = std::get_if<event::Allocate>(&run->event(birth).what);
      if (!allocate || run->rank_of(birth) != r) continue;
      const std::int64_t element = allocate->size / 2;
      std::vector<EventIndex> expected;
      const auto is_it = [&](event::Place place, std::int64_t size) {
        return place.buffer == allocate->buffer && place.at <= element && element < place.at + size;
      };
      for (EventIndex e = 0; e < run->size(); ++e) {
        if (run->rank_of(e) != r) continue;
        const event::Any& what = run->event(e).what;
        const std::int64_t size = run->hop(e) ? run->hop(e)->range.size() : 0;
        bool touches = e == birth;
        if (const auto* send = std::get_if<event::Send>(&what)) touches = is_it(send->from, size);
        if (const auto* got = std::get_if<event::Receive>(&what)) {
          if (got->own && is_it(*got->own, size)) expected.push_back(e);
          touches = is_it(got->into, size);
        }
        if (const auto* move = std::get_if<event::Move>(&what)) {
          if (is_it(move->from, size)) expected.push_back(e);
          touches = is_it(move->into, size);
        }
        if (const auto* write = std::get_if<event::Write>(&what)) {
          touches = is_it(write->place, write->size);
        }
        if (const auto* free = std::get_if<event::Free>(&what)) {
          touches = free->buffer == allocate->buffer;
        }
        if (touches) expected.push_back(e);
      }
      std::vector<EventIndex> found;
      for (const Touched& touched : history(*run, *run->buffer(r, allocate->buffer), element)) {
        found.push_back(touched.event);
      }
      CHECK(found == expected);
      told += static_cast<int>(found.size());
    }
  }
  CHECK(told > 60);
}

}  // namespace
}  // namespace zero::replay
