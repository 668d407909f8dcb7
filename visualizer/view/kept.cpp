#include "visualizer/view/kept.h"

#include <map>
#include <memory>
#include <utility>

#include "visualizer/replay/player.h"

namespace zero::view {

using namespace replay;

namespace {

// The newest last.
template <class T>
class Few {
 public:
  template <class Is, class Make>
  const T& find_or_make(Is is, Make make) {
    for (const auto& one : all_) {
      if (is(*one)) return *one;
    }
    if (all_.size() == kMost) all_.erase(all_.begin());
    all_.push_back(std::make_unique<const T>(make()));
    return *all_.back();
  }

 private:
  static constexpr std::size_t kMost = 4;  // for what is selected, what is hovered, and more
  std::vector<std::unique_ptr<const T>> all_;
};

struct At {
  int run;
  World world;
};
struct History {
  const BufferInfo* buffer;
  std::int64_t element;
  std::vector<Touched> touched;
};

struct Kept {
  explicit Kept(const Session&) {}
  mutable std::map<std::pair<int, int>, std::unique_ptr<const MemoryCurve>> curves;
  mutable Few<At> worlds;
  mutable Few<History> histories;
};

}  // namespace

const MemoryCurve& memory_curve(const Session& session, int run, int rank) {
  auto& curve = session.derived<Kept>().curves[{run, rank}];
  if (!curve) {
    curve = std::make_unique<const MemoryCurve>(session.run(run), rank, session.alignment(),
                                                static_cast<std::size_t>(run));
  }
  return *curve;
}

const World& world_at(const Session& session, int run, std::size_t position) {
  const auto is = [&](const At& at) { return at.run == run && at.world.position == position; };
  const auto make = [&] { return At{run, session.run(run).at(position)}; };
  return session.derived<Kept>().worlds.find_or_make(is, make).world;
}

const std::vector<Touched>& history_of(const Session& session, int run, const BufferInfo& buffer,
                                       std::int64_t element) {
  const auto is = [&](const History& h) { return h.buffer == &buffer && h.element == element; };
  const auto make = [&] {
    return History{&buffer, element, history(session.run(run), buffer, element)};
  };
  return session.derived<Kept>().histories.find_or_make(is, make).touched;
}

}  // namespace zero::view
