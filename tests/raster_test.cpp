// The software rasteriser against the definitions of what it draws.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "catch.h"
#include "visualizer/raster/rasteriser.h"

using namespace zero;

namespace {

// One frame of ImGui, into which a test draws; then the picture of it.
class Scene {
 public:
  explicit Scene(int width, int height, float scale = 1)
      : context_(ImGui::CreateContext()), width_(width), height_(height) {
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.DisplaySize = {static_cast<float>(width) / scale, static_cast<float>(height) / scale};
    io.DisplayFramebufferScale = {scale, scale};
    io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
    unsigned char* pixels = nullptr;
    int atlas_width = 0, atlas_height = 0;
    io.Fonts->GetTexDataAsAlpha8(&pixels, &atlas_width, &atlas_height);
    ImGui::NewFrame();
    list = ImGui::GetBackgroundDrawList();
  }
  ~Scene() { ImGui::DestroyContext(context_); }

  Image picture() {
    ImGui::Render();
    Image image = Image::of_size(width_, height_);
    draw(*ImGui::GetDrawData(), *ImGui::GetIO().Fonts, image);
    return image;
  }

  // Any triangles, which ImGui's own functions would not make.
  void triangles(const std::vector<ImDrawVert>& vertices, const std::vector<int>& indices) {
    list->PrimReserve(static_cast<int>(indices.size()), static_cast<int>(vertices.size()));
    const unsigned first = list->_VtxCurrentIdx;
    for (const ImDrawVert& v : vertices) list->PrimWriteVtx(v.pos, v.uv, v.col);
    for (const int i : indices) {
      list->PrimWriteIdx(static_cast<ImDrawIdx>(first + static_cast<unsigned>(i)));
    }
  }
  ImDrawVert vertex(float x, float y, ImU32 colour) const {
    return {{x, y}, ImGui::GetIO().Fonts->TexUvWhitePixel, colour};
  }

  ImDrawList* list = nullptr;

 private:
  ImGuiContext* context_;
  int width_, height_;
};

std::array<int, 4> at(const Image& image, int x, int y) {
  const std::uint8_t* p = image.at(x, y);
  return {p[0], p[1], p[2], p[3]};
}
int red(const Image& image, int x, int y) { return image.at(x, y)[0]; }

constexpr std::array<int, 4> kBlack = {0, 0, 0, 255};
// Drawn n times over black: a red that tells n. Each adds 10 / 255 of what is missing to 255.
constexpr ImU32 kFaint = IM_COL32(255, 0, 0, 10);
int red_after(int times) {
  int red = 0;
  for (int i = 0; i < times; ++i) {
    red = static_cast<int>(std::lround((255.0 * 10 + red * 245.0) / 255));
  }
  return red;
}

}  // namespace

TEST_CASE("a rectangle covers the pixels whose centres it contains, and no others") {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> sixteenth(-3 * 16, 43 * 16);
  for (int round = 0; round < 300; ++round) {
    int x0 = sixteenth(random), x1 = sixteenth(random), y0 = sixteenth(random),
        y1 = sixteenth(random);
    if (x0 > x1) std::swap(x0, x1);
    if (y0 > y1) std::swap(y0, y1);
    Scene scene(40, 40);
    scene.list->AddRectFilled({x0 / 16.0f, y0 / 16.0f}, {x1 / 16.0f, y1 / 16.0f},
                              IM_COL32(10, 20, 30, 255));
    const Image image = scene.picture();
    int wrong = 0;
    for (int y = 0; y < 40; ++y) {
      for (int x = 0; x < 40; ++x) {
        const int cx = 16 * x + 8, cy = 16 * y + 8;
        const bool inside = cx >= x0 && cx < x1 && cy >= y0 && cy < y1;
        if (at(image, x, y) != (inside ? std::array<int, 4>{10, 20, 30, 255} : kBlack)) ++wrong;
      }
    }
    CAPTURE(x0, y0, x1, y1);
    REQUIRE(wrong == 0);
  }
}

TEST_CASE("triangles that share edges cover every pixel once") {
  // A mesh whose inner points are anywhere; its border is the picture's, and further out.
  constexpr int kCells = 7, kSize = 96;
  std::mt19937 random(2);
  for (int round = 0; round < 60; ++round) {
    // In 1/16 of a pixel, or as any number; on some rounds on pixels' centres, where ties are.
    const auto jitter = [&] {
      const auto part = static_cast<double>(random()) / 4294967296.0 - 0.5;
      if (round % 3 == 0) return std::round(part * 8) + 0.5;
      if (round % 3 == 1) return std::round(part * 8 * 16) / 16;
      return part * 9;
    };
    std::vector<ImDrawVert> points;
    std::vector<int> indices;
    Scene scene(kSize, kSize);
    for (int j = 0; j <= kCells; ++j) {
      for (int i = 0; i <= kCells; ++i) {
        double x = (i - 0.25) * kSize / (kCells - 0.5), y = (j - 0.25) * kSize / (kCells - 0.5);
        if (i > 0 && i < kCells) x += jitter();
        if (j > 0 && j < kCells) y += jitter();
        points.push_back(scene.vertex(static_cast<float>(x), static_cast<float>(y), kFaint));
      }
    }
    for (int j = 0; j < kCells; ++j) {
      for (int i = 0; i < kCells; ++i) {
        const int a = j * (kCells + 1) + i, b = a + 1, c = b + kCells + 1, d = c - 1;
        // Both diagonals, both ways round, and any corner first.
        std::array<int, 6> corners = random() % 2 ? std::array<int, 6>{a, b, c, c, d, a}
                                                  : std::array<int, 6>{a, b, d, b, c, d};
        for (int t = 0; t < 6; t += 3) {
          std::rotate(corners.begin() + t, corners.begin() + t + static_cast<int>(random() % 3),
                      corners.begin() + t + 3);
          if (random() % 2)
            std::swap(corners[static_cast<std::size_t>(t)],
                      corners[static_cast<std::size_t>(t) + 1]);
        }
        indices.insert(indices.end(), corners.begin(), corners.end());
      }
    }
    scene.triangles(points, indices);
    const Image image = scene.picture();
    int wrong = 0;
    for (int y = 0; y < kSize; ++y) {
      for (int x = 0; x < kSize; ++x) wrong += red(image, x, y) != red_after(1);
    }
    CAPTURE(round);
    REQUIRE(wrong == 0);
    REQUIRE(red_after(1) == 10);
  }
}

TEST_CASE("a fan of triangles around a pixel's centre covers that pixel once") {
  for (int corners = 3; corners < 40; ++corners) {
    Scene scene(41, 41);
    std::vector<ImDrawVert> points = {scene.vertex(20.5f, 20.5f, kFaint)};
    std::vector<int> indices;
    for (int i = 0; i < corners; ++i) {
      const double angle = 2 * 3.14159265358979 * i / corners;
      points.push_back(scene.vertex(static_cast<float>(20.5 + 18 * std::cos(angle)),
                                    static_cast<float>(20.5 + 18 * std::sin(angle)), kFaint));
      indices.insert(indices.end(), {0, 1 + i, 1 + (i + 1) % corners});
    }
    scene.triangles(points, indices);
    const Image image = scene.picture();
    int twice = 0;
    for (int y = 0; y < 41; ++y) {
      for (int x = 0; x < 41; ++x) twice += red(image, x, y) > red_after(1);
    }
    CAPTURE(corners);
    CHECK(red(image, 20, 20) == red_after(1));
    CHECK(twice == 0);
  }
}

TEST_CASE("a triangle covers the pixels whose centres its edges enclose") {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    // Corners that doubles hold exactly, at 1/16 of a pixel.
    std::array<double, 6> p{};
    for (double& coordinate : p) {
      coordinate = (static_cast<int>(random() % (60 * 16)) - 10 * 16) / 16.0;
    }
    Scene scene(40, 40);
    scene.triangles({scene.vertex(static_cast<float>(p[0]), static_cast<float>(p[1]), ~0u),
                     scene.vertex(static_cast<float>(p[2]), static_cast<float>(p[3]), ~0u),
                     scene.vertex(static_cast<float>(p[4]), static_cast<float>(p[5]), ~0u)},
                    {0, 1, 2});
    const Image image = scene.picture();
    const auto side = [&](int a, int b, double x, double y) {
      const auto i = static_cast<std::size_t>(2 * a), j = static_cast<std::size_t>(2 * b);
      return (p[j] - p[i]) * (y - p[i + 1]) - (p[j + 1] - p[i + 1]) * (x - p[i]);
    };
    int wrong = 0;
    for (int y = 0; y < 40; ++y) {
      for (int x = 0; x < 40; ++x) {
        const double a = side(0, 1, x + 0.5, y + 0.5), b = side(1, 2, x + 0.5, y + 0.5),
                     c = side(2, 0, x + 0.5, y + 0.5);
        const bool inside = (a > 0 && b > 0 && c > 0) || (a < 0 && b < 0 && c < 0);
        const bool outside = (a < 0 || b < 0 || c < 0) && (a > 0 || b > 0 || c > 0);
        const bool drawn = red(image, x, y) == 255;
        if ((inside && !drawn) || (outside && drawn)) ++wrong;
      }
    }
    CAPTURE(round);
    REQUIRE(wrong == 0);
  }
}

TEST_CASE("blending is source over destination, to within half a step of 255") {
  std::mt19937 random(4);
  for (int round = 0; round < 2000; ++round) {
    std::array<int, 3> below{}, above{};
    for (int c = 0; c < 3; ++c) {
      below[static_cast<std::size_t>(c)] = static_cast<int>(random() % 256);
      above[static_cast<std::size_t>(c)] = static_cast<int>(random() % 256);
    }
    const int alpha = static_cast<int>(random() % 256);
    const bool as_rectangle = round % 2 == 0;  // which has a loop of its own
    Scene scene(19, 3);
    scene.list->AddRectFilled({0, 0}, {19, 3}, IM_COL32(below[0], below[1], below[2], 255));
    const ImU32 colour = IM_COL32(above[0], above[1], above[2], alpha);
    if (as_rectangle) {
      scene.list->AddRectFilled({0, 0}, {19, 3}, colour);
    } else {
      scene.triangles({scene.vertex(-50, -50, colour), scene.vertex(90, -50, colour),
                       scene.vertex(-50, 90, colour)},
                      {0, 1, 2});
    }
    const Image image = scene.picture();
    for (int x = 0; x < 19; ++x) {
      for (int c = 0; c < 3; ++c) {
        const auto i = static_cast<std::size_t>(c);
        const double exact = (above[i] * alpha + below[i] * (255.0 - alpha)) / 255;
        if (std::abs(image.at(x, 1)[c] - exact) > 0.5) {
          CAPTURE(alpha, below[i], above[i], exact);
          REQUIRE(static_cast<int>(image.at(x, 1)[c]) == std::lround(exact));
        }
      }
      REQUIRE(image.at(x, 1)[3] == 255);
    }
  }
}

TEST_CASE("colours vary linearly over a triangle") {
  Scene scene(200, 120);
  const double p[3][2] = {{-13.25, 4.5}, {190.0625, -20}, {60, 140.75}};
  const int colour[3][4] = {{250, 0, 30, 255}, {0, 240, 90, 255}, {10, 20, 200, 255}};
  std::vector<ImDrawVert> points;
  for (int i = 0; i < 3; ++i) {
    points.push_back(scene.vertex(static_cast<float>(p[i][0]), static_cast<float>(p[i][1]),
                                  IM_COL32(colour[i][0], colour[i][1], colour[i][2], 255)));
  }
  scene.triangles(points, {0, 1, 2});
  const Image image = scene.picture();
  const auto area = [](const double* a, const double* b, const double* c) {
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
  };
  int seen = 0;
  for (int y = 0; y < 120; ++y) {
    for (int x = 0; x < 200; ++x) {
      const double here[2] = {x + 0.5, y + 0.5};
      const double all = area(p[0], p[1], p[2]);
      const double w[3] = {area(here, p[1], p[2]) / all, area(p[0], here, p[2]) / all,
                           area(p[0], p[1], here) / all};
      if (w[0] < 1e-9 || w[1] < 1e-9 || w[2] < 1e-9) continue;
      ++seen;
      for (int c = 0; c < 3; ++c) {
        const double exact = w[0] * colour[0][c] + w[1] * colour[1][c] + w[2] * colour[2][c];
        REQUIRE(std::abs(image.at(x, y)[c] - exact) < 0.5 + 1e-6);
      }
    }
  }
  CHECK(seen > 8000);
}

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

TEST_CASE("coordinates that are huge, degenerate or no numbers draw nothing and harm nothing") {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> odd = {0, 10, -10, 32767, 1e5f, -1e9f, 3e38f, -3e38f, inf, -inf, nan};
  for (const float a : odd) {
    for (const float b : odd) {
      for (const float c : odd) {
        Scene scene(16, 16);
        // Twice the same corner has no area, wherever the others are.
        scene.triangles({scene.vertex(a, b, ~0u), scene.vertex(a, b, ~0u), scene.vertex(c, 5, ~0u)},
                        {0, 1, 2});
        scene.triangles(
            {scene.vertex(nan, b, ~0u), scene.vertex(0, 16, ~0u), scene.vertex(c, 5, ~0u)},
            {0, 1, 2});
        const Image image = scene.picture();
        REQUIRE(image == Image::of_size(16, 16));
      }
    }
  }
  Scene scene(16, 16);
  scene.list->PrimReserve(6, 4);
  scene.list->PrimRect({nan, 0}, {16, 16}, ~0u);
  scene.triangles(
      {scene.vertex(-100, -100, ~0u), scene.vertex(-1, -100, ~0u), scene.vertex(-1, 500, ~0u)},
      {0, 1, 2});
  // Texture coordinates may be anything.
  ImDrawVert strange = scene.vertex(3, 3, ~0u);
  strange.uv = {nan, inf};
  scene.triangles({strange, scene.vertex(6, 3, 0), scene.vertex(3, 6, 0)}, {0, 1, 2});
  const Image image = scene.picture();
  CHECK(at(image, 12, 12) == kBlack);
}

TEST_CASE("a rectangle of one colour may reach beyond all bounds") {
  Scene scene(30, 20);
  scene.list->AddRectFilled({-1e30f, 5}, {1e9f, 8}, ~0u);
  scene.list->AddRectFilled({12, -std::numeric_limits<float>::infinity()}, {13, 1e7f}, ~0u);
  const Image image = scene.picture();
  for (int y = 0; y < 20; ++y) {
    for (int x = 0; x < 30; ++x) {
      REQUIRE((red(image, x, y) == 255) == ((y >= 5 && y < 8) || x == 12));
    }
  }
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
