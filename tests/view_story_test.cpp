// The story: what each step does in words, how quickly it passes, and where keys lead to.
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "catch.h"
#include "tests/replay_runs.h"
#include "tests/support/stage.h"
#include "visualizer/view/session.h"
#include "visualizer/view/story_blocks.h"
#include "visualizer/view/story_text.h"
#include "visualizer/view/story_waiting.h"

namespace zero::view {
namespace {

using replay::Order;
using replay::Run;
using Runs = std::vector<std::shared_ptr<const Run>>;

std::shared_ptr<const Run> run_of(const std::string& stage, int ranks, const std::string& folder,
                                  const std::string& collectives = "ring") {
  Work work;
  work.ranks = ranks;
  work.batch = 2 * ranks;
  work.dtype = "fp32";  // no iteration is skipped
  work.collectives = collectives;
  work.iterations = 2;
  work.more = {"--trace", folder, "--trace-iterations", "0"};
  run_stage(stage, work);
  return Run::open(folder);
}

// A run of each stage.
struct Stages {
  explicit Stages(int ranks) {
    for (const std::string& stage : kStages) {
      runs.push_back(run_of(stage, ranks, folder.path() + "/" + stage));
    }
  }
  TemporaryFolder folder;
  Runs runs;
};

// The sentences of all steps with a number, in the last iteration.
std::vector<std::string> told(const Run& run, int number) {
  const std::vector<std::string> all = sentences_of(run);
  std::vector<std::string> found;
  for (std::size_t n = 0; n < all.size(); ++n) {
    const replay::Chapter& chapter = run.chapters()[n];
    if (chapter.iteration == 1 && chapter.number == number) found.push_back(all[n]);
  }
  return found;
}

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST_CASE("what a step does is told from its events, in all four stages") {
  const Stages stages(3);
  const std::map<std::pair<std::string, int>, std::vector<std::string>> expected = {
      {{"ddp", 1}, {"the whole model", "without a message", "it has all parameters itself"}},
      {{"ddp", 2}, {"back through the whole model"}},
      {{"ddp", 3}, {"Ring all-reduce:", "running sums", "after 2 hops", "every GPU"}},
      {{"ddp", 4}, {"all fp32 parameters itself", "the same result"}},
      {{"ddp", 6}, {"Nothing is sent: every GPU has all parameters already.", "the loss"}},
      {{"zero1", 1}, {"without a message"}},
      {{"zero1", 3},
       {"Ring reduce-scatter:", "right neighbour", "after 2 hops", "divides it by 3"}},
      {{"zero1", 4}, {"only its own shard, 1/3 of"}},
      {{"zero1", 6}, {"Ring all-gather:", "keeps a copy and passes it on", "has all parameters."}},
      {{"zero2", 2}, {"back through the unit", "in a temporary buffer"}},
      {{"zero2", 3},
       {"Ring reduce:", "the piece's owner", "every GPU frees the unit's own gradients"}},
      {{"zero2", 6}, {"Ring all-gather:"}},
      {{"zero3", 1}, {"Ring broadcast:", "the whole unit", "frees the gathered copy at once"}},
      {{"zero3", 2}, {"Ring broadcast:", "parameters again", "frees the gathered copy at once"}},
      {{"zero3", 3}, {"Ring reduce:", "divides by 3", "frees the unit's own gradients"}},
      {{"zero3", 6}, {"Nothing is sent: each GPU keeps only its own shard of the parameters."}},
  };
  for (std::size_t s = 0; s < kStages.size(); ++s) {
    for (int number = 1; number <= 6; ++number) {
      const auto found = expected.find({kStages[s], number});
      if (found == expected.end()) continue;
      const std::vector<std::string> sentences = told(*stages.runs[s], number);
      REQUIRE_FALSE(sentences.empty());
      for (const std::string& sentence : sentences) {
        for (const std::string& words : found->second) {
          INFO(kStages[s] << ", step " << number << ": " << sentence << "\nis without: " << words);
          CHECK(has(sentence, words));
        }
      }
    }
  }
  // What is whole and what is shared out, from the start on.
  CHECK(sentences_of(*stages.runs[0]).front() ==
        "Each GPU allocates its model states and sets the initial values: all parameters, "
        "gradients and optimizer states.");
  CHECK(sentences_of(*stages.runs[1]).front() ==
        "Each GPU allocates its model states and sets the initial values: all parameters and "
        "gradients; its own shard, 1/3, of optimizer states.");
  CHECK(sentences_of(*stages.runs[3]).front() ==
        "Each GPU allocates its model states and sets the initial values: its own shard, 1/3, of "
        "parameters, gradients and optimizer states.");
}

TEST_CASE("a step whose events tell nothing is not said to send nothing") {
  const TemporaryFolder folder;
  Work work;
  work.dtype = "fp32";
  work.iterations = 2;
  work.more = {"--trace", folder / "run",   "--trace-iterations", "0",
               "--save",  folder / "model", "--save-initial",     folder / "initial"};
  run_stage("ddp", work);
  const auto run = Run::open(folder / "run");
  const std::vector<std::string> sentences = sentences_of(*run);
  // What comes after an iteration's end is not its last step.
  const replay::Chapter& saving = run->chapters().back();
  REQUIRE(saving.number == 0);
  REQUIRE(saving.iteration >= 0);
  CHECK(sentences.back() == "");
  int ends = 0;
  for (std::size_t n = 0; n < sentences.size(); ++n) {
    const bool last_step = run->chapters()[n].number == 6;
    INFO(run->chapters()[n].caption << ": " << sentences[n]);
    CHECK(has(sentences[n], "Nothing is sent: every GPU has all parameters already.") == last_step);
    ends += last_step;
  }
  CHECK(ends == 2);
}

TEST_CASE("the sentences do not depend on what steps, buffers and programs are called") {
  const TemporaryFolder folder;
  const auto before = run_of("zero3", 3, folder.path());
  const std::vector<std::string> sentences = sentences_of(*before);
  change_lines(folder.path(), [](nlohmann::json& line) {
    if (line["e"] == "header") line["program"] = "something";
    if (line["e"] == "step") line["caption"] = "a step";
    if (line["e"] == "allocate") line["name"] = "a buffer";
  });
  const auto after = Run::open(folder.path());
  REQUIRE(after->chapters().back().caption == "a step");
  CHECK(sentences_of(*after) == sentences);
  // But on what is sent.
  change_lines(folder.path(), [](nlohmann::json& line) {
    const auto kind = line["e"];
    if (kind == "send" || kind == "receive" || kind == "move" || kind == "collective" ||
        kind == "collective_end") {
      line = nullptr;
    }
  });
  const auto silent = sentences_of(*Run::open(folder.path()));
  REQUIRE(silent.size() == sentences.size());
  for (std::size_t n = 0; n < silent.size(); ++n) {
    INFO(silent[n]);
    CHECK_FALSE(has(silent[n], "Ring"));
  }
}

TEST_CASE("another algorithm, and a single GPU, are told otherwise") {
  const TemporaryFolder folder;
  const auto direct = run_of("zero1", 3, folder.path() + "/direct", "direct");
  CHECK(told(*direct, 3) ==
        std::vector<std::string>{
            "Direct reduce-scatter: each GPU sends every shard of its gradients straight to the "
            "shard's owner, who adds them all up and divides by 3: the average."});
  const auto alone = run_of("zero1", 1, folder.path() + "/alone");
  REQUIRE(told(*alone, 3).size() == 1);
  CHECK(has(told(*alone, 3)[0],
            "with one GPU: its own values already are the result, so nothing is sent."));
}

TEST_CASE("a message takes long enough to be followed") {
  for (const int K : {2, 3, 5}) {
    const TemporaryFolder folder;
    run_collectives(folder.path(), Algorithm::ring, K, 2 * K + 1);
    Session session({Run::open(folder.path())});
    const Run& run = session.run(0);
    const auto seconds = [&](std::size_t position) {
      return session.pace().seconds(session.alignment().clock(0, position));
    };
    int messages = 0;
    for (replay::EventIndex e = 0; e < run.size(); ++e) {
      const auto receive = run.partner(e);
      if (!receive || *receive < e) continue;
      // From when it has been sent until it has been received; the rest follows.
      const double took = seconds(*receive + 1) - seconds(e + 1);
      INFO(run.where(e) << ", " << took << " s");
      CHECK(took >= 0.3);
      ++messages;
    }
    CHECK(messages > 0);
  }
}

TEST_CASE("what is between messages passes quickly, and a step that has ended stays") {
  const TemporaryFolder folder;
  Session session({run_of("ddp", 4, folder.path())});
  const auto& steps = session.steps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& phase = session.alignment().phases()[steps[i].phase];
    if (steps[i].phase > 0) {
      const double pause =
          session.pace().seconds(phase.begin + 1) - session.pace().seconds(phase.begin);
      CHECK(pause >= Pace::kPause - 1e-9);
      CHECK(pause < Pace::kPause + 0.5);
    }
    if (i + 1 == steps.size() || steps[i].number != 1) continue;
    const double all =
        session.pace().seconds(steps[i + 1].clock) - session.pace().seconds(steps[i].clock);
    CHECK(all > 1);
    CHECK(all < 5);
  }
}

TEST_CASE("seconds and clock are each other's inverse, and both only grow") {
  const Stages stages(3);
  for (const Order order : {Order::logical, Order::measured}) {
    Session session(stages.runs);
    session.reorder(order);
    const Pace& pace = session.pace();
    double before = -1;
    for (int i = 0; i <= 5000; ++i) {
      const double clock = session.length() * i / 5000;
      const double seconds = pace.seconds(clock);
      CHECK(seconds > before);
      CHECK(std::abs(pace.clock(seconds) - clock) < 1e-4);
      before = seconds;
    }
    CHECK(pace.seconds(0) == 0);
    CHECK(pace.seconds(session.length()) == pace.length());
  }
}

TEST_CASE("in measured time too a block of the timeline is named after its own step") {
  const Stages stages(3);
  for (const Order order : {Order::logical, Order::measured}) {
    Session session(stages.runs);
    session.reorder(order);
    const Blocks blocks(session);
    for (int r = 0; r < session.size(); ++r) {
      const auto& chapters = session.run(r).chapters();
      std::set<std::size_t> drawn;
      for (const Block& block : blocks.rows[static_cast<std::size_t>(r)]) {
        if (!block.chapter || block.iteration < 0) continue;
        CHECK(chapters[*block.chapter].iteration == block.iteration);
        CHECK(chapters[*block.chapter].number == block.number);
        drawn.insert(*block.chapter);
      }
      // None is missing: the n-th step of the ranks is the n-th chapter.
      std::size_t of_iterations = 0;
      for (const replay::Chapter& chapter : chapters) of_iterations += chapter.iteration >= 0;
      CHECK(drawn.size() == of_iterations);
    }
  }
}

TEST_CASE("measured time passes in proportion to the nanoseconds of the trace") {
  const TemporaryFolder folder;
  Session session({run_of("zero2", 3, folder.path())});
  session.reorder(Order::measured);
  REQUIRE(session.order() == Order::measured);
  const Run& run = session.run(0);
  // Events follow each other within phases, so that a position has one moment of the clock.
  const auto seconds = [&](std::size_t position) {
    return session.pace().seconds(session.alignment().clock(0, position));
  };
  const std::size_t last = run.size();
  const double all = static_cast<double>(run.time(last - 1) - run.time(0));
  REQUIRE(all > 0);
  const double scale = session.pace().length() / all;
  for (std::size_t p = 1; p <= last; ++p) {
    const double since = static_cast<double>(run.time(p - 1) - run.time(0));
    CHECK(std::abs(seconds(p) - scale * since) < 0.01);
  }
}

TEST_CASE("playing does not depend on the rate of frames") {
  const Stages stages(3);
  const auto played = [&](int frames, double seconds, bool loop) {
    Session session(stages.runs);
    session.seek(session.steps()[4].clock);
    if (loop) {
      session.focus = 1;
      session.go_to_step(3);
      session.toggle_loop();
    }
    session.playing = true;
    session.speed = 2;
    for (int i = 0; i < frames; ++i) session.advance(seconds);
    return session.clock();
  };
  for (const bool loop : {false, true}) {
    const double once = played(1, 1.0, loop);
    CHECK(std::abs(played(10, 0.1, loop) - once) < 1e-4);
    CHECK(std::abs(played(100, 0.01, loop) - once) < 1e-4);
    CHECK(std::abs(played(1000, 0.001, loop) - once) < 1e-4);
    CHECK(std::abs(played(300, 0.1, loop) - played(30, 1.0, loop)) < 1e-3);
  }
}

TEST_CASE("playing never goes back, comes to the end, and stops there") {
  const Stages stages(3);
  Session session(stages.runs);
  session.playing = true;
  session.speed = 16;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> some(0, 0.2);
  std::vector<std::size_t> before(4, 0);
  int frames = 0;
  while (session.playing) {
    REQUIRE(++frames < 10000);
    session.advance(some(random));
    for (int r = 0; r < 4; ++r) {
      const std::size_t position = session.world(r).position;
      if (position < before[static_cast<std::size_t>(r)]) FAIL("run " << r << " went back");
      before[static_cast<std::size_t>(r)] = position;
    }
  }
  CHECK(session.clock() == session.length());
  for (int r = 0; r < 4; ++r) CHECK(session.world(r).position == session.run(r).size());
  // Again from the beginning.
  session.play_or_pause();
  CHECK(session.playing);
  CHECK(session.clock() == 0);
  // A live run waits at its end for more.
  session.seek(session.length());
  session.live = true;
  session.advance(1);
  CHECK(session.playing);
}

TEST_CASE("a loop stays within its collective, and rests at its end") {
  const TemporaryFolder folder;
  Session session({run_of("zero2", 3, folder.path())});
  session.go_to_step(3);
  session.playing = true;
  const replay::Collective* shown = session.collective(0);
  REQUIRE(shown);
  session.toggle_loop();
  std::size_t ends = 0, begins = 0, before = 0;
  for (int i = 0; i < 2000; ++i) {
    session.advance(0.02);
    const std::size_t position = session.world(0).position;
    REQUIRE(position >= shown->begin);
    REQUIRE(position <= shown->end);
    REQUIRE(session.collective(0) == shown);
    ends += position == shown->end;
    begins += position < before;
    before = position;
  }
  CHECK(begins >= 2);          // it has come round
  CHECK(ends >= begins * 29);  // 0.6 s of each time, in frames of 0.02 s
  // Elsewhere it is about the collective there.
  session.seek(session.length());
  session.advance(0.02);
  CHECK(session.collective(0) != shown);
}

TEST_CASE("next and previous step go through all steps, with all runs together") {
  const Stages stages(3);
  Session session(stages.runs);
  const auto& steps = session.steps();
  for (const StepBegin& step : steps) {
    session.next_step();
    REQUIRE(session.clock() == step.clock);
    const auto& phase = session.alignment().phases()[step.phase];
    for (int r = 0; r < session.size(); ++r) {
      if (!phase.has[static_cast<std::size_t>(r)]) continue;
      const auto chapter = session.run(r).chapter_at(session.world(r).position);
      REQUIRE(chapter);
      INFO(session.name(r) << " at step " << step.number << " of iteration " << step.iteration);
      CHECK(session.run(r).chapters()[*chapter].number == step.number);
      CHECK(session.run(r).chapters()[*chapter].iteration == step.iteration);
    }
  }
  session.next_step();
  CHECK(session.clock() == steps.back().clock);
  for (std::size_t i = steps.size() - 1; i-- > 0;) {
    session.previous_step();
    REQUIRE(session.clock() == steps[i].clock);
  }
  session.previous_step();
  CHECK(session.clock() == 0);
}

TEST_CASE("the step that a number names is the next of this iteration, then again the first") {
  const TemporaryFolder folder;
  Session session({run_of("zero2", 3, folder.path())});
  std::vector<double> third;  // where step 3 begins in the second iteration
  for (const StepBegin& step : session.steps()) {
    if (step.iteration == 1 && step.number == 3) third.push_back(step.clock);
  }
  REQUIRE(third.size() == 4);  // once for each of four units
  const auto first = std::find_if(session.steps().begin(), session.steps().end(),
                                  [](const StepBegin& step) { return step.iteration == 1; });
  session.seek(first->clock + 1);
  for (int round = 0; round < 2; ++round) {
    for (const double clock : third) {
      session.go_to_step(3);
      CHECK(session.clock() == clock);
    }
  }
  session.seek(0);  // no iteration yet: the first one
  session.go_to_step(3);
  CHECK(session.chapter() >= 0);
  CHECK(session.run(0).chapters()[static_cast<std::size_t>(session.chapter())].iteration == 0);
  const double here = session.clock();
  session.go_to_step(9);
  CHECK(session.clock() == here);
}

TEST_CASE("next and previous event go by one event of the focused run") {
  const Stages stages(3);
  Session session(stages.runs);
  session.focus = 3;
  const std::size_t all = session.run(3).size();
  for (std::size_t p = 0; p < all; ++p) {
    REQUIRE(session.world(3).position == p);
    session.next_event();
  }
  REQUIRE(session.world(3).position == all);
  for (std::size_t p = all; p > 0; --p) {
    REQUIRE(session.world(3).position == p);
    session.previous_event();
  }
  CHECK(session.world(3).position == 0);
}

TEST_CASE("a message goes all of its way, and only forward") {
  const TemporaryFolder folder;
  run_collectives(folder.path(), Algorithm::ring, 3, 7);
  Session session({Run::open(folder.path())});
  session.playing = true;
  std::map<replay::EventIndex, double> last;
  double largest = 0;
  while (session.playing) {
    session.advance(0.01);
    for (const replay::Transfer& transfer : session.world(0).in_flight) {
      const double progress = session.progress(0, transfer);
      double& before = last.try_emplace(transfer.send, 0.0).first->second;
      CHECK(progress >= before - 1e-9);
      CHECK(progress - before < 0.3);  // no jump
      before = progress;
      largest = std::max(largest, progress);
    }
  }
  CHECK(last.size() > 10);
  int whole = 0;
  for (const auto& [send, progress] : last) whole += progress > 0.9;
  CHECK(whole == static_cast<int>(last.size()));
}

TEST_CASE("ranks whose traces end before the others' are named") {
  const TemporaryFolder folder;
  run_of("zero1", 3, folder.path());
  // Rank 1 is killed in the second iteration's reduce-scatter: the others wait for it.
  std::map<int, int> steps;
  std::map<int, bool> ended;
  for (int rank = 0; rank < 3; ++rank) {
    const std::string path = folder.path() + "/rank" + std::to_string(rank) + ".jsonl";
    std::istringstream lines(read_whole_file(path));
    std::string kept;
    bool third = false;
    int collectives = 0;
    for (std::string line; std::getline(lines, line);) {
      const auto object = nlohmann::json::parse(line);
      if (object["e"] == "step") third = object["iteration"] == 1 && object["number"] == 3;
      if (third && rank == 1) break;
      kept += line + "\n";
      if (third && object["e"] == "collective" && ++collectives == 1) break;
    }
    write_whole_file(path, kept);
  }
  Session session({Run::open(folder.path())});
  CHECK(waiting_text(session).empty());
  session.seek(session.length());
  const std::string wrong =
      "GPUs 0 and 2 wait in reduce_scatter; the trace of GPU 1 breaks off here";
  CHECK(waiting_text(session) == wrong);
  CHECK(anything_wrong(session));
  CHECK(halt_of(session, 0, 0)->words == "waits for GPU 2");
  CHECK(halt_of(session, 0, 1)->words == "its trace breaks off");
  CHECK(halt_of(session, 0, 1)->broken);
  CHECK(halt_of(session, 0, 2)->words == "waits for GPU 1");
  CHECK_FALSE(halt_of(session, 0, 2)->broken);
  // A run that grows is only not done yet; one that has not grown for long may be stuck.
  session.live = true;
  CHECK(waiting_text(session) == "so far: the run is still growing");
  CHECK_FALSE(anything_wrong(session));
  for (int rank = 0; rank < 3; ++rank) CHECK(halt_of(session, 0, rank)->words == "so far");
  session.silent = true;
  CHECK(waiting_text(session) == wrong);
  CHECK(anything_wrong(session));
  session.live = session.silent = false;
  CHECK(iteration_text(session) == "iteration 2 of 2");
}

// All lines of a rank up to its n-th that `is` accepts, and that one.
void cut_after(const std::string& folder, int rank, int n,
               const std::function<bool(const nlohmann::json&)>& is) {
  const std::string path = folder + "/rank" + std::to_string(rank) + ".jsonl";
  std::istringstream lines(read_whole_file(path));
  std::string kept;
  for (std::string line; n > 0 && std::getline(lines, line);) {
    kept += line + "\n";
    n -= is(nlohmann::json::parse(line));
  }
  REQUIRE(n == 0);
  write_whole_file(path, kept);
}

TEST_CASE("of a run that was killed the rank that broke off is told from those that wait") {
  const TemporaryFolder folder;
  run_of("zero2", 4, folder.path());
  int first = -1, second = -1;  // two reduces of the last iteration, one after the other
  std::istringstream lines(read_whole_file(folder.path() + "/rank0.jsonl"));
  bool last = false;
  for (std::string line; std::getline(lines, line);) {
    const auto object = nlohmann::json::parse(line);
    if (object["e"] == "step") last = object["iteration"] == 1;
    if (!last || object["e"] != "collective" || object["name"] != "reduce") continue;
    first = second;
    second = object["collective"];
    if (first >= 0) break;
  }
  REQUIRE(second > first);
  // GPU 2's trace breaks off in a reduce, that of the others in the next one.
  const auto begins = [](int number) {
    return [number](const nlohmann::json& line) {
      return line["e"] == "collective" && line["collective"] == number;
    };
  };
  cut_after(folder.path(), 2, 1, begins(first));
  for (const int rank : {0, 1, 3}) cut_after(folder.path(), rank, 1, begins(second));
  Session session({Run::open(folder.path())});
  session.seek(session.length());
  CHECK(waiting_text(session) ==
        fmt::format("GPUs 1 and 3 wait in reduce {0}; the trace of GPU 0 ends in reduce {0}; "
                    "the trace of GPU 2 ends in reduce {1}; GPU 2 is furthest behind",
                    second, first));
  CHECK(halt_of(session, 0, 2)->words == "its trace ends in reduce");
  CHECK(halt_of(session, 0, 2)->broken);
  for (const int rank : {0, 1, 3})
    CHECK_FALSE(has(halt_of(session, 0, rank)->words, "GPU 2 waits"));
}

// What a killed rank leaves behind: the others go on as far as the messages that it sent allow.
void stop_where_messages_are_missing(const std::string& folder) {
  for (bool changed = true; changed;) {
    changed = false;
    const auto run = Run::open(folder);
    for (int rank = 0; rank < run->world_size(); ++rank) {
      for (std::size_t i = 0; i < run->rank(rank).events.size(); ++i) {
        const replay::EventIndex e = run->index_of(rank, i);
        const auto& what = run->event(e).what;
        if (!std::holds_alternative<event::Receive>(what) || run->partner(e)) continue;
        // Its header is a line, too.
        cut_after(folder, rank, static_cast<int>(i) + 1, [](const auto&) { return true; });
        changed = true;
        break;
      }
    }
  }
}

TEST_CASE("a rank killed within a collective is named, and those that wait for it") {
  const TemporaryFolder folder;
  run_of("zero1", 4, folder.path());
  const auto whole = read_whole_file(folder.path() + "/rank2.jsonl");
  // Within the last iteration's reduce-scatter: after its first message.
  std::istringstream lines(whole);
  int count = 0, kept = 0;
  bool within = false, last = false;
  for (std::string line; kept == 0 && std::getline(lines, line);) {
    ++count;
    const auto object = nlohmann::json::parse(line);
    if (object["e"] == "step") last = object["iteration"] == 1;
    if (object["e"] == "collective") within = last && object["name"] == "reduce_scatter";
    if (within && object["e"] == "receive") kept = count;
  }
  REQUIRE(kept > 0);
  cut_after(folder.path(), 2, kept, [](const auto&) { return true; });
  stop_where_messages_are_missing(folder.path());
  Session session({Run::open(folder.path())});
  session.seek(session.length());
  CHECK(waiting_text(session) ==
        "GPUs 0 and 3 wait in reduce_scatter; GPU 1 waits in all_gather; "
        "the trace of GPU 2 ends in reduce_scatter");
  CHECK(halt_of(session, 0, 0)->words == "waits for GPU 3");
  CHECK(halt_of(session, 0, 1)->words == "waits for GPU 0");
  CHECK(halt_of(session, 0, 3)->words == "waits for GPU 2");
  CHECK(session.run(0).notes().size() == 4);  // each that its trace is cut off
}

TEST_CASE("a rank that says that it failed is told from those that only end") {
  const TemporaryFolder folder;
  run_of("zero2", 3, folder.path());
  change_lines(folder.path(), [rank = 0](nlohmann::json& line) mutable {
    if (line["e"] == "header") rank = line["rank"];
    if (line["e"] != "end" || rank != 1) return;
    line["reason"] = "failed";
    line["message"] = "it is tired";
  });
  Session session({Run::open(folder.path())});
  for (const bool live : {false, true}) {
    session.live = live;
    session.seek(session.length());
    CHECK(waiting_text(session) == "GPU 1 failed: it is tired");
    CHECK(anything_wrong(session));
    CHECK(halt_of(session, 0, 1)->broken);
    CHECK_FALSE(halt_of(session, 0, 0));
  }
}

}  // namespace
}  // namespace zero::view
