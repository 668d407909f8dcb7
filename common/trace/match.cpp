// Joins sends and receives on their key.
#include "common/trace/match.h"

#include <deque>
#include <map>
#include <tuple>

namespace zero {
namespace {

using Key = std::tuple<std::int64_t, int, std::int64_t, int, int>;

Key key_of(const event::Hop& hop) {
  return {hop.collective, hop.step, hop.chunk, hop.source, hop.destination};
}

}  // namespace

Matched match_messages(const RunTrace& run) {
  std::map<Key, std::deque<EventPlace>> sends;
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const auto& events = run.ranks[r].events;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (const auto* send = std::get_if<event::Send>(&events[i].what)) {
        sends[key_of(send->hop)].push_back({r, i});
      }
    }
  }
  Matched matched;
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const auto& events = run.ranks[r].events;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const auto* receive = std::get_if<event::Receive>(&events[i].what);
      if (!receive) continue;
      const auto found = sends.find(key_of(receive->hop));
      if (found == sends.end() || found->second.empty()) {
        matched.never_sent.push_back({r, i});
      } else {
        matched.messages.push_back({found->second.front(), {r, i}});
        found->second.pop_front();
      }
    }
  }
  for (const auto& [key, left] : sends) {
    matched.never_received.insert(matched.never_received.end(), left.begin(), left.end());
  }
  return matched;
}

}  // namespace zero
