// The palettes in numbers: what is told by colour can be told apart, and words on it can be read.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "catch.h"
#include "visualizer/view/theme.h"

namespace zero::view {
namespace {

using Triple = std::array<double, 3>;
using Matrix = std::array<Triple, 3>;

// As seen by all three kinds of cones; without the green ones; without the red ones: Machado,
// Oliveira and Fernandes 2009, severity 1, of linear RGB.
struct Eye {
  const char* name;
  Matrix matrix;
};
const Eye kEyes[] = {
    {"normal", {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}},
    {"deuteranopia",
     {{{0.367322, 0.860646, -0.227968},
       {0.280085, 0.672501, 0.047413},
       {-0.011820, 0.042940, 0.968881}}}},
    {"protanopia",
     {{{0.152286, 1.052583, -0.204868},
       {0.114503, 0.786281, 0.099216},
       {-0.003882, -0.048116, 1.051998}}}},
};

Triple times(const Matrix& m, const Triple& v) {
  Triple result{};
  for (std::size_t i = 0; i < 3; ++i) result[i] = m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2];
  return result;
}

Triple linear(Colour c) {
  Triple result{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double s = static_cast<double>(c >> (8 * i) & 0xffu) / 255;
    result[i] = s <= 0.04045 ? s / 12.92 : std::pow((s + 0.055) / 1.055, 2.4);
  }
  return result;
}

// CIE 1976, of the white D65.
Triple lab(Colour c, const Eye& eye) {
  Triple seen = times(eye.matrix, linear(c));
  for (double& v : seen) v = std::clamp(v, 0.0, 1.0);
  const Matrix to_xyz = {{{0.4124564, 0.3575761, 0.1804375},
                          {0.2126729, 0.7151522, 0.0721750},
                          {0.0193339, 0.1191920, 0.9503041}}};
  const Triple xyz = times(to_xyz, seen);
  const auto f = [](double t) {
    return t > 216.0 / 24389 ? std::cbrt(t) : 841.0 / 108 * t + 4.0 / 29;
  };
  const double x = f(xyz[0] / 0.95047), y = f(xyz[1]), z = f(xyz[2] / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

double difference(Colour a, Colour b, const Eye& eye) {
  const Triple p = lab(a, eye), q = lab(b, eye);
  return std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

double contrast(Colour a, Colour b) {
  const auto luminance = [](Colour c) {
    const Triple v = linear(c);
    return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2] + 0.05;
  };
  const double x = luminance(a), y = luminance(b);
  return std::max(x, y) / std::min(x, y);
}

const Theme kThemes[] = {Theme::light(), Theme::dark_()};

void check_apart(const std::vector<Colour>& colours, const std::string& what) {
  for (const Eye& eye : kEyes) {
    for (std::size_t a = 0; a < colours.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        INFO(what << " " << b << " and " << a << ", " << eye.name);
        CHECK(difference(colours[a], colours[b], eye) >= 15);
      }
    }
  }
}

TEST_CASE("differences and contrasts are those of the literature") {
  CHECK(difference(rgb(0xFFFFFF), rgb(0x000000), kEyes[0]) == Approx(100).margin(0.01));
  CHECK(difference(rgb(0xFF0000), rgb(0x00FF00), kEyes[0]) == Approx(170.6).margin(0.2));
  CHECK(contrast(rgb(0xFFFFFF), rgb(0x000000)) == Approx(21));
  for (const Eye& eye : kEyes) {  // grey is grey to everybody
    CHECK(difference(rgb(0x808080), rgb(0x808080), eye) == 0);
    CHECK(lab(rgb(0x808080), eye)[1] == Approx(0).margin(0.1));
    CHECK(lab(rgb(0x808080), eye)[2] == Approx(0).margin(0.1));
  }
}

TEST_CASE("any two categories, ranks or steps can be told apart, whatever cones one lacks") {
  for (const Theme& theme : kThemes) {
    INFO((theme.dark ? "dark" : "light"));
    std::vector<Colour> categories, ranks, steps;
    for (const Style& style : theme.categories) categories.push_back(style.fill);
    for (int r = 0; r < Theme::kRankColours; ++r) ranks.push_back(theme.rank(r));
    for (int s = 0; s < Theme::kStepColours; ++s) steps.push_back(theme.step(s));
    check_apart(categories, "categories");
    check_apart(ranks, "ranks");
    check_apart(steps, "steps");
    for (const Eye& eye : kEyes) {
      INFO(eye.name);
      for (const Colour c : categories) CHECK(difference(c, theme.panel, eye) >= 25);
      for (const Colour c : ranks) CHECK(difference(c, theme.panel, eye) >= 25);
    }
  }
}

TEST_CASE("words can be read on whatever they stand on") {
  for (const Theme& theme : kThemes) {
    INFO((theme.dark ? "dark" : "light"));
    for (const Style& style : theme.categories) {
      INFO(style.name);
      CHECK(contrast(style.ink, style.fill) >= 4.5);
    }
    for (int r = 0; r < Theme::kRankColours; ++r) {
      INFO("rank " << r);
      CHECK(contrast(theme.rank_ink(r), theme.rank(r)) >= 4.5);
    }
    for (int s = 0; s < Theme::kStepColours; ++s) {
      INFO("step " << s);
      CHECK(contrast(theme.text, theme.step(s)) >= 4.5);
    }
    for (const Colour behind : {theme.background, theme.panel}) {
      for (const Colour words : {theme.text, theme.muted, theme.accent, theme.warning}) {
        CHECK(contrast(words, behind) >= 4.5);
      }
    }
  }
}

TEST_CASE("ranks and steps beyond the palette repeat it") {
  for (const Theme& theme : kThemes) {
    CHECK(theme.rank(8) == theme.rank(0));
    CHECK(theme.step(9) == theme.step(2));
    CHECK(theme.step(-1) == theme.step(6));
  }
}

}  // namespace
}  // namespace zero::view
