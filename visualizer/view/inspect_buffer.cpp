// Inspect: a buffer, or a cell of it.
#include <fmt/format.h>

#include <algorithm>

#include "common/memory/bytes.h"
#include "visualizer/view/inspect_parts.h"
#include "visualizer/view/kept.h"
#include "visualizer/view/words.h"

namespace zero::view {

using namespace replay;

namespace {

// Where elements of a buffer are in the model.
void list_place(Panel& panel, const Run& run, const event::Allocate& buffer, std::int64_t begin,
                std::int64_t end) {
  const auto positions = positions_of(buffer, begin, end);
  if (!positions) return panel.pair("positions", "none: not of the flat vector");
  panel.pair("positions", range_text(*positions));
  panel.pair("unit", names_at(run.header().units, *positions));
  panel.pair("tensor", names_at(run.header().tensors, *positions));
}

void list_cell(Panel& panel, const Run& run, const event::Allocate& buffer, const Cell& cell) {
  const std::int64_t width = bytes_of(buffer.dtype);
  panel.heading("The cell");
  panel.pair("elements", range_text({cell.begin, cell.end}));
  list_place(panel, run, buffer, cell.begin, cell.end);
  panel.pair("bytes", format_bytes(cell.size() * width));
  panel.pair("holds", content_text(cell.content, run.world_size()));
  panel.ranks("from", cell.content.contributors, run.world_size());
  if (cell.content.kind == Kind::partial_sum || cell.content.kind == Kind::reduced) {
    panel.pair("divided",
               cell.content.divided ? fmt::format("by {}", run.world_size()) : "not yet");
  }
  if (cell.content.repeated) panel.text("some rank's values are in this sum twice", true);
  list_values(panel, run, cell.event);
}

void list_history(Context& context, Panel& panel, const Target& target, const BufferInfo& info,
                  std::int64_t element) {
  const Run& run = context.session.run(target.run);
  if (element >= info.allocate->size) return;
  const std::vector<Touched>& all = history_of(context.session, target.run, info, element);
  panel.heading(fmt::format("History of element {}", with_commas(element)));
  const Panel::Sight sight = panel.sight(all.size());
  panel.skip(sight.first);
  for (std::size_t i = sight.first; i < sight.last; ++i) {
    list_event(context, panel, target, touch_text(run, all[i]), all[i].event);
  }
  panel.skip(all.size() - sight.last);
}

}  // namespace

void inspect_buffer(Context& context, Panel& panel, const Target& target) {
  const Session& session = context.session;
  const Run& run = session.run(target.run);
  const BufferInfo& info = *run.buffer(target.rank, target.buffer);
  const event::Allocate& buffer = *info.allocate;
  const World& world = session.world(target.run);
  const Buffer* alive = world.ranks[static_cast<std::size_t>(target.rank)].buffer(target.buffer);
  const Style& style = context.canvas.theme().category(buffer.category);
  panel.title(buffer.name,
              fmt::format("{}, {}, GPU {} of {}", style.name, zero::to_string(buffer.dtype),
                          target.rank, session.name(target.run)),
              style);

  const std::int64_t element = target.kind == Target::Kind::cell ? target.begin : 0;
  if (!alive) {
    panel.text(world.position <= info.birth ? "Not allocated yet." : "Freed.", true);
  } else if (target.kind == Target::Kind::cell) {
    if (alive->cells().holds(element, 1)) {
      list_cell(panel, run, buffer, alive->cells().at(element));
    }
  } else {
    panel.heading("Holds");
    Contents contents;
    for (const Cell& cell : alive->cells().all()) contents.add(cell.content, cell.size());
    contents.list(panel, run.world_size());
  }
  panel.gap();
  panel.heading("The buffer");
  panel.pair("bytes", format_bytes(buffer.bytes));
  panel.pair("elements",
             fmt::format("{} × {} B", with_commas(buffer.size), bytes_of(buffer.dtype)));
  list_place(panel, run, buffer, 0, buffer.size);
  panel.pair("address", buffer.address.value_or("none: the device stores nothing"));
  panel.pair("number", with_commas(buffer.buffer));
  panel.pair("allocated", step_text(step_of(run, info.birth)));
  panel.pair("", line_text(run, info.birth));
  panel.pair("freed", info.death ? step_text(step_of(run, *info.death)) : "never, in this trace");
  if (info.death) panel.pair("", line_text(run, *info.death));
  panel.gap();
  panel.hold();
  list_history(context, panel, target, info, element);
}

}  // namespace zero::view
