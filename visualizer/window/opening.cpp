#include "visualizer/window/opening.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace zero {

using replay::Loading;
using replay::Run;
using view::Session;

Opening::Opening(const std::vector<std::string>& directories, replay::Order order, bool follow)
    : follow_(follow) {
  for (const std::string& directory : directories) {
    One one;
    one.directory = directory;
    one.loading = std::make_unique<Loading>(directory, order, follow);
    all_.push_back(std::move(one));
  }
}

bool Opening::settled(const One& one) const { return one.run || one.loading->finished(); }

std::unique_ptr<Session> Opening::take_session() {
  if (taken_) return nullptr;
  if (!session_.valid()) {
    std::vector<std::shared_ptr<const Run>> runs;
    for (One& one : all_) {
      // Finished is asked first: what comes before it is there to take.
      const bool over = one.loading->finished();
      if (auto run = one.loading->take()) one.run = std::move(run);
      if (!one.run && !over) return nullptr;
      if (one.run) {
        one.place = static_cast<int>(runs.size());
        runs.push_back(one.run);
      }
    }
    if (runs.empty()) return nullptr;
    // What a session works out of long runs takes a moment, too.
    session_ = std::async(std::launch::async, [runs] { return std::make_unique<Session>(runs); });
  }
  if (session_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return nullptr;
  taken_ = true;
  auto session = session_.get();
  session->live = follow_ && !finished();
  return session;
}

bool Opening::update(Session& session) {
  bool changed = false;
  for (One& one : all_) {
    auto run = one.loading->take();
    if (!run || one.place < 0) continue;
    one.run = run;
    if (run->order() != session.order()) run = run->in_order(session.order());
    session.replace(one.place, std::move(run));
    changed = true;
  }
  const bool live = follow_ && !finished();
  changed |= session.live != live;
  session.live = live;
  return changed;
}

bool Opening::failed() const {
  return std::all_of(all_.begin(), all_.end(), [](const One& one) {
    return one.loading->finished() && one.loading->error() && !one.run;
  });
}

bool Opening::finished() const {
  return std::all_of(all_.begin(), all_.end(),
                     [](const One& one) { return one.loading->finished(); });
}

double Opening::progress() const {
  double sum = 0;
  for (const One& one : all_) sum += settled(one) ? 1 : one.loading->progress();
  return sum / static_cast<double>(all_.size());
}

std::vector<std::string> Opening::take_messages() {
  std::vector<std::string> messages;
  for (One& one : all_) {
    if (one.told || !one.loading->finished()) continue;
    const auto error = one.loading->error();
    if (error) {
      messages.push_back(*error);
    } else if (!one.run) {
      continue;  // it has been loaded, and will be taken
    } else {
      for (const std::string& note : one.run->notes()) messages.push_back(note);
    }
    one.told = true;
  }
  return messages;
}

std::string Opening::waiting_for() const {
  std::string names;
  for (const One& one : all_) {
    if (!settled(one)) names += (names.empty() ? "" : ", ") + one.directory;
  }
  return names;
}

}  // namespace zero
