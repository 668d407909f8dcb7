// compare's table, what it says and its verdicts, on pretended stages.
#include <cmath>

#include "pretended_stages.h"

TEST_CASE("the table sets what was measured beside the closed form, stage by stage") {
  const Pretended programs;
  const Outcome outcome = programs.run({});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK(cells(outcome.out, "parameters") == Words{"2,004", "2,004", "2,004", "668"});
  CHECK(cells(outcome.out, "gradients") == Words{"2,004", "2,004", "668", "668"});
  CHECK(cells(outcome.out, "optimizer states") == Words{"12,024", "4,008", "4,008", "4,008"});
  CHECK(cells(outcome.out, "model states (sum)") == Words{"16,032", "8,016", "6,680", "5,344"});
  CHECK(cells(outcome.out, "  closed form", 3) == Words{"16,032", "8,016", "6,680", "5,344"});
  CHECK(cells(outcome.out, "  difference", 3) == Words{"0", "B", "0", "B", "0", "B", "0", "B"});
  CHECK(cells(outcome.out, "temporary") == Words{"0", "0", "1,200", "2,400"});
  CHECK(cells(outcome.out, "everything at its peak") ==
        Words{"21,402", "13,386", "13,250", "13,114"});
  CHECK(cells(outcome.out, "bytes per rank", 1) == Words{"2,672", "2,672", "2,672", "4,008"});
  CHECK(cells(outcome.out, "  relative to DDP") ==
        Words{"1.00", "x", "1.00", "x", "1.00", "x", "1.50", "x"});
  CHECK(cells(outcome.out, "  relative to DDP", 1) ==
        Words{"1.00", "x", "1.50", "x", "1.50", "x", "1.50", "x"});
  // Twelve digits, so that four columns fit beside each other; all of its bits are in --json.
  const std::string loss = fmt::format("{:.12g}", 4.1234567890123456 - 0.1 * 2);
  CHECK(cells(outcome.out, "final loss") == Words(4, loss));
  CHECK(cells(outcome.out, "fingerprint") == Words(4, "00000000000000a2"));
  CHECK(contains(outcome.out, "\nmeasured = formula: yes\nsame bits: yes\n"));
  CHECK(longest_line(outcome.out) <= 100);
}

TEST_CASE("four columns stand beside each other in 100 characters, whatever the loss is") {
  // From the smallest fp32 number to the largest: a loss is a mean of such, and not negative.
  const double loss = GENERATE(4.1234567890123456, 1.0 / 3, 1e-5 / 3, 1234567.8901234567, 0.0,
                               1.401298464324817e-45, 3.4028234663852886e38, std::nan(""));
  const Pretended programs;
  for (const std::string& stage : kStages) {
    Json result = good_result(stage);
    result["iterations"][2]["loss"] = std::isnan(loss) ? Json() : Json(loss);
    programs.result(stage, result);
  }
  const Outcome outcome = programs.run({"--width", "100"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK(longest_line(outcome.out) <= 100);
  const Words shown = cells(outcome.out, "final loss");
  CHECK(shown.size() == (std::isnan(loss) ? 8 : 4));  // "not finite" is two words
  if (!std::isnan(loss)) {
    for (const std::string& text : shown)
      CHECK(std::stod(text) == Approx(loss).epsilon(1e-11).margin(0));
  }
}

TEST_CASE("a byte more or less on one rank only is told, and is a failure") {
  const Pretended programs;
  Json result = good_result("zero2");
  const int bytes = GENERATE(2, -2);
  SECTION("live") {
    auto& live = result["ranks"][1]["memory"]["gradients"]["live"];
    live = live.get<int>() + bytes;
    programs.result("zero2", result);
    const Outcome outcome = programs.run({});
    INFO(outcome.out);
    CHECK(outcome.status == 1);
    CHECK(contains(outcome.out, "measured = formula: no\n"));
    CHECK(contains(outcome.out, fmt::format("ZeRO-2, rank 1: gradients measured {} B, formula 668",
                                            668 + bytes)));
    CHECK(cells(outcome.out, "  difference", 1) ==
          Words{"0", "B", "0", "B", bytes > 0 ? "+2" : "-2", "B", "0", "B"});
    CHECK(contains(outcome.out, "same bits: yes\n"));
  }
  SECTION("at the peak") {
    auto& peak = result["ranks"][2]["memory"]["parameters"]["peak"];
    peak = peak.get<int>() + bytes;
    programs.result("zero2", result);
    const Outcome outcome = programs.run({});
    CHECK(outcome.status == 1);
    CHECK(contains(outcome.out, "ZeRO-2, rank 2: peak of parameters measured"));
  }
  SECTION("sent") {
    auto& sent = result["ranks"][0]["sent_bytes_per_iteration"];
    sent = sent.get<int>() + bytes;
    programs.result("zero2", result);
    const Outcome outcome = programs.run({});
    CHECK(outcome.status == 1);
    CHECK(contains(outcome.out, "ZeRO-2, rank 0: bytes sent per iteration measured"));
  }
}

TEST_CASE("a stage is not measured with its own ruler: its wrong formula is told") {
  const Pretended programs;
  Json result = good_result("zero1");
  for (Json& rank : result["ranks"]) rank["memory"]["optimizer_states"] = use(12024);
  result["closed_form"]["optimizer_states"] = 12024;
  result["closed_form"]["model_states"] = 16032;
  programs.result("zero1", result);
  const Outcome outcome = programs.run({});
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "rank 2: optimizer states measured 12,024 B, formula 4,008 B"));
  CHECK(contains(outcome.out, "ZeRO-1: its own closed_form is not the formula"));
}

TEST_CASE("bytes of a library's collectives are not measured, and that is no difference") {
  const Pretended programs;
  for (const std::string& stage : kStages) {
    Json result = good_result(stage);
    for (Json& rank : result["ranks"]) rank["sent_bytes_per_iteration"] = nullptr;
    programs.result(stage, result);
  }
  const Outcome outcome = programs.run({});
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, "not measured"));
}

TEST_CASE("each value of an iteration counts: a last bit that differs is not the same bits") {
  const Pretended programs;
  Json result = good_result("zero3");
  Json& iteration = result["iterations"][1];
  const std::string what =
      GENERATE("loss", "gradient_norm", "loss_scale", "skipped", "not finite", "minus zero");
  if (what == "loss" || what == "gradient_norm") {
    iteration[what] = std::nextafter(iteration[what].get<double>(), 100.0);
  } else if (what == "loss_scale") {
    iteration[what] = 32768.0;
  } else if (what == "skipped") {
    iteration[what] = true;
  } else if (what == "not finite") {
    iteration["gradient_norm"] = nullptr;
  } else {
    Json ddp = good_result("ddp");
    for (const std::string stage : {"ddp", "zero1", "zero2"}) {
      Json other = good_result(stage);
      other["iterations"][1]["loss"] = 0.0;
      programs.result(stage, other);
    }
    iteration["loss"] = -0.0;
  }
  programs.result("zero3", result);
  const Outcome outcome = programs.run({});
  INFO(what << '\n' << outcome.out);
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "\nsame bits: no\n"));
  CHECK(contains(outcome.out, "first in iteration 2"));
  CHECK(contains(outcome.out, "both hold the same parameters and optimizer states"));
}

namespace {

// A dumped state of 1,000 parameters on 3 ranks: each array is base + position, save `changed`.
struct Change {
  std::string state;
  std::int64_t position = 0;
  float value = 0;
};

void write_dump(const fs::path& folder, bool whole, const std::vector<Change>& changes) {
  fs::create_directories(folder);
  Json index = {{"world_size", 3}, {"num_parameters", 1000}, {"dtype", "fp32"}, {"iteration", 2}};
  index["tensors"] = {{{"name", "wte"}, {"begin", 0}, {"end", 600}, {"shape", {30, 20}}},
                      {{"name", "h.0.bias"}, {"begin", 600}, {"end", 1000}, {"shape", {400}}}};
  for (int rank = 0; rank < 3; ++rank) {
    Json arrays = Json::array();
    for (const std::string state : {"parameters", "master", "exp_avg", "exp_avg_sq"}) {
      const int begin = whole ? 0 : rank * 334;
      const int end = whole ? 1002 : begin + 334;
      std::vector<float> values;
      for (int position = begin; position < end; ++position) {
        float value = position < 1000 ? 1.0f + static_cast<float>(position) : 0.0f;
        for (const Change& change : changes) {
          if (change.state == state && change.position == position) value = change.value;
        }
        values.push_back(value);
      }
      const std::string file = fmt::format("{}.{}.bin", state, rank);
      write_file(folder / file, {reinterpret_cast<const char*>(values.data()), 4 * values.size()});
      arrays.push_back(
          {{"state", state}, {"file", file}, {"dtype", "fp32"}, {"begin", begin}, {"end", end}});
    }
    index["ranks"].push_back({{"rank", rank}, {"arrays", arrays}});
  }
  write_file(folder / "index.json", index.dump());
}

}  // namespace

TEST_CASE("where the bits differ, the first iteration, tensor, element and both values are told") {
  const Pretended programs;
  Json result = good_result("zero1");
  result["iterations"][1]["fingerprint"] = "00000000000000ff";
  result["iterations"][2]["fingerprint"] = "00000000000000fe";
  programs.result("zero1", result);
  write_dump(programs.folder / "ddp.dump", true, {});
  SECTION("in two states, in a shard that is not rank 0's") {
    write_dump(programs.folder / "zero1.dump", false,
               {{"master", 437, 438.5f}, {"master", 999, -1}, {"parameters", 700, 0.25f}});
    const Outcome outcome = programs.run({"--iterations", "3", "--seed=5"});
    INFO(outcome.out << outcome.err);
    CHECK(outcome.status == 1);
    CHECK(contains(outcome.out,
                   "same bits: no\n  first in iteration 2: fingerprint\n"
                   "    DDP     00000000000000a1\n    ZeRO-1  00000000000000ff\n"));
    CHECK(contains(outcome.out,
                   "master: 2 elements differ, the first is wte[21, 17] (position 437)\n"
                   "    DDP     438 (bits 0x43db0000), on rank 0\n"
                   "    ZeRO-1  438.5 (bits 0x43db4000), on rank 1\n"));
    CHECK(contains(outcome.out, "parameters: 1 element differs, the first is h.0.bias[100]"));
    CHECK_FALSE(contains(outcome.out, "exp_avg"));
    // It was run again up to iteration 2 only, with everything else as before.
    CHECK(contains(programs.arguments("zero1"), "\n--seed=5 --iterations 2 --dump-state "));
    CHECK(contains(programs.arguments("ddp"), "\n--seed=5 --iterations 2 --dump-state "));
    CHECK_FALSE(contains(programs.arguments("zero2"), "--dump-state"));
  }
  SECTION("in a replica only") {
    write_dump(programs.folder / "zero1.dump", true, {});
    const fs::path replica = programs.folder / "zero1.dump" / "exp_avg.2.bin";
    std::string bytes = read_file(replica);
    bytes[4 * 7] ^= 1;
    write_file(replica, bytes);
    const Outcome outcome = programs.run({});
    CHECK(contains(outcome.out, "exp_avg: 1 element differs, the first is wte[0, 7]"));
    CHECK(contains(outcome.out, "on rank 2\n"));
  }
  SECTION("not again when it is run once more") {
    write_dump(programs.folder / "zero1.dump", false, {});
    const Outcome outcome = programs.run({});
    CHECK(outcome.status == 1);
    CHECK(contains(outcome.out, "both hold the same state"));
  }
  SECTION("and the dump is broken") {
    write_dump(programs.folder / "zero1.dump", false, {});
    fs::resize_file(programs.folder / "zero1.dump" / "master.1.bin", 100);
    const Outcome outcome = programs.run({});
    CHECK(outcome.status == 1);
    CHECK(contains(outcome.out, "master.1.bin is missing or short"));
  }
}

TEST_CASE("the earliest difference of all stages is the one that is told") {
  const Pretended programs;
  Json one = good_result("zero1"), three = good_result("zero3");
  one["iterations"][2]["loss"] = 1.0;
  three["iterations"][0]["loss"] = 2.0;
  programs.result("zero1", one);
  programs.result("zero3", three);
  const Outcome outcome = programs.run({});
  CHECK(contains(outcome.out, "first in iteration 1: loss\n"));
  CHECK(contains(outcome.out, "    ZeRO-3  2\n"));
}

TEST_CASE("stages that have not done the same work are not compared") {
  const Pretended programs;
  Json result = good_result("zero2");
  result["iterations"].erase(2);
  programs.result("zero2", result);
  const Outcome outcome = programs.run({});
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "same bits: no\n  they have not done the same work:\n"));
  CHECK(contains(outcome.out, "2 iterations\n"));
}

TEST_CASE("on a narrow screen the columns follow below each other, and none is lost") {
  const Pretended programs;
  const Outcome outcome = programs.run({"--width", "50"});
  INFO(outcome.out);
  CHECK(outcome.status == 0);
  CHECK(longest_line(outcome.out) <= 50);
  CHECK(cells(outcome.out, "gradients") == Words{"2,004"});
  CHECK(cells(outcome.out, "gradients", 3) == Words{"668"});
}

TEST_CASE("a run in which no iteration was accepted says so loudly") {
  const Pretended programs;
  const int accepted = GENERATE(0, 1);
  for (const std::string& stage : kStages) {
    Json result = good_result(stage);
    for (int i = 0; i < 3 - accepted; ++i) {
      result["iterations"][i]["skipped"] = true;
      result["iterations"][i]["gradient_norm"] = nullptr;
    }
    programs.result(stage, result);
  }
  const Outcome outcome = programs.run({});
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, "NO ITERATION WAS ACCEPTED") == (accepted == 0));
  CHECK(contains(outcome.out, "2 of 3 iterations were skipped") == (accepted == 1));
}

TEST_CASE("a stage that needs more than DDP at its peak is not hidden") {
  const Pretended programs;
  Json result = good_result("zero2");
  for (Json& rank : result["ranks"]) rank["peak_total"] = 22402;
  programs.result("zero2", result);
  const Outcome outcome = programs.run({});
  INFO(outcome.out);
  CHECK(contains(outcome.out, "ZeRO-2 needs 1,000 B more than DDP"));
}

TEST_CASE("the result for programs holds every stage's own result and both verdicts") {
  const Pretended programs;
  const fs::path json = programs.folder / "result.json";
  CHECK(programs.run({"--json", json}).status == 0);
  const Json written = Json::parse(read_file(json));
  CHECK(written["same_bits"] == true);
  CHECK(written["measured_equals_formula"] == true);
  REQUIRE(written["stages"].size() == 4);
  CHECK(written["stages"][3]["result"] == good_result("zero3"));
}

TEST_CASE("traffic that was not measured is not said to equal its formula") {
  const Pretended programs;
  for (const std::string& stage : kStages) {
    Json result = good_result(stage);
    result["iterations"][0]["skipped"] = true;
    for (Json& rank : result["ranks"]) rank["sent_bytes_per_iteration"] = nullptr;
    programs.result(stage, result);
  }
  const Outcome outcome = programs.run({"--width", "200"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, "measured = formula: yes (memory; traffic was not measured)\n"));
  CHECK(contains(outcome.out, "1 of 3 iterations was skipped"));
  CHECK_FALSE(contains(outcome.out, "same bytes"));
}

TEST_CASE("scratch that is larger than the model states is named as such") {
  const Pretended programs;
  const bool large = GENERATE(false, true);
  for (const std::string& stage : kStages) {
    Json result = good_result(stage);
    // With the 70 bytes of workspace: as many as ZeRO-2's model states, or one more.
    for (Json& rank : result["ranks"]) {
      const int states = stage == "zero3" ? 5344 : 6680;
      rank["memory"]["communication"]["peak"] = states - 70 + (large && stage == "zero2" ? 1 : 0);
      if (stage == "zero2") rank["peak_total"] = 20000;
    }
    programs.result(stage, result);
  }
  const Outcome outcome = programs.run({"--width", "200"});
  INFO(outcome.out);
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, "Of ZeRO-2's 20,000 B at the peak 6,681 B are scratch") == large);
  CHECK(contains(outcome.out, "scratch (comm") == large);
}
