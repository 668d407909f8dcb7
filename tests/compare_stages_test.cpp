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
