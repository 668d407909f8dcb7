// What keys and controls do to a session, and how the help tells of it.
#pragma once

#include <string_view>
#include <vector>

#include "visualizer/view/views.h"

namespace zero::view {

struct KeyHelp {
  std::string_view keys, what;
  std::string_view group;  // empty: the same as of the one before
};
const std::vector<KeyHelp>& key_help();

void change_speed(Session& session, int by);  // +1: quicker, -1: slower
void next_colouring(Session& session);
void toggle_order(Session& session);   // logical or measured time
void turn(int& value, int by, int n);  // round in [0, n)

}  // namespace zero::view
