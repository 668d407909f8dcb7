// Steps where that is near, and seeks from a keyframe where it is not.
#include "visualizer/replay/player.h"

#include <algorithm>
#include <utility>

namespace zero::replay {
namespace {

constexpr std::size_t kNear = 256;  // events that are played rather than sought

bool covers(event::Place place, std::int64_t size, std::int64_t number, std::int64_t element) {
  return place.buffer == number && place.at <= element && element - place.at < size;
}

}  // namespace

Player::Player(std::shared_ptr<const Run> run) : run_(std::move(run)), world_(*run_) {}

void Player::seek(std::size_t position) {
  position = std::min(position, run_->size());
  if (position >= world_.position && position - world_.position <= kNear) {
    while (world_.position < position) world_.apply(*run_);
  } else {
    world_ = run_->at(position);
  }
}

void Player::next_event(int rank) {
  for (EventIndex e = position(); e < run_->size(); ++e) {
    if (rank < 0 || run_->rank_of(e) == rank) return seek(e + 1);
  }
}

void Player::previous_event(int rank) {
  // The position before an event of the rank, at which the one before it was the last.
  for (EventIndex e = position(); e > 0; --e) {
    if (rank < 0 || run_->rank_of(e - 1) == rank) return seek(e - 1);
  }
}

void Player::next_step() {
  const auto here = run_->chapter_at(position());
  const std::size_t next = here ? *here + 1 : 0;
  if (next < run_->chapters().size()) seek(run_->chapters()[next].begin);
}

void Player::previous_step() {
  const auto here = run_->chapter_at(position());
  if (!here) return;
  const std::size_t begin = run_->chapters()[*here].begin;
  if (position() > begin) return seek(begin);
  seek(*here > 0 ? run_->chapters()[*here - 1].begin : 0);
}

void Player::replace(std::shared_ptr<const Run> run) {
  std::size_t position = 0;
  if (world_.position == run_->size()) {
    position = run->size();
  } else if (world_.position > 0) {
    const EventIndex e = world_.position - 1;
    const int rank = run_->rank_of(e);
    if (rank < run->world_size() && run_->own_index(e) < run->rank(rank).events.size()) {
      position = run->index_of(rank, run_->own_index(e)) + 1;
    }
  }
  const auto old = std::exchange(run_, std::move(run));  // the world points into it until below
  world_ = run_->at(position);
}

std::string_view to_string(Touch touch) {
  switch (touch) {
    case Touch::allocated:
      return "allocated";
    case Touch::written:
      return "written";
    case Touch::sent:
      return "sent";
    case Touch::received:
      return "received";
    case Touch::added:
      return "added to a message";
    case Touch::moved_out:
      return "moved to another buffer";
    case Touch::moved_in:
      return "moved here";
    case Touch::freed:
      return "freed";
  }
  return "unknown";
}

std::vector<Touched> history(const Run& run, const BufferInfo& buffer, std::int64_t element) {
  const std::int64_t number = buffer.allocate->buffer;
  std::vector<Touched> touched = {{buffer.birth, Touch::allocated}};
  const EventList& events = run.rank(buffer.rank).events;
  const std::size_t end = buffer.death ? run.own_index(*buffer.death) : events.size();
  for (std::size_t i = run.own_index(buffer.birth) + 1; i < end; ++i) {
    const EventIndex e = run.index_of(buffer.rank, i);
    const event::Any& what = events[i].what;
    if (const auto* send = std::get_if<event::Send>(&what)) {
      if (covers(send->from, send->hop.range.size(), number, element)) {
        touched.push_back({e, Touch::sent});
      }
      continue;
    }
    if (const auto* receive = std::get_if<event::Receive>(&what); receive && receive->own) {
      if (covers(*receive->own, receive->hop.range.size(), number, element)) {
        touched.push_back({e, Touch::added});
      }
    }
    const auto* move = std::get_if<event::Move>(&what);
    if (move && covers(move->from, move->hop.range.size(), number, element)) {
      touched.push_back({e, Touch::moved_out});
    }
    for (const Change& change : changes_of(events[i])) {
      if (!covers({change.buffer, change.at}, change.size, number, element)) continue;
      const bool written = std::holds_alternative<event::Write>(what);
      touched.push_back({e, written ? Touch::written : move ? Touch::moved_in : Touch::received});
    }
  }
  if (buffer.death) touched.push_back({*buffer.death, Touch::freed});
  return touched;
}

}  // namespace zero::replay
