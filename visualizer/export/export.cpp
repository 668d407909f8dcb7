#include "visualizer/export/export.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <functional>

#include "common/memory/bytes.h"
#include "visualizer/export/files.h"
#include "visualizer/export/gif.h"
#include "visualizer/export/headless.h"
#include "visualizer/export/interrupts.h"
#include "visualizer/export/moments.h"
#include "visualizer/export/mp4.h"
#include "visualizer/export/png.h"
#include "visualizer/replay/say.h"
#include "visualizer/view/story_waiting.h"

namespace zero {
namespace {

constexpr double kRest = 1.5;  // seconds that a film's last frame stays

// What a film shows.
Stretch film_of(const view::Session& session, const ExportOptions& options) {
  Stretch film =
      options.at.empty() ? telling_of(session).collective : stretch_of(session, options.at);
  if (!options.from.empty()) film = {stretch_of(session, options.from).begin, session.length()};
  if (!options.to.empty()) {
    if (options.from.empty()) film.begin = 0;
    film.end = stretch_of(session, options.to).end;
  }
  if (film.end <= film.begin) {
    throw NoSuchMoment("a film needs two moments, the second after the first: --from A --to B");
  }
  return film;
}

double moment_of(const view::Session& session, const ExportOptions& options) {
  if (!options.at.empty()) return stretch_of(session, options.at).end;
  if (session.view == view::View::memory) {
    return view::failing_moment(session).value_or(session.length());
  }
  const Telling telling = telling_of(session);
  const bool one_collective =
      session.view == view::View::collective && options.content != view::Content::strip;
  return one_collective ? (telling.collective.begin + telling.collective.end) / 2 : telling.after;
}

// One line on a terminal, rewritten; nothing elsewhere.
class Progress {
 public:
  ~Progress() {
    if (said_) zero::say("\r\x1b[K");
  }
  void say(double part, int frames) {
    const int percent = static_cast<int>(part * 100);
    if (!terminal_ || percent == percent_) return;
    percent_ = percent;
    said_ = true;
    zero::say(fmt::format("\r{}%, {} frames\x1b[K", percent, with_commas(frames)));
  }

 private:
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
  bool said_ = false;
  int percent_ = -1;
};

class Film {
 public:
  Film(view::Session& session, const ExportOptions& options, Headless& headless,
       const Interrupts& interrupts, int rate)
      : session_(session),
        options_(options),
        headless_(headless),
        interrupts_(interrupts),
        film_(film_of(session, options)),
        rate_(rate) {}

  // Plays it once; the last frame is for the rest. `part` of all the work is done after it.
  void play(double done, double part, const std::function<void(const Image&)>& show) {
    session_.seek(film_.begin);
    session_.playing = true;
    session_.loop = false;
    session_.speed = options_.speed;
    for (int frames = 1;; ++frames) {
      interrupts_.look();
      show(headless_.frame(session_, options_.content));
      if (session_.clock() >= film_.end) break;
      if (frames > kMostFrames) {
        throw std::runtime_error(
            fmt::format("this film is longer than {} frames: shorten it with --from and --to, or "
                        "play it sooner with --speed",
                        with_commas(kMostFrames)));
      }
      progress_.say(done + part * (session_.clock() - film_.begin) / (film_.end - film_.begin),
                    frames);
      session_.advance(1.0 / rate_);
      if (session_.clock() >= film_.end || !session_.playing) session_.seek(film_.end);
    }
    session_.playing = false;
  }

 private:
  static constexpr int kMostFrames = 20'000;

  view::Session& session_;
  const ExportOptions& options_;
  Headless& headless_;
  const Interrupts& interrupts_;
  Stretch film_;
  int rate_;
  Progress progress_;
};

void export_gif(Film& film, const ExportOptions& options, int rate, PartialFile& file) {
  Histogram histogram;
  Image before;
  film.play(0, 0.5, [&](const Image& image) {
    histogram.add(image, before);
    before = image;
  });
  Gif gif(options.width, options.height, Palette(histogram));
  // A frame lasts whole hundredths; what is lost with one is made good with the next.
  int frames = 0, passed = 0;
  film.play(0.5, 0.5, [&](const Image& image) {
    const int end = static_cast<int>(std::lround(100.0 * ++frames / rate));
    gif.add(image, end - passed);
    passed = end;
    before = image;
  });
  gif.add(before, static_cast<int>(100 * kRest));
  file.write(gif.finish());
}

void export_mp4(Film& film, const ExportOptions& options, int rate, const PartialFile& file,
                const Interrupts& interrupts) {
  Mp4 mp4(file.name(), options.width, options.height, rate, interrupts);
  Image last;
  film.play(0, 1, [&](const Image& image) {
    mp4.add(image);
    last = image;
  });
  for (int i = 0; i < kRest * rate; ++i) mp4.add(last);
  mp4.finish();
}

}  // namespace

void export_session(view::Session& session, const ExportOptions& options) {
  const Interrupts interrupts;
  PartialFile file(options.path);
  session.dark = options.dark;
  Headless headless(options.width, options.height,
                    options.dark ? view::Theme::dark_() : view::Theme::light(), options.scale);
  if (options.path.ends_with(".png")) {
    session.seek(moment_of(session, options));
    file.write(png_of(headless.frame(session, options.content)));
    interrupts.look();
    return file.finish();
  }
  const bool gif = options.path.ends_with(".gif");
  const int usual = gif ? 20 : 30;
  const int rate = options.frames_per_second > 0 ? options.frames_per_second : usual;
  Film film(session, options, headless, interrupts, rate);
  if (gif) export_gif(film, options, rate, file);
  else export_mp4(film, options, rate, file, interrupts);
  interrupts.look();
  file.finish();
}

}  // namespace zero
