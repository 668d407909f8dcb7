// Paints a collective's ranks, cells and messages where its layout says.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "visualizer/view/collective_layout.h"
#include "visualizer/view/collective_story.h"
#include "visualizer/view/views.h"

namespace zero::view {

// The stories of the collectives that have been shown. Kept by the session until a run changes.
class CollectiveStories {
 public:
  explicit CollectiveStories(const Session&) {}
  const CollectiveStory& of(const replay::Run& run, const replay::Collective& collective) const;

 private:
  mutable std::vector<std::unique_ptr<CollectiveStory>> kept_;  // the newest last
};

// How much is left of the colour of what is there from before, and of what is used.
inline constexpr float kOldPart = 0.16f, kSpentPart = 0.28f;

class CollectivePainter {
 public:
  static constexpr int kMost = 32;  // columns, rows: more are too small, the first ones are shown

  CollectivePainter(Context& context, int run, const CollectiveStory& story,
                    const CollectiveLayout& layout, const replay::Collective& collective);

  static CollectiveShape shape_of(const CollectiveStory& story, bool ring);

  void names();  // of the ranks and of the rows
  // What a rank has at a moment, in `state`. A sum that one of these messages is made of is still
  // to be seen.
  void rank(const replay::RankState& state, const Moment& moment, int rank,
            const std::vector<replay::EventIndex>& leaving);
  void arrow(replay::EventIndex send, Colour colour, float thickness);  // the way of a message
  // Those under way, each at its place: where several go from one rank to another, in a queue.
  void messages(const std::vector<std::pair<const replay::Transfer*, Travel>>& flying);
  // What the marks mean, in a row if small, else below each other, as far as there is room.
  void legend(Rect area, Font font);

 private:
  // A part of a cell's width: a rank, or, where there are too many, ranks without a trace.
  struct Stripe {
    int first = 0, last = 0;
  };
  void find_stripes();
  Colour colour_of(const Stripe& stripe) const;
  Colour empty() const;
  void stripes(Rect box, const replay::Content& content, float alpha);
  bool joined(Rect cell, Range all, int rank);
  Rect part_of(Rect box, Range all, Range range) const;
  Way way(const Travel& travel) const;
  bool is_shown(const Travel& travel) const;
  void line(const Way& way, Colour colour, float thickness);
  void message(const replay::Transfer& transfer, const Travel& travel, Rect box);
  void sign(Point center, float radius, bool adds);
  void point_at(Rect box, const Target& target);
  bool whole(const replay::Content& content) const;

  Context& context_;
  Canvas& canvas_;
  const Theme& theme_;
  int run_;
  const CollectiveStory& story_;
  const CollectiveLayout& layout_;
  const replay::Collective& collective_;
  std::vector<Stripe> stripes_;
  std::vector<Piece> pieces_;                // room that is used again
  std::vector<std::pair<int, Piece>> sums_;  //
};

// "reduce_scatter": "Reduce-scatter".
std::string spoken(std::string_view name);

// Instead of a collective, where there is nobody to send to.
inline constexpr std::string_view kOneGpu = "One GPU: nothing to send, nothing to receive.";

}  // namespace zero::view
