// Timing whole programs: children that are run in turn, so that a noisy machine is unfair to none.
#pragma once

#include <string>
#include <vector>

namespace zero {

// A model and how long to train it.
struct Shape {
  std::string name;
  int layers, heads, channels, context, vocab;
  int batch;       // sequences of one rank
  int iterations;  // of one child; the first is not counted

  std::vector<std::string> options(int ranks) const;
};

// One program to time.
struct Candidate {
  std::string name;
  std::vector<std::string> command;  // `--json FILE` is added
  std::vector<double> rounds = {};   // seconds per iteration: the median of each round

  double seconds() const;  // the median over the rounds
};

// Runs all candidates once in each round. std::runtime_error when one fails.
void run_in_turn(std::vector<Candidate>& candidates, int rounds);

// How many times longer an iteration of `a` takes: the median over the rounds of the ratios.
double ratio(const Candidate& a, const Candidate& b);

double median(std::vector<double> values);

struct StageTable {
  Shape shape;
  int ranks;
  int rounds;
  std::string pytorch;  // the python that has PyTorch; empty: no comparison
};

// Times the four stages in fp32, fp16 and bf16, with and without a trace, and prints the table.
void print_stages(const StageTable& table);

}  // namespace zero
