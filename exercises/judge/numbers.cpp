// The rung numbers: every iteration, and the state at the end, against the ground truth.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "common/memory/bytes.h"
#include "common/model/layout.h"
#include "exercises/judge/judge.h"
#include "tests/support/files.h"
#include "tests/support/ground_truth.h"

namespace zero::judge {
namespace {

using Json = nlohmann::json;

// " (3 times as large; K = 3)"; nothing where that says nothing.
std::string ratio_text(const Request& request, double actual, double expected) {
  const double times = actual / expected;
  if (!std::isfinite(times) || times <= 0 || std::fabs(times - 1) < 0.01) return "";
  return fmt::format(" ({:.4g} times as large; K = {})", times, request.work.ranks);
}

Finding iteration_differs(const Request& request, const TruthDifference& difference) {
  const std::string where =
      fmt::format("iteration {} of {}: ", difference.iteration + 1, request.work.iterations);
  const bool first = difference.iteration == 0;
  if (difference.what == "loss") {
    return {"numbers",
            where + fmt::format("the mean loss of the ranks is {}; expected: {}", difference.actual,
                                difference.expected),
            first ? "step 1: which parameters each unit's forward is given, and which micro-batch"
                  : fmt::format("what iteration {} left in the parameters, and the parameters that "
                                "step 1 is given",
                                difference.iteration),
            difference.iteration};
  }
  if (difference.what == "skipped") {
    return {"numbers",
            where + (difference.expected != 0
                         ? "updated, although a gradient overflowed; expected: every rank skips"
                         : "skipped, although no gradient overflowed"),
            "the norm in step 4, and gradients that nobody wrote: fresh memory holds NaN here"};
  }
  if (difference.what == "loss scale") {
    return {"numbers",
            where + fmt::format("the loss scale is {}; expected: {}", difference.actual,
                                difference.expected),
            "the loss scaler in step 4: it must hear of every iteration, once"};
  }
  const std::string ratio = ratio_text(request, difference.actual, difference.expected);
  return {"numbers",
          where + fmt::format("the norm of the averaged gradient is {}; expected: {}{}",
                              difference.actual, difference.expected, ratio),
          "steps 2 and 3: what the buffer that the norm is taken of holds, on each rank, for the "
          "positions it owns"};
}

// "h.0.ln_1.weight[3] (position 3,685)".
std::string element_text(const Request& request, std::int64_t position) {
  const Work& work = request.work;
  const ModelConfig config{work.layers, work.heads, work.channels, work.context, work.vocab};
  for (const UnitInfo& unit : make_layout(config)) {
    for (const TensorInfo& tensor : unit.tensors) {
      if (!tensor.range.contains({position, position + 1})) continue;
      return fmt::format("{}[{}] (position {})", tensor.name, position - tensor.range.begin,
                         with_commas(position));
    }
  }
  return fmt::format("the padding (position {})", with_commas(position));
}

// One state of all ranks, beside the truth.
class StateCheck {
 public:
  StateCheck(const Request& request, std::string state, Dtype dtype,
             const std::vector<float>& truth)
      : request_(request),
        state_(std::move(state)),
        dtype_(dtype),
        truth_(truth),
        held_(truth.size()) {}

  void read(const Json& index) {
    for (int r = 0; r < request_.work.ranks; ++r) {
      for (const Json& array : index.at("ranks").at(r).at("arrays")) {
        if (array.at("state") == state_) read_array(r, array);
      }
    }
  }

  bool differs() const { return different_ > 0; }
  // Nothing when every element is held, and as it should be. `skipped`: the last iteration was.
  std::string text(bool skipped) const {
    if (different_ > 0) {
      return fmt::format(
          "rank {}: {} of {} is {} after iteration {}{}; expected: {}{}; {} of its {} elements "
          "differ",
          rank_, state_, element_text(request_, static_cast<std::int64_t>(first_)), actual_,
          request_.work.iterations, skipped ? ", which should have changed nothing" : "",
          truth_[first_], ratio_text(request_, actual_, truth_[first_]), with_commas(different_),
          with_commas(size_));
    }
    for (std::size_t i = 0; i < held_.size(); ++i) {
      if (!held_[i]) {
        return fmt::format("{} of {} are held by no rank", state_,
                           element_text(request_, static_cast<std::int64_t>(i)));
      }
    }
    return "";
  }

 private:
  void read_array(int rank, const Json& array) {
    const auto begin = array.at("begin").get<std::int64_t>();
    const auto end = array.at("end").get<std::int64_t>();
    const auto size = static_cast<std::int64_t>(truth_.size());
    if (begin < 0 || end < begin || end > size)
      throw Unusable(
          fmt::format("rank {}: {} of [{}, {}), of {} elements", rank, state_, begin, end, size));
    // The name is known; what the index says could lead anywhere.
    const std::string bytes =
        read_whole_file(fmt::format("{}/rank{}_{}.bin", request_.folder, rank, state_));
    const auto width = static_cast<std::size_t>(bytes_of(dtype_));
    if (bytes.size() != static_cast<std::size_t>(end - begin) * width)
      throw Unusable(
          fmt::format("rank {}: the file of {} has {} bytes", rank, state_, bytes.size()));
    std::int64_t different = 0;
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      std::uint32_t bits = 0;  // little-endian, as the file
      std::memcpy(&bits, bytes.data() + (i - static_cast<std::size_t>(begin)) * width, width);
      held_[i] = true;
      const float value = value_of_bits(dtype_, bits);
      if (std::bit_cast<std::uint32_t>(value) == std::bit_cast<std::uint32_t>(truth_[i])) continue;
      if (different_ == 0 && different == 0) {
        first_ = i;
        actual_ = value;
        rank_ = rank;
        size_ = end - begin;
      }
      ++different;
    }
    if (different_ == 0) different_ = different;
  }

  const Request& request_;
  std::string state_;
  Dtype dtype_;
  const std::vector<float>& truth_;
  std::vector<bool> held_;  // by some rank
  std::size_t first_ = 0;
  float actual_ = 0;
  int rank_ = 0;
  std::int64_t size_ = 0, different_ = 0;  // of that rank
};

Findings check_state(const Request& request, const FollowedTruth& truth, bool skipped) {
  const Json index = Json::parse(read_whole_file(request.folder + "/index.json"));
  StateCheck exp_avg(request, "exp_avg", Dtype::fp32, truth.exp_avg);
  StateCheck exp_avg_sq(request, "exp_avg_sq", Dtype::fp32, truth.exp_avg_sq);
  StateCheck master(request, "master", Dtype::fp32, truth.master);
  StateCheck params(request, "parameters", dtype_of(request.work), truth.parameters);
  for (StateCheck* state : {&exp_avg, &exp_avg_sq, &master, &params}) state->read(index);
  const char* look =
      "step 4: whether the update is called, with which gradients, which factor, and for which "
      "positions";
  if (!exp_avg.differs() && !exp_avg_sq.differs() && !master.differs())
    look = "steps 5 and 6: where each position of the parameters comes from, on each rank";
  for (const StateCheck* state : {&exp_avg, &exp_avg_sq, &master, &params}) {
    const std::string text = state->text(skipped);
    if (!text.empty()) return {{"numbers", text, look}};
  }
  return {};
}

}  // namespace

Findings check_numbers(const Request& request, const Run& run) {
  const FollowedTruth& truth = run.truth;
  if (truth.difference) return {iteration_differs(request, *truth.difference)};
  try {
    return check_state(request, truth, run.result.at("iterations").back().at("skipped"));
  } catch (const Json::exception& error) {
    throw Unusable(fmt::format("the dumped state is not what a stage program writes: {}",
                               shown(error.what())));
  } catch (const std::runtime_error& error) {
    throw Unusable(fmt::format("the dumped state: {}", shown(error.what())));
  }
}

}  // namespace zero::judge
