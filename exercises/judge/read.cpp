// Reading a run whose files nobody vouches for: each is there, whole, and agrees with the others.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "common/memory/bytes.h"
#include "exercises/judge/judge.h"
#include "exercises/judge/walk.h"
#include "tests/support/files.h"

namespace zero::judge {
namespace {

using Json = nlohmann::json;

std::string read_file(const std::string& path) {
  try {
    return read_whole_file(path);
  } catch (const std::runtime_error&) {
    throw Unusable("no result was written");
  }
}

std::int64_t integer(const Json& object, const char* key) {
  const Json& value = object.at(key);
  if (!value.is_number_integer()) throw Unusable(fmt::format("\"{}\" is no whole number", key));
  return value.get<std::int64_t>();
}

void check_equal(std::string_view what, std::int64_t told, std::int64_t asked) {
  if (told == asked) return;
  throw Unusable(fmt::format("{}: {}, asked for were {}", what, told, asked));
}

void check_result(const Request& request, const Json& result) {
  const Work& work = request.work;
  const Expected expected(request.stage, work);
  check_equal("ranks", integer(result, "world_size"), work.ranks);
  check_equal("parameters", integer(result, "num_parameters"), expected.num_parameters);
  if (result.at("dtype") != work.dtype || result.at("collectives") != work.collectives)
    throw Unusable("it ran with another --dtype or --collectives than asked for");
  const Json& iterations = result.at("iterations");
  if (!iterations.is_array()) throw Unusable("\"iterations\" is no list");
  check_equal("iterations", static_cast<std::int64_t>(iterations.size()), work.iterations);
  for (int i = 0; i < work.iterations; ++i) {
    check_equal("the number of an iteration", integer(iterations.at(i), "iteration"), i);
    if (!iterations.at(i).at("skipped").is_boolean())
      throw Unusable("\"skipped\" is neither true nor false");
    for (const char* key : {"loss", "gradient_norm", "loss_scale"}) iterations.at(i).at(key);
  }
  const Json& ranks = result.at("ranks");
  if (!ranks.is_array()) throw Unusable("\"ranks\" is no list");
  check_equal("ranks in the result", static_cast<std::int64_t>(ranks.size()), work.ranks);
  for (int r = 0; r < work.ranks; ++r) {
    check_equal("the number of a rank", integer(ranks.at(r), "rank"), r);
    for (int c = 0; c < kMemoryCategories; ++c) {
      const Json& of = ranks.at(r).at("memory").at(std::string(to_string(Memory{c})));
      integer(of, "live");
      integer(of, "peak");
    }
    for (const char* key : {"sent_bytes_per_iteration", "sent_bytes_per_iteration_least",
                            "scalar_bytes_per_iteration"})
      integer(ranks.at(r), key);
  }
}

void check_claims(const Json& claims) {
  for (const char* key :
       {"parameters", "gradients", "optimizer_states", "sent_bytes_per_iteration"})
    integer(claims, key);
}

// Ranks compare their bits when all of them have reached the end of the iteration, so that all of
// it is in the trace, but for the event that says so. After it come the buffers that went with the
// error; temporary ones may have been released before it.
void end_iteration(RankTrace& trace) {
  event::Iteration iteration;
  std::set<std::int64_t> temporary;
  for (const TraceEvent& event : trace.events) {
    if (const auto* step = std::get_if<event::Step>(&event.what))
      iteration.iteration = step->iteration;
    const auto* allocate = std::get_if<event::Allocate>(&event.what);
    if (allocate && allocate->category == Memory::temporary) temporary.insert(allocate->buffer);
  }
  auto freed = trace.events.end() - 1;  // the end itself
  while (freed != trace.events.begin() && std::holds_alternative<event::Free>((freed - 1)->what))
    --freed;
  const auto rest = std::stable_partition(freed, trace.events.end() - 1, [&](const auto& event) {
    return temporary.contains(std::get<event::Free>(event.what).buffer);
  });
  trace.events.insert(rest, TraceEvent{0, 0, iteration});
}

RankTrace read_trace(const Request& request, int rank) {
  RankTrace trace;
  TraceReader reader(fmt::format("{}/rank{}.jsonl", request.folder, rank));
  trace.header = reader.header();
  check_equal("ranks in a trace", trace.header.world_size, request.work.ranks);
  check_equal("the rank in a trace", trace.header.rank, rank);
  while (auto event = reader.next()) trace.events.push_back(std::move(*event));
  if (!reader.ended()) throw Unusable(fmt::format("the trace of rank {} is cut off", rank));
  if (request.diverged) end_iteration(trace);
  return trace;
}

// Whether what a rank's trace tells event by event is what the run sums up.
void check_trace(const Request& request, const Json& result, const RankTrace& trace) {
  const int rank = trace.header.rank;
  const auto agree = [&](const std::string& what, std::int64_t told, std::int64_t traced) {
    if (told == traced) return;
    throw Unusable(fmt::format("rank {}: {} is {} B by the result, and {} B by the trace", rank,
                               what, with_commas(told), with_commas(traced)));
  };
  Walk walk(trace);
  int iterations = 0;
  std::int64_t most = 0, least = INT64_MAX;
  while (const TraceEvent* event = walk.next()) {
    const auto* end = std::get_if<event::Iteration>(&event->what);
    if (!end) continue;
    ++iterations;
    most = std::max(most, walk.sent());
    least = std::min(least, walk.sent());
    for (int c = 0; c < kMemoryCategories; ++c) {
      agree(fmt::format("{} at the end of an iteration", to_string(Memory{c})),
            end->memory[static_cast<std::size_t>(c)].live, walk.live(Memory{c}));
    }
  }
  check_equal("iterations in a trace", iterations, request.work.iterations);
  const Json& told = result.at("ranks").at(rank);
  agree("what was sent in an iteration, at most", told.at("sent_bytes_per_iteration"), most);
  agree("what was sent in an iteration, at least", told.at("sent_bytes_per_iteration_least"),
        least);
  for (int c = 0; c < kMemoryCategories; ++c) {
    const Json& of = told.at("memory").at(std::string(to_string(Memory{c})));
    agree(fmt::format("the peak of {}", to_string(Memory{c})), of.at("peak"), walk.peak(Memory{c}));
  }
}

}  // namespace

Run read_run(const Request& request) {
  Run run;
  const auto json = [&](const char* what, const auto& read) {
    try {
      read();
    } catch (const Json::exception& error) {
      throw Unusable(
          fmt::format("{} is not what a stage program writes: {}", what, shown(error.what())));
    }
  };
  if (!request.diverged) {
    json("the result", [&] {
      run.result = Json::parse(read_file(request.folder + "/result.json"));
      check_result(request, run.result);
      run.claims = run.result.at("closed_form");
      check_claims(run.claims);
    });
  }
  for (int rank = 0; rank < request.work.ranks; ++rank) {
    try {
      run.traces.push_back(read_trace(request, rank));
    } catch (const TraceError&) {
      throw Unusable(fmt::format("the trace of rank {} is not what a stage program writes", rank));
    }
    if (!request.diverged) check_trace(request, run.result, run.traces.back());
  }
  if (!request.diverged) run.truth = follow_truth(run.result, request.work, request.loss_scale);
  if (request.diverged) {
    json("a trace", [&] {
      run.claims = Json::parse(run.traces[0].header.closed_form);
      check_claims(run.claims);
    });
  }
  return run;
}

}  // namespace zero::judge
