// What happens in each chapter, and why, in words: from its events alone.
#pragma once

#include <string>
#include <vector>

#include "visualizer/replay/run.h"

namespace zero::view {

// By chapter: a sentence or two, for students. Nothing in them depends on what a step or a buffer
// is called; empty where its events tell nothing. Goes through all events once.
std::vector<std::string> sentences_of(const replay::Run& run);

}  // namespace zero::view
