#include "visualizer/view/story_waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace zero::view {

using namespace replay;

namespace {

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

std::string waiting_text(const Session& session) {
  std::string text;
  for (int r = 0; r < session.size(); ++r) {
    const Run& run = session.run(r);
    const World& world = session.world(r);
    std::vector<int> waiting, broken, missing;
    std::string in;
    for (int rank = 0; rank < run.world_size(); ++rank) {
      const RankState& state = world.ranks[static_cast<std::size_t>(rank)];
      if (run.rank(rank).path.empty()) {
        missing.push_back(rank);
      } else if (state.over && state.waiting()) {
        waiting.push_back(rank);
        const auto* begin = std::get_if<event::CollectiveBegin>(&run.event(*state.collective).what);
        if (begin && in.empty()) in = begin->name;
      } else if (state.over && !run.rank(rank).ended) {
        broken.push_back(rank);
      }
    }
    const std::size_t before = text.size();
    const auto add = [&](const std::string& words) {
      if (text.size() == before && !text.empty()) text += "   ";
      if (text.size() == before && session.size() > 1) text += session.name(r) + ": ";
      else if (text.size() > before) text += "; ";
      text += words;
    };
    const bool live = session.live;
    if (!waiting.empty()) {
      add(fmt::format("{} {} in {}", gpus_text(waiting), waiting.size() == 1 ? "waits" : "wait",
                      in));
    }
    if (!broken.empty()) {
      const bool one = broken.size() == 1;
      add(fmt::format("the {} of {} {}", one ? "trace" : "traces", gpus_text(broken),
                      live ? (one ? "goes no further yet" : "go no further yet")
                           : (one ? "breaks off here" : "break off here")));
    }
    if (!missing.empty() && !live) add(fmt::format("{} left no trace", gpus_text(missing)));
  }
  return text;
}

}  // namespace zero::view
