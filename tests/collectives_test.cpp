// Each collective on threads against its definition: every element and every byte.
#include "tests/collectives.h"

#include <mutex>

#include "catch.h"
#include "common/comm/world.h"

namespace zero {
namespace {

constexpr double kTimeout = 60;

// All collectives for several sizes and chunk sizes, on one group of ranks.
bool meets_definition(int K, Algorithm algorithm, Dtype dtype,
                      const std::vector<std::int64_t>& sizes,
                      const std::vector<std::int64_t>& chunks) {
  return run_on_threads(K, kTimeout, [&](Transport& transport) {
           for (const std::int64_t N : sizes) {
             for (const std::int64_t chunk : chunks) {
               DefinitionCheck(transport, algorithm, dtype, N, chunk).run();
             }
           }
         }) == 0;
}

TEST_CASE("every collective is its definition for small sizes, K > N and N = 0 included") {
  const int K = GENERATE(1, 2, 3, 4, 5, 6, 7, 8);
  const Algorithm algorithm = GENERATE(Algorithm::ring, Algorithm::direct);
  const Dtype dtype = GENERATE(Dtype::fp32, Dtype::fp16, Dtype::bf16);
  std::vector<std::int64_t> sizes;
  for (std::int64_t N = 0; N <= 3 * K + 1; ++N) sizes.push_back(N);
  CHECK(meets_definition(K, algorithm, dtype, sizes, {2, kChunk}));
}

TEST_CASE("every collective is its definition whatever the size of the chunks") {
  const int K = GENERATE(2, 3, 5, 8);
  const Algorithm algorithm = GENERATE(Algorithm::ring, Algorithm::direct);
  const Dtype dtype = GENERATE(Dtype::fp32, Dtype::fp16, Dtype::bf16);
  CHECK(meets_definition(K, algorithm, dtype, {97}, {1, 7, 64, kChunk}));
  CHECK(meets_definition(K, algorithm, dtype, {1009}, {7, 64, kChunk}));
}

}  // namespace
}  // namespace zero
