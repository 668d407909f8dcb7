#include "visualizer/view/session.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

namespace zero::view {

using namespace replay;

namespace {

std::string last_part(const std::string& directory) {
  std::filesystem::path path(directory);
  if (path.filename().empty()) path = path.parent_path();
  return path.filename().string();
}

// The last of the ranks that is not after the wanted one, or the first.
int near(const std::vector<int>& ranks, int wanted) {
  const auto after = std::upper_bound(ranks.begin(), ranks.end(), wanted);
  return after == ranks.begin() ? ranks.front() : *std::prev(after);
}

}  // namespace

Session::Session(std::vector<std::shared_ptr<const Run>> runs) {
  for (auto& run : runs) {
    // The program's name, unless another run has the same.
    const bool distinct = std::count_if(runs.begin(), runs.end(), [&](const auto& other) {
                            return other->header().program == run->header().program;
                          }) == 1;
    Shown shown;
    shown.name = distinct ? run->header().program : last_part(run->directory());
    shown.collectives = collectives_of(*run);
    shown.player = std::make_unique<Player>(run);
    shown_.push_back(std::move(shown));
  }
  align();
}

int Session::world_size() const {
  int largest = 0;
  for (int r = 0; r < size(); ++r) largest = std::max(largest, run(r).world_size());
  return largest;
}

int Session::rank_of(int r) const { return near(run(r).traced(), rank); }

void Session::choose_rank(int wanted) { rank = near(ranks_, wanted); }

void Session::next_rank(int by) {
  const auto n = static_cast<int>(ranks_.size());
  const auto here = std::lower_bound(ranks_.begin(), ranks_.end(), rank) - ranks_.begin();
  rank = ranks_[static_cast<std::size_t>(((static_cast<int>(here) + by) % n + n) % n)];
}

void Session::align() {
  derived_.clear();
  std::set<int> ranks;
  for (const Shown& shown : shown_) {
    const std::vector<int>& traced = shown.player->run().traced();
    ranks.insert(traced.begin(), traced.end());
  }
  ranks_.assign(ranks.begin(), ranks.end());
  choose_rank(rank);
  std::vector<std::shared_ptr<const Run>> runs;
  for (const Shown& shown : shown_) runs.push_back(shown.player->shared_run());
  alignment_ = std::make_unique<Alignment>(runs);
  steps_ = steps_of(runs, *alignment_);
  pace_ = std::make_unique<Pace>(runs, *alignment_, steps_);
  for (Shown& shown : shown_) shown.sentences.clear();
  looped_ = SIZE_MAX;
}

void Session::replace(int r, std::shared_ptr<const Run> run) {
  Shown& shown = shown_[static_cast<std::size_t>(r)];
  const bool at_end = clock_ >= length();
  shown.collectives = collectives_of(*run);
  shown.player->replace(std::move(run));
  const std::size_t position = shown.player->position();
  align();
  if (at_end) {
    seek(length());
  } else {
    seek_position(r, position);
  }
}

void Session::reorder(Order order) {
  for (Shown& shown : shown_) {
    const auto run = shown.player->run().in_order(order);
    shown.collectives = collectives_of(*run);
    shown.player->replace(run);
  }
  align();
  seek_position(focus, world(focus).position);
}

void Session::seek(double clock) {
  clock_ = std::clamp(clock, 0.0, length());
  rested_ = 0;
  for (std::size_t r = 0; r < shown_.size(); ++r) {
    shown_[r].player->seek(alignment_->position(r, clock_));
  }
}

void Session::seek_position(int r, std::size_t position) {
  seek(alignment_->clock(static_cast<std::size_t>(r), position));
}

void Session::end_frame() {
  if (wanted_) seek(*wanted_);
  wanted_.reset();
}

double Session::time(int r) const {
  const Run& run = this->run(r);
  const std::size_t position = world(r).position;
  if (run.size() == 0) return 0;
  if (position == 0) return static_cast<double>(run.time(0));
  const double from = static_cast<double>(run.time(position - 1));
  if (position >= run.size()) return from;
  const auto index = static_cast<std::size_t>(r);
  const double begin = alignment_->clock(index, position);
  const double end = alignment_->clock(index, position + 1);
  const double part = end > begin ? std::clamp((clock_ - begin) / (end - begin), 0.0, 1.0) : 0.0;
  return from + part * (static_cast<double>(run.time(position)) - from);
}

double Session::progress(int r, const Transfer& transfer) const {
  if (!transfer.receive) return 0.5;
  const double begin = static_cast<double>(run(r).time(transfer.send));
  const double end = static_cast<double>(run(r).time(*transfer.receive));
  if (end <= begin) return 0.5;
  const double part = std::clamp((time(r) - begin) / (end - begin), 0.0, 1.0);
  // It sets off and arrives gently, unless its measured way is asked for.
  return order() == Order::measured ? part : part * part * (3 - 2 * part);
}

const Collective* Session::collective(int r) const {
  if (const Collective* kept = r == focus ? looped() : nullptr) return kept;
  const std::vector<Collective>& all = collectives(r);
  const std::size_t position = world(r).position;
  const auto next = std::upper_bound(
      all.begin(), all.end(), position,
      [](std::size_t p, const Collective& collective) { return p < collective.begin; });
  if (next == all.begin()) return all.empty() ? nullptr : &all.front();
  const Collective& last = *std::prev(next);
  const int step = chapter(r);
  const bool of_this_step =
      step >= 0 && last.begin >= run(r).chapters()[static_cast<std::size_t>(step)].begin;
  return position < last.end || of_this_step || next == all.end() ? &last : &*next;
}

int Session::chapter(int r) const {
  const std::size_t position = world(r).position;
  const auto begun = run(r).chapter_at(position);
  if (!begun) return -1;
  std::size_t found = *begun;
  while (found > 0 && position < run(r).chapters()[found].all_in) --found;
  return static_cast<int>(found);
}

}  // namespace zero::view
