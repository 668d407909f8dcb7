#include "visualizer/export/gif.h"

#include <gif_lib.h>

#include <algorithm>

namespace zero {
namespace {

// Of the palette's 256: a pixel that stays as it was.
constexpr int kUnchanged = 255;

int append(GifFileType* gif, const GifByteType* bytes, int size) {
  static_cast<std::string*>(gif->UserData)
      ->append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  return size;
}

void check(int result, const char* what) {
  if (result == GIF_ERROR) throw std::runtime_error(std::string("GIF: ") + what + " failed");
}

}  // namespace

struct Gif::State {
  State(int w, int h, Palette p) : palette(std::move(p)), width(w), height(h) {}

  Palette palette;
  int width, height;
  std::string bytes;
  GifFileType* gif = nullptr;
  std::vector<std::uint8_t> shown;  // palette indices of the last frame; empty before the first

  // The frame that is written when it is known how long it is shown.
  int left = 0, top = 0, wide = 0, high = 0, hundredths = 0;
  std::vector<std::uint8_t> waiting;

  void write_waiting() {
    if (waiting.empty()) return;
    GraphicsControlBlock control{};
    control.DisposalMode = DISPOSE_DO_NOT;
    control.DelayTime = hundredths;
    control.TransparentColor = kUnchanged;
    GifByteType packed[4];
    EGifGCBToExtension(&control, packed);
    check(EGifPutExtension(gif, GRAPHICS_EXT_FUNC_CODE, 4, packed), "the frame's delay");
    check(EGifPutImageDesc(gif, left, top, wide, high, false, nullptr), "the frame's size");
    for (int y = 0; y < high; ++y) {
      check(EGifPutLine(gif, waiting.data() + static_cast<std::ptrdiff_t>(y) * wide, wide),
            "a row of pixels");
    }
    waiting.clear();
  }
};

Gif::Gif(int width, int height, Palette palette)
    : state_(std::make_unique<State>(width, height, std::move(palette))) {
  int error = 0;
  state_->gif = EGifOpen(&state_->bytes, append, &error);
  if (state_->gif == nullptr) throw std::runtime_error("GIF: out of memory");
  EGifSetGifVersion(state_->gif, true);
  ColorMapObject* map = GifMakeMapObject(256, nullptr);
  const std::vector<Rgb>& colours = state_->palette.colours();
  for (std::size_t i = 0; i < 256; ++i) {
    const Rgb colour = i < colours.size() ? colours[i] : 0;
    map->Colors[i] = {static_cast<GifByteType>(colour >> 16), static_cast<GifByteType>(colour >> 8),
                      static_cast<GifByteType>(colour)};
  }
  const int put = EGifPutScreenDesc(state_->gif, width, height, 8, 0, map);
  GifFreeMapObject(map);
  check(put, "the size");
  const GifByteType forever[3] = {1, 0, 0};
  check(EGifPutExtensionLeader(state_->gif, APPLICATION_EXT_FUNC_CODE), "the loop");
  check(EGifPutExtensionBlock(state_->gif, 11, "NETSCAPE2.0"), "the loop");
  check(EGifPutExtensionBlock(state_->gif, 3, forever), "the loop");
  check(EGifPutExtensionTrailer(state_->gif), "the loop");
}

Gif::~Gif() {
  int error = 0;
  if (state_->gif != nullptr) EGifCloseFile(state_->gif, &error);
}

void Gif::add(const Image& frame, int hundredths) {
  State& s = *state_;
  std::vector<std::uint8_t> now(static_cast<std::size_t>(s.width) *
                                static_cast<std::size_t>(s.height));
  Rgb last = ~Rgb{0};
  std::uint8_t index = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const Rgb colour = rgb_of(frame.rgba.data() + 4 * i);
    if (colour != last) index = s.palette.nearest(last = colour);
    now[i] = index;
  }
  int x0 = 0, y0 = 0, x1 = s.width, y1 = s.height;
  if (!s.shown.empty()) {
    x0 = s.width, y0 = s.height, x1 = y1 = 0;
    for (int y = 0; y < s.height; ++y) {
      const auto row = static_cast<std::ptrdiff_t>(y) * s.width;
      const auto first =
          std::mismatch(now.begin() + row, now.begin() + row + s.width, s.shown.begin() + row);
      const int from = static_cast<int>(first.first - now.begin() - row);
      if (from == s.width) continue;
      int to = s.width;
      while (now[static_cast<std::size_t>(row + to - 1)] ==
             s.shown[static_cast<std::size_t>(row + to - 1)]) {
        --to;
      }
      x0 = std::min(x0, from);
      x1 = std::max(x1, to);
      y0 = std::min(y0, y);
      y1 = y + 1;
    }
    if (x0 >= x1) {  // nothing has changed: what is there stays for longer
      s.hundredths += hundredths;
      return;
    }
  }
  s.write_waiting();
  s.left = x0, s.top = y0, s.wide = x1 - x0, s.high = y1 - y0, s.hundredths = hundredths;
  for (int y = y0; y < y1; ++y) {
    for (int x = x0; x < x1; ++x) {
      const std::size_t i = static_cast<std::size_t>(y) * static_cast<std::size_t>(s.width) +
                            static_cast<std::size_t>(x);
      const bool same = !s.shown.empty() && s.shown[i] == now[i];
      s.waiting.push_back(same ? static_cast<std::uint8_t>(kUnchanged) : now[i]);
    }
  }
  s.shown = std::move(now);
}

std::string Gif::finish() {
  state_->write_waiting();
  int error = 0;
  const int closed = EGifCloseFile(state_->gif, &error);
  state_->gif = nullptr;
  check(closed, "the end");
  return std::move(state_->bytes);
}

}  // namespace zero
