// Whole pictures of real runs, in every mode and size: no words outside of their boxes or over each
// other, nothing outside of the picture, no part over another.
#include <map>
#include <set>

#include "catch.h"
#include "tests/support/picture_faults.h"
#include "tests/support/traced_runs.h"
#include "visualizer/export/headless.h"

namespace zero::view {
namespace {

struct Size {
  int width, height;
};
constexpr Size kSizes[] = {{640, 400}, {800, 600}, {1280, 720}, {1920, 1080}};
constexpr View kViews[] = {View::stages, View::collective, View::memory};
constexpr Content kContents[] = {Content::window, Content::picture, Content::plain, Content::strip};
constexpr Colouring kColourings[] = {Colouring::category, Colouring::storage, Colouring::compute,
                                     Colouring::values};

// Different faults, each with the first picture that has it.
class Faults {
 public:
  void add(const std::vector<std::string>& faults, const std::string& picture) {
    for (const std::string& fault : faults) {
      ++count_;
      // The same words at another place are the same fault.
      std::string words;
      bool place = false;
      for (const char c : fault) {
        if (c == '[') place = true;
        if (!place && !(c >= '0' && c <= '9')) words += c;
        if (c == ']') place = false;
      }
      first_.try_emplace(words, fault + "  (" + picture + ")");
    }
  }
  std::string text() const {
    if (count_ == 0) return "";
    std::string text = std::to_string(count_) + " faults, of these kinds:\n";
    for (const auto& [words, fault] : first_) text += fault + '\n';
    return text;
  }

 private:
  std::size_t count_ = 0;
  std::map<std::string, std::string> first_;
};

std::string describe(const Session& session, Size size, Content content) {
  return fmt::format(
      "{} of {} ranks, view {}, content {}, {}x{}, colours {}, {}{}, clock {:.2f} of {:.0f}",
      session.size() > 1 ? std::to_string(session.size()) + " runs" : session.name(0),
      session.world_size(), static_cast<int>(session.view), static_cast<int>(content), size.width,
      size.height, static_cast<int>(session.colouring), session.ring ? "ring" : "row",
      session.selected ? ", selected" : "", session.clock(), session.length());
}

std::vector<std::string> part_faults(const Session& session, Rect area, Content content) {
  const Parts parts = parts_of(session, area, content);
  std::vector<Rect> there;
  for (const Rect& part : {parts.caption, parts.main, parts.side, parts.side_top, parts.timeline}) {
    if (!part.empty()) there.push_back(part);
  }
  std::vector<std::string> faults;
  for (std::size_t i = 0; i < there.size(); ++i) {
    if (!area.contains(there[i])) faults.push_back("a part is not in the picture");
    for (std::size_t j = 0; j < i; ++j) {
      if (there[i].overlaps(there[j])) faults.push_back("a part lies over another");
    }
  }
  if (parts.caption.empty() || parts.main.empty()) faults.push_back("a part is missing");
  return faults;
}

// Evenly spread, and, since most happens there, amid messages: n in all.
std::vector<double> moments(const Session& session, int n) {
  std::vector<double> all;
  const std::vector<replay::Collective>& collectives = session.collectives(session.focus);
  for (int i = 0; i < n; ++i) {
    if (i % 2 == 0 || collectives.empty()) {
      all.push_back(session.length() * i / (n - 1));
      continue;
    }
    const auto run = static_cast<std::size_t>(session.focus);
    const replay::Collective& shown =
        collectives[collectives.size() * static_cast<std::size_t>(i) / static_cast<std::size_t>(n)];
    if (shown.hops.empty()) {
      all.push_back(session.alignment().clock(run, shown.begin) + 0.5);
      continue;
    }
    const replay::Hop& hop =
        shown.hops[shown.hops.size() * static_cast<std::size_t>(i) / static_cast<std::size_t>(n)];
    all.push_back(session.alignment().clock(run, hop.send + 1) + 0.5);
  }
  return all;
}

// All views, contents and sizes; the rest changes from one picture to the next, so that each of it
// meets each of them.
void check_pictures(Session& session, int each, Faults& faults) {
  Headless head(640, 400);
  std::size_t turn = 0;
  for (const View view : kViews) {
    for (const Content content : kContents) {
      if (content == Content::strip && view != View::collective) continue;  // a strip has no view
      for (const Size size : kSizes) {
        head.resize(size.width, size.height);
        session.view = view;
        session.focus = static_cast<int>(turn % static_cast<std::size_t>(session.size()));
        for (const double moment : moments(session, each)) {
          ++turn;
          session.colouring = kColourings[turn % 4];
          session.ring = turn % 3 == 0;
          session.rank = static_cast<int>(turn % static_cast<std::size_t>(session.world_size()));
          session.playing = turn % 5 == 0;
          session.loop = turn % 7 == 0;
          head.set_theme(turn % 2 == 0 ? Theme::light() : Theme::dark_());
          session.seek(moment);
          head.layout(session, content);
          const std::string picture = describe(session, size, content);
          if (content == Content::window && head.labels().size() < 12)
            faults.add({"hardly any words"}, picture);
          if (content == Content::window && head.marks().size() < 12)
            faults.add({"hardly anything to point at"}, picture);
          faults.add(faults_of(std::span(head.labels()), head.area()), picture);
          faults.add(faults_of(std::span(head.marks()), head.area()), picture);
          faults.add(part_faults(session, head.area(), content), picture);
        }
      }
    }
  }
}

Work small(int ranks) {
  Work work;
  work.ranks = ranks;
  work.iterations = 2;
  return work;
}

TEST_CASE("every picture of one run has its words and marks in their places") {
  struct Case {
    std::string stage;
    int ranks;
    std::string collectives;
  };
  const std::vector<Case> cases = {
      {"ddp", 5, "ring"},   {"ddp", 8, "direct"},   {"zero1", 3, "ring"},
      {"zero1", 2, "ring"}, {"zero2", 5, "direct"}, {"zero2", 1, "ring"},
      {"zero3", 3, "ring"}, {"zero3", 8, "ring"},   {"zero3", 2, "direct"}};
  Faults faults;
  for (const Case& c : cases) {
    Work work = small(c.ranks);
    work.collectives = c.collectives;
    const TracedRuns runs({c.stage}, work, c.ranks != 5);
    Session session = runs.session();
    check_pictures(session, 20, faults);
  }
  CHECK(faults.text() == "");
}

TEST_CASE("every picture of four runs has its words and marks in their places") {
  Faults faults;
  for (const int ranks : {1, 2, 3, 5, 8}) {
    const TracedRuns runs({"ddp", "zero1", "zero2", "zero3"}, small(ranks), ranks == 3);
    Session session = runs.session();
    check_pictures(session, 20, faults);
  }
  CHECK(faults.text() == "");
}

TEST_CASE("a model of very many units is drawn in every mode") {
  Work work = small(3);
  work.layers = 120;
  work.channels = 8;
  work.batch = 3;
  work.iterations = 1;
  const TracedRuns runs({"ddp", "zero1"}, work);
  Session session = runs.session();
  Faults faults;
  check_pictures(session, 3, faults);
  CHECK(faults.text() == "");
}

// ---- what lies above a picture ----

// The labels that come after those of the picture without what lies above it.
std::span<const Label> above(const std::vector<Label>& with, std::size_t without) {
  return std::span(with).subspan(std::min(without, with.size()));
}

TEST_CASE("the tooltip of everything that can be pointed at stays in the picture") {
  Faults faults;
  std::set<Target::Kind> kinds;
  const TracedRuns runs({"ddp", "zero3"}, small(3), true);
  Session session = runs.session();
  for (const Size size : kSizes) {
    Headless head(size.width, size.height);
    for (const View view : kViews) {
      session.view = view;
      for (const double moment : moments(session, 4)) {
        session.seek(moment);
        session.hovered = {};
        head.layout(session, Content::window);
        const std::vector<Mark> marks = head.marks();
        const std::size_t under = head.labels().size();
        const std::size_t step = std::max<std::size_t>(1, marks.size() / 23);
        for (std::size_t i = 0; i < marks.size(); i += step) {
          Input input;
          input.mouse = marks[i].box.center();
          head.layout(session, Content::window, input);
          head.layout(session, Content::window, input);  // once what is hovered is known
          const std::span<const Label> tip = above(head.labels(), under);
          if (!tip.empty()) kinds.insert(session.hovered.kind);
          faults.add(faults_of(tip, head.area()),
                     describe(session, size, Content::window) + ", hovered kind " +
                         std::to_string(static_cast<int>(session.hovered.kind)));
        }
      }
    }
  }
  CHECK(faults.text() == "");
  for (const auto kind :
       {Target::Kind::rank, Target::Kind::cell, Target::Kind::transfer, Target::Kind::chapter}) {
    INFO("kind " << static_cast<int>(kind));
    CHECK(kinds.contains(kind));
  }
}

TEST_CASE("the help stays in the picture at every size") {
  const TracedRuns runs({"zero2"}, small(3));
  Session session = runs.session();
  for (const Size size : kSizes) {
    INFO(size.width << "x" << size.height);
    Headless head(size.width, size.height);
    session.help = false;
    head.layout(session);
    const std::size_t under = head.labels().size();
    session.help = true;
    head.layout(session);
    const std::span<const Label> help = above(head.labels(), under);
    CHECK(help.size() > 10);
    Faults faults;
    faults.add(faults_of(help, head.area()), "help");
    CHECK(faults.text() == "");
  }
}

TEST_CASE("whatever is selected, what is told of it has its words in their places") {
  Faults faults;
  std::set<Target::Kind> kinds;
  const TracedRuns runs({"zero1", "zero3"}, small(5), true);
  Session session = runs.session();
  for (const Size size : kSizes) {
    Headless head(size.width, size.height);
    for (const View view : kViews) {
      session.view = view;
      for (const double moment : moments(session, 4)) {
        session.seek(moment);
        session.selected = {};
        head.layout(session, Content::window);
        const std::vector<Mark> marks = head.marks();
        const std::size_t step = std::max<std::size_t>(1, marks.size() / 23);
        for (std::size_t i = 0; i < marks.size(); i += step) {
          if (marks[i].target.kind == Target::Kind::control) continue;
          session.selected = marks[i].target;
          kinds.insert(session.selected.kind);
          head.layout(session, Content::window);
          faults.add(faults_of(std::span(head.labels()), head.area()),
                     describe(session, size, Content::window));
          faults.add(faults_of(std::span(head.marks()), head.area()),
                     describe(session, size, Content::window));
          faults.add(part_faults(session, head.area(), Content::window), "selected");
        }
      }
    }
  }
  CHECK(faults.text() == "");
  for (const auto kind : {Target::Kind::rank, Target::Kind::cell, Target::Kind::transfer}) {
    INFO("kind " << static_cast<int>(kind));
    CHECK(kinds.contains(kind));
  }
}

TEST_CASE("misplaced words and marks are found") {
  const Rect area{0, 0, 100, 100};
  const Label good{{10, 10, 50, 30}, {10, 12, 40, 28}, "good"};
  const Label wide{{10, 40, 20, 60}, {10, 42, 40, 58}, "wide"};
  const Label over{{35, 10, 60, 30}, {35, 14, 60, 28}, "over"};
  const Label out{{80, 80, 120, 96}, {80, 80, 120, 96}, "out"};
  const auto count = [&](const std::vector<Label>& labels) {
    return faults_of(std::span(labels), area).size();
  };
  CHECK(count({good}) == 0);
  CHECK(count({wide}) == 1);
  CHECK(count({good, over}) == 1);
  CHECK(count({over, good}) == 1);
  CHECK(count({out}) == 1);
  const std::vector<Mark> marks = {{{0, 0, 100, 100}, {}, 0}, {{90, 90, 102, 95}, {}, 0}};
  CHECK(faults_of(std::span(marks), area).size() == 1);
}

}  // namespace
}  // namespace zero::view
