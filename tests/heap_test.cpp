// Heap, Buffer and View: alignment, positions in the flat vector, who owns what, who is told.
#include "common/memory/heap.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "catch.h"
#include "common/memory/buffer.h"
#include "tests/plain_heap.h"

namespace zero {
namespace {

// Writes down what it is told.
class Recorder : public HeapObserver {
 public:
  void allocated(const Allocation& a) override { told.push_back("allocated " + a.name); }
  void released(const Allocation& a) override { told.push_back("released " + a.name); }
  void wrote(View view, Written what) override {
    told.push_back("wrote " + view.allocation().name + " " + std::string(to_string(what)));
  }
  void operator_begins(std::string_view name) override {
    told.push_back("begins " + std::string(name));
  }
  void operator_ends(std::string_view name) override {
    told.push_back("ends " + std::string(name));
  }
  std::vector<std::string> told;
};

struct Fixture {
  Place place;
  MemoryTracker tracker{place};
  Recorder recorder;
  PlainHeap heap{tracker, &recorder};
};

std::uintptr_t address(View view) { return reinterpret_cast<std::uintptr_t>(view.data()); }

TEST_CASE("a buffer for positions from a on starts at a * element size modulo 256") {
  Fixture f;
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
    for (const std::int64_t a : {0, 1, 3, 63, 64, 127, 128, 129, 1000, 1'234'567}) {
      const Buffer buffer = f.heap.allocate(Memory::gradients, "g", dtype, Range{a, a + 5});
      INFO(to_string(dtype) << " from " << a);
      CHECK(address(buffer) % 256 == static_cast<std::uintptr_t>(a * bytes_of(dtype) % 256));
    }
  }
}

TEST_CASE("a tensor has the same alignment in a full buffer, a shard and a unit's buffer") {
  Fixture f;
  const Range tensor{701, 760};
  const Buffer full = f.heap.allocate(Memory::gradients, "grads", Dtype::fp16, Range{0, 1001});
  const Buffer shard = f.heap.allocate(Memory::gradients, "shard", Dtype::fp16, Range{667, 1001});
  const Buffer unit = f.heap.allocate(Memory::temporary, "unit", Dtype::fp16, Range{699, 800});
  CHECK(address(full[tensor]) % 256 == address(shard[tensor]) % 256);
  CHECK(address(full[tensor]) % 256 == address(unit[tensor]) % 256);
}

TEST_CASE("memory that is not part of the flat vector is aligned to 256 bytes") {
  Fixture f;
  const Buffer buffer = f.heap.allocate(Memory::activations, "x", Dtype::fp16, std::int64_t{13});
  CHECK(address(buffer) % 256 == 0);
  CHECK_FALSE(buffer.view().allocation().flat);
  CHECK(buffer.view().range() == Range{0, 13});
  CHECK(buffer.view().bytes().size() == 26);
}

TEST_CASE("a view is indexed by position in the flat vector, whatever the buffer holds") {
  Fixture f;
  const Buffer full = f.heap.allocate(Memory::gradients, "grads", Dtype::fp32, Range{0, 20});
  const Buffer shard = f.heap.allocate(Memory::gradients, "shard", Dtype::fp32, Range{7, 14});
  for (int i = 0; i < 20; ++i) full.view().as<float>()[i] = static_cast<float>(i);
  for (int i = 0; i < 7; ++i) shard.view().as<float>()[i] = static_cast<float>(7 + i);

  for (std::int64_t a = 7; a < 14; ++a) {
    for (std::int64_t b = a + 1; b <= 14; ++b) {
      const Range range{a, b};
      CHECK(full[range].size() == b - a);
      CHECK(full[range].as<float>()[0] == static_cast<float>(a));
      CHECK(shard[range].as<float>()[0] == static_cast<float>(a));
      CHECK(shard[range].as<float>()[b - a - 1] == static_cast<float>(b - 1));
      CHECK(shard[range][Range{b - 1, b}].as<float>()[0] == static_cast<float>(b - 1));
    }
  }
  CHECK(shard.view().slice(2, 3).range() == Range{9, 12});
  CHECK(shard.view().slice(2, 3).as<float>()[0] == 9.0f);
  CHECK(shard.view().first(4).range() == Range{7, 11});
}

TEST_CASE("touching what is not held throws and names the buffer and both ranges") {
  Fixture f;
  const Buffer shard = f.heap.allocate(Memory::gradients, "shard", Dtype::fp32, Range{7, 14});
  for (const Range range : {Range{6, 8}, Range{13, 15}, Range{0, 20}, Range{14, 15}}) {
    CHECK_THROWS_AS(shard[range], std::out_of_range);
  }
  const View part = shard[{8, 10}];
  CHECK_THROWS_AS((part[{8, 11}]), std::out_of_range);
  CHECK_THROWS_AS(part.slice(1, 2), std::out_of_range);
  std::string message;
  try {
    shard[{6, 8}];
  } catch (const std::out_of_range& error) {
    message = error.what();
  }
  CHECK(message == "positions [6, 8) are not held here: \"shard\" holds [7, 14)");
  CHECK_THROWS_AS((View()[{0, 1}]), std::out_of_range);
}

TEST_CASE("an empty range is part of every view") {
  Fixture f;
  const Buffer shard = f.heap.allocate(Memory::gradients, "shard", Dtype::fp32, Range{7, 14});
  CHECK(shard[{100, 100}].size() == 0);
  CHECK(shard[{0, 0}].bytes().empty());
  CHECK(View().size() == 0);
  const Buffer none = f.heap.allocate(Memory::gradients, "none", Dtype::fp32, Range{5, 5});
  CHECK(none.view().size() == 0);
  CHECK_FALSE(none.empty());
}

TEST_CASE("a view of one type is not read as another") {
  Fixture f;
  const Buffer half = f.heap.allocate(Memory::activations, "half", Dtype::fp16, std::int64_t{4});
  CHECK_NOTHROW(half.view().as<Fp16>());
  CHECK_THROWS_AS(half.view().as<float>(), std::invalid_argument);
  CHECK_THROWS_AS(half.view().as<Bf16>(), std::invalid_argument);
  CHECK_THROWS_AS(half.view().as<std::int32_t>(), std::invalid_argument);
}

TEST_CASE("a buffer gives its memory back once, however it ends") {
  Fixture f;
  {
    Buffer a = f.heap.allocate(Memory::temporary, "a", Dtype::fp32, Range{0, 10});
    Buffer b = f.heap.allocate(Memory::temporary, "b", Dtype::fp32, Range{0, 20});
    CHECK(f.tracker.live(Memory::temporary) == 120);
    a.release();
    a.release();  // harmless
    CHECK(a.empty());
    CHECK(a.view().size() == 0);
    CHECK(f.tracker.live(Memory::temporary) == 80);

    const Buffer moved = std::move(b);
    CHECK(f.tracker.live(Memory::temporary) == 80);
    Buffer target = f.heap.allocate(Memory::temporary, "c", Dtype::fp32, Range{0, 1});
    target = f.heap.allocate(Memory::temporary, "d", Dtype::fp32, Range{0, 2});
    CHECK(f.tracker.live(Memory::temporary) == 88);
    CHECK(f.heap.blocks == 2);
  }
  CHECK(f.tracker.live_total() == 0);
  CHECK(f.heap.blocks == 0);
}

TEST_CASE("views stay valid when their buffer is moved") {
  Fixture f;
  Buffer a = f.heap.allocate(Memory::temporary, "a", Dtype::fp32, Range{3, 6});
  const View view = a[{4, 6}];
  view.as<float>()[0] = 42;
  const Buffer b = std::move(a);
  CHECK(view.allocation().name == "a");
  CHECK(b[{4, 5}].as<float>()[0] == 42);
}

TEST_CASE("an allocation that fails leaves nothing counted, taken or told") {
  Fixture f;
  f.heap.fail_to_take = true;
  CHECK_THROWS_AS(f.heap.allocate(Memory::parameters, "p", Dtype::fp32, Range{0, 9}),
                  std::bad_alloc);
  f.heap.fail_to_take = false;
  CHECK(f.tracker.live_total() == 0);
  CHECK(f.tracker.alive().empty());
  CHECK(f.recorder.told.empty());

  Place place;
  MemoryTracker small(place, 35);
  PlainHeap heap(small, &f.recorder);
  CHECK_THROWS_AS(heap.allocate(Memory::parameters, "p", Dtype::fp32, Range{0, 9}), OutOfMemory);
  CHECK(heap.blocks == 0);
  CHECK(f.recorder.told.empty());
}

// A device that has no memory left.
class FullHeap : public PlainHeap {
 public:
  using PlainHeap::PlainHeap;
  bool full = false;

 protected:
  std::byte* take(std::int64_t bytes, std::int64_t offset) override {
    if (full) throw OutOfMemory("the shelf is full");
    return PlainHeap::take(bytes, offset);
  }
};

TEST_CASE("a device without memory is told of as a budget is: the buffer, and what is alive") {
  Place place;
  MemoryTracker tracker(place);
  FullHeap heap(tracker);
  const Buffer params = heap.allocate(Memory::parameters, "params", Dtype::fp32, Range{0, 10});
  const Buffer kept = heap.allocate(Memory::activations, "x", Dtype::fp16, std::int64_t{3});
  const Buffer chunk = heap.allocate(Memory::communication, "chunk", Dtype::fp32, std::int64_t{5});
  heap.full = true;
  try {
    heap.allocate(Memory::activations, "fc", Dtype::fp16, std::int64_t{50});
    FAIL("nothing was thrown");
  } catch (const OutOfMemory& error) {
    CHECK(std::string(error.what()) ==
          "out of memory: \"fc\" (activations) needs 100 B, but the shelf is full; alive: "
          "parameters 40 B, activations 6 B, communication 20 B");
    CHECK(error.room == 165);  // one byte less than was alive or asked for
    CHECK(error.activations == 106);
    CHECK(error.others == 20);
  }
  CHECK(tracker.live_total() == 66);
  CHECK(tracker.alive().size() == 3);
}

TEST_CASE("the observer is told of births, writes, operators and deaths, in order") {
  Fixture f;
  {
    const Buffer params = f.heap.allocate(Memory::parameters, "params", Dtype::fp32, Range{0, 4});
    const OperatorSpan span(f.heap, "gelu_forward");
    f.heap.wrote(params, Written::local_gradient);
  }
  CHECK(f.recorder.told == std::vector<std::string>{"allocated params", "begins gelu_forward",
                                                    "wrote params local gradient",
                                                    "ends gelu_forward", "released params"});
}

TEST_CASE("the tracker knows the address of what is alive") {
  Fixture f;
  const Buffer params = f.heap.allocate(Memory::parameters, "params", Dtype::fp32, Range{2, 4});
  REQUIRE(f.tracker.alive().size() == 1);
  CHECK(f.tracker.alive().begin()->second.data == params.view().data());
}

TEST_CASE("with fill_nan fresh and freed memory is a NaN that differs by rank") {
  Place place;
  MemoryTracker tracker(place);
  std::vector<std::uint32_t> patterns;
  for (const int rank : {0, 1, 2}) {
    PlainHeap heap(tracker, nullptr, true, rank);
    Buffer fp32 = heap.allocate(Memory::temporary, "a", Dtype::fp32, Range{1, 6});
    const Buffer fp16 = heap.allocate(Memory::temporary, "b", Dtype::fp16, Range{1, 6});
    const Buffer bf16 = heap.allocate(Memory::temporary, "c", Dtype::bf16, Range{1, 6});
    for (int i = 0; i < 5; ++i) {
      CHECK(std::isnan(fp32.view().as<float>()[i]));
      CHECK(std::isnan(widen(fp16.view().as<Fp16>()[i])));
      CHECK(std::isnan(widen(bf16.view().as<Bf16>()[i])));
    }
    patterns.push_back(fp16.view().as<Fp16>()->bits);
  }
  CHECK(patterns[0] != patterns[1]);
  CHECK(patterns[1] != patterns[2]);
}

}  // namespace
}  // namespace zero
