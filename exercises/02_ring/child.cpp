// Calls the three collectives of an answer on ranks that are threads. Returns what then was in each
// rank's memory, what was sent, and how much memory the answer took.
#include "exercises/api/child.h"

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "exercises/02_ring/api.h"
#include "exercises/02_ring/child_memory.h"
#include "exercises/02_ring/child_ring.h"
#include "exercises/api/ranks.h"

namespace zero::exercise::child {
namespace {

using Json = nlohmann::json;
using Collective = void (*)(Ring&, std::span<float>);

// Elements before and after the data, which nobody may write to.
constexpr std::size_t kGuard = 16;

// What stands in a rank's memory where nothing has been put: NaNs, different on each rank and in
// each place. Around the data it is finite, so that adding to it shows as well.
float garbage(int rank, std::size_t i) {
  return std::bit_cast<float>(0x7fc00000u + (static_cast<std::uint32_t>(rank + 1) << 16) +
                              static_cast<std::uint32_t>(i % 0x10000));
}
float guard(int rank, std::size_t i) {
  return 3.0f + static_cast<float>(rank) + static_cast<float>(i) / 64;
}

Json bits_of(std::span<const float> values) {
  Json bits = Json::array();
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

Json json_of(const std::vector<Message>& log) {
  Json lines = Json::array();
  for (const Message& message : log) {
    lines.push_back({message.sent ? "send" : "receive", message.peer, message.elements});
  }
  return lines;
}

// One rank's part of one collective: how it begins, and what there was afterwards.
struct Part {
  std::vector<float> memory;  // guard, data (N), guard
  std::int64_t peak = 0;      // bytes
  std::string blank;          // what an answer says that is still blank

  std::span<float> data() { return std::span(memory).subspan(kGuard, memory.size() - 2 * kGuard); }
};

void call(Collective collective, Ring& ring, Part& part) {
  const std::span<float> data = part.data();
  count_memory();
  try {
    collective(ring, data);
  } catch (const StillBlank& blank) {
    part.blank = blank.what();
  }
  part.peak = peak_of_memory();
}

// What each rank gets as `data`: its `values`, or, with `own_only`, those of its own shard only.
Part prepare(const Ring& ring, const Json& values, bool own_only) {
  Part part;
  part.memory.resize(values.size() + 2 * kGuard);
  for (std::size_t i = 0; i < part.memory.size(); ++i) part.memory[i] = guard(ring.rank(), i);
  for (std::size_t i = 0; i < values.size(); ++i) part.data()[i] = garbage(ring.rank(), i);
  const Shard all{0, values.size()};
  const Shard given = own_only ? ring.shard(ring.rank()) : all;
  for (std::size_t i = given.begin; i < given.begin + given.size; ++i) {
    part.data()[i] = std::bit_cast<float>(values[i].get<std::uint32_t>());
  }
  return part;
}

Json run(const char* name, Collective collective, const Json& instance, bool own_only) {
  const int K = instance.at("ranks").get<int>();
  Meeting meeting(name, K);
  std::vector<ThreadRing> rings;
  std::vector<Part> parts;
  for (int rank = 0; rank < K; ++rank) {
    const Json& values = instance.at("values").at(static_cast<std::size_t>(rank));
    rings.emplace_back(meeting, rank, K, values.size());
    parts.push_back(prepare(rings.back(), values, own_only));
  }
  run_ranks(K, [&](int rank) {
    const auto place = static_cast<std::size_t>(rank);
    call(collective, rings[place], parts[place]);
    meeting.leave(rank);
  });
  Json result = Json::array();
  for (int rank = 0; rank < K; ++rank) {
    Part& part = parts[static_cast<std::size_t>(rank)];
    Json damaged = Json::array();  // positions of the guard, from the data's beginning
    for (std::size_t i = 0; i < part.memory.size(); ++i) {
      const bool inside = i >= kGuard && i < part.memory.size() - kGuard;
      if (!inside && part.memory[i] != guard(rank, i)) {
        damaged.push_back(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(kGuard));
      }
    }
    result.push_back({{"blank", part.blank},
                      {"data", bits_of(part.data())},
                      {"log", json_of(meeting.log(rank))},
                      {"peak", part.peak},
                      {"damaged", damaged}});
  }
  return result;
}

Json answer(const Json& instance) {
  return {{"reduce_scatter", run("ring_reduce_scatter", ring_reduce_scatter, instance, false)},
          {"all_gather", run("ring_all_gather", ring_all_gather, instance, true)},
          {"all_reduce", run("ring_all_reduce", ring_all_reduce, instance, false)}};
}

}  // namespace
}  // namespace zero::exercise::child

int main(int argc, char** argv) {
  return zero::exercise::run_child(argc, argv, zero::exercise::child::answer);
}
