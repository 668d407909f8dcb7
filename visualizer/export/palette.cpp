#include "visualizer/export/palette.h"

#include <algorithm>
#include <cstring>

namespace zero {
namespace {

struct Counted {
  Rgb colour = 0;
  std::int64_t count = 0;
};

int part(Rgb colour, int channel) { return static_cast<int>(colour >> 8 * channel & 255); }

// Some of the colours, and how far they lie apart.
struct Cut {
  std::vector<Counted> colours;
  int channel = 0, range = 0;  // where they differ most
  std::int64_t count = 0;

  explicit Cut(std::vector<Counted> some) : colours(std::move(some)) {
    for (int c = 0; c < 3; ++c) {
      const auto [low, high] = std::minmax_element(colours.begin(), colours.end(),
                                                   [c](const Counted& a, const Counted& b) {
                                                     return part(a.colour, c) < part(b.colour, c);
                                                   });
      if (part(high->colour, c) - part(low->colour, c) > range) {
        range = part(high->colour, c) - part(low->colour, c);
        channel = c;
      }
    }
    for (const Counted& each : colours) count += each.count;
  }

  double weight() const { return range == 0 ? 0 : static_cast<double>(count) * range * range; }

  Rgb mean() const {
    Rgb mean = 0;
    for (int c = 0; c < 3; ++c) {
      std::int64_t sum = 0;
      for (const Counted& each : colours) sum += each.count * part(each.colour, c);
      mean |= static_cast<Rgb>((sum + count / 2) / count) << 8 * c;
    }
    return mean;
  }

  // Gives away the upper half of its pixels.
  Cut split() {
    std::sort(colours.begin(), colours.end(), [this](const Counted& a, const Counted& b) {
      const int x = part(a.colour, channel), y = part(b.colour, channel);
      return x != y ? x < y : a.colour < b.colour;
    });
    std::int64_t below = 0;
    std::size_t at = 0;
    while (at + 1 < colours.size() && below + colours[at].count <= count / 2) {
      below += colours[at++].count;
    }
    at = std::max<std::size_t>(at, 1);
    const auto middle = colours.begin() + static_cast<std::ptrdiff_t>(at);
    std::vector<Counted> upper(middle, colours.end());
    colours.erase(middle, colours.end());
    *this = Cut(std::move(colours));
    return Cut(std::move(upper));
  }
};

}  // namespace

void Histogram::add(const Image& image, const Image& before) {
  const bool comparable = before.width == image.width && before.height == image.height;
  const std::size_t row = 4 * static_cast<std::size_t>(image.width);
  for (int y = 0; y < image.height; ++y) {
    const std::uint8_t* at = image.at(0, y);
    if (comparable && std::memcmp(at, before.at(0, y), row) == 0) continue;
    for (int x = 0; x < image.width;) {
      const Rgb colour = rgb_of(at + 4 * x);
      const int first = x;
      while (x < image.width && rgb_of(at + 4 * x) == colour) ++x;
      counts_[colour] += x - first;
    }
  }
}

Palette::Palette(const Histogram& histogram) {
  constexpr std::size_t kExact = 160;
  std::vector<Counted> all;
  for (const auto& [colour, count] : histogram.counts()) all.push_back({colour, count});
  std::sort(all.begin(), all.end(), [](const Counted& a, const Counted& b) {
    return a.count != b.count ? a.count > b.count : a.colour < b.colour;
  });
  const std::size_t exact = all.size() <= kMost ? all.size() : kExact;
  for (std::size_t i = 0; i < exact; ++i) colours_.push_back(all[i].colour);
  if (exact < all.size()) {
    std::vector<Cut> cuts;
    cuts.emplace_back(
        std::vector<Counted>(all.begin() + static_cast<std::ptrdiff_t>(exact), all.end()));
    while (cuts.size() < kMost - exact) {
      const auto widest =
          std::max_element(cuts.begin(), cuts.end(),
                           [](const Cut& a, const Cut& b) { return a.weight() < b.weight(); });
      if (widest->range == 0) break;
      Cut upper = widest->split();
      cuts.push_back(std::move(upper));
    }
    for (const Cut& cut : cuts) colours_.push_back(cut.mean());
  }
  if (colours_.empty()) colours_.push_back(0);
  for (std::size_t i = 0; i < exact; ++i) known_[colours_[i]] = static_cast<std::uint8_t>(i);
}

std::uint8_t Palette::nearest(Rgb colour) {
  const auto found = known_.find(colour);
  if (found != known_.end()) return found->second;
  std::size_t best = 0;
  int least = 1 << 30;
  for (std::size_t i = 0; i < colours_.size(); ++i) {
    int distance = 0;
    for (int c = 0; c < 3; ++c) {
      const int apart = part(colour, c) - part(colours_[i], c);
      distance += apart * apart;
    }
    if (distance < least) {
      least = distance;
      best = i;
    }
  }
  return known_[colour] = static_cast<std::uint8_t>(best);
}

}  // namespace zero
