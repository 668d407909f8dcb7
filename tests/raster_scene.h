// For tests of the rasteriser: one frame of ImGui, and the picture of it.
#pragma once

#include <array>
#include <vector>

#include "visualizer/raster/rasteriser.h"

namespace zero {

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

inline std::array<int, 4> at(const Image& image, int x, int y) {
  const std::uint8_t* p = image.at(x, y);
  return {p[0], p[1], p[2], p[3]};
}
inline int red(const Image& image, int x, int y) { return image.at(x, y)[0]; }

inline constexpr std::array<int, 4> kBlack = {0, 0, 0, 255};
}  // namespace zero
