// compare on the real stage programs: a small model of odd sizes on 3 ranks.
#include "pretended_stages.h"

namespace {

const Words kWork = {
    "--ranks",      "3", "--layers",  "1",    "--channels", "20",
    "--heads",      "4", "--context", "7",    "--batch",    "6",
    "--iterations", "3", "--dtype",   "fp32", "--programs", built_programs().string()};

}  // namespace

TEST_CASE("the four stages compute the same bits, and every byte is as the formula says") {
  const Pretended folder;  // for the output only
  const fs::path json = folder.folder / "result.json";
  Words arguments = kWork;
  arguments.insert(arguments.end(), {"--json", json});
  const Outcome outcome = folder.run_real(arguments);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, "\nmeasured = formula: yes\nsame bits: yes\n"));
  CHECK(longest_line(outcome.out) <= 100);
  const Json written = Json::parse(read_file(json));
  REQUIRE(written["stages"].size() == 4);
  for (const Json& stage : written["stages"]) CHECK(stage["result"]["world_size"] == 3);
}

TEST_CASE("a real stage that does something else is found out, down to the element") {
  const Pretended folder;
  // The gradients of one rank overflow in ZeRO-2's second iteration only.
  folder.script("start",
                "case $1 in *zero2) exec \"$@\" --overflow-at 1:1 ;; *) exec \"$@\" ;; esac\n");
  Words arguments = kWork;
  arguments.insert(arguments.end(), {"--launcher", (folder.folder / "start").string()});
  const Outcome outcome = folder.run_real(arguments);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 1);
  CHECK(
      contains(outcome.out, "\nmeasured = formula: yes\nsame bits: no\n  first in iteration 2: "));
  // The first element of all, the first token's embedding, has moved in DDP and not in ZeRO-2.
  CHECK(contains(outcome.out, "the first is wte.weight[0, 0]"));
  CHECK(contains(outcome.out, "    ZeRO-2  "));
}

TEST_CASE("simulated stages are compared by bytes and time, and those that do not fit are named") {
  const Pretended folder;
  Words arguments = {"--device",
                     "simulated",
                     "--gpu",
                     "v100",
                     "--model",
                     "7.5b",
                     "--ranks",
                     "64",
                     "--representative",
                     "--programs",
                     built_programs().string()};
  const Outcome on_v100 = folder.run_real(arguments);
  INFO(on_v100.out << on_v100.err);
  CHECK(on_v100.status == 1);  // DDP and ZeRO-1 need 120 GB and 31.4 GB, and it has 32
  CHECK(contains(on_v100.err, "ddp failed (exit status 2)"));
  CHECK(contains(on_v100.err, "zero1 failed (exit status 2)"));
  CHECK(contains(on_v100.err, "the first that may fit: stage 2"));
  CHECK(contains(on_v100.out, "ZeRO-2 and ZeRO-3 on the same work: 7,500,005,376 parameters"));

  arguments.insert(arguments.end(), {"--gpu-memory", "200GB"});
  const Outcome on_more = folder.run_real(arguments);
  INFO(on_more.out << on_more.err);
  CHECK(on_more.status == 0);
  // Figure 1 of the ZeRO paper: 120, 31.4, 16.6 and 1.9 GB.
  CHECK(contains(on_more.out,
                 "model states (sum)      120,000,086,016   31,406,272,512   "
                 "16,640,636,928    1,875,001,344"));
  CHECK(contains(on_more.out, "\nsimulated = formula: yes\nsame bits: a simulation has none\n"));
  CHECK_FALSE(contains(on_more.out, "final loss"));
  CHECK_FALSE(contains(on_more.out, "fingerprint"));
  CHECK(longest_line(on_more.out) <= 100);
}
