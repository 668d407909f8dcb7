// One collective, looked up once: its rows, and what a rank holds of each of them at a moment.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "visualizer/replay/collectives.h"
#include "visualizer/replay/run.h"

namespace zero::view {

// Neighbouring elements of a row that hold the same.
struct Piece {
  Range range;  // flat
  replay::Content content;
  std::int64_t buffer = 0;          // where they are: a buffer of the rank,
  std::int64_t begin = 0, end = 0;  // and its elements
  bool old = false;                 // from before: the collective will overwrite it
  bool spent = false;  // a contribution that is in a sum by now; a sum that has been sent on
  // Of a sum in scratch: what all of it is about, and what has read it.
  Range all;
  replay::EventIndex spent_by = 0;
};

// A moment of a collective: what has happened by then.
struct Moment {
  std::size_t position = 0;
  std::optional<int> step;  // if given, what was used is what these steps use, not what is before
};

// A message's or a move's ends.
struct Travel {
  int source = 0, destination = 0;
  int row = 0;
  Range range;
  bool from_slot = false, to_slot = false;  // from, to the sum in scratch
  bool adds = false;
  std::int64_t chunk = 0, bytes = 0;
  int step = 1;
};

class CollectiveStory {
 public:
  // Of all its chunks, or of one alone.
  CollectiveStory(const replay::Run& run, const replay::Collective& collective,
                  std::optional<std::int64_t> chunk = std::nullopt);

  // Whether it is of this one: requires that the run is still the same.
  bool is_of(const replay::Collective& collective) const {
    return &collective == &collective_ && collective.number == number_;
  }

  struct Row {
    Range range;     // flat
    int owner = -1;  // of this shard; -1: nobody knows
    int last = -1;   // of several neighbouring shards of ranks without a trace: the last one's
  };
  // From the lowest position to the highest: shards, or, within one shard, its chunks. Where they
  // would be many, those that no traced rank owns are one row together.
  const std::vector<Row>& rows() const { return rows_; }
  bool rows_are_chunks() const { return rows_are_chunks_; }

  struct Step {
    int step = 1;
    std::int64_t messages = 0, bytes = 0;
    bool adds = false;
    std::vector<std::size_t> hops;  // into the collective's; moves left out
  };
  const std::vector<Step>& steps() const { return steps_; }  // those that have messages

  // The ranks that are shown, side by side, and the place of one of them there; -1: it is not.
  const std::vector<int>& columns() const { return run_.traced(); }
  int column_of(int rank) const;

  bool adds() const { return adds_; }
  bool has_sums() const { return has_sums_; }  // partial sums stay in scratch
  int lanes() const { return lanes_; }  // 0: between neighbours; else the longest way in ranks
  const std::vector<int>& row_lanes() const { return row_lanes_; }  // the same of each row
  int queue() const { return queue_; }   // messages from rank to rank at a time, in a row, at most
  bool wraps() const { return wraps_; }  // from the last rank to the first
  std::int64_t chunks() const { return chunks_; }  // into which a row, or a shard, is cut
  std::int64_t bytes() const { return bytes_; }    // of all messages

  // Nothing for an event that is no message of the collective, or names what is not there.
  std::optional<Travel> travel(replay::EventIndex send) const;

  // What a rank has when the world is at a position; when it has ended its part: what it had then.
  const replay::RankState& state(const replay::World& world, int rank) const;
  std::size_t moment(const replay::World& world, int rank) const;  // the position of that
  // A row on a rank, from the top.
  void held(const replay::RankState& state, const Moment& moment, int rank, int row,
            std::vector<Piece>& pieces) const;
  // The sums in scratch, each with its row.
  void sums(const replay::RankState& state, const Moment& moment, int rank,
            std::vector<std::pair<int, Piece>>& pieces) const;

 private:
  // A buffer that the collective reads or writes on a rank, at an atom.
  struct Use {
    std::int64_t buffer = 0;
    replay::EventIndex first = 0;                  // that touches it
    std::optional<replay::EventIndex> first_read;  //
    bool born = false;                             // the first overwrites it
  };
  // As much of a row as is always treated alike.
  struct Atom {
    Range range;
    std::vector<std::vector<Use>> uses;  // by rank
  };
  // A sum that came to be in scratch.
  struct Sum {
    replay::EventIndex made = 0;
    Range range;
    std::int64_t buffer = 0, at = 0;
    std::optional<replay::EventIndex> left;  // that reads it
    int row = -1;
  };

  void find_rows();
  void keep_chunk();
  void join_rows();
  void find_steps();
  int find_queue();
  void find_untouched(const replay::World& world);
  void walk();
  void touch(replay::EventIndex e);
  void find_sources(const replay::World& world, replay::EventIndex e, int rank);
  bool is_past(replay::EventIndex e, const Moment& moment) const;
  int row_of(Range range) const;  // -1: none
  bool is_flat(int rank, std::int64_t buffer) const;
  void use(replay::EventIndex e, int rank, std::int64_t buffer, Range range, bool reads,
           bool overwrites);
  void read(replay::EventIndex e, int rank, event::Place place, Range range);
  void write(replay::EventIndex e, int rank, event::Place place, Range range, bool anew);

  const replay::Run& run_;
  const replay::Collective& collective_;
  std::int64_t number_;
  std::optional<std::int64_t> chunk_;
  std::vector<Row> rows_;
  bool rows_are_chunks_ = false;
  std::vector<std::vector<Atom>> atoms_;            // by row
  std::vector<std::vector<Sum>> sums_;              // by rank, in order of `made`
  std::vector<std::vector<std::int64_t>> scratch_;  // by rank: their buffers
  std::vector<Step> steps_;
  bool adds_ = false, has_sums_ = false, wraps_ = false;
  int lanes_ = 0, queue_ = 1;
  std::vector<int> row_lanes_;
  std::int64_t chunks_ = 1, bytes_ = 0;
  // By rank: when its part has ended, and what it had then.
  struct Ended {
    std::size_t position = 0;
    replay::RankState state;
  };
  std::vector<std::optional<Ended>> ended_;
};

}  // namespace zero::view
