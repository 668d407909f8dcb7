// What the inspect view says of each kind of target. Each requires that the target is there.
#pragma once

#include "visualizer/view/inspect_panel.h"

namespace zero::view {

// Whether the run, rank, buffer or event that a target names exists: a run that has been read anew
// may have fewer.
bool exists(const Session& session, const Target& target);

void inspect_buffer(Context& context, Panel& panel, const Target& target);  // or a cell of it
void inspect_transfer(Context& context, Panel& panel, const Target& target);
void inspect_rank(Context& context, Panel& panel, const Target& target);
void inspect_chapter(Context& context, Panel& panel, const Target& target);
void inspect_moment(Context& context, Panel& panel, const Target& target);

// A rank's live bytes by category and in total; beside them the peaks, if given.
void list_memory(Context& context, Panel& panel, const replay::RankState& state, bool peaks);
// What is alive, largest first, each can be clicked; of one category only, if given.
void list_buffers(Context& context, Panel& panel, int run, const replay::RankState& state,
                  const Memory* category = nullptr);
// Contents, and how many elements have each.
class Contents {
 public:
  void add(const replay::Content& content, std::int64_t elements);
  void list(Panel& panel, int world_size) const;

 private:
  std::vector<std::pair<replay::Content, std::int64_t>> sorts_;
  std::int64_t others_ = 0;  // of more sorts than a list has room for
};
// Up to 4 numbers of an event, and that they are a sample.
void list_values(Panel& panel, const replay::Run& run, replay::EventIndex event);
// An event as a line that can be clicked, which goes there.
void list_event(Context& context, Panel& panel, const Target& target, std::string_view text,
                replay::EventIndex event);

}  // namespace zero::view
