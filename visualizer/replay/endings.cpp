// Tells ranks that wait from the one that they wait for, by the messages that are there.
#include "visualizer/replay/endings.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace zero::replay {
namespace {

// What the whole trace of a rank says of its collectives.
struct Rank {
  std::int64_t begun = 0, ended = 0;            // collectives
  std::size_t hops = 0;                         // sends and receives in the last one
  std::optional<EventIndex> within;             // event::CollectiveBegin that it has not ended
  std::set<int> sources;                        // of its messages in the last one
  std::map<std::string, std::set<int>> before;  // of those in the last one that it ended, by name
  bool unread = false;   // a message of its last collective was sent to it, and it has not read it
  bool told_on = false;  // others have received what its trace does not tell
  const event::End* end = nullptr;

  const event::CollectiveBegin* collective(const Run& run) const {
    return within ? std::get_if<event::CollectiveBegin>(&run.event(*within).what) : nullptr;
  }
};

// The same collective at another time has the same sources.
std::string key_of(const event::CollectiveBegin& begin) {
  return begin.name + "/" + begin.algorithm + "/" + std::to_string(begin.owner.value_or(-1));
}

std::vector<Rank> ranks_of(const Run& run) {
  std::vector<Rank> ranks(static_cast<std::size_t>(run.world_size()));
  for (EventIndex e = 0; e < run.size(); ++e) {
    Rank& rank = ranks[static_cast<std::size_t>(run.rank_of(e))];
    const event::Any& what = run.event(e).what;
    if (std::holds_alternative<event::CollectiveBegin>(what)) {
      ++rank.begun;
      rank.within = e;
      rank.hops = 0;
      rank.sources.clear();
    } else if (std::holds_alternative<event::CollectiveEnd>(what)) {
      ++rank.ended;
      if (const auto* begin = rank.collective(run)) rank.before[key_of(*begin)] = rank.sources;
      rank.within.reset();
    } else if (std::holds_alternative<event::Send>(what)) {
      ++rank.hops;
    } else if (const auto* receive = std::get_if<event::Receive>(&what)) {
      ++rank.hops;
      const int source = receive->hop.source;
      if (source < 0 || source >= run.world_size()) continue;
      rank.sources.insert(source);
      if (!run.partner(e)) ranks[static_cast<std::size_t>(source)].told_on = true;
    } else if (const auto* end = std::get_if<event::End>(&what)) {
      rank.end = end;
    }
  }
  for (EventIndex e = 0; e < run.size(); ++e) {
    const auto* send = std::get_if<event::Send>(&run.event(e).what);
    if (!send || run.partner(e)) continue;
    const int to = send->hop.destination;
    if (to < 0 || to >= run.world_size()) continue;
    Rank& rank = ranks[static_cast<std::size_t>(to)];
    const auto* begin = rank.collective(run);
    if (begin && begin->collective == send->hop.collective) rank.unread = true;
  }
  return ranks;
}

}  // namespace

std::vector<Ending> endings_of(const Run& run) {
  const std::vector<Rank> ranks = ranks_of(run);
  std::vector<Ending> endings(ranks.size());
  using How = Ending::How;
  const auto broken = [&](std::size_t r) {
    return endings[r].how == How::broken_off || endings[r].how == How::waits;
  };
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RankLog& log = run.rank(static_cast<int>(r));
    Ending& ending = endings[r];
    ending.collective = ranks[r].within;
    const bool failed = ranks[r].end && ranks[r].end->reason == "failed";
    if (failed) ending.message = ranks[r].end->message.value_or("");
    // Of a rank that nobody traced there is nothing to say.
    const bool ended = log.ended || !run.is_traced(static_cast<int>(r));
    ending.how = ended && !failed   ? How::ended
                 : log.path.empty() ? How::no_trace
                 : failed           ? How::failed
                                    : How::broken_off;
  }
  // A rank waits when it has read all that was sent to it, has told all that it sent, and a source
  // of its messages has not come to the end of this collective.
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const Rank& rank = ranks[r];
    const auto* begin = rank.collective(run);
    if (endings[r].how != How::broken_off || !begin || rank.unread || rank.told_on) continue;
    std::set<int> sources = rank.sources;
    if (const auto same = rank.before.find(key_of(*begin)); same != rank.before.end()) {
      sources.insert(same->second.begin(), same->second.end());
    }
    for (const int source : sources) {
      const Rank& other = ranks[static_cast<std::size_t>(source)];
      const bool sent_all =
          other.ended >= rank.begun || endings[static_cast<std::size_t>(source)].how == How::ended;
      if (sent_all || source == static_cast<int>(r)) continue;
      endings[r].how = How::waits;
      endings[r].waits_for = source;
      break;
    }
  }
  // Not all of them can wait for each other: those that are furthest behind are where it broke off.
  const auto place = [&](std::size_t r) { return std::tuple(ranks[r].begun, ranks[r].hops); };
  bool known = false;
  std::optional<std::size_t> last;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    known = known || (endings[r].how != How::ended && endings[r].how != How::waits);
    if (broken(r) && (!last || place(r) < place(*last))) last = r;
  }
  if (!last) return endings;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (!broken(r) || place(r) != place(*last)) continue;
    endings[r].furthest_behind = true;
    if (known) continue;
    endings[r].how = How::broken_off;
    endings[r].waits_for = -1;
  }
  return endings;
}

std::optional<EventIndex> leaving_of(const Run& run, int rank) {
  const EventList& events = run.rank(rank).events;
  if (events.size() == 0) return std::nullopt;
  std::size_t first = events.size() - 1;
  if (!std::holds_alternative<event::End>(events[first].what)) return std::nullopt;
  while (first > 0 && std::holds_alternative<event::Free>(events[first - 1].what)) --first;
  return run.index_of(rank, first);
}

}  // namespace zero::replay
