#include "visualizer/export/headless.h"

#include <imgui.h>

#include "visualizer/raster/rasteriser.h"

namespace zero {

Headless::Headless(int width, int height, const view::Theme& theme, float scale)
    : context_(ImGui::CreateContext()),
      width_(width),
      height_(height),
      scale_(scale),
      theme_(theme) {
  make_current();
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.LogFilename = nullptr;
  io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
  fonts_ = view::load_fonts(scale);
  unsigned char* pixels = nullptr;
  int atlas_width = 0, atlas_height = 0;
  io.Fonts->GetTexDataAsAlpha8(&pixels, &atlas_width, &atlas_height);  // builds the atlas
}

Headless::~Headless() { ImGui::DestroyContext(context_); }

void Headless::make_current() const { ImGui::SetCurrentContext(context_); }

void Headless::resize(int width, int height) {
  width_ = width;
  height_ = height;
}

view::Rect Headless::area() const {
  return {0, 0, static_cast<float>(width_) / scale_, static_cast<float>(height_) / scale_};
}

void Headless::layout(view::Session& session, view::Content content, const view::Input& input) {
  make_current();
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {area().width(), area().height()};
  io.DisplayFramebufferScale = {scale_, scale_};
  io.DeltaTime = input.seconds > 0 ? static_cast<float>(input.seconds) : 1.0f / 60;
  ImGui::NewFrame();
  view::Canvas canvas(ImGui::GetBackgroundDrawList(), theme_, fonts_);
  view::draw_frame(canvas, session, input, area(), content);
  ImGui::Render();
  marks_ = canvas.marks();
  labels_ = canvas.labels();
}

Image Headless::frame(view::Session& session, view::Content content, const view::Input& input) {
  layout(session, content, input);
  Image image = Image::of_size(width_, height_);
  draw(*ImGui::GetDrawData(), *ImGui::GetIO().Fonts, image);
  return image;
}

view::Target Headless::target_at(view::Point p) const {
  for (auto mark = marks_.rbegin(); mark != marks_.rend(); ++mark) {
    if (mark->box.contains(p)) return mark->target;
  }
  return {};
}

}  // namespace zero
