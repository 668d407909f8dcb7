// The words of the judge's sentences.
#include <fmt/format.h>

#include <algorithm>

#include "common/memory/bytes.h"
#include "exercises/judge/judge.h"
#include "tests/support/ground_truth.h"

namespace zero::judge {

std::string title(std::string_view stage) {
  return stage == "ddp" ? "DDP" : fmt::format("ZeRO-{}", stage.back());
}

std::string formula(const Request& request, Memory state) {
  const auto stage = std::find(kStages.begin(), kStages.end(), request.stage) - kStages.begin();
  const auto width = bytes_of(dtype_of(request.work));
  const bool fp32 = request.work.dtype == "fp32";
  switch (state) {
    case Memory::parameters:
      return fmt::format("{}N{}", width, stage >= 3 ? "/K" : "");
    case Memory::gradients:
      return fmt::format("{}N{}", width, stage >= 2 ? "/K" : "");
    default:
      return fmt::format("{}N{}", fp32 ? 8 : 12, stage >= 1 ? "/K" : "");
  }
}

std::string sizes(const Request& request) {
  const Expected expected(request.stage, request.work);
  return fmt::format("N = {} with padding, K = {}", with_commas(expected.padded),
                     request.work.ranks);
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string result(text.substr(0, kMost));
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return result + (text.size() > kMost ? "..." : "");
}

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

std::string place_text(const event::Step& step) {
  if (step.iteration < 0) return "at the start";
  if (step.number == 0) return "at the beginning of the iteration";
  std::string text = fmt::format("in step {}", step.number);
  if (step.unit) text += ", unit " + shown(*step.unit);
  return text;
}

}  // namespace zero::judge
