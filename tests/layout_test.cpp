// Where the tensors lie, and the values they start with.
#include "common/model/layout.h"

#include <cmath>
#include <cstring>
#include <numeric>

#include "catch.h"
#include "common/memory/heap.h"
#include "common/model/model.h"
#include "common/model/random.h"

namespace zero {
namespace {

// Host memory and nothing else: what initialize writes, and what it says it wrote.
class RecordingHeap : public Heap, public HeapObserver {
 public:
  // `stores` false: a device that keeps no values, whose addresses are null.
  explicit RecordingHeap(bool stores = true)
      : Heap(tracker_, this, false, 0), tracker_(place_), stores_(stores) {}

  void download(View, std::span<std::byte>) override {}
  void upload(std::span<const std::byte> from, View to) override {
    ++uploads;
    REQUIRE(from.size() == to.bytes().size());
    std::memcpy(to.data(), from.data(), from.size());
  }
  void allocated(const Allocation&) override {}
  void released(const Allocation&) override {}
  void wrote(View view, Written what) override { writes.push_back({view.range(), what}); }
  void operator_begins(std::string_view) override {}
  void operator_ends(std::string_view) override {}

  int uploads = 0;
  std::vector<std::pair<Range, Written>> writes;

 protected:
  std::byte* take(std::int64_t bytes, std::int64_t) override {
    return stores_ ? new std::byte[static_cast<std::size_t>(bytes)] : nullptr;
  }
  void give_back(std::byte* data, std::int64_t, std::int64_t) override { delete[] data; }
  void fill(std::byte*, std::int64_t, std::uint16_t) override {}

 private:
  Place place_;
  MemoryTracker tracker_;
  bool stores_;
};

TEST_CASE("the layout is GPT-2's tensors, unit by unit, without gap or overlap") {
  const std::vector<UnitInfo> units =
      make_layout({.layers = 2, .heads = 3, .channels = 15, .context = 7, .vocab = 29});
  REQUIRE(units.size() == 4);
  const std::vector<std::pair<std::string, std::vector<std::int64_t>>> expected = {
      {"wte.weight", {29, 15}},
      {"wpe.weight", {7, 15}},
      {"h.0.ln_1.weight", {15}},
      {"h.0.ln_1.bias", {15}},
      {"h.0.attn.c_attn.weight", {45, 15}},
      {"h.0.attn.c_attn.bias", {45}},
      {"h.0.attn.c_proj.weight", {15, 15}},
      {"h.0.attn.c_proj.bias", {15}},
      {"h.0.ln_2.weight", {15}},
      {"h.0.ln_2.bias", {15}},
      {"h.0.mlp.c_fc.weight", {60, 15}},
      {"h.0.mlp.c_fc.bias", {60}},
      {"h.0.mlp.c_proj.weight", {15, 60}},
      {"h.0.mlp.c_proj.bias", {15}}};
  std::vector<TensorInfo> tensors;
  std::int64_t unit_begin = 0;
  for (const UnitInfo& unit : units) {
    CHECK(unit.parameters.begin == unit_begin);
    CHECK(unit.tensors.front().range.begin == unit_begin);
    CHECK(unit.tensors.back().range.end == unit.parameters.end);
    unit_begin = unit.parameters.end;
    tensors.insert(tensors.end(), unit.tensors.begin(), unit.tensors.end());
  }
  CHECK(units[0].name == "embedding");
  CHECK(units[1].name == "block 0");
  CHECK(units[2].name == "block 1");
  CHECK(units[3].name == "head");
  REQUIRE(tensors.size() == 2 + 2 * 12 + 3);
  CHECK(tensors[14].name == "h.1.ln_1.weight");
  CHECK(tensors[26].name == "ln_f.weight");
  CHECK(tensors[28].name == "lm_head.weight");

  std::int64_t begin = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorInfo& tensor = tensors[i];
    INFO(tensor.name);
    if (i < expected.size()) {
      CHECK(tensor.name == expected[i].first);
      CHECK(tensor.shape == expected[i].second);
    }
    CHECK(tensor.range.begin == begin);
    CHECK(tensor.range.size() == std::accumulate(tensor.shape.begin(), tensor.shape.end(),
                                                 std::int64_t{1}, std::multiplies<>()));
    begin = tensor.range.end;
    CHECK(tensor.decay == (tensor.shape.size() == 2));
    const bool linear = tensor.name.find(".c_") != std::string::npos && tensor.shape.size() == 2;
    CHECK(tensor.transposed_in_gpt2 == linear);
  }
}

TEST_CASE("the number of parameters is that of GPT-2's shape with an untied head") {
  const ModelConfig gpt2{
      .layers = 12, .heads = 12, .channels = 768, .context = 1024, .vocab = 50257};
  // 124,439,808 as published, and the head's own 50257 * 768.
  CHECK(Model(gpt2, 1, 1).num_parameters() == 124'439'808 + 50257 * 768);
}

TEST_CASE("shapes that are no GPT are refused") {
  CHECK_THROWS_AS(make_layout({.heads = 4, .channels = 10}), std::invalid_argument);
  CHECK_THROWS_AS(make_layout({.heads = 0}), std::invalid_argument);
  CHECK_THROWS_AS(make_layout({.layers = -1}), std::invalid_argument);
  CHECK_THROWS_AS(make_layout({.vocab = 0}), std::invalid_argument);
}

TEST_CASE("the padding is in the last unit's range, and may be as long as several shards") {
  const ModelConfig config{.layers = 1, .heads = 1, .channels = 1, .context = 1, .vocab = 2};
  for (int world_size = 1; world_size <= 64; ++world_size) {
    const Model model(config, world_size, 1);
    std::int64_t position = 0;
    for (const Unit& unit : model.units()) {
      CHECK(unit.range().begin == position);
      CHECK(unit.range().contains(unit.parameters()));
      position = unit.range().end;
    }
    CHECK(position == model.padded_parameters());
    CHECK(position % world_size == 0);
    CHECK(position >= model.num_parameters());
    CHECK(position < model.num_parameters() + world_size);
  }
}

TEST_CASE("standard_normal is the formula of Box and Muller, as the C library computes it") {
  for (std::int64_t position = 0; position < 20'000; ++position) {
    const std::uint64_t counter = 2 * static_cast<std::uint64_t>(position);
    const double u = (static_cast<double>(random_bits(3, counter) >> 11) + 1) / 9007199254740992.0;
    const double v = static_cast<double>(random_bits(3, counter + 1) >> 11) / 9007199254740992.0;
    const double expected = std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v);
    const double z = standard_normal(3, position);
    if (std::fabs(z - expected) <= 2e-14) continue;
    FAIL("position " << position << ": " << z << ", expected " << expected);
  }
}

TEST_CASE("standard_normal has the normal distribution's moments and tails") {
  for (const std::uint64_t seed : {0u, 1u, 20u}) {
    constexpr int n = 1'000'000;
    double sum = 0, squares = 0, neighbours = 0, before = 0;
    int beyond[4] = {0, 0, 0, 0};
    for (int i = 0; i < n; ++i) {
      const double z = standard_normal(seed, i);
      sum += z;
      squares += z * z;
      neighbours += z * before;
      before = z;
      for (int k = 1; k <= 3; ++k) beyond[k] += std::fabs(z) > k ? 1 : 0;
    }
    // Four standard deviations of each estimate.
    CHECK(std::fabs(sum / n) <= 4 / std::sqrt(n));
    CHECK(std::fabs(squares / n - 1) <= 4 * std::sqrt(2.0 / n));
    CHECK(std::fabs(neighbours / n) <= 4 / std::sqrt(n));
    for (int k = 1; k <= 3; ++k) {
      const double p = std::erfc(k / std::sqrt(2.0));
      CHECK(std::fabs(beyond[k] - n * p) <= 4 * std::sqrt(n * p * (1 - p)));
    }
  }
}

TEST_CASE("the initial values are GPT-2's: 0.02, residual projections smaller, ones and zeros") {
  const ModelConfig config{.layers = 3, .heads = 5, .channels = 75, .context = 31, .vocab = 131};
  const Model model(config, 5, 1);
  for (const TensorInfo& tensor : model.tensors()) {
    INFO(tensor.name);
    const std::vector<float> values = model.initial_values(tensor.range);
    const bool vector = tensor.shape.size() == 1;
    const bool bias = tensor.name.ends_with("bias");
    const bool residual = tensor.name.find("c_proj") != std::string::npos;
    double squares = 0, differs = 0;
    for (const float value : values) {
      squares += double{value} * value;
      differs += value != (bias ? 0.0f : 1.0f) ? 1 : 0;
    }
    const auto n = static_cast<double>(values.size());
    const double deviation = residual ? 0.02 / std::sqrt(6.0) : 0.02;
    if (vector) CHECK(differs == 0);
    else CHECK(std::sqrt(squares / n) == Approx(deviation).epsilon(4 / std::sqrt(2 * n)));
  }
}

template <class T>
void check_every_range() {
  // wte alone is more than one staging array long.
  const ModelConfig config{.layers = 1, .heads = 3, .channels = 255, .context = 7, .vocab = 301};
  const Model model(config, 64, 1);
  const std::vector<float> all = model.initial_values({0, model.padded_parameters()});
  REQUIRE(model.tensors()[0].range.size() > 65536);
  REQUIRE(model.padded_parameters() > model.num_parameters());

  RecordingHeap heap;
  const std::int64_t N = model.padded_parameters();
  for (const Range range : {Range{0, N}, Range{N / 5, 2 * N / 5}, Range{4 * N / 5, N},
                            Range{65535, 65537}, Range{model.num_parameters() - 3, N},
                            Range{model.num_parameters(), N}, Range{17, 18}, Range{5, 5}}) {
    Buffer params = heap.allocate(Memory::parameters, "params", kDtypeOf<T>, range);
    heap.writes.clear();
    model.initialize(params);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < range.size(); ++i) {
      const T expected = narrow<T>(all[static_cast<std::size_t>(range.begin + i)]);
      wrong += std::memcmp(&params.view().as<T>()[i], &expected, sizeof(T)) != 0 ? 1 : 0;
    }
    INFO("[" << range.begin << ", " << range.end << ")");
    CHECK(wrong == 0);

    // What it says it wrote is what it wrote: each position once, zero in the padding.
    std::int64_t position = range.begin;
    for (const auto& [written, what] : heap.writes) {
      CHECK(written.begin == position);
      position = written.end;
      CHECK(what == (written.begin < model.num_parameters() ? Written::initial : Written::zero));
    }
    CHECK(position == range.end);
  }
  for (std::int64_t i = model.num_parameters(); i < N; ++i) {
    CHECK(all[static_cast<std::size_t>(i)] == 0);
  }
}

TEST_CASE("initialize gives a position the same value in whatever range it is held") {
  check_every_range<float>();
  check_every_range<Fp16>();
  check_every_range<Bf16>();
}

TEST_CASE("the initial values depend on the seed and on nothing else") {
  const ModelConfig config{.layers = 1, .heads = 1, .channels = 3, .context = 5, .vocab = 7};
  const Range wte = {0, 21};
  CHECK(Model(config, 1, 1).initial_values(wte) == Model(config, 7, 1).initial_values(wte));
  CHECK(Model(config, 1, 1).initial_values(wte) != Model(config, 1, 2).initial_values(wte));
}

TEST_CASE("a device that stores nothing is told of the initial values and gets none") {
  const Model model({.layers = 1, .heads = 1, .channels = 3, .context = 5, .vocab = 7}, 5, 1);
  RecordingHeap heap(false);
  Buffer params =
      heap.allocate(Memory::parameters, "params", Dtype::fp16, Range{0, model.padded_parameters()});
  model.initialize(params);
  CHECK(heap.uploads == 0);
  REQUIRE(!heap.writes.empty());
  CHECK(heap.writes.back().first.end == model.padded_parameters());
}

}  // namespace
}  // namespace zero
