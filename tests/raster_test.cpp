// The software rasteriser against the definitions: which pixels, and which colours.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "catch.h"
#include "tests/raster_scene.h"

using namespace zero;

namespace {

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
