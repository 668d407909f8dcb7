// The software rasteriser on what ImGui's draw lists are made of: rectangles, glyphs, clips,
// scales.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

#include "catch.h"
#include "tests/raster_scene.h"

using namespace zero;

TEST_CASE("clipping leaves what is inside as it is, and draws nothing outside") {
  const auto paint = [](Scene& scene) {
    scene.list->AddCircleFilled({30, 30}, 25.5f, IM_COL32(200, 100, 50, 180));
    scene.list->AddText({4, 20}, IM_COL32(0, 255, 0, 255), "Clipped words");
    scene.list->AddRectFilled({10, 33}, {70, 41}, IM_COL32(0, 0, 255, 90));
    scene.list->AddLine({0, 0}, {60, 57}, ~0u, 2);
    return scene.picture();
  };
  Scene whole_scene(64, 64);
  const Image whole = paint(whole_scene);
  Scene scene(64, 64);
  scene.list->PushClipRect({9.4f, 12.6f}, {40.6f, 37});
  const Image image = paint(scene);
  int wrong = 0;
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 64; ++x) {
      const bool inside = x >= 9 && x < 41 && y >= 13 && y < 37;
      wrong += at(image, x, y) != (inside ? at(whole, x, y) : kBlack);
    }
  }
  CHECK(wrong == 0);
  CHECK(at(whole, 30, 50) != kBlack);
}

TEST_CASE("the ways of a rectangle and of two triangles give the same bytes") {
  std::mt19937 random(5);
  for (int round = 0; round < 40; ++round) {
    const auto paint = [](Scene& scene, unsigned seed) {
      std::mt19937 numbers(seed);
      const auto number = [&](float to) {
        return to * (static_cast<float>(numbers() % 4096) / 4096.0f * 1.4f - 0.2f);
      };
      ImDrawList* list = scene.list;
      for (int i = 0; i < 12; ++i) {
        list->AddRectFilled({number(90), number(70)}, {number(90), number(70)}, numbers());
        list->AddText(nullptr, 8 + number(12), {number(90), number(70)}, numbers() | 0x80000000u,
                      "Glyphs (0, 37)");
        // Stretched, mirrored, turned upside down.
        list->AddImage(ImGui::GetIO().Fonts->TexID, {number(90), number(70)},
                       {number(90), number(70)}, {number(1), number(1)}, {number(1), number(1)},
                       numbers());
      }
    };
    const auto seed = static_cast<unsigned>(random());
    Scene fast(90, 70);
    paint(fast, seed);
    const Image expected = fast.picture();

    Scene general(90, 70);
    paint(general, seed);
    int rectangles = 0;
    ImVector<ImDrawIdx>& indices = general.list->IdxBuffer;
    for (int i = 0; i + 5 < indices.Size; i += 6) {
      ImDrawIdx* k = indices.Data + i;
      if (k[3] != k[0] || k[4] != k[2]) continue;
      std::rotate(k, k + 1, k + 3);  // the same triangle from another corner on
      ++rectangles;
    }
    const Image image = general.picture();
    REQUIRE(rectangles > 40);
    REQUIRE(image == expected);
  }
}

TEST_CASE("a glyph at whole pixels is the font's picture of it") {
  Scene scene(40, 30);
  const ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  const ImFontGlyph glyph = *atlas.Fonts[0]->FindGlyph('R');
  scene.list->AddText({11, 9}, ~0u, "R");
  const Image image = scene.picture();
  const int u = static_cast<int>(std::lround(glyph.U0 * static_cast<float>(atlas.TexWidth)));
  const int v = static_cast<int>(std::lround(glyph.V0 * static_cast<float>(atlas.TexHeight)));
  const int x0 = 11 + static_cast<int>(glyph.X0), x1 = 11 + static_cast<int>(glyph.X1);
  const int y0 = 9 + static_cast<int>(glyph.Y0), y1 = 9 + static_cast<int>(glyph.Y1);
  REQUIRE(x1 - x0 > 4);
  int ink = 0;
  for (int y = 0; y < 30; ++y) {
    for (int x = 0; x < 40; ++x) {
      const bool inside = x >= x0 && x < x1 && y >= y0 && y < y1;
      const int texel =
          inside ? atlas.TexPixelsAlpha8[(v + y - y0) * atlas.TexWidth + u + x - x0] : 0;
      REQUIRE(red(image, x, y) == texel);
      ink += texel;
    }
  }
  CHECK(ink > 0);
}

TEST_CASE("a turned texture is sampled bilinearly") {
  Scene scene(60, 60);
  const ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  // 1 texel is 2 pixels along (1, 1) and (-1, 1).
  const float u0 = 3, v0 = 12, size = 20;
  const auto corner = [&](float u, float v) { return ImVec2(30 + u - v, 5 + u + v); };
  const auto uv = [&](float u, float v) {
    return ImVec2((u0 + u) / static_cast<float>(atlas.TexWidth),
                  (v0 + v) / static_cast<float>(atlas.TexHeight));
  };
  scene.list->AddImageQuad(atlas.TexID, corner(0, 0), corner(size, 0), corner(size, size),
                           corner(0, size), uv(0, 0), uv(size, 0), uv(size, size), uv(0, size));
  const Image image = scene.picture();
  const auto texel = [&](int x, int y) -> double {
    return atlas.TexPixelsAlpha8[y * atlas.TexWidth + x];
  };
  int seen = 0, ink = 0;
  for (int y = 0; y < 60; ++y) {
    for (int x = 0; x < 60; ++x) {
      const double dx = x + 0.5 - 30, dy = y + 0.5 - 5;
      const double a = (dx + dy) / 2, b = (dy - dx) / 2;
      if (a <= 0.01 || b <= 0.01 || a >= size - 0.01 || b >= size - 0.01) continue;
      const double u = u0 + a - 0.5, v = v0 + b - 0.5;
      const int i = static_cast<int>(u), j = static_cast<int>(v);
      const double fu = u - i, fv = v - j;
      const double exact = (texel(i, j) * (1 - fu) + texel(i + 1, j) * fu) * (1 - fv) +
                           (texel(i, j + 1) * (1 - fu) + texel(i + 1, j + 1) * fu) * fv;
      ++seen;
      ink += red(image, x, y) > 0;
      REQUIRE(std::abs(red(image, x, y) - exact) <= 2);  // texture coordinates are in 1/256
    }
  }
  CHECK(seen > 700);
  CHECK(ink > 50);
}

TEST_CASE("a picture twice as fine has twice the pixels at the same places") {
  const auto paint = [](Scene& scene) {
    scene.list->AddRectFilled({3, 4}, {17, 9}, IM_COL32(40, 50, 60, 255));
    scene.list->PushClipRect({0, 0}, {12, 20});
    scene.list->AddRectFilled({0, 12}, {20, 14}, IM_COL32(140, 50, 60, 255));
    scene.list->AddRectFilled({5, 15.5f}, {6, 16}, ~0u);
    return scene.picture();
  };
  Scene coarse_scene(20, 20);
  const Image coarse = paint(coarse_scene);
  Scene fine_scene(40, 40, 2);
  const Image fine = paint(fine_scene);
  for (int y = 0; y < 15; ++y) {
    for (int x = 0; x < 20; ++x) {
      for (const int part : {0, 1, 2, 3}) {
        REQUIRE(at(fine, 2 * x + part % 2, 2 * y + part / 2) == at(coarse, x, y));
      }
    }
  }
  CHECK(at(fine, 10, 30) == kBlack);
  CHECK(at(fine, 10, 31) != kBlack);
  CHECK(at(fine, 11, 31) != kBlack);
}

TEST_CASE("more vertices than 16 bits can number are all drawn where they belong") {
  constexpr int kSide = 150;  // 22,500 rectangles of four vertices
  Scene scene(2 * kSide, 2 * kSide);
  const auto colour = [](int i, int j) { return IM_COL32(i, j, (i * 7 + j * 13) % 256, 255); };
  for (int j = 0; j < kSide; ++j) {
    for (int i = 0; i < kSide; ++i) {
      const auto x = static_cast<float>(2 * i), y = static_cast<float>(2 * j);
      scene.list->AddRectFilled({x, y}, {x + 2, y + 2}, colour(i, j));
    }
  }
  REQUIRE(scene.list->CmdBuffer.Size > 1);
  const Image image = scene.picture();
  int wrong = 0;
  for (int y = 0; y < 2 * kSide; ++y) {
    for (int x = 0; x < 2 * kSide; ++x) {
      const ImU32 c = colour(x / 2, y / 2);
      wrong += at(image, x, y) != std::array<int, 4>{static_cast<int>(c & 255),
                                                     static_cast<int>(c >> 8 & 255),
                                                     static_cast<int>(c >> 16 & 255), 255};
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("callbacks are not called, and what follows them is drawn") {
  Scene scene(10, 10);
  scene.list->AddCallback([](const ImDrawList*, const ImDrawCmd*) { std::abort(); }, nullptr);
  scene.list->AddRectFilled({2, 2}, {4, 4}, ~0u);
  const Image image = scene.picture();
  CHECK(red(image, 3, 3) == 255);
  CHECK(red(image, 5, 5) == 0);
}

TEST_CASE("the same drawing gives the same bytes") {
  const auto paint = [] {
    Scene scene(200, 100);
    for (int i = 0; i < 30; ++i) {
      const auto f = static_cast<float>(i);
      scene.list->AddCircle({100 + f, 50 - f}, 3 * f, IM_COL32(8 * i, 255 - 8 * i, 99, 140), 0, 2);
      scene.list->AddLine({f * 7, 0}, {200 - f * 3, 100}, IM_COL32(255, 255, 255, 70), 1);
      scene.list->AddRectFilled({f * 5, f}, {f * 6 + 9, f + 20}, IM_COL32(80, 8 * i, 9, 90), 4);
    }
    return scene.picture();
  };
  const Image first = paint();
  CHECK(first == paint());
  CHECK_FALSE(first == Image::of_size(200, 100));
}
