// Whole programs as children, one after the other: the GPU is never shared.
#include "tests/gpu/iterations.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <fstream>

#include "tests/gpu/operators.h"
#include "tests/support/files.h"

namespace zero {
namespace {

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// llm.c's format (common/train/data_loader.h).
void write_tokens(const std::string& path, std::int64_t count, int vocab) {
  std::vector<std::int32_t> header(256);
  header[0] = 20240520;
  header[1] = 1;
  header[2] = static_cast<std::int32_t>(count);
  std::vector<std::uint16_t> tokens;
  for (const std::int32_t id : word_like_ids(count, vocab, 5)) {
    tokens.push_back(static_cast<std::uint16_t>(id));
  }
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(header.data()), std::ssize(header) * 4);
  file.write(reinterpret_cast<const char*>(tokens.data()), std::ssize(tokens) * 2);
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace

bool print_iterations(const IterationsTable& table) {
  const TemporaryFolder folder;
  const std::string data = folder / "tokens.bin";
  write_tokens(data, 1 << 20, table.shape.vocab);
  bool ran = true;
  fmt::print("| sequences | program | ms per iteration | tokens/s | ddp / this |\n");
  fmt::print("|---|---|---|---|---|\n");
  for (const int batch : table.batches) {
    Shape shape = table.shape;
    shape.batch = batch;
    std::vector<Candidate> candidates = {
        {"`ddp --ranks 1`", joined({table.stage, "--device", "cuda", "--dtype", "bf16", "--ranks",
                                    "1", "--quiet", "--data", data},
                                   shape.options(1))}};
    if (!table.python.empty()) {
      for (const std::string attention : {"plain", "sdpa"}) {
        candidates.push_back({fmt::format("PyTorch, {} attention", attention),
                              joined({table.python, table.script, "--device", "cuda", "--dtype",
                                      "bf16", "--attention", attention},
                                     shape.options(1))});
      }
    }
    double ours = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      std::vector<Candidate> alone = {candidates[i]};
      try {
        run_in_turn(alone, 1);
      } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        fmt::print("| {} | {} | failed |  |  |\n", batch, alone[0].name);
        if (i == 0) ran = false;
        continue;
      }
      const double seconds = alone[0].seconds();
      if (i == 0) ours = seconds;
      fmt::print("| {} | {} | {:.2f} | {:.0f} | {} |\n", batch, alone[0].name, seconds * 1e3,
                 batch * shape.context / seconds,
                 ours > 0 ? fmt::format("{:.2f}", ours / seconds) : "");
      std::fflush(stdout);
    }
  }
  return ran;
}

}  // namespace zero
