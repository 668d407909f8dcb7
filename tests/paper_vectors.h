// The numbers that the ZeRO paper (arXiv 1910.02054) and the CMU lecture 11-868 L18 print, as text
// where their digits count. GB are 10^9 bytes; Nd is the paper's name for K.
#pragma once

#include <array>
#include <string>

namespace zero::paper {

// The paper's table 1: model states per GPU for stages 1 to 3, fp16 and Adam (M = 12). What is
// exact is from the formulas. The numbers of 7.5B are rounded, half up; those of 128B and 1T are
// cut off after the last digit.
struct Table1Cell {
  std::string model;  // a preset
  int gpus = 0, stage = 0;
  std::string printed_gb;
  double exact_gb = 0;
};
inline const std::array<Table1Cell, 54> kTable1 = {{
    {"7.5b", 1, 1, "120", 120.0},
    {"7.5b", 1, 2, "120", 120.0},
    {"7.5b", 1, 3, "120", 120.0},
    {"7.5b", 4, 1, "52.5", 52.5},
    {"7.5b", 4, 2, "41.3", 41.25},
    {"7.5b", 4, 3, "30", 30.0},
    {"7.5b", 16, 1, "35.6", 35.625},
    {"7.5b", 16, 2, "21.6", 21.5625},
    {"7.5b", 16, 3, "7.5", 7.5},
    {"7.5b", 64, 1, "31.4", 31.40625},
    {"7.5b", 64, 2, "16.6", 16.640625},
    {"7.5b", 64, 3, "1.88", 1.875},
    {"7.5b", 256, 1, "30.4", 30.3515625},
    {"7.5b", 256, 2, "15.4", 15.41015625},
    {"7.5b", 256, 3, "0.47", 0.46875},
    {"7.5b", 1024, 1, "30.1", 30.087890625},
    {"7.5b", 1024, 2, "15.1", 15.1025390625},
    {"7.5b", 1024, 3, "0.12", 0.1171875},
    {"128b", 1, 1, "2048", 2048.0},
    {"128b", 1, 2, "2048", 2048.0},
    {"128b", 1, 3, "2048", 2048.0},
    {"128b", 4, 1, "896", 896.0},
    {"128b", 4, 2, "704", 704.0},
    {"128b", 4, 3, "512", 512.0},
    {"128b", 16, 1, "608", 608.0},
    {"128b", 16, 2, "368", 368.0},
    {"128b", 16, 3, "128", 128.0},
    {"128b", 64, 1, "536", 536.0},
    {"128b", 64, 2, "284", 284.0},
    {"128b", 64, 3, "32", 32.0},
    {"128b", 256, 1, "518", 518.0},
    {"128b", 256, 2, "263", 263.0},
    {"128b", 256, 3, "8", 8.0},
    {"128b", 1024, 1, "513", 513.5},
    {"128b", 1024, 2, "257", 257.75},
    {"128b", 1024, 3, "2", 2.0},
    {"1t", 1, 1, "16000", 16000.0},
    {"1t", 1, 2, "16000", 16000.0},
    {"1t", 1, 3, "16000", 16000.0},
    {"1t", 4, 1, "7000", 7000.0},
    {"1t", 4, 2, "5500", 5500.0},
    {"1t", 4, 3, "4000", 4000.0},
    {"1t", 16, 1, "4750", 4750.0},
    {"1t", 16, 2, "2875", 2875.0},
    {"1t", 16, 3, "1000", 1000.0},
    {"1t", 64, 1, "4187", 4187.5},
    {"1t", 64, 2, "2218", 2218.75},
    {"1t", 64, 3, "250", 250.0},
    {"1t", 256, 1, "4046", 4046.875},
    {"1t", 256, 2, "2054", 2054.6875},
    {"1t", 256, 3, "62.5", 62.5},
    {"1t", 1024, 1, "4011", 4011.71875},
    {"1t", 1024, 2, "2013", 2013.671875},
    {"1t", 1024, 3, "15.6", 15.625},
}};
inline bool is_cut_off(const Table1Cell& cell) { return cell.model != "7.5b"; }

// Model states per GPU of N parameters, for DDP and stages 1 to 3, rounded.
struct StatesRow {
  std::string source;
  double parameters = 0;  // N
  int gpus = 0;
  int optimizer_bytes = 0;  // M: 12, or 16 with an fp32 copy of the gradients
  std::array<std::string, 4> printed_gb;
};
inline const std::array<StatesRow, 6> kStates = {{
    {"ZeRO paper, figure 1", 7.5e9, 64, 12, {"120", "31.4", "16.6", "1.9"}},
    {"the lecture's formula, LLaMA-3 8B", 8e9, 4, 16, {"160", "64", "52", "40"}},
    {"the lecture's page 12, LLaMA-3 8B", 8e9, 1, 16, {"160", "160", "160", "160"}},
    {"the lecture's page 12, GPT-3 175B", 175e9, 1, 16, {"3500", "3500", "3500", "3500"}},
    {"GPT-2 1.5B", 1.5e9, 1, 12, {"24", "24", "24", "24"}},
    {"1T parameters", 1e12, 1, 12, {"16000", "16000", "16000", "16000"}},
}};

// The paper's table 2: the largest model, in billions of parameters, whose states fit in 32 GB per
// GPU with Nd = 64, for DDP and stages 1 to 3, with model parallelism of degree MP; its 1T and 2T
// are written 1024 and 2048. The rows are MP times the first one, already rounded.
struct Table2Row {
  int model_parallel = 0, gpus = 0;
  std::array<std::string, 4> printed;
  std::array<std::string, 2> measured;  // by the paper's authors, of DDP and stage 1
};
inline const std::array<Table2Row, 5> kTable2 = {{
    {1, 64, {"2", "7.6", "14.4", "128"}, {"1.3", "6.2"}},
    {2, 128, {"4", "15.2", "28.8", "256"}, {"2.5", "12.5"}},
    {4, 256, {"8", "30.4", "57.6", "512"}, {"5", "25"}},
    {8, 512, {"16", "60.8", "115.2", "1024"}, {"10", "50"}},
    {16, 1024, {"32", "121.6", "230.4", "2048"}, {"20", "100"}},
}};

// Section 7: elements sent per rank and iteration, in passes over N. A pass over K ranks sends
// (K-1)/K of N.
struct Traffic {
  std::string stage;
  int passes = 0;
  double relative_to_ddp = 0;
};
inline const std::array<Traffic, 4> kTraffic = {
    {{"ddp", 2, 1.0}, {"zero1", 2, 1.0}, {"zero2", 2, 1.0}, {"zero3", 3, 1.5}}};
// ZeRO-1 done wrongly: all_reduce and then all_gather.
inline constexpr int kWrongZero1Passes = 3;

}  // namespace zero::paper
