// The ground truth of data-parallel training, in plain loops.
#include "tests/support/ground_truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "common/model/activations.h"
#include "common/train/data_loader.h"
#include "tests/support/dumped_state.h"

namespace zero {
namespace {

// ---- the storage types once more, by their definition ---------------------------------------

struct Format {
  int mantissa;      // bits
  int min_exponent;  // of normal numbers
  double largest;
};

Format format_of(Dtype dtype) {
  if (dtype == Dtype::fp16) return {10, -14, 65504.0};
  if (dtype == Dtype::bf16) return {7, -126, 0x1.fep127};
  return {23, -126, 0x1.fffffep127};
}

// To nearest, ties to even; what is beyond the largest becomes infinite.
float round_to(Dtype dtype, double x) {
  const Format format = format_of(dtype);
  if (x == 0 || !std::isfinite(x)) return static_cast<float>(x);
  const int exponent = std::max(std::ilogb(x), format.min_exponent);
  const double quantum = std::ldexp(1.0, exponent - format.mantissa);
  const double rounded = std::nearbyint(x / quantum) * quantum;
  if (std::fabs(rounded) > format.largest)
    return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(x));
  return static_cast<float>(rounded);
}

}  // namespace

float value_of_bits(Dtype dtype, std::uint32_t bits) {
  if (dtype == Dtype::fp32) return std::bit_cast<float>(bits);
  if (dtype == Dtype::bf16) return std::bit_cast<float>(bits << 16);
  const double sign = bits & 0x8000 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> 10 & 31), mantissa = static_cast<int>(bits & 1023);
  if (exponent == 31) {
    return mantissa ? std::numeric_limits<float>::quiet_NaN()
                    : static_cast<float>(sign * std::numeric_limits<double>::infinity());
  }
  return static_cast<float>(exponent == 0 ? sign * std::ldexp(mantissa, -24)
                                          : sign * std::ldexp(1024 + mantissa, exponent - 25));
}

namespace {

// What JSON says in place of a number that is not finite is not a number.
double number_in(const nlohmann::json& told, const char* key) {
  const nlohmann::json& value = told.at(key);
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

// ---- the training ---------------------------------------------------------------------------

using Vector = std::vector<float>;

// As kTruthOptions say.
constexpr double kLearningRate = 3e-3, kClip = 1.0, kDecay = 0.1;
constexpr int kWarmup = 5;

// Which positions are weights of a matrix, from GPT-2's shapes. `size` with the padding.
std::vector<bool> matrices(const Work& work, std::size_t size) {
  const std::size_t C = static_cast<std::size_t>(work.channels);
  const std::size_t T = static_cast<std::size_t>(work.context);
  const std::size_t V = static_cast<std::size_t>(work.vocab);
  std::vector<bool> result((V + T) * C, true);
  const auto add = [&](std::size_t count, bool matrix) {
    result.insert(result.end(), count, matrix);
  };
  const auto linear = [&](std::size_t out, std::size_t in) {
    add(out * in, true);
    add(out, false);
  };
  for (int l = 0; l < work.layers; ++l) {
    add(2 * C, false);
    linear(3 * C, C);
    linear(C, C);
    add(2 * C, false);
    linear(4 * C, C);
    linear(C, 4 * C);
  }
  add(2 * C, false);
  add(V * C, true);
  result.resize(size, false);
  return result;
}

class Truth {
 public:
  Truth(const Work& work, Dtype dtype, double loss_scale)
      : work_(work),
        dtype_(dtype),
        config_{work.layers, work.heads, work.channels, work.context, work.vocab},
        model_(config_, work.ranks, work.seed),
        dataset_("", work.vocab),
        tracker_(place_),
        device_(make_cpu_device(tracker_, nullptr, true, 0, 1)),
        scale_(dtype == Dtype::fp16 ? loss_scale : 1) {
    const std::int64_t padded = Expected("ddp", work).padded;
    N_ = static_cast<std::size_t>(padded);
    decays_ = matrices(work, N_);
    params = model_.initial_values({0, padded});
    for (float& x : params) x = round_to(dtype, x);
    master = params;
    exp_avg = exp_avg_sq = Vector(N_, 0.0f);
  }

  // One iteration, as the program told it. Returns where it differs, if it does.
  std::optional<TruthDifference> follow(const nlohmann::json& told) {
    const auto differs = [&](const char* what, double expected, double actual) {
      return TruthDifference{iteration_, what, expected, actual};
    };
    std::vector<Vector> grads;
    double loss = 0;
    for (int rank = 0; rank < work_.ranks; ++rank) {
      double part = 0;
      grads.push_back(gradients(rank, part));
      loss += part / work_.ranks;
    }
    const double its_loss = number_in(told, "loss"), its_scale = number_in(told, "loss_scale");
    if (its_loss != loss) return differs("loss", loss, its_loss);
    if (its_scale != scale_) return differs("loss scale", scale_, its_scale);

    const Vector average = average_of(grads);
    double squares = 0;
    for (const float g : average) squares += double{g} * g;
    const double norm = std::sqrt(squares) / scale_, its_norm = number_in(told, "gradient_norm");
    const bool skips = !std::isfinite(norm), skipped = told.at("skipped").get<bool>();
    if (skipped != skips) return differs("skipped", skips, skipped);
    if (!skips && !(std::fabs(its_norm - norm) <= 1e-12 * norm))
      return differs("norm", norm, its_norm);
    ++iteration_;
    if (skips) {
      if (dtype_ == Dtype::fp16) scale_ /= 2;
      return std::nullopt;
    }
    update(average, static_cast<float>(std::min(1.0, kClip / (its_norm + 1e-6)) / scale_));
    for (std::size_t i = 0; i < N_; ++i) params[i] = round_to(dtype_, master[i]);
    return std::nullopt;
  }

  std::int64_t peak(Memory category) const { return tracker_.peak(category); }

  Vector params, master, exp_avg, exp_avg_sq;  // padding included

 private:
  // This rank's gradient of scale * its mean loss, by the model's own units.
  Vector gradients(int rank, double& loss) {
    const Range all{0, static_cast<std::int64_t>(N_)};
    const Buffer p = device_->allocate(Memory::parameters, "params", dtype_, all);
    const Buffer g = device_->allocate(Memory::gradients, "grads", dtype_, all);
    with_type(dtype_, [&](auto type) {
      using T = decltype(type);
      std::vector<T> rounded;
      for (const float x : params) rounded.push_back(narrow<T>(x));  // exact: rounded already
      device_->upload(std::as_bytes(std::span(rounded)), p);
    });
    Batch batch = make_batch(dataset_, iteration_, work_.batch, work_.context, rank, work_.ranks);
    if (overflows(rank)) batch.loss_weight = std::numeric_limits<float>::infinity();
    Activations activations(*device_, place_, config_, dtype_, batch, static_cast<float>(scale_));
    for (const Unit& unit : model_.units()) unit.forward(p[unit.range()], activations);
    for (const Unit& unit : model_.units_reversed())
      unit.backward(p[unit.range()], g[unit.range()], activations);
    loss = activations.loss();

    const std::size_t width = static_cast<std::size_t>(bytes_of(dtype_));
    std::vector<std::byte> bytes(N_ * width);
    device_->download(g, bytes);
    Vector result(N_);
    for (std::size_t i = 0; i < N_; ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, bytes.data() + i * width, width);
      result[i] = value_of_bits(dtype_, bits);
    }
    return result;
  }

  bool overflows(int rank) const {
    const std::string here = std::to_string(rank) + ":" + std::to_string(iteration_);
    const auto option = std::find(work_.more.begin(), work_.more.end(), "--overflow-at");
    return option != work_.more.end() && *(option + 1) == here;
  }

  // Design, "Numerics": the owner alone decides the order.
  Vector average_of(const std::vector<Vector>& g) const {
    const int K = work_.ranks;
    const std::size_t shard = N_ / static_cast<std::size_t>(K);
    Vector result(N_);
    for (std::size_t i = 0; i < N_; ++i) {
      const int owner = static_cast<int>(i / shard);
      const auto of = [&](int rank) { return g[static_cast<std::size_t>(rank % K)][i]; };
      if (work_.collectives == "ring") {
        float a = of(owner + 1);
        for (int r = owner + 2; r < owner + K; ++r) a = round_to(dtype_, a + of(r));
        const float sum = K == 1 ? a : a + of(owner);
        result[i] = round_to(dtype_, sum / static_cast<float>(K));
      } else {
        float a = of(0);
        for (int r = 1; r < K; ++r) a = a + of(r);
        result[i] = round_to(dtype_, a / static_cast<float>(K));
      }
    }
    return result;
  }

  // AdamW, algorithm 2 of Loshchilov and Hutter, in fp32.
  void update(const Vector& average, float factor) {
    ++steps_;
    const float rate = static_cast<float>(kLearningRate * std::min(1.0, double(steps_) / kWarmup));
    const float beta1 = 0.9f, beta2 = 0.999f;
    const float correction1 = static_cast<float>(1 - std::pow(double{beta1}, steps_));
    const float correction2 = static_cast<float>(1 - std::pow(double{beta2}, steps_));
    for (std::size_t i = 0; i < N_; ++i) {
      const float g = average[i] * factor;
      exp_avg[i] = beta1 * exp_avg[i] + (1 - beta1) * g;
      exp_avg_sq[i] = beta2 * exp_avg_sq[i] + (1 - beta2) * g * g;
      const float direction =
          exp_avg[i] / correction1 / (std::sqrt(exp_avg_sq[i] / correction2) + 1e-8f);
      const float decay = decays_[i] ? static_cast<float>(kDecay) : 0.0f;
      master[i] = master[i] - rate * (direction + decay * master[i]);
    }
  }

  Work work_;
  Dtype dtype_;
  ModelConfig config_;
  Model model_;
  Dataset dataset_;
  Place place_;
  MemoryTracker tracker_;
  std::unique_ptr<Device> device_;
  std::size_t N_ = 0;
  std::vector<bool> decays_;
  double scale_;
  int iteration_ = 0, steps_ = 0;
};

// The first position where the program's state differs from the truth's. Padding included.
std::optional<std::size_t> first_difference(const std::vector<std::uint32_t>& bits, Dtype dtype,
                                            const Vector& truth) {
  for (std::size_t i = 0; i < std::max(bits.size(), truth.size()); ++i) {
    if (i >= bits.size() || i >= truth.size()) return i;
    if (std::bit_cast<std::uint32_t>(value_of_bits(dtype, bits[i])) !=
        std::bit_cast<std::uint32_t>(truth[i]))
      return i;
  }
  return std::nullopt;
}

}  // namespace

Dtype dtype_of(const Work& work) {
  return work.dtype == "fp32" ? Dtype::fp32 : work.dtype == "fp16" ? Dtype::fp16 : Dtype::bf16;
}

FollowedTruth follow_truth(const nlohmann::json& result, const Work& work, double loss_scale) {
  Truth truth(work, dtype_of(work), loss_scale);
  FollowedTruth followed;
  for (const auto& iteration : result.at("iterations")) {
    followed.difference = truth.follow(iteration);
    if (followed.difference) break;
    followed.skipped.push_back(iteration.at("skipped"));
  }
  followed.activations = truth.peak(Memory::activations);
  followed.workspace = truth.peak(Memory::workspace);
  followed.parameters = std::move(truth.params);
  followed.master = std::move(truth.master);
  followed.exp_avg = std::move(truth.exp_avg);
  followed.exp_avg_sq = std::move(truth.exp_avg_sq);
  return followed;
}

std::vector<std::string> check_against_truth(const nlohmann::json& result, const Work& work,
                                             double loss_scale, const std::string& folder) {
  std::vector<std::string> wrong;
  const FollowedTruth truth = follow_truth(result, work, loss_scale);
  if (const auto& found = truth.difference) {
    wrong.push_back(fmt::format("iteration {}: another {}: {}, expected {}", found->iteration,
                                found->what, found->actual, found->expected));
  }
  const auto compare = [&](const std::string& state, Dtype type, const Vector& values) {
    const auto at = first_difference(read_state(folder, state), type, values);
    if (at) wrong.push_back(state + " differ first at " + std::to_string(*at));
  };
  compare("parameters", dtype_of(work), truth.parameters);
  compare("master", Dtype::fp32, truth.master);
  compare("exp_avg", Dtype::fp32, truth.exp_avg);
  compare("exp_avg_sq", Dtype::fp32, truth.exp_avg_sq);
  return wrong;
}

}  // namespace zero
