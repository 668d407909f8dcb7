// The palettes: near Okabe and Ito's for the categories, and near Tol's "muted" for the ranks,
// moved until any two of one palette differ by at least 15 in Lab, also as they look without red or
// without green cones (tests/view_theme_test.cpp measures that). Categories have patterns besides.
#include "visualizer/view/theme.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace zero::view {
namespace {

constexpr Colour kRanks[Theme::kRankColours] = {rgb(0x34298F), rgb(0x74C5EF), rgb(0xCD6476),
                                                rgb(0x147833), rgb(0xE1D075), rgb(0xA84197),
                                                rgb(0x48AB9A), rgb(0x8C265A)};
constexpr Colour kRanksDark[Theme::kRankColours] = {rgb(0x947FE8), rgb(0x91CDEB), rgb(0xDE8694),
                                                    rgb(0x46B367), rgb(0xE0CD73), rgb(0xC96BBF),
                                                    rgb(0x56CAB9), rgb(0xBD507C)};
constexpr Colour kSteps[Theme::kStepColours] = {rgb(0xDCE4F1), rgb(0xC0D4FD), rgb(0xBDABCA),
                                                rgb(0xE4BD9C), rgb(0xD6F4CF), rgb(0xF4E7A6),
                                                rgb(0xA8C8BB)};
constexpr Colour kStepsDark[Theme::kStepColours] = {rgb(0x37383F), rgb(0x293958), rgb(0x534A85),
                                                    rgb(0x593620), rgb(0x396147), rgb(0x6B602F),
                                                    rgb(0x2B6667)};

unsigned channel(Colour c, int shift) { return c >> shift & 0xffu; }

float luminance(Colour c) {
  const auto linear = [](unsigned v) {
    const float s = static_cast<float>(v) / 255.0f;
    return s <= 0.04045f ? s / 12.92f : std::pow((s + 0.055f) / 1.055f, 2.4f);
  };
  return 0.2126f * linear(channel(c, 0)) + 0.7152f * linear(channel(c, 8)) +
         0.0722f * linear(channel(c, 16));
}

constexpr Colour kInk = rgb(0x11151C), kPaper = rgb(0xFFFFFF);

// Whichever of ink and paper stands out more.
Colour ink_on(Colour fill) {
  const float l = luminance(fill) + 0.05f;
  return 1.05f / l >= l / (luminance(kInk) + 0.05f) ? kPaper : kInk;
}

Style style(unsigned hex, Pattern pattern, std::string_view name) {
  return {rgb(hex), ink_on(rgb(hex)), pattern, name};
}

void set_categories(Theme& theme, bool dark) {
  Style* c = theme.categories;
  c[0] = style(dark ? 0x2C92D9 : 0x0F75B7, Pattern::plain, "parameters");
  c[1] = style(dark ? 0xEE7732 : 0xD86004, Pattern::rising, "gradients");
  c[2] = style(dark ? 0x05B485 : 0x019971, Pattern::horizontal, "optimizer states");
  c[3] = style(dark ? 0xE9B825 : 0xEDBC29, Pattern::dots, "activations");
  c[4] = style(dark ? 0xDF97C2 : 0xB4699F, Pattern::falling, "temporary buffers");
  c[5] = style(dark ? 0x56B8EF : 0x53B7EC, Pattern::crossed, "communication");
  c[6] = style(dark ? 0x858993 : 0xA0A2A5, Pattern::vertical, "workspace");
}

}  // namespace

Colour with_alpha(Colour colour, float alpha) {
  const float a = std::clamp(alpha, 0.0f, 1.0f) * static_cast<float>(colour >> 24);
  return (colour & 0x00ffffffu) | static_cast<Colour>(std::lround(a)) << 24;
}

Colour mixed(Colour a, Colour b, float part_of_b) {
  const float t = std::clamp(part_of_b, 0.0f, 1.0f);
  Colour result = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    const float from = static_cast<float>(channel(a, shift));
    const float to = static_cast<float>(channel(b, shift));
    result |= static_cast<Colour>(std::lround(from + (to - from) * t)) << shift;
  }
  return result;
}

Theme Theme::light() {
  Theme t;
  t.background = rgb(0xFFFFFF);
  t.panel = rgb(0xF4F5F7);
  t.text = rgb(0x1A1F29);
  t.muted = rgb(0x596273);
  t.faint = rgb(0xC3C9D3);
  t.accent = rgb(0xC2185B);
  t.warning = rgb(0xB3261E);
  set_categories(t, false);
  return t;
}

Theme Theme::dark_() {
  Theme t;
  t.dark = true;
  t.background = rgb(0x14171D);
  t.panel = rgb(0x1D2129);
  t.text = rgb(0xECEFF4);
  t.muted = rgb(0xA3ACBB);
  t.faint = rgb(0x454D5B);
  t.accent = rgb(0xFF6FA3);
  t.warning = rgb(0xFF8A80);
  set_categories(t, true);
  return t;
}

Colour Theme::rank(int r) const { return (dark ? kRanksDark : kRanks)[r % kRankColours]; }
Colour Theme::rank_ink(int r) const { return ink_on(rank(r)); }

Colour Theme::step(int number) const {
  const int n = (number % kStepColours + kStepColours) % kStepColours;
  return (dark ? kStepsDark : kSteps)[n];
}

Fonts load_fonts(float scale) {
  ImGuiIO& io = ImGui::GetIO();
  static const ImWchar kGlyphs[] = {0x20, 0xff, 0x2010, 0x2026, 0x2212, 0x2212, 0x2264, 0x2265, 0};
  constexpr float kSizes[kFonts] = {13, 15, 15, 22};
  Fonts fonts;
  fonts.scale = scale;
  for (int use = 0; use < kFonts; ++use) {
    const char* file = use < 2 ? ZERO_FONT_REGULAR : ZERO_FONT_MEDIUM;
    const float size = std::round(kSizes[use] * scale);
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored)) {
      ImFontConfig config;
      config.OversampleH = 2;
      config.PixelSnapH = true;
      fonts.by_use[use] = io.Fonts->AddFontFromFileTTF(file, size, &config, kGlyphs);
    } else {
      ImFontConfig config;
      config.SizePixels = size;
      fonts.by_use[use] = io.Fonts->AddFontDefault(&config);
    }
  }
  return fonts;
}

}  // namespace zero::view
