// Runs that fail, that grow, that end early: what is said of them, and what is shown.
#include <filesystem>
#include <fstream>
#include <thread>

#include "catch.h"
#include "tests/replay_runs.h"
#include "tests/view_sheet.h"
#include "visualizer/export/moments.h"
#include "visualizer/replay/endings.h"
#include "visualizer/view/bytes_facts.h"
#include "visualizer/view/frame.h"
#include "visualizer/view/story_waiting.h"
#include "visualizer/window/opening.h"

namespace zero::view {
namespace {

using namespace std::chrono_literals;
using replay::Run;

Session session_of(const std::string& directory) { return Session({Run::open(directory)}); }

// Traces DIRECTORY of a run whose ranks had too little memory for the first forward.
void trace_failure(const std::string& directory) {
  CHECK_THROWS(trace_stage("zero1", 3, directory, {"--memory-budget", "400KiB"}));
  // Whose message a rank tells depends on which was first.
  change_lines(directory, [](nlohmann::json& line) {
    if (line["e"] == "end") line["message"] = "out of memory: 10 B are asked for; alive: 5 B";
  });
}

// Until `done`, or for a long time.
template <class Done>
bool comes(Done done) {
  for (int i = 0; i < 3000; ++i) {
    if (done()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

// What is told next.
std::string next_message(Opening& opening) {
  std::vector<std::string> messages;
  comes([&] {
    opening.take_session();
    messages = opening.take_messages();
    return !messages.empty();
  });
  return messages.empty() ? "" : messages.front();
}

void copy_trace(const std::string& from, const std::string& to) {
  std::filesystem::create_directories(to);
  for (const auto& entry : std::filesystem::directory_iterator(from)) {
    write_whole_file(to + "/" + entry.path().filename().string(),
                     read_whole_file(entry.path().string()));
  }
}

}  // namespace

TEST_CASE("a run that failed is shown where it still holds what it had, and says why") {
  const TemporaryFolder folder;
  trace_failure(folder.path());
  Session session = session_of(folder.path());
  const auto failing = failing_moment(session);
  REQUIRE(failing);
  CHECK(telling_of(session).after == *failing);

  session.seek(*failing);
  int first = -1;
  for (int rank = 0; rank < 3 && first < 0; ++rank) {
    if (halt_of(session, 0, rank)) first = rank;
  }
  REQUIRE(first >= 0);
  CHECK(anything_wrong(session));
  CHECK(waiting_text(session).find("failed: out of memory: 10 B are asked for") !=
        std::string::npos);
  CHECK(failure_of(session, 0, first) == "out of memory: 10 B are asked for; alive: 5 B");
  const auto& facts = session.derived<BytesFacts>();
  const BytesNow now = bytes_now(session, facts, 0, first);
  CHECK(now.states == session.derived<BytesFacts>().claims(0).model_states);
  CHECK(now.states_verdict == Verdict::equal);
  CHECK(now.total > now.states);

  // An event of its own earlier nothing is wrong yet.
  const Run& run = session.run(0);
  const auto leaving = replay::leaving_of(run, first);
  REQUIRE(leaving);
  CHECK(std::holds_alternative<event::Free>(run.event(*leaving).what));
  CHECK(session.world(0).position == *leaving);
  session.seek_position(0, run.index_of(first, run.own_index(*leaving) - 1));
  CHECK_FALSE(halt_of(session, 0, first));
  CHECK(waiting_text(session).empty());
  CHECK(failure_of(session, 0, first).empty());

  session.seek(session.length());
  CHECK(waiting_text(session) == "GPUs 0, 1 and 2 failed: out of memory: 10 B are asked for");
  for (int rank = 0; rank < 3; ++rank) {
    const BytesNow end = bytes_now(session, facts, 0, rank);
    CHECK(end.states == 0);
    CHECK(end.states_verdict == Verdict::unknown);
  }
  session.selected = {Target::Kind::rank, 0, 1, -1, 0, 0, 0};
  Headless head(1280, 720, Theme::light());
  const Sheet sheet = draw_alone(head, session, {}, [&](Context& context) {
    draw_inspect(context, {10, 10, 400, 700});
  });
  CHECK(sheet.says("out of memory: 10 B are asked for; alive: 5 B"));
  CHECK(sheet.says("failed"));
}

TEST_CASE("of ranks that failed the one that was first is the cause, and is told of first") {
  const TemporaryFolder folder;
  trace_failure(folder.path());
  // Rank 2 fails first of all; the others tell that they stopped for it.
  for (int rank = 0; rank < 3; ++rank) {
    const std::string path = folder.path() + "/rank" + std::to_string(rank) + ".jsonl";
    const std::string text = read_whole_file(path);
    const std::size_t last = text.rfind('\n', text.size() - 2) + 1;
    nlohmann::json end = nlohmann::json::parse(text.substr(last));
    end["t"] = rank == 2 ? 30'000'000'000 : 40'000'000'000;
    if (rank < 2) {
      end["message"] = "rank " + std::to_string(rank) + ": stopped, since rank 2 failed; details";
    }
    write_whole_file(path, text.substr(0, last) + end.dump() + "\n");
  }
  Session session = session_of(folder.path());
  session.seek(session.length());
  CHECK(waiting_text(session) ==
        "GPU 2 failed: out of memory: 10 B are asked for; GPU 0 failed: stopped, since rank 2 "
        "failed; GPU 1 failed: stopped, since rank 2 failed");
  const auto failing = failing_moment(session);
  REQUIRE(failing);
  session.seek(*failing);
  const auto& facts = session.derived<BytesFacts>();
  CHECK(bytes_now(session, facts, 0, 2).states_verdict == Verdict::equal);
}

TEST_CASE("a run that has ended well has no failing moment, and its formulas hold to its end") {
  const TemporaryFolder folder;
  trace_stage("zero2", 3, folder.path());
  Session session = session_of(folder.path());
  CHECK_FALSE(failing_moment(session));
  session.seek(session.length());
  CHECK(waiting_text(session).empty());
  const auto& facts = session.derived<BytesFacts>();
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(bytes_now(session, facts, 0, rank).states_verdict == Verdict::equal);
  }
  session.followed = true;
  CHECK(waiting_text(session) == "the run has ended");
  CHECK_FALSE(anything_wrong(session));
  session.seek(session.length() / 2);
  CHECK(waiting_text(session).empty());
}

TEST_CASE("a trace of the first iterations alone says so where it ends") {
  const TemporaryFolder folder;
  Work work;
  work.batch = 6;
  work.iterations = 4;
  work.more = {"--trace", folder.path(), "--trace-iterations", "2"};
  run_stage("ddp", work);
  Session session = session_of(folder.path());
  session.seek(session.length());
  CHECK(iteration_text(session) == "iteration 2 of 4");
  CHECK(waiting_text(session) ==
        "the trace ends here, after 2 of 4 iterations (--trace-iterations 2)");
  CHECK_FALSE(anything_wrong(session));
  session.followed = true;
  CHECK(waiting_text(session) ==
        "the trace ends here, after 2 of 4 iterations (--trace-iterations 2)");
}

TEST_CASE("what several runs have in common at their ends is said once") {
  const TemporaryFolder folder;
  std::vector<std::shared_ptr<const Run>> runs;
  for (const std::string stage : {"ddp", "zero1", "zero2"}) {
    Work work;
    work.batch = 6;
    work.iterations = stage == "zero2" ? 1 : 3;
    work.more = {"--trace", folder.path() + "/" + stage, "--trace-iterations", "1"};
    run_stage(stage, work);
    runs.push_back(Run::open(folder.path() + "/" + stage));
  }
  Session session(runs);
  session.seek(session.length());
  CHECK(waiting_text(session) ==
        "ddp, zero1: the trace ends here, after 1 of 3 iterations (--trace-iterations 1)");
}

TEST_CASE("with one GPU a strip has a line instead of pictures") {
  const TemporaryFolder folder;
  trace_stage("zero1", 1, folder.path());
  Session session = session_of(folder.path());
  session.seek(session.length());
  Headless head(1280, 720, Theme::light());
  const Sheet sheet = draw_alone(head, session, {}, [&](Context& context) {
    REQUIRE(session.collective(0));
    draw_collective_strip(context, {10, 80, 1270, 700}, 0, *session.collective(0));
  });
  REQUIRE(sheet.labels.size() == 1);
  CHECK(sheet.says("One GPU: nothing to send, nothing to receive."));
}

TEST_CASE(
    "what is followed and cannot be read is told once, and nothing of what is not there yet") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/file", good = folder.path() + "/good";
  const std::string binary = folder.path() + "/binary", version = folder.path() + "/version";
  const std::string empty = folder.path() + "/empty";
  write_whole_file(file, "text");
  trace_stage("ddp", 2, good);
  for (const std::string& directory : {binary, version, empty}) {
    std::filesystem::create_directories(directory);
  }
  write_whole_file(binary + "/rank0.jsonl", std::string("\x7f"
                                                        "ELF\0\1",
                                                        6));
  std::string text = read_whole_file(good + "/rank0.jsonl");
  text.replace(text.find("\"version\":1"), 11, "\"version\":2");
  write_whole_file(version + "/rank0.jsonl", text);
  write_whole_file(empty + "/rank0.jsonl", "");

  Opening of_file({file}, replay::Order::logical, true);
  Opening of_binary({binary}, replay::Order::logical, true);
  Opening of_version({version}, replay::Order::logical, true);
  Opening of_nothing({folder.path() + "/nothing"}, replay::Order::logical, true);
  Opening of_empty({empty}, replay::Order::logical, true);
  CHECK(next_message(of_file) == file + ": not a directory: give the one that --trace DIR wrote");
  CHECK(next_message(of_binary) ==
        binary + "/rank0.jsonl:1: no header: the file is cut off within it");
  const std::string newer = next_message(of_version);
  CHECK(newer.find(version + "/rank0.jsonl:1: ") == 0);
  CHECK(newer.find("version") != std::string::npos);
  // The others have been looked at for as long.
  CHECK(of_nothing.take_messages().empty());
  CHECK(of_empty.take_messages().empty());
  CHECK(of_file.take_messages().empty());
}

TEST_CASE("a followed run that ends, is damaged or begins anew is told of") {
  const TemporaryFolder folder;
  const std::string one = folder.path() + "/one", other = folder.path() + "/other";
  const std::string shown = folder.path() + "/shown";
  trace_stage("ddp", 2, one);
  trace_stage("zero1", 2, other);
  copy_trace(one, shown);
  Opening opening({shown}, replay::Order::logical, true);
  std::unique_ptr<Session> session;
  REQUIRE(comes([&] {
    session = opening.take_session();
    return session != nullptr;
  }));
  CHECK(session->followed);
  REQUIRE(comes([&] {
    opening.update(*session);
    return opening.finished();
  }));
  opening.update(*session);
  CHECK_FALSE(session->live);
  session->seek(session->length());
  CHECK(waiting_text(*session) == "the run has ended");

  // Another run in its place is picked up.
  copy_trace(other, shown);
  REQUIRE(comes([&] {
    opening.update(*session);
    return session->run(0).header().program == "zero1" && opening.finished();
  }));

  // Cut off, it is shown as it is.
  const std::string cut = read_whole_file(shown + "/rank0.jsonl");
  const std::size_t all = session->run(0).size();
  write_whole_file(shown + "/rank0.jsonl", cut.substr(0, cut.size() / 2));
  std::string shorter;
  REQUIRE(comes([&] {
    opening.update(*session);
    for (const std::string& message : opening.take_messages()) {
      if (message.find("shorter") != std::string::npos) shorter = message;
    }
    return !shorter.empty();
  }));
  CHECK(shorter == shown + ": its traces have become shorter: shown as they are now");
  CHECK(session->run(0).size() < all);
  CHECK(session->live);

  // A line that cannot be read, in a run that is followed.
  copy_trace(one, shown);
  const std::string damaged = shown + "/rank1.jsonl";
  std::string text = read_whole_file(damaged);
  const std::size_t lines = text.size() / 2;
  text = text.substr(0, text.rfind('\n', lines) + 1) + "garbage\n";
  write_whole_file(damaged, text);
  std::string said;
  REQUIRE(comes([&] {
    opening.update(*session);
    for (const std::string& message : opening.take_messages()) {
      if (message.find(": this rank is shown up to here") != std::string::npos) said = message;
    }
    return !said.empty();
  }));
  CHECK(said.find(damaged) == 0);

  // All that was there is gone.
  for (const int rank : {0, 1}) {
    std::filesystem::remove(shown + "/rank" + std::to_string(rank) + ".jsonl");
  }
  said.clear();
  REQUIRE(comes([&] {
    opening.update(*session);
    for (const std::string& message : opening.take_messages()) said = message;
    return said.find("no trace here") != std::string::npos;
  }));
  CHECK(said == shown + ": no trace here: expected rank0.jsonl, rank1.jsonl, ...");
}

}  // namespace zero::view
