// The bytes of one GPU of each run, now and at most, with what the formulas say beside them.
#include <fmt/format.h>

#include <algorithm>

#include "common/memory/bytes.h"
#include "visualizer/view/bytes_facts.h"
#include "visualizer/view/stage_lanes.h"
#include "visualizer/view/stage_words.h"
#include "visualizer/view/views.h"

namespace zero::view {
namespace {

constexpr float kLine = 17;
constexpr float kClaim = 112;  // of a number's column

class BytesView {
 public:
  BytesView(Context& context, Rect area)
      : context_(context),
        canvas_(context.canvas),
        theme_(context.canvas.theme()),
        session_(context.session),
        facts_(context.session.derived<BytesFacts>()),
        area_(area.inset(12, 8)) {}

  void draw() {
    const int runs = session_.size();
    const float sent_line = 22;
    const std::string title = fmt::format("Sent by GPU {} in this iteration", session_.rank);
    // The factors have a heading, as the bytes have: these are so far, those of the whole.
    const std::string factors = has_factors() ? "a whole iteration" : "";
    const bool beside =
        canvas_.width_of(title, Font::strong) + canvas_.width_of(factors, Font::small) + 12 <=
        area_.width();
    const float sent_height =
        kLine + 7 + (beside ? 0 : kLine) + sent_line * static_cast<float>(runs);
    Rect sent = area_;
    Rect memory = sent.cut_top(std::max(area_.height() - sent_height, 0.0f));
    memory.cut_bottom(8);
    Rect head = memory.cut_top(kLine + 3);
    if (runs == 1) {
      const BytesNow now = bytes_now(session_, facts_, 0, rank_of(0));
      total(head, now);
    }
    canvas_.label(head, memory_title(), {theme_.text, Font::strong});
    memory.cut_top(4);
    if (runs == 1) {
      one_run(memory);
    } else {
      const float height = std::min(memory.height() / static_cast<float>(runs), 90.0f);
      for (int r = 0; r < runs; ++r) run_memory(memory.cut_top(height), r);
    }
    // What follows stands close to what is above it.
    const float free = memory.height();
    sent.y0 -= free;
    sent.y1 -= free;
    Rect line = sent.cut_top(kLine + 3);
    Rect of_factors = beside ? line.cut_right(canvas_.width_of(factors, Font::small) + 1) : Rect{};
    canvas_.label(line, title, {theme_.text, Font::strong});
    if (!beside) of_factors = sent.cut_top(kLine);
    canvas_.label(of_factors, factors, {theme_.muted, Font::small, Align::right});
    sent.cut_top(4);
    for (int r = 0; r < runs; ++r) run_sent(sent.cut_top(sent_line), r);
  }

 private:
  int rank_of(int r) const { return session_.rank_of(r); }
  std::string memory_title() const { return fmt::format("Memory of GPU {}", session_.rank); }

  // Categories one after the other, a tick at the peak. Says what is under the pointer, if
  // anything.
  std::string stack(Rect box, int r, int rank, const BytesNow& now) {
    const float per_byte = box.width() / static_cast<float>(facts_.most_peak());
    const Target target{Target::Kind::rank, r, rank, -1, 0, 0, 0};
    std::string hovered;
    canvas_.fill(box, mixed(theme_.panel, theme_.faint, 0.35f));
    std::int64_t before = 0;
    for (std::size_t c = 0; c < now.live.size(); ++c) {
      if (now.live[c] <= 0) continue;
      const Style& style = theme_.categories[c];
      const Rect part{box.x0 + per_byte * static_cast<float>(before), box.y0,
                      box.x0 + per_byte * static_cast<float>(before + now.live[c]), box.y1};
      before += now.live[c];
      canvas_.cell(part.intersection(box), style, target);
      if (part.contains(context_.input.mouse)) {
        hovered = fmt::format("{}: {} B", style.name, with_commas(now.live[c]));
      }
    }
    const float x = std::min(box.x0 + per_byte * static_cast<float>(now.peak), box.x1);
    if (now.peak > 0) canvas_.fill({x - 2, box.y0 - 2, x, box.y1 + 2}, theme_.text);
    return hovered;
  }

  void total(Rect& head, const BytesNow& now) {
    const std::string words =
        fmt::format("{} now, {} peak", short_bytes(now.total), short_bytes(now.peak));
    const float width = canvas_.width_of(words, Font::small) + 2;
    if (width > head.width() * 0.75f) return;
    canvas_.label(head.cut_right(width), words, {theme_.muted, Font::small, Align::right});
  }

  // A check mark, or what is wrong.
  void verdict(Rect box, Verdict verdict) {
    const Point c = box.center();
    if (verdict == Verdict::equal) {
      const Colour colour = theme_.category(Memory::optimizer_states).fill;
      canvas_.line({c.x - 4, c.y}, {c.x - 1, c.y + 3}, colour, 2);
      canvas_.line({c.x - 1, c.y + 3}, {c.x + 5, c.y - 4}, colour, 2);
    } else if (verdict == Verdict::different) {
      canvas_.line({c.x - 4, c.y - 4}, {c.x + 4, c.y + 4}, theme_.warning, 2);
      canvas_.line({c.x - 4, c.y + 4}, {c.x + 4, c.y - 4}, theme_.warning, 2);
    }
  }

  // "measured  =  formula", each exact, as far as there is room.
  void compare(Rect line, std::string_view name, std::int64_t measured,
               std::optional<std::int64_t> claimed, Verdict v, Colour swatch = 0) {
    const Colour colour = v == Verdict::different ? theme_.warning : theme_.text;
    if (swatch != 0) {
      canvas_.fill(Rect::of_size(line.x0, line.center().y - 5, 10, 10), swatch);
      line.cut_left(15);
    }
    const Rect claim = line.cut_right(std::min(line.width() * 0.36f, kClaim));
    const Rect mark = line.cut_right(20);
    const std::string bytes = with_commas(measured) + " B";
    const Rect measure = line.cut_right(canvas_.width_of(bytes, Font::small) + 2);
    line.cut_right(4);
    canvas_.label(line, name, {theme_.muted, Font::small});
    canvas_.label(measure, bytes, {colour, Font::small, Align::right});
    verdict(mark, v);
    if (claimed) {
      canvas_.label(claim, with_commas(*claimed) + " B", {theme_.muted, Font::small, Align::right});
    }
  }

  std::string per_parameter(int r, std::int64_t bytes) const {
    const std::int64_t n = session_.run(r).header().padded_parameters;
    if (n <= 0) return {};
    return fmt::format("{:.2f} B a parameter", static_cast<double>(bytes) / static_cast<double>(n));
  }

  void run_memory(Rect box, int r) {
    const int rank = rank_of(r);
    const BytesNow now = bytes_now(session_, facts_, r, rank);
    const Claims& claims = facts_.claims(r);
    if (box.height() < kLine) return;
    Rect head = box.cut_top(kLine + 2);
    total(head, now);
    // Instead of one that is not traced, another is shown.
    const bool other =
        !session_.run(r).is_traced(session_.rank) && session_.rank < session_.run(r).world_size();
    const std::string whose = other ? fmt::format(": GPU {}", rank) : "";
    canvas_.label(head, session_.name(r) + whose, {theme_.text, Font::strong});
    box.cut_top(3);
    const std::string hovered = stack(box.cut_top(18), r, rank, now);
    box.cut_top(3);
    if (box.height() < kLine) return;
    if (!hovered.empty()) {
      canvas_.label(box.cut_top(kLine), hovered, {theme_.text, Font::small});
    } else {
      compare(box.cut_top(kLine), "model states", now.states, claims.model_states,
              now.states_verdict);
    }
    if (box.height() >= kLine) {
      canvas_.label(box.cut_top(kLine), per_parameter(r, now.states), {theme_.muted, Font::small});
    }
  }

  // Of a single run: each GPU's bar, and this GPU's categories.
  void one_run(Rect& box) {
    const int rank = rank_of(0);
    const std::vector<int>& ranks = session_.run(0).traced();
    const BytesNow now = bytes_now(session_, facts_, 0, rank);
    const Claims& claims = facts_.claims(0);
    const auto& lanes = session_.derived<Lanes>();
    std::string hovered = stack(box.cut_top(18), 0, rank, now);
    box.cut_top(5);
    if (ranks.size() > 1 && ranks.size() <= 8 && box.height() > 220) {
      for (const int k : ranks) {
        Rect line = box.cut_top(10);
        canvas_.fill(Rect::of_size(line.x0, line.y0 + 1, 7, 7), theme_.rank(k), 1);
        line.cut_left(12);
        line.y1 -= 2;
        const std::string said = stack(line, 0, k, bytes_now(session_, facts_, 0, k));
        if (!said.empty()) hovered = fmt::format("GPU {}, {}", k, said);
      }
      box.cut_top(5);
    }
    Rect columns = box.cut_top(kLine);
    if (!hovered.empty()) {
      canvas_.label(columns, hovered, {theme_.text, Font::small});
    } else {
      Rect claim = columns.cut_right(std::min(columns.width() * 0.36f, kClaim));
      columns.cut_right(20);
      canvas_.label(columns, "measured", {theme_.muted, Font::small, Align::right});
      canvas_.label(claim, "formula", {theme_.muted, Font::small, Align::right});
    }
    for (std::size_t c = 0; c < now.live.size(); ++c) {
      if (!lanes.occurs(static_cast<Memory>(c))) continue;
      if (box.height() < 2 * kLine) break;
      const auto claimed = c < 3 ? claims.states[c] : std::nullopt;
      const Verdict v = !claimed || now.states_verdict == Verdict::unknown ? Verdict::unknown
                        : now.live[c] == *claimed                          ? Verdict::equal
                                                                           : Verdict::different;
      compare(box.cut_top(kLine), theme_.categories[c].name, now.live[c], claimed, v,
              theme_.categories[c].fill);
    }
    if (box.height() >= kLine) {
      compare(box.cut_top(kLine), "model states", now.states, claims.model_states,
              now.states_verdict);
    }
    if (box.height() >= kLine) {
      canvas_.label(box.cut_top(kLine), per_parameter(0, now.states), {theme_.muted, Font::small});
    }
  }

  // How often the first run's bytes each sends in a whole iteration.
  std::optional<double> factor(int r) const {
    const auto first = facts_.claims(0).sent, own = facts_.claims(r).sent;
    if (session_.size() == 1 || !own || !first || *first <= 0) return {};
    return static_cast<double>(*own) / static_cast<double>(*first);
  }
  bool has_factors() const {
    for (int r = 0; r < session_.size(); ++r) {
      if (factor(r)) return true;
    }
    return false;
  }

  // What has been sent of what the formula says: "1,024 of 2,048 B", or in fewer words.
  enum class Words : std::uint8_t { exact, brief, percent };
  std::string sent_words(int r, std::int64_t sent, Words words) const {
    const auto claimed = facts_.claims(r).sent;
    if (!facts_.sends_known(r)) {
      // In closed form no message is told: the formula is all that there is.
      const bool formula = session_.run(r).is_simulated() && claimed && words != Words::percent;
      if (!formula) return "not traced";
      return "by formula " +
             (words == Words::exact ? with_commas(*claimed) + " B" : short_bytes(*claimed));
    }
    if (!claimed) return with_commas(sent) + " B";
    if (words == Words::exact) {
      return fmt::format("{} of {} B", with_commas(sent), with_commas(*claimed));
    }
    if (words == Words::brief) {
      return fmt::format("{} of {}", short_bytes(sent), short_bytes(*claimed));
    }
    const double part = static_cast<double>(sent) / static_cast<double>(std::max(*claimed, sent));
    return fmt::format("{:.0f}% sent", *claimed > 0 ? 100 * part : 100.0);
  }
  // At its longest, in all runs: their bars have the same length.
  float sent_width(Words words) const {
    float width = 0;
    for (int r = 0; r < session_.size(); ++r) {
      const std::int64_t most = std::max(facts_.claims(r).sent.value_or(0), now_sent(r));
      width = std::max(width, canvas_.width_of(sent_words(r, most, words), Font::small));
    }
    return width + 2;
  }
  std::int64_t now_sent(int r) const { return bytes_now(session_, facts_, r, rank_of(r)).sent; }

  // The outline is the formula's length, the bar what has been sent of it.
  void run_sent(Rect line, int r) {
    const int rank = rank_of(r);
    const BytesNow now = bytes_now(session_, facts_, r, rank);
    const auto claimed = facts_.claims(r).sent;
    line = line.inset(0, 2);
    if (session_.size() > 1) {
      canvas_.label(line.cut_left(std::min(58.0f, line.width() * 0.2f)), session_.name(r),
                    {theme_.text, Font::small});
    }
    if (session_.size() > 1) {
      const Rect ratio = line.cut_right(38);
      if (const auto times = factor(r)) {
        canvas_.label(ratio, fmt::format("{:.{}f} \u00d7", *times, *times < 9.95 ? 1 : 0),
                      {theme_.text, Font::strong, Align::right});
      }
    }
    verdict(line.cut_right(20), now.sent_verdict);
    Words length = Words::exact;
    const float room = line.width() - 6 - std::min(46.0f, line.width() * 0.3f);  // beside a bar
    if (sent_width(length) > room) length = Words::brief;
    if (sent_width(length) > room) length = Words::percent;
    const Rect whole = line;
    const Rect number = line.cut_right(std::min(sent_width(length), room));
    line.cut_right(6);
    const Rect bar = line.inset(0, 2);
    const TextStyle said{now.sent_verdict == Verdict::different ? theme_.warning : theme_.text,
                         Font::small, Align::right};
    if (length != Words::exact && whole.contains(context_.input.mouse)) {
      canvas_.label(whole, sent_words(r, now.sent, Words::exact), said);
      return;
    }
    canvas_.label(number, sent_words(r, now.sent, length), said);
    const float per_byte = bar.width() / static_cast<float>(facts_.most_sent());
    const auto part = [&](std::int64_t bytes) {
      return Rect{bar.x0, bar.y0, bar.x0 + per_byte * static_cast<float>(bytes), bar.y1}
          .intersection(bar);
    };
    const Style& style = theme_.category(Memory::communication);
    canvas_.cell(part(now.sent), style, {Target::Kind::rank, r, rank, -1, 0, 0, 0});
    if (claimed) canvas_.outline(part(*claimed), theme_.muted);
  }

  Context& context_;
  Canvas& canvas_;
  const Theme& theme_;
  const Session& session_;
  const BytesFacts& facts_;
  Rect area_;
};

}  // namespace

void draw_bytes(Context& context, Rect area) {
  context.canvas.fill(area, context.canvas.theme().panel, 4);
  if (area.width() < 120 || area.height() < 80) return;
  BytesView(context, area).draw();
}

}  // namespace zero::view
