// Frames of a session without a display: ImGui and the software rasteriser.
#pragma once

#include <memory>
#include <vector>

#include "visualizer/raster/image.h"
#include "visualizer/view/frame.h"

struct ImGuiContext;

namespace zero {

// Owns an ImGui context, which is the current one during and after frame(). Used by one thread at
// a time; several may live at once.
class Headless {
 public:
  // The picture's size in pixels. With a scale of 2 everything in it is twice as large.
  Headless(int width, int height, const view::Theme& theme = view::Theme::light(), float scale = 1);
  ~Headless();
  Headless(const Headless&) = delete;
  Headless& operator=(const Headless&) = delete;

  void resize(int width, int height);
  void set_theme(const view::Theme& theme) { theme_ = theme; }

  // Draws one frame; `input` as the window would give it, in design pixels (see area()).
  Image frame(view::Session& session, view::Content content = view::Content::window,
              const view::Input& input = {});
  // The same without a picture: only the marks and labels.
  void layout(view::Session& session, view::Content content = view::Content::window,
              const view::Input& input = {});

  // Of the last frame, in design pixels.
  const std::vector<view::Mark>& marks() const { return marks_; }
  const std::vector<view::Label>& labels() const { return labels_; }
  view::Target target_at(view::Point p) const;  // the topmost mark there

  view::Rect area() const;  // the whole picture, in design pixels
  const view::Theme& theme() const { return theme_; }
  const view::Fonts& fonts() const { return fonts_; }
  void make_current() const;  // for those who draw with ImGui themselves

 private:
  ImGuiContext* context_;
  int width_, height_;
  float scale_;
  view::Theme theme_;
  view::Fonts fonts_;
  std::vector<view::Mark> marks_;
  std::vector<view::Label> labels_;
};

}  // namespace zero
