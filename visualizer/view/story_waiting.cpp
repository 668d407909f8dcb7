#include "visualizer/view/story_waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "visualizer/replay/endings.h"

namespace zero::view {

using namespace replay;

namespace {

// How the traces end, found once.
class Endings {
 public:
  explicit Endings(const Session& session) {
    for (int r = 0; r < session.size(); ++r) {
      const Run& run = session.run(r);
      all_.push_back(endings_of(run));
      leaving_.emplace_back();
      for (int rank = 0; rank < run.world_size(); ++rank) {
        leaving_.back().push_back(leaving_of(run, rank));
      }
    }
  }
  const Ending& of(int run, int rank) const {
    return all_[static_cast<std::size_t>(run)][static_cast<std::size_t>(rank)];
  }
  // Of a rank that failed: the event with which it begins to free what it has.
  std::optional<EventIndex> failing(int run, int rank) const {
    if (of(run, rank).how != Ending::How::failed) return std::nullopt;
    return leaving_[static_cast<std::size_t>(run)][static_cast<std::size_t>(rank)];
  }

  // The rank whose last line was written first: the others fail because it did.
  std::optional<int> failed_first(const Run& run, int r) const {
    std::optional<int> first;
    const auto ended = [&](int rank) {
      const EventList& events = run.rank(rank).events;
      return events[events.size() - 1].t;
    };
    for (int rank = 0; rank < run.world_size(); ++rank) {
      if (failing(r, rank) && (!first || ended(rank) < ended(*first))) first = rank;
    }
    return first;
  }

 private:
  std::vector<std::vector<std::optional<EventIndex>>> leaving_;
  std::vector<std::vector<Ending>> all_;  // by run and rank
};

// Where a trace ends now is only how far it has come.
bool grows(const Session& session) { return session.live && !session.silent; }

const event::CollectiveBegin* collective_of(const Run& run, const Ending& ending) {
  if (!ending.collective) return nullptr;
  return std::get_if<event::CollectiveBegin>(&run.event(*ending.collective).what);
}

// How many iterations the run was asked for; 0: it does not say.
std::int64_t iterations_of(const Run& run) {
  const auto options = nlohmann::json::parse(run.header().options, nullptr, false);
  std::int64_t asked = 0;
  if (options.is_object()) {
    const auto found = options.find("iterations");
    if (found != options.end() && found->is_number_integer()) asked = found->get<std::int64_t>();
  }
  const std::int64_t told = run.chapters().empty() ? -1 : run.chapters().back().iteration;
  return std::max(asked, told + 1);
}

}  // namespace

std::string iteration_text(const Session& session) {
  const int index = session.chapter();
  const Run& run = session.run(session.focus);
  if (index < 0) return "";
  const std::int64_t iteration = run.chapters()[static_cast<std::size_t>(index)].iteration;
  if (iteration < 0) return "before the first iteration";
  return fmt::format("iteration {} of {}", iteration + 1, iterations_of(run));
}

std::string gpus_text(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "GPU " : "GPUs ";
  constexpr std::size_t kMost = 8;
  const std::size_t shown = std::min(ranks.size(), kMost);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  if (shown < ranks.size()) text += fmt::format(" and {} more", ranks.size() - shown);
  return text;
}

std::optional<Halt> halt_of(const Session& session, int r, int rank) {
  const Run& run = session.run(r);
  const Ending& ending = session.derived<Endings>().of(r, rank);
  const RankState& state = session.world(r).ranks[static_cast<std::size_t>(rank)];
  using How = Ending::How;
  if (const auto failing = session.derived<Endings>().failing(r, rank)) {
    if (state.done < run.own_index(*failing)) return std::nullopt;
    return Halt{"failed", true, true};
  }
  if (!state.over || ending.how == How::ended) return std::nullopt;
  if (grows(session)) return Halt{"so far", false, false};
  if (ending.how == How::no_trace) return Halt{"left no trace", true, false};
  if (ending.how == How::waits) {
    return Halt{fmt::format("waits for GPU {}", ending.waits_for), true, false};
  }
  const auto* begin = collective_of(run, ending);
  return Halt{begin ? "its trace ends in " + begin->name : "its trace breaks off", true, true};
}

namespace {

// Ranks of which the same is to be said.
struct Group {
  Ending::How how;
  const event::CollectiveBegin* in;  // null: in none
  std::string message;
  std::vector<int> ranks;
};

std::vector<Group> groups_of(const Session& session, int r) {
  const Run& run = session.run(r);
  std::vector<Group> groups;
  for (int rank = 0; rank < run.world_size(); ++rank) {
    if (!halt_of(session, r, rank)) continue;
    const Ending& ending = session.derived<Endings>().of(r, rank);
    const auto* in = collective_of(run, ending);
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.how == ending.how && (group.in == nullptr) == (in == nullptr) &&
             group.message == ending.message && (!in || group.in->collective == in->collective);
    });
    if (same != groups.end()) same->ranks.push_back(rank);
    else groups.push_back({ending.how, in, ending.message, {rank}});
  }
  const int cause = session.derived<Endings>().failed_first(run, r).value_or(-1);
  const auto place = [&](const Group& group) {
    const auto& ranks = group.ranks;
    if (std::find(ranks.begin(), ranks.end(), cause) != ranks.end()) return 0;
    return group.how == Ending::How::waits ? 1 : 2;
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const Group& a, const Group& b) { return place(a) < place(b); });
  return groups;
}

// With its number where another of the same name is meant, too.
std::string named(const Group& group, const std::vector<Group>& groups) {
  const bool alone = std::all_of(groups.begin(), groups.end(), [&](const Group& other) {
    return !other.in || other.in->name != group.in->name ||
           other.in->collective == group.in->collective;
  });
  return alone ? group.in->name : fmt::format("{} {}", group.in->name, group.in->collective);
}

// Of the message: what follows a semicolon are details, which the rank itself shows; it may begin
// with the rank.
std::string brief(const Group& group) {
  if (group.message.empty()) return "";
  std::string text = group.message.substr(0, group.message.find(';'));
  const std::string rank = fmt::format("rank {}: ", group.ranks.front());
  if (text.starts_with(rank)) text.erase(0, rank.size());
  return ": " + text;
}

std::string sentence_of(const Group& group, const std::vector<Group>& groups) {
  const bool one = group.ranks.size() == 1;
  const std::string gpus = gpus_text(group.ranks);
  switch (group.how) {
    case Ending::How::no_trace:
      return gpus + " left no trace";
    case Ending::How::failed:
      return gpus + " failed" + brief(group);
    case Ending::How::waits:
      return fmt::format("{} {} in {}", gpus, one ? "waits" : "wait", named(group, groups));
    case Ending::How::broken_off:
    case Ending::How::ended:
      break;
  }
  const std::string traces = fmt::format("the {} of {} ", one ? "trace" : "traces", gpus);
  if (!group.in) return traces + (one ? "breaks off here" : "break off here");
  return traces + (one ? "ends in " : "end in ") + named(group, groups);
}

// Of a run that ended as it should, at its end, where there is more to say than that: empty else.
std::string end_text(const Session& session, int r) {
  const Run& run = session.run(r);
  for (int rank = 0; rank < run.world_size(); ++rank) {
    if (!session.world(r).ranks[static_cast<std::size_t>(rank)].over) return "";
    if (session.derived<Endings>().of(r, rank).how != Ending::How::ended) return "";
  }
  const std::int64_t traced = run.header().iterations;
  const std::int64_t asked = iterations_of(run);
  if (traced > 0 && traced < asked) {
    return fmt::format("the trace ends here, after {} of {} iterations (--trace-iterations {})",
                       traced, asked, traced);
  }
  return session.followed ? "the run has ended" : "";
}

std::string text_of(const Session& session, int r) {
  const std::vector<Group> groups = groups_of(session, r);
  std::string text;
  bool growing = false;
  std::size_t breaks = 0;
  std::vector<int> behind;
  for (const Group& group : groups) {
    if (grows(session) && group.how != Ending::How::failed) {
      growing = true;
      continue;
    }
    text += (text.empty() ? "" : "; ") + sentence_of(group, groups);
    if (group.how == Ending::How::broken_off) breaks += group.ranks.size();
    for (const int rank : group.ranks) {
      if (session.derived<Endings>().of(r, rank).furthest_behind) behind.push_back(rank);
    }
  }
  if (breaks > 1 && behind.size() == 1) text += "; " + gpus_text(behind) + " is furthest behind";
  if (text.empty() && growing) return "so far: the run is still growing";
  return text.empty() ? end_text(session, r) : text;
}

}  // namespace

std::string waiting_text(const Session& session) {
  // What is the same for several runs is said once.
  std::vector<std::pair<std::string, std::string>> all;  // the text, and whose it is
  for (int r = 0; r < session.size(); ++r) {
    const std::string of_run = text_of(session, r);
    if (of_run.empty()) continue;
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const auto& said) { return said.first == of_run; });
    if (same != all.end()) same->second += ", " + session.name(r);
    else all.emplace_back(of_run, session.name(r));
  }
  std::string text;
  for (const auto& [said, names] : all) {
    text += text.empty() ? "" : "   ";
    text += session.size() > 1 ? names + ": " + said : said;
  }
  return text;
}

std::optional<double> failing_moment(const Session& session) {
  std::optional<double> first;
  const auto& endings = session.derived<Endings>();
  for (int r = 0; r < session.size(); ++r) {
    const Run& run = session.run(r);
    const auto cause = endings.failed_first(run, r);
    if (!cause) continue;
    const std::int64_t time = run.time(*endings.failing(r, *cause));
    for (int rank = 0; rank < run.world_size(); ++rank) {
      const auto failing = endings.failing(r, rank);
      if (!failing || run.time(*failing) != time) continue;  // others at the same time
      const double clock = session.alignment().clock(static_cast<std::size_t>(r), *failing);
      first = std::min(first.value_or(clock), clock);
    }
  }
  return first;
}

std::string failure_of(const Session& session, int r, int rank) {
  const Ending& ending = session.derived<Endings>().of(r, rank);
  if (ending.how != Ending::How::failed || !halt_of(session, r, rank)) return "";
  return ending.message;
}

bool anything_wrong(const Session& session) {
  for (int r = 0; r < session.size(); ++r) {
    for (int rank = 0; rank < session.run(r).world_size(); ++rank) {
      if (const auto halt = halt_of(session, r, rank); halt && halt->wrong) return true;
    }
  }
  return false;
}

}  // namespace zero::view
