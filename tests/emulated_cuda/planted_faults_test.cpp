// What the emulator must find, it finds, and says where. Each fault is planted in a process of its
// own; those that only a sanitizer sees are looked for in its build.
#include <fstream>

#include "catch.h"
#include "tests/support/process.h"

namespace zero {
namespace {

using Environment = std::map<std::string, std::string>;

Finished plant(const std::string& fault, const Environment& environment = {}) {
  RunOptions options;
  options.environment = environment;
  options.environment["TSAN_OPTIONS"] = "atexit_sleep_ms=0";  // else each takes a second more
  return run({ZERO_PLANTED_FAULTS, fault}, options);
}

// "planted_faults.cu:LINE", of the line that is marked so.
std::string place(const std::string& mark) {
  std::ifstream source(ZERO_PLANTED_FAULTS_SOURCE);
  std::string line;
  for (int number = 1; std::getline(source, line); ++number) {
    if (line.find("// fault: " + mark) != std::string::npos) {
      return "planted_faults.cu:" + std::to_string(number);
    }
  }
  FAIL("no line is marked: " << mark);
  return "";
}

// It ended by a signal, and the last thing it said is one line of the emulator's.
std::string complaint(const Finished& finished) {
  INFO(finished.describe());
  CHECK(finished.status == 128 + 6);
  const std::vector<std::string> lines = finished.errors();
  REQUIRE(lines.size() == 1);
  REQUIRE(lines[0].find("emulated CUDA: ") == 0);
  return lines[0];
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// As a program prints n numbers: first, first + step, ..., modulo n.
std::string numbers(int n, int first, int step) {
  std::string result;
  for (int i = 0; i < n; ++i) result += std::to_string((first + i * step) % n) + " ";
  return result + "\n";
}

// As `no_barrier` prints it, with one half right and the other zeros.
std::string half(bool first_is_right) {
  std::string result;
  for (int i = 0; i < 64; ++i)
    result += std::to_string((i < 32) == first_is_right ? 63 - i : 0) + " ";
  return result + "\n";
}

int wrong_results(const std::string& fault, const std::string& right) {
  int wrong = 0;
  for (const char* order : {"forward", "reverse", "random1"}) {
    wrong += plant(fault, {{"EMU_ORDER", order}}).out == right ? 0 : 1;
  }
  return wrong;
}

TEST_CASE("Without a fault the program lists those that there are") {
  const Finished help = plant("--help");
  INFO(help.describe());
  CHECK(help.status == 0);
  CHECK(contains(help.out, "\n  no_barrier\n"));
  CHECK(contains(help.out, "\n  writes_outside\n"));
  CHECK(help.err.empty());
  RunOptions options;
  const Finished none = run({ZERO_PLANTED_FAULTS}, options);
  CHECK(none.status == 2);
  CHECK(none.out.empty());
  CHECK(none.err == help.out);
  const Finished unknown = plant("no_such");
  CHECK(unknown.status == 2);
  CHECK(unknown.err == "no such fault: no_such\n" + help.out);
}

TEST_CASE("A missing barrier gives a wrong result in some order of threads") {
  CHECK(wrong_results("no_barrier", numbers(64, 63, -1)) > 0);
  CHECK(wrong_results("second_barrier", numbers(64, 2, 1)) > 0);
}

TEST_CASE("Without the barrier one half reads too early, as the README shows", "[races]") {
  CHECK(plant("no_barrier", {{"EMU_ORDER", "forward"}}).out == half(false));
  CHECK(plant("no_barrier", {{"EMU_ORDER", "reverse"}}).out == half(true));
}

TEST_CASE("The order of threads is the one that was asked for", "[races]") {
  CHECK(plant("turns").out == numbers(64, 0, 1));
  CHECK(plant("turns", {{"EMU_ORDER", "reverse"}}).out == numbers(64, 63, -1));
  const std::string one = plant("turns", {{"EMU_ORDER", "random1"}}).out;
  const std::string two = plant("turns", {{"EMU_ORDER", "random2"}}).out;
  CHECK(one != numbers(64, 0, 1));
  CHECK(one != two);
  CHECK(one == plant("turns", {{"EMU_ORDER", "random1"}}).out);
}

TEST_CASE("A barrier in a branch is named with both its lines") {
  for (const char* order : {"forward", "reverse", "random1"}) {
    const std::string said = complaint(plant("barrier_in_branch", {{"EMU_ORDER", order}}));
    CHECK(contains(said, place("some are here")));
    CHECK(contains(said, place("others are here")));
    CHECK(contains(said, "different barriers"));
  }
}

TEST_CASE("Threads that leave before a barrier are counted") {
  const std::string said = complaint(plant("early_exit"));
  CHECK(contains(said, place("not all come")));
  CHECK(contains(said, "14 of 64 threads have left the kernel"));
}

TEST_CASE("A shuffle in which half a warp takes no part is named") {
  const std::string said = complaint(plant("missing_lanes"));
  CHECK(contains(said, place("half a warp")));
  CHECK(contains(said, "lane 0 waits for lane 16 of its warp, which has left the kernel"));
}

TEST_CASE("A shuffle with a lane that has left is named") {
  const std::string said = complaint(plant("exited_lane"));
  CHECK(contains(said, place("lane 5 has gone")));
  CHECK(contains(said, "waits for lane 5"));
}

TEST_CASE("A shuffle from a lane that takes no part is named") {
  const std::string said = complaint(plant("outside_lane"));
  CHECK(contains(said, place("no such lane takes part")));
  CHECK(contains(said, "lane 0 reads from lane 20"));
}

TEST_CASE("A pointer to host memory may not be a kernel's argument") {
  const std::string said = complaint(plant("host_pointer"));
  CHECK(contains(said, "argument 2 is 0x"));
  CHECK(contains(said, "no memory of device 0"));
}

TEST_CASE("Memory that was freed may not be a kernel's argument") {
  CHECK(contains(complaint(plant("used_after_free")), "no memory of device 0"));
}

TEST_CASE("Memory of another device may not be a kernel's argument") {
  const std::string said = complaint(plant("other_device", {{"EMU_DEVICES", "2"}}));
  CHECK(contains(said, "argument 2 is 0x"));
  CHECK(contains(said, "no memory of device 0"));
}

TEST_CASE("A copy of more than there is ends the program") {
  CHECK(contains(complaint(plant("copies_too_much")), "a copy to 44 bytes"));
}

TEST_CASE("A copy that takes host memory for device memory ends the program") {
  CHECK(contains(complaint(plant("copies_wrong_way")), "said to be host memory"));
}

TEST_CASE("A launch that no GPU can do ends the program") {
  CHECK(contains(complaint(plant("too_many_threads")), "a block of 1025 x 1 x 1 threads"));
  CHECK(contains(complaint(plant("no_blocks")), "a grid of 0 x 1 x 1 blocks"));
}

TEST_CASE("Memory that nobody wrote is NaN") {
  const Finished finished = plant("unwritten_memory");
  INFO(finished.describe());
  CHECK(finished.out == "-nan -nan -nan \n");
}

TEST_CASE("A stream that does not wait for another shows with lazy streams") {
  const std::string right = numbers(64, 0, 1);
  CHECK(plant("waits", {{"EMU_STREAMS", "lazy"}}).out == right);
  CHECK(plant("no_wait", {{"EMU_STREAMS", "lazy"}}).out == numbers(64, 0, 0));
  CHECK(plant("no_wait").out == right);  // eager streams hide it
}

TEST_CASE("A write beside an allocation is found when it is freed", "[unsanitized]") {
  CHECK(plant("writes_inside").out == numbers(100, 0, 1));
  CHECK(contains(complaint(plant("writes_outside")), "behind an allocation of 392 bytes"));
  CHECK(contains(complaint(plant("writes_before")), "before an allocation of 256 bytes"));
}

// ---- address sanitizer ----

void check_poison(const Finished& finished, const std::string& mark) {
  INFO(finished.describe());
  CHECK(finished.status != 0);
  CHECK(contains(finished.err, "ERROR: AddressSanitizer: use-after-poison"));
  CHECK(contains(finished.err, place(mark)));
}

TEST_CASE("The address sanitizer names the line that writes outside", "[address]") {
  CHECK(plant("writes_inside").out == numbers(100, 0, 1));
  check_poison(plant("writes_outside"), "writes");
  check_poison(plant("writes_before"), "writes");
}

TEST_CASE("The address sanitizer names the line where the host reads device memory", "[address]") {
  check_poison(plant("host_reads"), "the host reads device memory");
}

// The build with the address sanitizer has that for undefined behaviour, too.
TEST_CASE("An index outside a shared array and an unaligned access are named", "[address]") {
  const Finished outside = plant("shared_outside");
  INFO(outside.describe());
  CHECK(contains(outside.err, place("one behind the end")));
  CHECK(contains(outside.err, "index 64 out of bounds"));
  const Finished misaligned = plant("misaligned");
  INFO(misaligned.describe());
  CHECK(contains(misaligned.err, place("no multiple of 16")));
  CHECK(contains(misaligned.err, "misaligned address"));
}

// ---- thread sanitizer ----

void check_race(const Finished& finished, const std::string& mark) {
  INFO(finished.describe());
  CHECK(finished.status != 0);
  CHECK(contains(finished.err, "WARNING: ThreadSanitizer: data race"));
  CHECK(contains(finished.err, place(mark)));
}

TEST_CASE("The thread sanitizer names a missing barrier, in every order", "[thread]") {
  for (const char* order : {"forward", "reverse", "random1"}) {
    const Finished none = plant("no_barrier", {{"EMU_ORDER", order}});
    check_race(none, "written here");
    check_race(none, "read without a barrier");
    const Finished one = plant("second_barrier", {{"EMU_ORDER", order}});
    check_race(one, "written too early");
    check_race(one, "read, and no barrier behind it");
  }
}

TEST_CASE("The thread sanitizer names a race between blocks that run side by side", "[thread]") {
  check_race(plant("block_race", {{"EMU_WORKERS", "2"}}), "every block adds to the same");
}

TEST_CASE("The thread sanitizer names a missing wait between streams with threads", "[thread]") {
  const Finished right = plant("waits", {{"EMU_STREAMS", "threads"}});
  INFO(right.describe());
  CHECK(right.status == 0);
  check_race(plant("no_wait", {{"EMU_STREAMS", "threads"}}), "writes");
}

}  // namespace
}  // namespace zero
