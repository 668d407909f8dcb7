// What the events of a chapter amount to, before it is put into words.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "visualizer/replay/run.h"

namespace zero::view {

// One kind of collective in a chapter.
struct CollectiveFacts {
  std::string name, algorithm;
  int hops = 0;             // steps in which messages are added, or, without such, are sent
  bool gradients = false;   // what it is about: gradients, or
  bool parameters = false;  // parameters
};

enum class Extent : std::uint8_t { none, shard, all };  // of the flat vector, on one rank

struct ChapterFacts {
  bool forward = false, backward = false;    // operators of these kinds
  std::vector<CollectiveFacts> collectives;  // in order of their first

  std::array<Extent, kMemoryCategories> allocated{};  // flat buffers, by Memory
  bool activations = false, activations_freed = false;
  bool gathered_freed = false;       // a copy of what other ranks own
  bool gradients_freed = false;      // of a temporary buffer
  bool temporary_gradients = false;  // local gradients are in a temporary buffer

  bool initial = false, local_gradients = false;
  Extent updated = Extent::none, cast = Extent::none;

  Extent parameters_kept = Extent::none;  // at the end of the chapter
  bool skipped = false;                   // its iteration updates nothing
  bool ends_iteration = false;            // some rank's iteration ends in it
  bool after_iteration = false;           // its iteration had ended before it began
  std::optional<double> loss;             // of the iteration that ends in it
};

// By chapter. A rank's events belong to the chapter of the step that it is in.
std::vector<ChapterFacts> facts_of(const replay::Run& run);

}  // namespace zero::view
