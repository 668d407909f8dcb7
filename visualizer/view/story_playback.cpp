// How a session moves: from event to event, from step to step, and by itself.
#include <algorithm>
#include <cmath>

#include "visualizer/view/session.h"
#include "visualizer/view/story_text.h"

namespace zero::view {

using namespace replay;

namespace {

constexpr double kSlack = 1e-6;  // of the clock: what rounding may do
constexpr double kAgain = 0.7;  // seconds into a step, while it plays, that still are its beginning

}  // namespace

const std::string& Session::sentence(int r, std::size_t chapter) {
  Shown& shown = shown_[static_cast<std::size_t>(r)];
  const Run& run = shown.player->run();
  if (shown.sentences.empty()) shown.sentences = sentences_of(run);
  return shown.sentences.at(chapter);
}

void Session::next_event() {
  const std::size_t position = world(focus).position;
  if (position < run(focus).size()) seek_position(focus, position + 1);
}

void Session::previous_event() {
  const std::size_t position = world(focus).position;
  if (position > 0) seek_position(focus, position - 1);
}

void Session::next_step() {
  const auto next = std::find_if(steps_.begin(), steps_.end(), [&](const StepBegin& step) {
    return step.clock > clock_ + kSlack;
  });
  if (next != steps_.end()) seek(next->clock);
}

void Session::previous_step() {
  const double here = pace_->seconds(clock_);
  const auto before = std::find_if(steps_.rbegin(), steps_.rend(), [&](const StepBegin& step) {
    const double since = here - pace_->seconds(step.clock);
    return step.clock < clock_ - kSlack && !(playing && since < kAgain * speed);
  });
  seek(before == steps_.rend() ? 0 : before->clock);
}

void Session::go_to_step(int number) {
  const auto after = std::find_if(steps_.begin(), steps_.end(), [&](const StepBegin& step) {
    return step.clock > clock_ + kSlack;
  });
  const std::int64_t iteration = after == steps_.begin() ? -1 : std::prev(after)->iteration;
  const auto focused = static_cast<std::size_t>(focus);
  const auto in_focus = [&](const StepBegin& step) {
    return step.number == number && alignment_->phases()[step.phase].has[focused];
  };
  const auto now = [&](const StepBegin& step) {
    return in_focus(step) && step.iteration == iteration;
  };
  auto found = std::find_if(after, steps_.end(), now);
  if (found == steps_.end()) found = std::find_if(steps_.begin(), steps_.end(), now);
  if (found == steps_.end()) found = std::find_if(after, steps_.end(), in_focus);
  if (found == steps_.end()) {  // only other runs have it
    found = std::find_if(after, steps_.end(),
                         [&](const StepBegin& step) { return step.number == number; });
  }
  if (found != steps_.end()) seek(found->clock);
}

void Session::play_or_pause() {
  if (!playing && clock_ >= length() && !live) seek(0);
  playing = !playing;
}

void Session::toggle_loop() {
  loop = !loop;
  looped_ = SIZE_MAX;
}

const Collective* Session::looped() const {
  const std::vector<Collective>& all = collectives(focus);
  if (!loop || looped_ >= all.size()) return nullptr;
  const auto r = static_cast<std::size_t>(focus);
  const bool there = clock_ >= alignment_->clock(r, all[looped_].begin) - kSlack &&
                     clock_ <= alignment_->clock(r, all[looped_].end) + kSlack;
  return there ? &all[looped_] : nullptr;
}

// False when there is nothing to loop over.
bool Session::advance_loop(double seconds) {
  if (!looped()) {
    const Collective* shown = collective(focus);
    if (!shown) return false;
    looped_ = static_cast<std::size_t>(shown - collectives(focus).data());
  }
  const Collective& shown = collectives(focus)[looped_];
  const auto r = static_cast<std::size_t>(focus);
  const double begin = alignment_->clock(r, shown.begin), end = alignment_->clock(r, shown.end);
  const double from = pace_->seconds(begin), all = pace_->seconds(end) - from;
  const bool there = clock_ >= begin - kSlack && clock_ <= end + kSlack;
  const double before = there ? pace_->seconds(clock_) - from + rested_ : 0;
  const double now = std::fmod(std::max(0.0, before) + seconds, all + Pace::kPause);
  seek(now < all ? pace_->clock(from + now) : end);
  rested_ = std::max(0.0, now - all);
  return true;
}

void Session::advance(double seconds) {
  if (!playing || scrubbing) return;
  seconds *= speed;
  if (loop && advance_loop(seconds)) return;
  const double now = pace_->seconds(clock_) + seconds;
  seek(now >= pace_->length() ? length() : std::max(clock_, pace_->clock(now)));
  if (clock_ >= length() && !live) playing = false;
}

}  // namespace zero::view
