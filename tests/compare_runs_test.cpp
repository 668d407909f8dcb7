// How compare runs the stages, and what it does when one fails, on pretended stages.
#include "pretended_stages.h"

TEST_CASE("a stage that fails is named, with its message and the command to see it alone") {
  const Pretended programs;
  programs.script("zero2", "echo 'rank 1, step 3: expected 334, got 333' >&2; exit 1\n");
  const fs::path json = programs.folder / "result.json";
  const Outcome outcome = programs.run({"--ranks", "3", "--data", "a b.txt", "--json", json});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 1);
  CHECK(
      contains(outcome.err, "zero2 failed (exit status 1):\n  rank 1, step 3: expected 334, got"));
  CHECK(contains(outcome.err, "to see it alone: "));
  CHECK(contains(outcome.err, "/zero2 --ranks 3 --data 'a b.txt'\n"));
  CHECK(contains(outcome.out, "same bits: incomplete (ZeRO-2 failed)\n"));
  CHECK_FALSE(contains(outcome.out, "same bits: yes"));
  CHECK(cells(outcome.out, "gradients") == Words{"2,004", "2,004", "668"});
  const Json written = Json::parse(read_file(json));
  CHECK(written["same_bits"].is_null());
  CHECK(written["stages"][2]["status"] == 1);
}

TEST_CASE("a stage that is killed, or writes nothing, or not the expected result, has failed") {
  const Pretended programs;
  const auto [script, message] = GENERATE(table<std::string, std::string>(
      {{"kill -9 $$\n", "killed by signal 9"},
       {"exit 0\n", "wrote no result"},
       {"while [ $1 != --json ]; do shift; done; echo '{' > $2\n", "wrote no proper JSON"},
       {"while [ $1 != --json ]; do shift; done; echo {} > $2\n", "is not as expected"}}));
  programs.script("zero3", script);
  const Outcome outcome = programs.run({});
  INFO(script << outcome.err);
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.err, message));
  CHECK(contains(outcome.out, "same bits: incomplete (ZeRO-3 failed)\n"));
}

TEST_CASE("a command line that no stage can use gives one line and status 2, nothing written") {
  const Pretended programs;
  for (const std::string& stage : kStages)
    programs.script(stage, "echo \"$name: --batch 7: use --batch 6\" >&2; exit 2\n");
  const fs::path json = programs.folder / "result.json";
  const Outcome outcome = programs.run({"--batch", "7", "--json", json, "--quiet"});
  CHECK(outcome.status == 2);
  CHECK(outcome.out.empty());
  CHECK(outcome.err == "ddp: --batch 7: use --batch 6\n");
  CHECK_FALSE(fs::exists(json));
}

TEST_CASE("stages that are all too large for the device are named, each with its command") {
  const Pretended programs;
  for (const std::string& stage : kStages) {
    programs.script(stage, "echo \"rank 2, step 1: out of memory in $name\" >&2; exit 2\n");
  }
  const Outcome outcome = programs.run({"--ranks", "3", "--quiet"});
  INFO(outcome.err);
  CHECK(outcome.status == 2);
  CHECK(outcome.out.empty());
  for (const std::string& stage : kStages) {
    CHECK(contains(outcome.err, fmt::format("{0} failed (exit status 2):\n  rank 2, step 1: out of "
                                            "memory in {0}\nto see it alone: ",
                                            stage)));
    CHECK(contains(outcome.err, fmt::format("/{} --ranks 3 --quiet\n", stage)));
  }
}

TEST_CASE("a command line that compare cannot use gives one line and status 2, and runs nothing") {
  const Pretended programs;
  const auto [arguments, message] = GENERATE(table<Words, std::string>(
      {{{"--stages", "ddp,zero9"}, "no program \"zero9\""},
       {{"--stages", "ddp,ddp"}, "ddp is named twice"},
       {{"--trace", "somewhere"}, "use --traces DIR"},
       {{"--save=model.safetensors"}, "--save: every stage would write to the same place"},
       {{"--dump-state", "somewhere"}, "--dump-state: every stage"},
       {{"--json", "/nowhere/at/all.json"}, "--json /nowhere/at/all.json: cannot be written"},
       {{"--json", "/"}, "is a folder; name a file"},
       {{"--traces", "/proc/self/status"}, "is a file; name a folder"},
       {{"--width", "10"}, "must be at least 40"},
       {{"--launcher", "mpirun -x 'a"}, "a quote is not closed"}}));
  const Outcome outcome = programs.run(arguments);
  INFO(outcome.err);
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.err, message));
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  CHECK(programs.arguments("ddp").empty());
}

TEST_CASE("a signal ends the stage that runs, and everything that it has started") {
  const Pretended programs;
  programs.script("zero1", "sleep 100 &\necho $! > \"$here/sleeper\"\nwait\n");
  const auto started = std::chrono::steady_clock::now();
  const fs::path sleeper = programs.folder / "sleeper";
  const auto patiently = [](const auto& condition) {
    for (int i = 0; i < 1000 && !condition(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return condition();
  };
  const int which = GENERATE(SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE);
  const Outcome outcome = programs.run({}, [&](pid_t compare) {
    patiently([&] { return !read_file(sleeper).empty(); });
    CHECK_FALSE(fs::is_empty(programs.folder / "temporary"));  // so that its removal is seen
    kill(compare, which);
  });
  CHECK(outcome.status == 128 + which);
  CHECK(contains(outcome.err, "compare: interrupted\n") == (which != SIGPIPE));
  CHECK(programs.arguments("zero2").empty());
  const pid_t left = std::stoi(read_file(sleeper));
  // Gone, or only waiting for init to note it.
  CHECK(patiently([&] {
    return kill(left, 0) != 0 || contains(read_file(fmt::format("/proc/{}/stat", left)), ") Z ");
  }));
  CHECK(std::chrono::steady_clock::now() - started < std::chrono::seconds(60));
}

TEST_CASE("when nobody reads on, compare ends as other programs do, and runs no further stage") {
  const Pretended programs;
  programs.script("zero1", "while [ ! -f \"$here/gone\" ]; do sleep 0.01; done\nexit 1\n");
  const Outcome outcome = programs.run_in_shell(
      "{ \"$@\" 2>&1; echo $? > status; } | { head -n 1; exec <&-; : > gone; }");
  CHECK(contains(outcome.out, "ddp: done in "));
  CHECK(read_file(programs.folder / "status") == fmt::format("{}\n", 128 + SIGPIPE));
  CHECK_FALSE(programs.arguments("zero1").empty());
  CHECK(programs.arguments("zero2").empty());
}

TEST_CASE("where nothing can be written to standard error, the comparison is as good") {
  const Pretended programs;
  const bool fails = GENERATE(false, true);
  if (fails) programs.script("zero2", "echo 'something went wrong' >&2; exit 1\n");
  const Outcome usual = programs.run_in_shell("\"$@\"");
  const std::string line = GENERATE("\"$@\" 2>&-", "\"$@\" 2>/dev/full", "\"$@\" <&- 2>&-");
  const fs::path json = programs.folder / "result.json";
  const Outcome outcome = programs.run_in_shell(line, {"--json", json});
  INFO(line);
  CHECK(outcome.status == (fails ? 1 : 0));
  CHECK(outcome.out == usual.out);
  CHECK(Json::parse(read_file(json))["stages"][2]["errors"] ==
        (fails ? "something went wrong\n" : ""));
  CHECK(programs.run_in_shell(line, {"--width", "1"}).status == 2);
}

TEST_CASE("output that could not be written is one line and not success") {
  const Pretended programs;
  const std::string line = GENERATE("\"$@\" >/dev/full", "\"$@\" >&-", "\"$@\" <&- >&-");
  const Words arguments = GENERATE(Words{"--quiet"}, Words{"--batch-sweep", "--quiet"},
                                   Words{"--collectives-agree", "--quiet"}, Words{"--help"});
  const Outcome outcome = programs.run_in_shell(line, arguments);
  INFO(line << ' ' << arguments.front());
  CHECK(outcome.status == 1);
  CHECK(outcome.err == "compare: cannot write to standard output\n");
  CHECK(programs.run_in_shell(line + " 2>/dev/full", arguments).status == 1);
}

TEST_CASE("other options go to every stage, and each stage gets its own folder for the trace") {
  const Pretended programs;
  const Outcome outcome =
      programs.run({"--stages", "zero3,ddp", "--ranks", "3", "--traces", "new", "--fp32-grads"});
  CHECK(outcome.status == 0);
  CHECK(programs.arguments("zero3").starts_with("--ranks 3 --fp32-grads --trace new/zero3 --json"));
  CHECK(programs.arguments("ddp").starts_with("--ranks 3 --fp32-grads --trace new/ddp --json"));
  CHECK(programs.arguments("zero1").empty());
  CHECK(contains(outcome.out, "relative to ZeRO-3"));
}

TEST_CASE("the launcher stands before each program") {
  const Pretended programs;
  programs.script("start", "shift 2\nexec \"$@\"\n");
  const std::string start = (programs.folder / "start").string();
  const Outcome outcome = programs.run({"--launcher", start + " -n '3'"});
  CHECK(outcome.status == 0);
  CHECK(programs.arguments("start").starts_with("-n 3 "));
  CHECK(contains(programs.arguments("start"), "/zero2 --json"));
  CHECK_FALSE(programs.arguments("zero2").empty());
  const Outcome missing = programs.run({"--launcher", "no-such-launcher -n 3"});
  CHECK(missing.status == 1);
  CHECK(contains(missing.err, "no-such-launcher: No such file or directory"));
}

TEST_CASE("the batch sweep shows that model states stay, and fails when they do not") {
  const Pretended programs;
  for (const int n : {1, 2, 4, 8}) {
    Json result = good_result("zero1");
    for (Json& rank : result["ranks"]) {
      rank["memory"]["activations"]["peak"] = 1000 * n;
      rank["peak_total"] = 8016 + 1000 * n;
    }
    write_file(programs.folder / fmt::format("zero1.result.{}", 3 * n), result.dump());
  }
  const Words arguments = {"--batch-sweep", "--stages", "zero1", "--ranks", "3", "--batch=999"};
  const Outcome outcome = programs.run(arguments);
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK(cells(outcome.out, "model states") == Words(4, "8,016"));
  CHECK(cells(outcome.out, "activations, peak") == Words{"1,000", "2,000", "4,000", "8,000"});
  CHECK(cells(outcome.out, "everything, peak") == Words{"9,016", "10,016", "12,016", "16,016"});
  CHECK(contains(outcome.out, "model states stay as the batch grows: yes\n"));
  Json moved = good_result("zero1");
  moved["ranks"][2]["memory"]["gradients"]["live"] = 2006;
  write_file(programs.folder / "zero1.result.24", moved.dump());
  const Outcome other = programs.run(arguments);
  CHECK(other.status == 1);
  CHECK(contains(other.out, "model states stay as the batch grows: no (ZeRO-1)\n"));
}

TEST_CASE("which collectives agree is found by running them, for 2, 3 and 4 ranks") {
  const Pretended programs;
  programs.script("start", "PROCESSES=$2; export PROCESSES\nshift 2\nexec \"$@\"\n");
  Json other = good_result("ddp");
  other["iterations"][1]["loss"] = 4.0;
  write_file(programs.folder / "ddp.result.direct.3", other.dump());
  write_file(programs.folder / "ddp.result.library.4", other.dump());
  const fs::path json = programs.folder / "result.json";
  const std::string start = (programs.folder / "start").string();
  const Outcome outcome =
      programs.run({"--collectives-agree", "--json", json, "--launcher", start + " -n 9"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  const Json found = Json::parse(read_file(json))["collectives_agree"];
  const auto row = [&](int i) {
    return std::vector<bool>{found[i]["ring_direct"], found[i]["ring_library"],
                             found[i]["direct_library"]};
  };
  CHECK(row(0) == std::vector<bool>{true, true, true});
  CHECK(row(1) == std::vector<bool>{false, true, false});
  CHECK(row(2) == std::vector<bool>{true, false, false});
  CHECK(contains(outcome.out, " from iteration 2 (same loss)"));
  CHECK(contains(outcome.out, "a + b = b + a (in fp16 library may still differ: "));
}

TEST_CASE("how far the losses are apart is said, and of fp16 only what concerns it") {
  const Pretended programs;
  for (const std::string collectives : {"ring", "direct", "library"}) {
    Json result = good_result("ddp");
    result["dtype"] = "bf16";
    for (Json& iteration : result["iterations"]) iteration["loss"] = 4.0;
    if (collectives == "library") result["iterations"][2]["loss"] = 6.0;
    for (const int K : {2, 3, 4})
      write_file(programs.folder / fmt::format("ddp.result.{}.{}", collectives, K), result.dump());
  }
  programs.script("start", "PROCESSES=$2; export PROCESSES\nshift 2\nexec \"$@\"\n");
  const std::string start = (programs.folder / "start").string();
  const Outcome outcome = programs.run({"--collectives-agree", "--launcher", start + " -n 2"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, " from iteration 3 (+5e-01)"));
  CHECK_FALSE(contains(outcome.out, "same loss"));
  CHECK_FALSE(contains(outcome.out, "fp16"));
}

TEST_CASE("under mpirun compare says how to do it instead, and runs nothing") {
  const Pretended programs;
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  const Outcome outcome = programs.run({});
  unsetenv("OMPI_COMM_WORLD_SIZE");
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.err, "use compare --launcher \"mpirun -n 4\"\n"));
  CHECK(programs.arguments("ddp").empty());
}
