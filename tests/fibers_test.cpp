// Fibers: who runs when, and what happens when nobody can.
#include "common/fibers/fibers.h"

#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace zero {
namespace {

// Not inside CHECK, which looks at one expression at a time.
void wait_until_woken(Fibers& fibers) {
  const bool woken = fibers.wait();
  CHECK(woken);
}

TEST_CASE("fibers begin in the order of their numbers and go on in the order they were woken in") {
  std::string order;
  Fibers fibers(5);
  fibers.run([&](int number) {
    order += static_cast<char>('0' + number);
    if (number < 4) {
      wait_until_woken(fibers);
    } else {
      for (const int other : {2, 0, 3, 1}) fibers.wake(other);
    }
    order += static_cast<char>('a' + number);
  });
  CHECK(order == "01234ecadb");
}

TEST_CASE("a fiber runs until it waits, and what it holds on its stack is there afterwards") {
  std::vector<int> sums(3);
  Fibers fibers(3);
  fibers.run([&](int number) {
    int own[100];
    for (int i = 0; i < 100; ++i) own[i] = number * i;
    double fraction = 0.5 * number;
    for (int round = 0; round < 7; ++round) {
      fibers.wake((number + 1) % 3);
      wait_until_woken(fibers);
      fraction += 0.25;
    }
    fibers.wake((number + 1) % 3);
    CHECK(fraction == 0.5 * number + 7 * 0.25);
    for (const int value : own) sums[static_cast<std::size_t>(number)] += value;
  });
  CHECK(sums == std::vector<int>{0, 4950, 2 * 4950});
}

TEST_CASE("waking a fiber that does not wait does nothing") {
  std::string order;
  Fibers fibers(3);
  fibers.run([&](int number) {
    if (number == 0) {
      fibers.wake(0);  // it runs
      fibers.wake(1);  // it is about to run
    }
    if (number == 2) fibers.wake(0);  // it has ended
    if (number == 1) wait_until_woken(fibers);
    if (number == 2) fibers.wake(1);
    order += static_cast<char>('0' + number);
  });
  CHECK(order == "021");
}

TEST_CASE("when all that are left wait, each is told so, and may wait again") {
  std::string order;
  Fibers fibers(5);
  fibers.run([&](int number) {
    if (number == 3) return;
    const bool woken = fibers.wait();
    CHECK_FALSE(woken);
    order += static_cast<char>('0' + number);
    if (number == 4) {
      fibers.wake(1);
    } else if (number == 1) {
      wait_until_woken(fibers);
      order += 'x';
    }
  });
  CHECK(order == "0124x");
}

TEST_CASE("an exception is thrown and caught on a fiber's own stack, between waits of others") {
  std::vector<std::string> caught(3);
  Fibers fibers(3);
  fibers.run([&](int number) {
    for (int round = 0; round < 3; ++round) {
      try {
        fibers.wake((number + 1) % 3);
        wait_until_woken(fibers);
        throw std::runtime_error(std::to_string(number));
      } catch (const std::runtime_error& error) {
        caught[static_cast<std::size_t>(number)] += error.what();
      }
    }
    fibers.wake((number + 1) % 3);
  });
  CHECK(caught == std::vector<std::string>{"000", "111", "222"});
}

TEST_CASE("the same fibers run a second program, and fibers run inside a fiber") {
  std::string order;
  Fibers fibers(3);
  const auto letters = [&](int number) {
    order += static_cast<char>('a' + number);
    fibers.wake((number + 2) % 3);
    if (number == 0) {
      wait_until_woken(fibers);
      Fibers inner(2);
      inner.run([&](int inside) {
        if (inside == 0) wait_until_woken(inner);
        order += static_cast<char>('0' + inside);
        inner.wake(0);
      });
    }
  };
  fibers.run(letters);
  order += ' ';
  fibers.run(letters);
  CHECK(order == "abc10 abc10");
}

// Calls itself, so that the stack grows by more than its first pages.
int deep(int depth, const std::vector<int>& values) {
  volatile char room[256] = {};
  room[depth % 256] = 1;
  return depth == 0 ? room[0] : values[static_cast<std::size_t>(depth)] + deep(depth - 1, values);
}

TEST_CASE("1,024 fibers meet many times, each with room for calls") {
  constexpr int kFibers = 1024, kRounds = 5;
  const std::vector<int> ones(101, 1);
  int come = 0, wrong = 0;
  Fibers fibers(kFibers);
  fibers.run([&](int number) {
    for (int round = 1; round <= kRounds; ++round) {
      if (deep(100, ones) != 101) ++wrong;
      if (++come == round * kFibers) {
        for (int other = 0; other < kFibers; ++other) fibers.wake(other);
      } else {
        while (come < round * kFibers) {
          if (!fibers.wait()) ++wrong;
        }
      }
      if (come < round * kFibers || number < 0) ++wrong;
    }
  });
  CHECK(come == kRounds * kFibers);
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace zero
