// Colours, patterns and fonts: one colour per concept, in text and picture.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/memory/tracker.h"

struct ImFont;

namespace zero::view {

// 0xAABBGGRR, as ImGui's ImU32.
using Colour = std::uint32_t;
constexpr Colour rgb(unsigned hex) {  // 0xRRGGBB
  return 0xff000000u | (hex & 0xffu) << 16 | (hex & 0xff00u) | (hex >> 16 & 0xffu);
}
Colour with_alpha(Colour colour, float alpha);      // 0 to 1
Colour mixed(Colour a, Colour b, float part_of_b);  // 0: a, 1: b

// What a category is told by where colour alone does not do: on a bad projector, in black and
// white, to a reader who cannot tell these colours.
enum class Pattern : std::uint8_t { plain, rising, falling, dots, crossed, horizontal, vertical };

struct Style {
  Colour fill = 0;
  Colour ink = 0;  // of text, patterns and outlines on `fill`: at least 4.5 : 1
  Pattern pattern = Pattern::plain;
  std::string_view name;  // "optimizer states"
};

struct Theme {
  bool dark = false;
  Colour background = 0, panel = 0;       // behind everything; behind a view
  Colour text = 0, muted = 0, faint = 0;  // words, lesser words, outlines
  Colour accent = 0, warning = 0;         // the present moment, the selection; what is wrong
  Style categories[kMemoryCategories];    // by Memory

  static Theme light();  // for slides and paper
  static Theme dark_();  // for a screen

  const Style& category(Memory m) const { return categories[static_cast<std::size_t>(m)]; }
  // A second palette, distinct from the categories': who. Ranks from 8 on repeat it.
  Colour rank(int r) const;
  Colour rank_ink(int r) const;
  // A third, pale one: of the numbered steps along a timeline, under `text`. It repeats too.
  Colour step(int number) const;
  static constexpr int kRankColours = 8, kStepColours = 7;
};

enum class Font : std::uint8_t { small, body, strong, title };
inline constexpr int kFonts = 4;
struct Fonts {
  ImFont* by_use[kFonts] = {};
  float scale = 1;  // pixels of the device in one of the design's pixels (HiDPI)
};
// Adds the fonts to ImGui's current atlas, which is built when the first frame begins.
Fonts load_fonts(float scale = 1);

}  // namespace zero::view
