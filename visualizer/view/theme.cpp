// The palettes: Okabe and Ito's for the categories, Tol's "muted" for the ranks; both can be told
// apart by readers with any of the usual colour deficiencies.
#include "visualizer/view/theme.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace zero::view {
namespace {

constexpr Colour kRanks[] = {rgb(0x332288), rgb(0x88CCEE), rgb(0xCC6677), rgb(0x117733),
                             rgb(0xDDCC77), rgb(0xAA4499), rgb(0x44AA99), rgb(0x882255)};
constexpr Colour kRanksDark[] = {rgb(0x8F7FE8), rgb(0x88CCEE), rgb(0xE08797), rgb(0x3FB56A),
                                 rgb(0xDDCC77), rgb(0xD070C4), rgb(0x52C4B2), rgb(0xC0527F)};
constexpr int kRankColours = 8;

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
  c[0] = style(dark ? 0x3D9BE0 : 0x0072B2, Pattern::plain, "parameters");
  c[1] = style(dark ? 0xEE7733 : 0xD55E00, Pattern::rising, "gradients");
  c[2] = style(dark ? 0x1FB88A : 0x009E73, Pattern::horizontal, "optimizer states");
  c[3] = style(0xE8B822, Pattern::dots, "activations");
  c[4] = style(dark ? 0xDE94BE : 0xCC79A7, Pattern::falling, "temporary buffers");
  c[5] = style(0x56B4E9, Pattern::crossed, "communication");
  c[6] = style(dark ? 0x8A919C : 0x9AA1AB, Pattern::vertical, "workspace");
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
