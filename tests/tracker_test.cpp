// The memory tracker against a recount from nothing after every step.
#include "common/memory/tracker.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>

#include "catch.h"
#include "common/memory/bytes.h"

namespace zero {
namespace {

Allocation block(Memory category, std::int64_t bytes, std::string name = "block") {
  Allocation allocation;
  allocation.name = std::move(name);
  allocation.category = category;
  allocation.range = {0, bytes};
  allocation.bytes = bytes;
  return allocation;
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("after any sequence of allocations and releases the tracker equals a recount") {
  for (const unsigned seed : {1u, 2u, 3u}) {
    std::mt19937 random(seed);
    Place place;
    MemoryTracker tracker(place);
    std::map<std::int64_t, Allocation> held;
    std::map<Memory, std::int64_t> peak;
    std::int64_t peak_total = 0;
    int peak_iteration = place.iteration;
    std::vector<std::int64_t> held_at_peak;

    for (int i = 0; i < 2000; ++i) {
      place.iteration = i;
      if (held.empty() || random() % 100 < 55) {
        const auto category = static_cast<Memory>(random() % kMemoryCategories);
        const auto bytes = static_cast<std::int64_t>(random() % 5 == 0 ? 0 : random() % 10'000);
        const Allocation made = tracker.allocate(block(category, bytes));
        CHECK(held.count(made.id) == 0);
        held[made.id] = made;
      } else {
        const auto victim = std::next(held.begin(), static_cast<long>(random() % held.size()));
        tracker.release(victim->first);
        held.erase(victim);
      }

      std::map<Memory, std::int64_t> live;
      std::int64_t total = 0;
      for (const auto& [id, allocation] : held) {
        live[allocation.category] += allocation.bytes;
        total += allocation.bytes;
      }
      for (int c = 0; c < kMemoryCategories; ++c) {
        const auto category = static_cast<Memory>(c);
        peak[category] = std::max(peak[category], live[category]);
        REQUIRE(tracker.live(category) == live[category]);
        REQUIRE(tracker.peak(category) == peak[category]);
      }
      if (total > peak_total) {
        peak_total = total;
        peak_iteration = i;
        held_at_peak.clear();
        for (const auto& [id, allocation] : held) held_at_peak.push_back(id);
      }
      REQUIRE(tracker.live_total() == total);
      REQUIRE(tracker.peak_total() == peak_total);
      REQUIRE(tracker.peak_place().iteration == peak_iteration);
      REQUIRE(tracker.alive().size() == held.size());

      // What was alive at the peak is known by its bytes: blocks of no bytes may have come since.
      std::vector<std::int64_t> alive;
      std::int64_t alive_bytes = 0;
      for (const Allocation& allocation : tracker.alive_at_peak()) {
        alive_bytes += allocation.bytes;
        if (allocation.bytes > 0) alive.push_back(allocation.id);
      }
      REQUIRE(alive_bytes == peak_total);
      for (const std::int64_t id : alive) {
        REQUIRE(std::count(held_at_peak.begin(), held_at_peak.end(), id) == 1);
      }
    }
  }
}

TEST_CASE("the peak says where the rank was and what was alive, after everything is gone") {
  Place place;
  MemoryTracker tracker(place);
  const auto params = tracker.allocate(block(Memory::parameters, 100, "params"));
  place = {3, 2, "2. Backward", "block 1"};
  const auto unit = tracker.allocate(block(Memory::temporary, 50, "unit_grads"));
  place = {3, 3, "3. Reduce", "block 1"};
  tracker.release(unit.id);
  const auto small = tracker.allocate(block(Memory::communication, 49, "chunk"));
  tracker.release(small.id);
  tracker.release(params.id);

  CHECK(tracker.live_total() == 0);
  CHECK(tracker.peak_total() == 150);
  CHECK(tracker.peak(Memory::communication) == 49);
  CHECK(tracker.peak_place().banner == "2. Backward");
  CHECK(tracker.peak_place().unit == "block 1");
  REQUIRE(tracker.alive_at_peak().size() == 2);
  CHECK(tracker.alive_at_peak()[0].name == "params");
  CHECK(tracker.alive_at_peak()[1].name == "unit_grads");
}

TEST_CASE("the first of two equal peaks is the one that is told") {
  Place place;
  MemoryTracker tracker(place);
  place.step = 1;
  tracker.release(tracker.allocate(block(Memory::temporary, 70, "first")).id);
  place.step = 2;
  tracker.allocate(block(Memory::temporary, 70, "second"));
  CHECK(tracker.peak_place().step == 1);
  REQUIRE(tracker.alive_at_peak().size() == 1);
  CHECK(tracker.alive_at_peak()[0].name == "first");
}

TEST_CASE("an allocation over the budget counts nothing and says what was asked and is alive") {
  Place place;
  MemoryTracker tracker(place, 1000);
  tracker.allocate(block(Memory::parameters, 600, "params"));
  tracker.allocate(block(Memory::gradients, 300, "grads"));

  const std::string message =
      message_of([&] { tracker.allocate(block(Memory::optimizer_states, 101, "exp_avg")); });
  CHECK(holds(message, "\"exp_avg\" (optimizer_states) needs 101 B"));
  CHECK(holds(message, "the budget of 1,000 B only 100 B are free"));
  CHECK(holds(message, "parameters 600 B, gradients 300 B"));
  try {
    tracker.allocate(block(Memory::temporary, 101));
    FAIL("nothing was thrown");
  } catch (const OutOfMemory& error) {
    CHECK(error.room == 1000);
    CHECK(error.activations == 0);
    CHECK(error.others == 101);
  }
  CHECK(tracker.live_total() == 900);
  CHECK(tracker.peak_total() == 900);
  CHECK(tracker.live(Memory::optimizer_states) == 0);
  CHECK(tracker.peak(Memory::optimizer_states) == 0);
  CHECK(tracker.alive().size() == 2);

  tracker.allocate(block(Memory::optimizer_states, 100));  // fits exactly
  CHECK(tracker.live_total() == tracker.budget());
  CHECK_THROWS_AS(tracker.allocate(block(Memory::workspace, INT64_MAX)), OutOfMemory);
}

TEST_CASE("a budget that nothing has used says so") {
  Place place;
  MemoryTracker tracker(place, 10);
  CHECK(holds(message_of([&] { tracker.allocate(block(Memory::parameters, 11)); }),
              "alive: nothing"));
}

TEST_CASE("releasing twice, or what never was, throws and counts nothing") {
  Place place;
  MemoryTracker tracker(place);
  const auto one = tracker.allocate(block(Memory::parameters, 8));
  tracker.allocate(block(Memory::parameters, 4));
  tracker.release(one.id);
  CHECK_THROWS_AS(tracker.release(one.id), std::logic_error);
  CHECK_THROWS_AS(tracker.release(99), std::logic_error);
  CHECK(tracker.live(Memory::parameters) == 4);
  CHECK(tracker.live_total() == 4);
}

TEST_CASE("categories have the names that JSON files use") {
  std::string names;
  for (int c = 0; c < kMemoryCategories; ++c) {
    names += std::string(to_string(static_cast<Memory>(c))) + " ";
  }
  CHECK(names ==
        "parameters gradients optimizer_states activations temporary communication workspace ");
}

TEST_CASE("sizes are read as people write them") {
  CHECK(parse_bytes("1") == 1);
  CHECK(parse_bytes("4096") == 4096);
  CHECK(parse_bytes("17 B") == 17);
  CHECK(parse_bytes("64MiB") == std::int64_t{64} * 1024 * 1024);
  CHECK(parse_bytes("1.5GiB") == std::int64_t{3} * 512 * 1024 * 1024);
  CHECK(parse_bytes("80GB") == 80'000'000'000);
  CHECK(parse_bytes("2 KiB") == 2048);
  CHECK(parse_bytes("3KB") == 3000);
  CHECK(parse_bytes("1TiB") == std::int64_t{1} << 40);
  CHECK(parse_bytes("0.5MB") == 500'000);
}

TEST_CASE("what is not a size is refused by name") {
  for (const char* text : {"", " ", "MiB", "0", "-1", "-5MiB", "64 MiBs", "64mib", "1.5", "0.3KiB",
                           "nan", "inf", "1e300", "99999999TiB", "12 12", "1,024"}) {
    INFO("\"" << text << "\"");
    CHECK_THROWS_AS(parse_bytes(text), std::invalid_argument);
  }
  CHECK(holds(message_of([] { parse_bytes("many"); }), "\"many\" is not a size: write 64MiB"));
}

TEST_CASE("sizes are written with exact bytes, and a unit from 1 MiB on") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(999) == "999 B");
  CHECK(format_bytes(1'048'575) == "1,048,575 B");
  CHECK(format_bytes(1'048'576) == "1.00 MiB (1,048,576 B)");
  CHECK(format_bytes(1'572'864) == "1.50 MiB (1,572,864 B)");
  CHECK(format_bytes(std::int64_t{5} << 29) == "2.50 GiB (2,684,354,560 B)");
  CHECK(format_bytes(std::int64_t{1} << 40) == "1.00 TiB (1,099,511,627,776 B)");
  CHECK(with_commas(-1234567) == "-1,234,567");
  CHECK(with_commas(-123) == "-123");
  CHECK(with_commas(INT64_MAX) == "9,223,372,036,854,775,807");
}

}  // namespace
}  // namespace zero
