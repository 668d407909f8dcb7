// plan as a program: its numbers against the simulated stage programs, its searches by running.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "catch.h"
#include "tests/support/files.h"
#include "tests/support/process.h"
#include "tests/support/stage.h"

namespace zero {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

// A model of odd sizes: 19,400 parameters, which 3 does not divide.
const Words kShape = {"--layers", "3",       "--heads", "4",         "--channels",
                      "20",       "--vocab", "101",     "--context", "7"};

Words joined(const Words& a, const Words& b) {
  Words words = a;
  words.insert(words.end(), b.begin(), b.end());
  return words;
}

Finished run_plan(const Words& arguments) {
  return run(joined({stage_path("plan"), "--quiet"}, arguments));
}

// What plan writes with --json.
Json plan(const Words& arguments) {
  const TemporaryFolder folder;
  const std::string file = folder / "plan.json";
  const Finished finished = run_plan(joined(arguments, {"--json", file}));
  INFO(finished.describe());
  REQUIRE(finished.status == 0);
  return Json::parse(read_whole_file(file));
}

// A stage program on simulated GPUs, with `arguments`. Its result when it succeeds.
struct Simulated {
  Finished finished;
  Json result;
};
Simulated simulate(const std::string& stage, const Words& arguments) {
  const TemporaryFolder folder;
  const std::string file = folder / "stage.json";
  Simulated simulated;
  simulated.finished = run(joined(
      {stage_path(stage), "--device", "simulated", "--quiet", "--iterations", "1", "--json", file},
      arguments));
  if (simulated.finished.status == 0) simulated.result = Json::parse(read_whole_file(file));
  return simulated;
}

bool fits(const std::string& stage, const Words& arguments) {
  const Simulated simulated = simulate(stage, arguments);
  INFO(simulated.finished.describe());
  REQUIRE((simulated.finished.status == 0 || simulated.finished.status == 2));
  if (simulated.finished.status == 2)
    CHECK(simulated.finished.err.find("out of memory") != std::string::npos);
  return simulated.finished.status == 0;
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

// The words of the n-th line that begins with `label` and at least two spaces.
Words cells(const std::string& text, const std::string& label, int n = 0) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(label + "  ") || n-- > 0) continue;
    return words_of(line.substr(label.size()));
  }
  return {};
}

std::int64_t model_states(const Json& stage) {
  const Json& memory = stage["memory"];
  return memory["parameters"].get<std::int64_t>() + memory["gradients"].get<std::int64_t>() +
         memory["optimizer_states"].get<std::int64_t>();
}

}  // namespace

TEST_CASE("plan's numbers are those of the stage programs, run with all ranks") {
  const auto [gpus, batch] = GENERATE(std::pair{3, 2}, std::pair{5, 1});
  const std::string dtype = GENERATE("fp16", "fp32");
  const Words cluster = joined(kShape, {"--dtype", dtype, "--gpu", "v100", "--gpus-per-node", "2",
                                        "--network", "hdr", "--gpu-memory", "9000KB"});
  const Json planned =
      plan(joined(cluster, {"--gpus", std::to_string(gpus), "--batch", std::to_string(batch)}));
  REQUIRE(planned["stages"].size() == 4);
  for (const Json& stage : planned["stages"]) {
    const Simulated simulated =
        simulate(stage["stage"],
                 joined(cluster, {"--messages", "closed-form", "--ranks", std::to_string(gpus),
                                  "--batch", std::to_string(gpus * batch)}));
    INFO(simulated.finished.describe());
    REQUIRE(simulated.finished.status == 0);
    const Json& result = simulated.result;
    CHECK(planned["model"]["num_parameters"] == result["num_parameters"]);
    CHECK(planned["optimizer_bytes_per_parameter"] == result["optimizer_bytes_per_parameter"]);
    CHECK(stage["closed_form"] == result["closed_form"]);
    for (const Json& rank : result["ranks"]) {
      for (const auto& [category, use] : rank["memory"].items()) {
        INFO(category);
        CHECK(stage["memory"][category] == use["peak"]);
      }
      CHECK(stage["sent_bytes_per_iteration"] == rank["sent_bytes_per_iteration"]);
    }
    CHECK(stage["product_flops"] == result["simulated"]["product_flops"]);
    CHECK(stage["computing_seconds"] == result["simulated"]["computing_seconds"]);
    // Rank 0 alone does not wait for the others' copies into their own shards.
    const double seconds = result["simulated"]["seconds_per_iteration"];
    CHECK(stage["seconds_per_iteration"].get<double>() <= seconds);
    CHECK(stage["seconds_per_iteration"].get<double>() == Approx(seconds).epsilon(0.03));
    CHECK(stage["fits"] == true);
    const double tokens = gpus * batch * 7;
    CHECK(stage["tokens_per_second"].get<double>() ==
          Approx(tokens / stage["seconds_per_iteration"].get<double>()));
    CHECK(stage["training_seconds"].get<double>() ==
          Approx(300e9 / tokens * stage["seconds_per_iteration"].get<double>()));
  }
}

TEST_CASE("a stage fits into exactly what it needs, and not into a byte less") {
  const Words work = joined(kShape, {"--gpus", "3", "--batch", "2"});
  const Json planned = plan(joined(work, {"--gpu-memory", "9000KB"}));
  const Words names = {"ddp", "zero1", "zero2", "zero3"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::int64_t total = planned["stages"][i]["memory"]["peak_total"];
    for (const std::int64_t memory : {total, total - 1}) {
      const Json tight = plan(joined(work, {"--gpu-memory", fmt::format("{}B", memory)}));
      INFO(names[i] << " in " << memory);
      CHECK(tight["stages"][i]["fits"] == (memory == total));
      // What it would need does not depend on what there is.
      CHECK(tight["stages"][i]["memory"] == planned["stages"][i]["memory"]);
      CHECK(tight["stages"][i]["refusal"].get<std::string>().find("out of memory") !=
            (memory == total ? 0 : std::string::npos));
      // The first whose own need is met.
      Json first;
      for (std::size_t s = names.size(); s-- > 0;) {
        if (planned["stages"][s]["memory"]["peak_total"] <= memory) first = names[s];
      }
      CHECK(tight["smallest_stage"] == first);
    }
  }
}

TEST_CASE("the largest batch fits and one more does not, and so it is with layers") {
  const Words cluster = joined(kShape, {"--gpu-memory", "9000KB"});
  const Json planned = plan(joined(cluster, {"--gpus", "3"}));
  for (const Json& stage : planned["stages"]) {
    const std::string name = stage["stage"];
    const int batch = stage["largest_batch_per_gpu"]["number"];
    const int layers = stage["largest_layers"]["number"];
    INFO(name << ": batch " << batch << ", layers " << layers);
    REQUIRE(batch > 1);
    REQUIRE(layers > 1);
    CHECK(stage["largest_batch_per_gpu"]["limit_of_the_programs"] == false);
    for (const int more : {0, 1}) {
      const Words with_batch = joined(cluster, {"--ranks", "3", "--representative", "--batch",
                                                std::to_string(3 * (batch + more))});
      CHECK(fits(name, with_batch) == (more == 0));
      Words with_layers = joined(cluster, {"--ranks", "3", "--representative", "--batch", "3"});
      with_layers[1] = std::to_string(layers + more);
      CHECK(fits(name, with_layers) == (more == 0));
    }
  }
}

TEST_CASE("checkpointing promises no more than the activations that it would not keep") {
  const Json planned =
      plan(joined(kShape, {"--gpus", "3", "--batch", "2", "--gpu-memory", "9000KB"}));
  const std::int64_t kept = planned["activations_after_forward"];
  const std::int64_t checkpointed = planned["activations_with_checkpointing"];
  CHECK(checkpointed < kept);
  for (const Json& stage : planned["stages"]) {
    INFO(stage["stage"]);
    const Json& memory = stage["memory"];
    const std::int64_t total = memory["peak_total"];
    const std::int64_t at_most = stage["with_checkpointing"]["peak_total_at_most"];
    CHECK(memory["activations"] >= kept);  // and what the backward pass adds to them
    CHECK(at_most < total);
    CHECK(total - at_most <= kept - checkpointed);
    const std::int64_t others =
        memory["temporary"].get<std::int64_t>() + memory["communication"].get<std::int64_t>();
    CHECK(at_most >= model_states(stage) + others + checkpointed);
  }
}

TEST_CASE("when no stage fits, plan says how many GPUs would do, or that none do") {
  const Words cluster = joined(kShape, {"--gpu-memory", "397.84KB"});
  const Json planned = plan(joined(cluster, {"--gpus", "2", "--stages", "zero3,ddp"}));
  INFO(planned.dump(1));
  REQUIRE(planned["smallest_stage"].is_null());
  REQUIRE(planned["gpus_needed"].is_number());
  const int gpus = planned["gpus_needed"];
  CHECK(gpus > 2);
  for (const int less : {0, 1}) {
    const std::string ranks = std::to_string(gpus - less);
    CHECK(fits("zero3", joined(cluster, {"--ranks", ranks, "--batch", ranks,
                                         "--representative"})) == (less == 0));
  }
  // What would fit is asked of the memory that there is.
  for (const Json& stage : planned["stages"]) {
    const int layers = stage["largest_layers"]["number"];
    INFO(stage["stage"] << ": layers " << layers);
    CHECK(layers < 3);
    CHECK(stage["largest_batch_per_gpu"]["number"] == 0);
    Words more = joined(cluster, {"--ranks", "2", "--batch", "2", "--representative"});
    more[1] = std::to_string(layers + 1);
    CHECK_FALSE(fits(stage["stage"], more));
  }
  const Finished enough = run_plan(joined(cluster, {"--gpus", "2"}));
  CHECK(enough.out.find(fmt::format("with {} GPUs ZeRO-3 fits", gpus)) != std::string::npos);
  // Activations alone are too much.
  const Finished hopeless = run_plan(joined(kShape, {"--gpu-memory", "5KB"}));
  CHECK(hopeless.status == 0);
  CHECK(hopeless.out.find("More GPUs do not help") != std::string::npos);
}

TEST_CASE("the simulated stage programs hold what the ZeRO paper's tables say") {
  // One run for each stage and model size; as printed: rounded, or cut off.
  struct Cell {
    const char* model;
    const char* gpus;
    double gigabytes[4];
  };
  const Cell cells[] = {{"7.5b", "64", {120, 31.40625, 16.640625, 1.875}},
                        {"128b", "1024", {2048, 513.5, 257.75, 2.0}},
                        {"1t", "1024", {16000, 4011.71875, 2013.671875, 15.625}}};
  for (const Cell& cell : cells) {
    const Json planned = plan({"--model", cell.model, "--gpus", cell.gpus, "--gpu", "v100"});
    for (std::size_t stage = 0; stage < 4; ++stage) {
      INFO(cell.model << ", stage " << stage);
      const double exact = cell.gigabytes[stage] * 1e9;
      // The presets' own numbers of parameters are round to six digits.
      CHECK(static_cast<double>(model_states(planned["stages"][stage])) ==
            Approx(exact).epsilon(1e-4));
      CHECK(model_states(planned["stages"][stage]) ==
            planned["stages"][stage]["closed_form"]["model_states"]);
    }
    CHECK(planned["stages"][3]["sent_bytes_per_iteration"].get<double>() /
              planned["stages"][0]["sent_bytes_per_iteration"].get<double>() ==
          1.5);
  }
}

TEST_CASE("with fp32 gradients the stage programs hold the lecture's 20 bytes a parameter") {
  // LLaMA-3 8B on 4 GPUs: 160, 64, 52, 40 GB.
  const Json planned = plan({"--model", "llama3-8b", "--gpus", "4", "--optimizer-bytes", "16"});
  const double N = planned["model"]["num_parameters"].get<double>();
  CHECK(N == Approx(8e9).epsilon(0.02));
  const double lecture[] = {160, 64, 52, 40};
  for (std::size_t stage = 0; stage < 4; ++stage)
    CHECK(static_cast<double>(model_states(planned["stages"][stage])) / N ==
          Approx(lecture[stage] / 8).epsilon(1e-6));
}

TEST_CASE("a number of parameters gives the tables of the ZeRO paper") {
  const Words paper = {"--parameters",       "7.5B,128B,1T", "--gpus",
                       "1,4,16,64,256,1024", "--gpu",        "v100"};
  const Finished finished = run_plan(paper);
  CHECK(finished.status == 0);
  CHECK(longest_line(finished.out) <= 100);
  CHECK(cells(finished.out, "64 GPUs") ==
        Words{"120.00", "GB", "*", "31.41", "GB", "*", "16.64", "GB", "*", "1.88", "GB"});
  CHECK(cells(finished.out, "1,024 GPUs", 2) ==
        Words{"16,000.00", "GB", "4,011.72", "GB", "2,013.67", "GB", "*", "15.63", "GB"});
  CHECK(cells(finished.out, "64 GPUs", 3) == Words{"2.00B", "7.64B", "14.42B", "128.00B"});
  const Json json = plan(paper);
  CHECK(json["formulas_only"] == true);
  REQUIRE(json["model_states"].size() == 18);
  CHECK(json["model_states"][3] == Json{{"parameters", 7500000000},
                                        {"gpus", 64},
                                        {"ddp", 120000000000},
                                        {"zero1", 31406250000},
                                        {"zero2", 16640625000},
                                        {"zero3", 1875000000}});
}

TEST_CASE("M = 8 is a formula only: the programs keep an fp32 copy") {
  const Json json = plan(joined(kShape, {"--optimizer-bytes", "8", "--gpus", "1"}));
  CHECK(json["formulas_only"] == true);
  const std::int64_t N = json["model_states"][0]["parameters"];
  CHECK(json["model_states"][0]["ddp"] == 12 * N);
  // With fp32 parameters there is no copy, and it can be run.
  const Json fp32 =
      plan(joined(kShape, {"--dtype", "fp32", "--gpus", "1", "--gpu-memory", "9000KB"}));
  CHECK(fp32["formulas_only"] == false);
  CHECK(fp32["optimizer_bytes_per_parameter"] == 8);
  CHECK(model_states(fp32["stages"][0]) == 16 * N);
}

TEST_CASE("the sweep shows 1, 2, 4, ... GPUs and the cluster's own number") {
  const Words work = joined(kShape, {"--gpus", "5", "--sweep", "--gpu-memory", "567.84KB"});
  const Json planned = plan(work);
  REQUIRE(planned["sweep"].size() == 4);
  const int numbers[] = {1, 2, 4, 5};
  for (std::size_t i = 0; i < 4; ++i) {
    const Json& point = planned["sweep"][i];
    CHECK(point["gpus"] == numbers[i]);
    for (const Json& stage : planned["stages"]) {
      const std::string name = stage["stage"];
      const std::string ranks = std::to_string(numbers[i]);
      const Simulated simulated =
          simulate(name, joined(kShape, {"--ranks", ranks, "--batch", ranks, "--representative",
                                         "--gpu-memory", "567.84KB"}));
      CHECK(point[name].is_null() == (simulated.finished.status != 0));
      if (point[name].is_null()) continue;
      CHECK(point[name]["seconds_per_iteration"] ==
            simulated.result["simulated"]["seconds_per_iteration"]);
    }
  }
  CHECK(planned["sweep"][0]["ddp"].is_null());
  CHECK_FALSE(planned["sweep"][3]["zero3"].is_null());
}

TEST_CASE("every preset is planned, in lines of at most 100 characters") {
  const std::string model =
      GENERATE("gpt2", "gpt2-xl", "7.5b", "llama3-8b", "100b", "128b", "gpt3-175b", "1t");
  const Finished finished = run_plan({"--model", model, "--gpus", "12", "--sweep"});
  INFO(finished.describe());
  CHECK(finished.status == 0);
  CHECK(finished.err.empty());
  CHECK(longest_line(finished.out) <= 100);
  CHECK(finished.out.find("are exactly the formulas': yes") != std::string::npos);
}

TEST_CASE(
    "a larger unit than what sharding saves: ZeRO-2 needs more than ZeRO-1, and plan says so") {
  const Finished finished = run_plan(joined(kShape, {"--gpus", "1", "--gpu-memory", "9000KB"}));
  CHECK(finished.out.find("ZeRO-2 needs") != std::string::npos);
  CHECK(finished.out.find("more than ZeRO-1 here") != std::string::npos);
}

TEST_CASE("the picture and the Markdown say what the table says") {
  const TemporaryFolder folder;
  const Finished finished = run_plan({"--model", "7.5b", "--gpus", "64", "--gpu", "v100", "--svg",
                                      folder / "a.svg", "--markdown", folder / "a.md"});
  REQUIRE(finished.status == 0);
  const std::string svg = read_whole_file(folder / "a.svg");
  const std::string markdown = read_whole_file(folder / "a.md");
  const Words totals = cells(finished.out, "everything at its peak");
  REQUIRE(totals.size() == 8);
  for (std::size_t i = 0; i < totals.size(); i += 2) {
    const std::string total = totals[i] + " " + totals[i + 1];
    CHECK(svg.find(">" + total + "<") != std::string::npos);
    CHECK(markdown.find(" " + total + " |") != std::string::npos);
  }
  for (const char* words : {"V100: 32.00 GB", "ZeRO-3", "does not fit", "optimizer states"})
    CHECK(svg.find(words) != std::string::npos);
  CHECK(svg.ends_with("</svg>\n"));
}

TEST_CASE("a command line that cannot be used is one clear line, and exit status 2") {
  struct Bad {
    Words arguments;
    const char* says;
  };
  const Bad bad[] = {
      {{"--model", "gpt5"}, "--model gpt5: choose one of gpt2"},
      {{"--heads", "7", "--channels", "128"}, "--channels 128: 7 heads do not divide it"},
      {{"--gpus", "0"}, "--gpus 0: write a whole number"},
      {{"--gpus", "-8"}, "--gpus -8: write a whole number"},
      {{"--gpus", "8x"}, "--gpus 8x: write a whole number"},
      {{"--gpus", "4,8"}, "--gpus: several numbers go with --parameters"},
      {{"--gpus", "20000"}, "--gpus 20000: must be at most"},
      {{"--gpu", "b100"}, "--gpu b100: choose one of v100"},
      {{"--gpu-memory", "80"}, "write 80GB (10^9 bytes) or 80GiB (2^30)"},
      {{"--gpu-memory", "80Gb"}, "\"80Gb\" is not a size"},
      {{"--gpus-per-node", "0"}, "--gpus-per-node 0"},
      {{"--link", "wire"}, "--link wire: choose one of"},
      {{"--batch", "0"}, "--batch 0: at least one"},
      {{"--batch", "100000000"}, "--batch 100000000: on 8 GPUs that is too much"},
      {{"--optimizer-bytes", "10"}, "choose 8 "},
      {{"--dtype", "fp32", "--optimizer-bytes", "12"}, "use 8"},
      {{"--dtype", "int8"}, "--dtype int8"},
      {{"--tokens", "0"}, "--tokens 0"},
      {{"--parameters", "many"}, "\"many\" is not a number of parameters"},
      {{"--parameters", "1B", "--model", "gpt2"}, "--parameters: goes without --model"},
      {{"--parameters", "1B", "--layers", "2"}, "leave --layers out"},
      {{"--sweep", "--optimizer-bytes", "8"}, "--sweep: needs runs"},
      {{"--stages", "zero4"}, "--stages zero4: choose from"},
      {{"--stages", "ddp,ddp"}, "named twice"},
      {{"--programs", "/nowhere"}, "no program \"ddp\" in /nowhere"},
      {{"--json", "/nowhere/x"}, "cannot be written there"},
      {{"--svg", "/"}, "is a folder"},
      {{"--svg", "x", "--markdown", "x"}, "--markdown and --svg: both write x"},
      {{"--width", "10"}, "must be at least 40"},
      {{"--frobnicate"}, "--frobnicate"},
      {{"word"}, "word"}};
  for (const Bad& line : bad) {
    const Finished finished = run_plan(line.arguments);
    INFO(finished.describe());
    CHECK(finished.status == 2);
    CHECK(finished.out.empty());
    REQUIRE(finished.errors().size() == 1);
    CHECK(finished.err.starts_with("plan: "));
    CHECK(finished.err.find(line.says) != std::string::npos);
  }
}

TEST_CASE("plan --help teaches by examples, in lines of at most 100 characters") {
  const Finished finished = run_plan({"--help"});
  CHECK(finished.status == 0);
  CHECK(longest_line(finished.out) <= 100);
  CHECK(finished.out.find("plan --model llama3-8b --gpus 8 --gpu h100") != std::string::npos);
}

}  // namespace zero
