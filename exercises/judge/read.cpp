// Reading a run whose files nobody vouches for: each is there, whole, and agrees with the others.
#include <fmt/format.h>

#include <algorithm>

#include "common/memory/bytes.h"
#include "exercises/judge/judge.h"
#include "exercises/judge/walk.h"
#include "tests/support/files.h"

namespace zero::judge {
namespace {

using Json = nlohmann::json;

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
  for (const char* key :
       {"parameters", "gradients", "optimizer_states", "sent_bytes_per_iteration"})
    integer(result.at("closed_form"), key);
}

RankTrace read_trace(const Request& request, int rank) {
  RankTrace trace;
  TraceReader reader(fmt::format("{}/rank{}.jsonl", request.folder, rank));
  trace.header = reader.header();
  check_equal("ranks in a trace", trace.header.world_size, request.work.ranks);
  check_equal("the rank in a trace", trace.header.rank, rank);
  while (auto event = reader.next()) trace.events.push_back(std::move(*event));
  if (!reader.ended()) throw Unusable(fmt::format("the trace of rank {} is cut off", rank));
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
  try {
    run.result = Json::parse(read_whole_file(request.folder + "/result.json"));
    check_result(request, run.result);
  } catch (const Json::exception& error) {
    throw Unusable(
        fmt::format("the result is not what a stage program writes: {}", shown(error.what())));
  } catch (const Unusable&) {
    throw;
  } catch (const std::runtime_error&) {
    throw Unusable("no result was written");
  }
  for (int rank = 0; rank < request.work.ranks; ++rank) {
    try {
      run.traces.push_back(read_trace(request, rank));
    } catch (const TraceError&) {
      throw Unusable(fmt::format("the trace of rank {} is not what a stage program writes", rank));
    }
    check_trace(request, run.result, run.traces.back());
  }
  return run;
}

}  // namespace zero::judge
