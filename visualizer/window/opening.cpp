#include "visualizer/window/opening.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "visualizer/view/story_waiting.h"

namespace zero {

using replay::Loading;
using replay::Run;
using view::Session;

namespace {

// A followed run that has not grown for so long may be stuck: then it is told who waits for whom.
constexpr auto kSilent = std::chrono::seconds(8);
// What is wrong for a shorter time is not told: a file that is being begun anew.
constexpr auto kStays = std::chrono::milliseconds(1500);

}  // namespace

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
      if (auto run = one.loading->take()) renew(one, std::move(run));
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
  grown_ = std::chrono::steady_clock::now();
  auto session = session_.get();
  session->followed = follow_;
  session->live = follow_ && !finished();
  return session;
}

bool Opening::update(Session& session) {
  bool changed = false;
  for (One& one : all_) {
    auto run = one.loading->take();
    if (!run || one.place < 0) continue;
    renew(one, run);
    if (run->order() != session.order()) run = run->in_order(session.order());
    session.replace(one.place, std::move(run));
    changed = true;
  }
  const auto now = std::chrono::steady_clock::now();
  if (changed) grown_ = now;
  const bool live = follow_ && !finished();
  const bool silent = live && now - grown_ > kSilent;
  changed |= session.live != live || session.silent != silent;
  // At the end of a run that failed there is nothing left to see.
  if (session.live && !live && session.clock() >= session.length()) {
    if (const auto failing = view::failing_moment(session)) session.seek(*failing);
  }
  session.live = live;
  session.silent = silent;
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
    if (!one.done) tell(one, messages);
  }
  return messages;
}

void Opening::tell(One& one, std::vector<std::string>& messages) {
  const bool over = one.loading->finished();
  if (!follow_ && !over) return;
  // Where nothing is there yet it is waited for; where there was something it is told.
  std::vector<std::string> wrong;
  const auto error = one.loading->error();
  if (error && (!follow_ || one.run || !one.loading->nothing_yet())) {
    wrong.push_back(*error);
  } else if (one.run) {
    wrong = over ? one.run->first_notes() : one.run->file_notes();
  } else if (!error && !follow_) {
    return;  // it has been loaded, and will be taken
  }
  one.done = !follow_;
  if (std::exchange(one.shortened, false)) {
    messages.push_back(one.directory + ": its traces have become shorter: shown as they are now");
  }
  const auto now = std::chrono::steady_clock::now();
  std::map<std::string, std::chrono::steady_clock::time_point> seen;
  for (const std::string& text : wrong) {
    const auto before = one.seen.find(text);
    const auto since = before == one.seen.end() ? now : before->second;
    seen.emplace(text, since);
    if (follow_ && !over && now - since < kStays) continue;
    if (one.told.insert(text).second) messages.push_back(text);
  }
  one.seen = std::move(seen);
}

// A newer state of a run, or of another that has begun in its place.
void Opening::renew(One& one, std::shared_ptr<const Run> run) {
  if (one.run && run->header().run != one.run->header().run) one.told.clear();
  else if (one.run && run->size() < one.run->size()) one.shortened = true;
  one.run = std::move(run);
}

std::string Opening::waiting_for() const {
  std::string names;
  for (const One& one : all_) {
    if (!settled(one)) names += (names.empty() ? "" : ", ") + one.directory;
  }
  return names;
}

}  // namespace zero
