// Calls the two functions of an answer, iteration by iteration, on ranks that are threads. Returns
// each rank's norm, decision, loss scale and states, and how often it gathered.
#include "exercises/api/child.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "exercises/05_mixed_precision/api.h"
#include "exercises/05_mixed_precision/child_ranks.h"
#include "exercises/api/ranks.h"

namespace zero::exercise::child {
namespace {

using Json = nlohmann::json;

// Elements before and after each array, which nobody may write to.
constexpr std::size_t kGuard = 8;

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint16_t bits_of(Fp16 value) { return value.bits; }

template <class T>
std::vector<T> values_of(const Json& bits) {
  std::vector<T> values;
  for (const Json& one : bits) {
    if constexpr (std::is_same_v<T, Fp16>) values.push_back(Fp16{one.get<std::uint16_t>()});
    else values.push_back(std::bit_cast<float>(one.get<std::uint32_t>()));
  }
  return values;
}

// An array between guards that are different on each rank.
template <class T>
class Guarded {
 public:
  Guarded(const std::vector<T>& values, int rank) : memory_(values.size() + 2 * kGuard) {
    for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = guard(rank, i);
    std::ranges::copy(values, memory_.begin() + kGuard);
  }

  std::span<T> values() { return std::span(memory_).subspan(kGuard, memory_.size() - 2 * kGuard); }

  Json bits() {
    Json bits = Json::array();
    for (const T value : values()) bits.push_back(bits_of(value));
    return bits;
  }

  // Positions of guards that have been written to; the array's own begin at 0.
  Json damaged(int rank) const {
    Json positions = Json::array();
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const bool inside = i >= kGuard && i < memory_.size() - kGuard;
      if (!inside && bits_of(memory_[i]) != bits_of(guard(rank, i))) {
        positions.push_back(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(kGuard));
      }
    }
    return positions;
  }

 private:
  static T guard(int rank, std::size_t i) {
    return narrow<T>(3.0f + static_cast<float>(rank) + static_cast<float>(i) / 64);
  }

  std::vector<T> memory_;
};

// What one rank has from the first iteration to the last.
struct State {
  State(const Json& instance, int own_rank)
      : rank(own_rank),
        master(initial(instance, rank), rank),
        exp_avg(std::vector<float>(master.values().size()), rank),
        exp_avg_sq(std::vector<float>(master.values().size()), rank),
        params(rounded(master.values()), rank) {
    const Json& hyper = instance.at("hyper");
    const auto fp32 = [&](const char* name) { return hyper.at(name).get<float>(); };
    shard = {.params = params.values(),
             .master = master.values(),
             .exp_avg = exp_avg.values(),
             .exp_avg_sq = exp_avg_sq.values(),
             .steps = 0,
             .hyper = {fp32("learning_rate"), fp32("beta1"), fp32("beta2"), fp32("epsilon"),
                       fp32("weight_decay"), hyper.at("clip").get<double>()}};
    scale = {instance.at("scale").get<float>(), instance.at("window").get<int>(), 0};
  }

  static std::vector<float> initial(const Json& instance, int of) {
    return values_of<float>(instance.at("master").at(static_cast<std::size_t>(of)));
  }
  static std::vector<Fp16> rounded(std::span<const float> values) {
    std::vector<Fp16> all;
    for (const float value : values) all.push_back(narrow<Fp16>(value));
    return all;
  }

  const int rank;
  Guarded<float> master, exp_avg, exp_avg_sq;
  Guarded<Fp16> params;
  Shard shard;
  LossScale scale;
};

// Calls part(rank, ranks) on every rank at once. Returns how often each of them gathered.
template <class F>
std::vector<int> call(const std::string& name, int world_size, F part) {
  Meeting meeting(name, world_size);
  run_ranks(world_size, [&](int rank) {
    ThreadRanks ranks(meeting, rank, world_size);
    part(static_cast<std::size_t>(rank), ranks);
    meeting.leave(rank);
  });
  std::vector<int> all_gathers;
  all_gathers.reserve(static_cast<std::size_t>(world_size));
  for (int rank = 0; rank < world_size; ++rank) all_gathers.push_back(meeting.all_gathers(rank));
  return all_gathers;
}

// `grads`: of every rank, (n) each. They are the answer's to read, so both calls get copies.
Json iterate(std::vector<State>& states, const Json& grads, int iteration) {
  const int K = static_cast<int>(states.size());
  std::vector<std::vector<Fp16>> given;
  for (const Json& bits : grads) given.push_back(values_of<Fp16>(bits));
  std::vector<double> norms(given.size());
  std::vector<int> updated(given.size());
  std::vector<std::string> blank(given.size());  // of update: global_norm can be checked alone

  const std::vector<int> for_norm =
      call(fmt::format("global_norm in iteration {}", iteration), K,
           [&](std::size_t rank, Ranks& ranks) { norms[rank] = global_norm(given[rank], ranks); });
  const std::vector<int> for_update = call(
      fmt::format("update in iteration {}", iteration), K, [&](std::size_t rank, Ranks& ranks) {
        try {
          updated[rank] = update(states[rank].shard, given[rank], states[rank].scale, ranks);
        } catch (const StillBlank& still) {
          blank[rank] = still.what();
        }
      });

  Json result = Json::array();
  for (State& state : states) {
    const auto rank = static_cast<std::size_t>(state.rank);
    Json damaged = Json::array();
    for (const Json& one :
         {state.master.damaged(state.rank), state.exp_avg.damaged(state.rank),
          state.exp_avg_sq.damaged(state.rank), state.params.damaged(state.rank)}) {
      damaged.insert(damaged.end(), one.begin(), one.end());
    }
    result.push_back({{"norm", std::bit_cast<std::uint64_t>(norms[rank])},
                      {"norm_all_gathers", for_norm[rank]},
                      {"blank", blank[rank]},
                      {"updated", updated[rank] != 0},
                      {"update_all_gathers", for_update[rank]},
                      {"scale", bits_of(state.scale.scale)},
                      {"steps", state.shard.steps},
                      {"params", state.params.bits()},
                      {"master", state.master.bits()},
                      {"exp_avg", state.exp_avg.bits()},
                      {"exp_avg_sq", state.exp_avg_sq.bits()},
                      {"damaged", damaged}});
  }
  return result;
}

Json answer(const Json& instance) {
  std::vector<State> states;
  const int K = instance.at("ranks").get<int>();
  states.reserve(static_cast<std::size_t>(K));  // the spans in a State point into it
  for (int rank = 0; rank < K; ++rank) states.emplace_back(instance, rank);
  Json result = Json::array();
  int iteration = 1;
  for (const Json& grads : instance.at("grads")) {
    result.push_back(iterate(states, grads, iteration++));
  }
  return result;
}

}  // namespace
}  // namespace zero::exercise::child

int main(int argc, char** argv) {
  return zero::exercise::run_child(argc, argv, zero::exercise::child::answer);
}
