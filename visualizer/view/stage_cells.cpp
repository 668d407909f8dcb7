#include "visualizer/view/stage_cells.h"

#include <algorithm>

#include "visualizer/view/heat.h"

namespace zero::view {

using namespace replay;

Colour toned(const Style& style, const Content& content, Colour panel, int world_size) {
  float part = 1;
  switch (content.kind) {
    case Kind::nothing:
      part = 0.10f;
      break;
    case Kind::zero:
      part = 0.36f;
      break;
    case Kind::unknown:
      part = 0.26f;
      break;
    case Kind::local_gradient:
      part = 0.6f;
      break;
    case Kind::partial_sum:
      part = 0.6f + 0.3f * static_cast<float>(content.contributors.size()) /
                        static_cast<float>(std::max(world_size, 1));
      break;
    case Kind::gathered:
      part = 0.78f;
      break;
    case Kind::initial:
    case Kind::reduced:
    case Kind::updated:
    case Kind::cast:
    case Kind::copied:
      break;
  }
  return mixed(panel, style.fill, std::min(part, 1.0f));
}

namespace {

// One row of cells, where neighbours that look the same are drawn as one.
class Row {
 public:
  Row(Context& context, const Drawn& drawn)
      : canvas_(context.canvas),
        theme_(context.canvas.theme()),
        session_(context.session),
        drawn_(drawn),
        allocate_(*drawn.buffer->info->allocate),
        run_(context.session.run(drawn.run)) {}

  void draw() {
    Target target{Target::Kind::cell, drawn_.run, drawn_.rank, allocate_.buffer, 0, 0, 0};
    for (const Cell& cell : drawn_.buffer->cells().all()) {
      const std::size_t before = canvas_.marks().size();
      target.begin = cell.begin;
      target.end = cell.end;
      canvas_.mark(drawn_.part(cell.begin, cell.end), target,
                   toned(theme_.category(allocate_.category), cell.content, theme_.panel,
                         run_.world_size()));
      if (canvas_.marks().size() != before) add(cell);
    }
    finish();
  }

 private:
  // Cuts a cell where its look changes within.
  void add(const Cell& cell) {
    if (session_.colouring == Colouring::storage && drawn_.flat) {
      const Range range = positions(cell);
      std::int64_t at = range.begin;
      for (const event::Shard& shard : run_.header().shards) {
        const Range common = range.intersect(shard.range);
        if (common.empty() || common.begin < at) continue;
        if (common.begin > at) add(cell, at, common.begin, plain(cell, theme_.muted));
        add(cell, common.begin, common.end, plain(cell, theme_.rank(shard.owner)));
        at = common.end;
      }
      if (at < range.end) add(cell, at, range.end, plain(cell, theme_.muted));
      return;
    }
    if (session_.colouring == Colouring::compute && drawn_.flat) {
      const Range range = positions(cell), work = range.intersect(drawn_.work);
      const Colour colour = theme_.rank(drawn_.rank);
      const Look idle = plain(cell, mixed(theme_.panel, colour, 0.4f));
      if (work.empty()) {
        add(cell, range.begin, range.end, idle);
        return;
      }
      add(cell, range.begin, work.begin, idle);
      add(cell, work.begin, work.end, plain(cell, colour));
      add(cell, work.end, range.end, idle);
      return;
    }
    put(cell.begin, cell.end, look(cell), cell.content);
  }
  void add(const Cell& cell, std::int64_t begin, std::int64_t end, const Look& look) {
    if (begin >= end) return;
    const std::int64_t first = allocate_.range->begin;
    put(begin - first, end - first, look, cell.content);
  }
  Range positions(const Cell& cell) const {
    return {allocate_.range->begin + cell.begin, allocate_.range->begin + cell.end};
  }

  Look plain(const Cell& cell, Colour colour) const {
    const Style style{colour, colour, Pattern::plain, {}};
    Look look;
    look.fill = toned(style, cell.content, theme_.panel, run_.world_size());
    look.ink = mixed(theme_.panel, colour, 0.6f);
    look.hollow = cell.content.kind == Kind::nothing && drawn_.flat;
    return look;
  }

  Look look(const Cell& cell) const {
    switch (session_.colouring) {
      case Colouring::storage:
        return loose(theme_.muted, 0.35f);
      case Colouring::compute:
        return loose(theme_.rank(drawn_.rank), 0.7f);
      case Colouring::values:
        if (const auto heat = heat_of(run_, cell, theme_)) {
          Look look;
          look.fill = *heat;
          return look;
        }
        return untraced();
      case Colouring::category:
        break;
    }
    const Style& style = theme_.category(allocate_.category);
    const Kind kind = cell.content.kind;
    Look look;
    look.ink = with_alpha(style.ink, 0.22f);
    if (kind == Kind::nothing && !drawn_.flat) {
      // Nothing is told of what activations and workspaces hold: they are there.
      look.fill = style.fill;
      look.pattern = style.pattern;
      return look;
    }
    look.fill = toned(style, cell.content, theme_.panel, run_.world_size());
    if (kind == Kind::nothing) {
      look.hollow = true;
      look.ink = mixed(theme_.panel, style.fill, 0.6f);
    } else if (kind != Kind::zero && kind != Kind::unknown) {
      look.pattern = style.pattern;
    }
    look.stripes = kind == Kind::local_gradient || kind == Kind::partial_sum ||
                   kind == Kind::reduced || kind == Kind::gathered;
    return look;
  }
  Look untraced() const {
    Look look;
    look.fill = theme_.panel;
    look.pattern = Pattern::rising;
    look.ink = untraced_ink(theme_);
    return look;
  }
  Look loose(Colour colour, float part) const {
    Look look;
    look.fill = mixed(theme_.panel, colour, part);
    return look;
  }

  void put(std::int64_t begin, std::int64_t end, const Look& look, const Content& content) {
    const bool same = pending_ && end_ == begin && look_ == look &&
                      (!look.stripes || content_->contributors == content.contributors);
    if (!same) {
      finish();
      pending_ = true;
      begin_ = begin;
      look_ = look;
      content_ = &content;
    }
    end_ = end;
  }

  void finish() {
    if (!pending_) return;
    pending_ = false;
    const Rect box = drawn_.part(begin_, end_);
    canvas_.fill(box, look_.fill);
    if (look_.hollow && box.width() > 3 && box.height() > 3) {
      canvas_.outline(box, look_.ink);
    } else {
      canvas_.pattern(box, look_.pattern, look_.ink);
    }
    if (look_.stripes) stripes(box);
  }

  // Along the bottom a stripe for each rank, lit where it contributed; all of it in the one rank's
  // colour where there is only one.
  void stripes(Rect box) const {
    const int K = run_.world_size();
    if (box.height() < 9 || box.width() < 3 || K < 2) return;
    Rect stripe = box.cut_bottom(std::clamp(box.height() * 0.3f, 2.0f, 5.0f));
    const RankSet& who = content_->contributors;
    if (who.size() == 1) {
      canvas_.fill(stripe, theme_.rank(who.lowest()));
      return;
    }
    const bool narrow = stripe.width() < 2.0f * static_cast<float>(K);
    if (narrow && who.size() == K) return;
    canvas_.fill(stripe, mixed(theme_.panel, theme_.text, 0.12f));
    if (narrow) {
      // Too narrow to tell them apart: as much of it as there are contributors.
      stripe.x1 =
          stripe.x0 + stripe.width() * static_cast<float>(who.size()) / static_cast<float>(K);
      canvas_.fill(stripe, theme_.muted);
      return;
    }
    for (int k = 0; k < K; ++k) {
      if (who.contains(k)) canvas_.fill(stripe.column(k, K), theme_.rank(k));
    }
  }

  Canvas& canvas_;
  const Theme& theme_;
  const Session& session_;
  const Drawn& drawn_;
  const event::Allocate& allocate_;
  const Run& run_;
  bool pending_ = false;
  std::int64_t begin_ = 0, end_ = 0;
  Look look_;
  const Content* content_ = nullptr;
};

}  // namespace

void draw_cells(Context& context, const Drawn& drawn) {
  if (drawn.box.empty()) return;
  Row(context, drawn).draw();
}

}  // namespace zero::view
