#include "visualizer/view/bytes_facts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "visualizer/replay/endings.h"
#include "visualizer/view/stage_lanes.h"

namespace zero::view {

using namespace replay;

Claims claims_of(const std::string& closed_form) {
  Claims claims;
  const nlohmann::json json = nlohmann::json::parse(closed_form, nullptr, false);
  if (!json.is_object()) return claims;
  const auto bytes = [&](const char* key) -> std::optional<std::int64_t> {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_number_integer()) return {};
    return found->get<std::int64_t>();
  };
  claims.states = {bytes("parameters"), bytes("gradients"), bytes("optimizer_states")};
  claims.model_states = bytes("model_states");
  claims.sent = bytes("sent_bytes_per_iteration");
  return claims;
}

BytesFacts::BytesFacts(const Session& session) {
  for (int r = 0; r < session.size(); ++r) {
    const Run& run = session.run(r);
    OfRun facts;
    facts.claims = claims_of(run.header().closed_form);
    most_sent_ = std::max(most_sent_, facts.claims.sent.value_or(0));
    for (int k = 0; k < run.world_size(); ++k) {
      std::vector<Begin> begins;
      std::int64_t iteration = -1, sent = 0;
      const EventList& events = run.rank(k).events;
      for (std::size_t i = 0; i < events.size(); ++i) {
        const event::Any& what = events[i].what;
        if (const auto* step = std::get_if<event::Step>(&what)) {
          if (step->iteration == iteration) continue;
          iteration = step->iteration;
          begins.push_back({static_cast<std::uint32_t>(i), sent});
        } else if (const auto* send = std::get_if<event::Send>(&what)) {
          sent += send->bytes;
          facts.sends = true;
          const std::int64_t before = begins.empty() ? 0 : begins.back().sent;
          most_sent_ = std::max(most_sent_, sent - before);
        } else if (std::holds_alternative<event::Library>(what)) {
          facts.library = true;
        }
      }
      facts.iterations.push_back(std::move(begins));
      const auto leaving = leaving_of(run, k);
      const bool frees = leaving && std::holds_alternative<event::Free>(run.event(*leaving).what);
      facts.leaving.push_back(frees ? run.own_index(*leaving) : SIZE_MAX);
      for (const MemoryPoint& point : run.memory(k)) {
        std::int64_t total = 0;
        for (const std::int64_t live : point.live) total += live;
        most_peak_ = std::max(most_peak_, total);
      }
    }
    runs_.push_back(std::move(facts));
  }
}

std::int64_t BytesFacts::sent_before(int run, int rank, std::size_t done) const {
  const auto& begins = of(run).iterations[static_cast<std::size_t>(rank)];
  const auto next = std::upper_bound(begins.begin(), begins.end(), done,
                                     [](std::size_t d, const Begin& b) { return d <= b.own; });
  return next == begins.begin() ? 0 : std::prev(next)->sent;
}

BytesNow bytes_now(const Session& session, const BytesFacts& facts, int run, int rank) {
  const RankState& state = session.world(run).ranks[static_cast<std::size_t>(rank)];
  const Claims& claims = facts.claims(run);
  BytesNow now;
  for (std::size_t c = 0; c < now.live.size(); ++c) {
    now.live[c] = state.memory[c].live;
    if (is_model_state(static_cast<Memory>(c))) now.states += now.live[c];
  }
  now.total = state.total.live;
  now.peak = state.total.peak;
  now.sent = state.sent - facts.sent_before(run, rank, state.done);

  const auto* step =
      state.step ? std::get_if<event::Step>(&session.run(run).event(*state.step).what) : nullptr;
  const bool begun = step && step->iteration >= 0;
  // What it holds of them at its end, while it frees one after the other, says nothing.
  if (begun && claims.model_states && !facts.leaves(run, rank, state.done)) {
    now.states_verdict = now.states == *claims.model_states ? Verdict::equal : Verdict::different;
  }
  const auto* ended =
      state.iteration
          ? std::get_if<event::Iteration>(&session.run(run).event(*state.iteration).what)
          : nullptr;
  // Before its end an iteration may send more; what is too much is wrong already.
  if (claims.sent && facts.sends_known(run)) {
    const bool over = begun && ended && ended->iteration == step->iteration;
    if (over || now.sent > *claims.sent) {
      now.sent_verdict = now.sent == *claims.sent ? Verdict::equal : Verdict::different;
    }
  }
  return now;
}

}  // namespace zero::view
