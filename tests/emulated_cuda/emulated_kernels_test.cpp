// Correct kernels give right results, in whatever order their threads run.
#include <numeric>
#include <thread>

#include "catch.h"
#include "device_data.h"
#include "sample_kernels.h"

namespace zero {
namespace {

std::vector<float> counting(int n) {
  std::vector<float> result(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = static_cast<float>(i % 1000);
  return result;
}

std::vector<int> zero_to(int n) {
  std::vector<int> result(static_cast<std::size_t>(n));
  std::iota(result.begin(), result.end(), 0);
  return result;
}

TEST_CASE("A block's sum is that of its elements") {
  for (const int n : {1, 31, 256, 257, 2999}) {
    const std::vector<float> x = counting(n);
    const std::size_t blocks = (x.size() + 255) / 256;
    std::vector<float> expected(blocks, 0.0f);
    for (std::size_t i = 0; i < x.size(); ++i) expected[i / 256] += x[i];  // integers: exact
    const DeviceData<float> from(x), to(blocks);
    const Stream stream;
    must(block_sums(to.get(), from.get(), n, stream));
    CHECK(to.read() == expected);
  }
}

TEST_CASE("A transpose through shared memory moves every element") {
  const int rows = 45, columns = 33;
  const std::vector<float> x = counting(rows * columns);
  const DeviceData<float> from(x), to(x.size());
  const Stream stream;
  must(transpose(to.get(), from.get(), rows, columns, stream));
  const std::vector<float> result = to.read();
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      REQUIRE(result[static_cast<std::size_t>(column * rows + row)] ==
              x[static_cast<std::size_t>(row * columns + column)]);
    }
  }
}

TEST_CASE("Sixteen bytes at a time are copied") {
  const std::vector<float> x = counting(1000);
  const DeviceData<float> from(x), to(x.size());
  must(copy_by_four(to.get(), from.get(), 1000, nullptr));
  CHECK(to.read() == x);
}

TEST_CASE("Each thread has its own place in block and grid") {
  for (const auto& [blocks, block] : {std::pair{dim3(3, 5, 2), dim3(7, 3, 2)},
                                      {dim3(40), dim3(1)},
                                      {dim3(1, 1, 3), dim3(1024)}}) {
    const unsigned n = blocks.x * blocks.y * blocks.z * block.x * block.y * block.z;
    const DeviceData<int> to(n);
    must(numbers(to.get(), blocks, block, nullptr));
    CHECK(to.read() == zero_to(static_cast<int>(n)));
  }
}

TEST_CASE("The whole block votes at a barrier") {
  for (const int n : {1, 40, 1000}) {
    for (const int zeros : {0, 1, n}) {
      std::vector<int> x(static_cast<std::size_t>(n), 3);
      for (int i = 0; i < zeros; ++i) x[static_cast<std::size_t>(n - 1 - i)] = 0;
      const DeviceData<int> from(x), to(3);
      must(block_votes(to.get(), from.get(), n, nullptr));
      CHECK(to.read() == std::vector<int>{n - zeros, zeros < n ? 1 : 0, zeros == 0 ? 1 : 0});
    }
  }
}

TEST_CASE("Lanes get each other's values") {
  std::vector<int> x(32);
  for (int i = 0; i < 32; ++i) x[static_cast<std::size_t>(i)] = i == 20 ? 0 : 100 + i;
  const auto at = [&](int lane) { return x[static_cast<std::size_t>(lane)]; };
  const DeviceData<int> from(x), to(8 * 32);
  must(warp_words(to.get(), from.get(), nullptr));
  const std::vector<int> result = to.read();
  const auto got = [&](int row, int lane) {
    return result[static_cast<std::size_t>(row * 32 + lane)];
  };
  for (int lane = 0; lane < 32; ++lane) {
    INFO("lane " << lane);
    CHECK(got(0, lane) == at(5));
    CHECK(got(1, lane) == at(lane ^ 6));
    CHECK(got(2, lane) == at(lane + 3 < 32 ? lane + 3 : lane));
    CHECK(got(3, lane) == at(lane >= 3 ? lane - 3 : lane));
    const int start = lane / 8 * 8;
    CHECK(got(4, lane) == at(lane % 8 < 5 ? lane + 3 : lane) + 1000 * at(start + 1));
    CHECK(static_cast<unsigned>(got(5, lane)) == ~(1u << 20));
    CHECK(got(6, lane) == 0);
    CHECK(got(7, lane) == 1);
  }
}

TEST_CASE("Groups of lanes meet independently of each other") {
  const DeviceData<int> to(32);
  must(uneven_groups(to.get(), nullptr));
  std::vector<int> mine(32);
  for (int i = 0; i < 8; ++i) mine[static_cast<std::size_t>(i)] = 28;  // 0 + ... + 7
  for (int i = 8; i < 32; ++i) mine[static_cast<std::size_t>(i)] = i + (i ^ 1);
  const std::vector<int> result = to.read();
  CHECK(result == std::vector<int>(mine.rbegin(), mine.rend()));
}

TEST_CASE("Values go round a block through shared memory") {
  for (const int n : {1, 33, 64, 100, 1024}) {
    const int rounds = 5;
    const DeviceData<int> to(static_cast<std::size_t>(n));
    must(pass_round(to.get(), n, rounds, nullptr));
    std::vector<int> expected(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i)
      expected[static_cast<std::size_t>(i)] = (i + rounds * n - rounds) % n;
    CHECK(to.read() == expected);
  }
}

TEST_CASE("Lanes exchange through shared memory where the warp meets") {
  const DeviceData<int> to(64);
  must(exchange_in_warp(to.get(), nullptr));
  std::vector<int> expected(64);
  for (int i = 0; i < 64; ++i) expected[static_cast<std::size_t>(i)] = i ^ 3;
  CHECK(to.read() == expected);
}

// As the ranks of a run do.
TEST_CASE("Threads of the host launch side by side") {
  constexpr int kRanks = 4, kN = 3000;
  std::vector<std::thread> ranks;
  std::vector<std::vector<float>> results(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([rank, &results] {
      const std::vector<float> x = counting(kN), y(kN, static_cast<float>(rank));
      const DeviceData<float> a(x), b(y), to(kN);
      const Stream stream;
      for (int i = 0; i < 5; ++i) must(add(to.get(), a.get(), b.get(), kN, stream));
      stream.finish();
      results[static_cast<std::size_t>(rank)] = to.read();
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (int rank = 0; rank < kRanks; ++rank) {
    std::vector<float> expected = counting(kN);
    for (float& x : expected) x += static_cast<float>(rank);
    CHECK(results[static_cast<std::size_t>(rank)] == expected);
  }
}

}  // namespace
}  // namespace zero
