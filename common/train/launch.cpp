// From a command line to ranks: threads of this process, or the processes of mpirun.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "common/comm/simulated.h"
#include "common/comm/world.h"
#include "common/memory/bytes.h"
#include "common/train/choose_device.h"
#include "common/train/rank.h"
#include "common/train/report.h"

namespace zero {
namespace {

// Exit status: a command line, an input or a device that cannot be used.
constexpr int kUnusable = 2;

void check_long_enough(const Options& options, const Dataset& dataset) {
  if (dataset.size() < 2)
    throw UsageError("--data: the text has one token; at least two are needed, use a longer one");
  if (dataset.size() < options.model.context + 1) {
    throw UsageError(fmt::format("--context {}: the text has {} tokens, so at most --context {}",
                                 options.model.context, dataset.size(), dataset.size() - 1));
  }
}

// Where the tensors of some ranks will be.
struct Room {
  const char* name;
  std::int64_t memory;  // bytes
  int ranks;
};

Room room_of(const DevicePlan& plan, const Options& options, bool mpi) {
  if (plan.kind == DeviceKind::cuda) return {"GPU", plan.memory, plan.ranks_in_memory};
  return {"machine", std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE),
          mpi ? 1 : options.ranks};
}

// A model that this machine cannot hold is refused: an operating system that promises memory it
// does not have would kill the process in the middle. (The ranks' budget is a promise to need no
// more.)
void check_fits(const Options& options, const Model& model, const ClosedForm& form,
                const Room& room) {
  const ModelConfig& m = options.model;
  const std::int64_t kept =
      Activations::bytes_after_forward(m, options.batch / options.ranks, options.dtype);
  const std::int64_t states = evaluate(form, model.num_parameters(), options.ranks, options.dtype,
                                       options.optimizer_bytes_per_parameter())
                                  .model_states;
  const std::string there = fmt::format("this {} has {} for {} of {} ranks", room.name,
                                        format_bytes(room.memory), room.ranks, options.ranks);
  const std::string or_else = room.name == std::string_view("GPU") ? ", or --device cpu" : "";
  if (std::min(states, options.memory_budget) > room.memory / room.ranks) {
    throw UsageError(fmt::format(
        "--layers {} --channels {}: {} parameters need {} of model states per rank, and {}; use a "
        "smaller model or more {}s{}",
        m.layers, m.channels, with_commas(model.num_parameters()), format_bytes(states), there,
        room.name, or_else));
  }
  if (std::min(kept, options.memory_budget) > room.memory / room.ranks) {
    throw UsageError(
        fmt::format("--batch {} --context {}: the activations need {} per rank, and {}; "
                    "use a smaller batch or more {}s{}",
                    options.batch, m.context, format_bytes(kept), there, room.name, or_else));
  }
}

}  // namespace

void run_rank(const Options& options, const DevicePlan& plan, const Model& model,
              const Dataset& dataset, const ClosedForm& form, Transport& transport,
              void (*train)(Rank&)) {
  const auto too_small = [&](const std::string& where, const OutOfMemory& error) {
    // It may have failed before it had the activations that a whole forward pass leaves.
    const std::int64_t kept = Activations::bytes_after_forward(
        options.model, options.batch / options.ranks, options.dtype);
    const std::int64_t others = error.others + std::max(error.activations, kept);
    const int M = options.optimizer_bytes_per_parameter();
    // What this stage needs is too much. Where ranks share what there is, one may have been refused
    // what another had too early: then its part is known at most, and on the CPU not even that.
    std::int64_t room = error.room;
    if (room != options.memory_budget && plan.kind == DeviceKind::cpu) room = INT64_MAX;
    if (plan.kind == DeviceKind::simulated) room = std::min(plan.memory, options.memory_budget);
    if (room != options.memory_budget && plan.shared) room = plan.memory / plan.ranks_in_memory;
    const std::int64_t needed =
        evaluate(form, model.num_parameters(), options.ranks, options.dtype, M).model_states +
        others;
    const std::string advice =
        which_stage_fits(std::min(room, needed - 1), others, model.num_parameters(), options.ranks,
                         options.dtype, M);
    return OutOfMemory(fmt::format("{}: {}; {}", where, error.what(), advice));
  };
  std::optional<Rank> rank;
  try {
    rank.emplace(options, plan, model, dataset, form, transport);
  } catch (const OutOfMemory& error) {
    throw too_small(fmt::format("rank {}, start", transport.rank()), error);
  }
  const auto located = [&](const std::exception& error) {
    const Place& place = rank->place();
    std::string where = fmt::format("rank {}", transport.rank());
    if (place.iteration >= 0) where += fmt::format(", iteration {}", place.iteration + 1);
    where += fmt::format(", step \"{}\"", place.banner);
    if (!place.unit.empty()) where += fmt::format(", unit {}", place.unit);
    rank->trace().failed(error.what());
    return where;
  };
  try {
    train(*rank);
  } catch (const Aborted& error) {
    // Errors of the communication name their rank already.
    std::string_view what = error.what();
    const std::string name = fmt::format("rank {}: ", transport.rank());
    if (what.starts_with(name)) what.remove_prefix(name.size());
    throw Aborted(fmt::format("{}: {}", located(error), what));
  } catch (const OutOfMemory& error) {
    throw too_small(located(error), error);
  } catch (const std::exception& error) {
    throw std::runtime_error(located(error) + ": " + error.what());
  }
}

namespace {

// What the command line and the data decide, before any rank starts.
struct Job {
  Options options;
  std::optional<Dataset> dataset;
  std::optional<Model> model;
  DevicePlan plan;
  bool stop = false;  // --help or --version: nothing to do
};

void read(int argc, char** argv, bool mpi, Job& job) {
  Parsed parsed = parse_options(argc, argv, mpi ? mpi_world_size() : 0);
  job.options = std::move(parsed.options);
  job.stop = parsed.stop;
  if (job.stop) return;
  const Options& options = job.options;
  if (options.device == DeviceKind::simulated) {
    job.dataset.emplace(std::int64_t{options.model.context} + 1);
  } else {
    job.dataset.emplace(options.data, options.model.vocab);
    check_long_enough(options, *job.dataset);
  }
  job.model.emplace(options.model, options.ranks, options.seed);
}

// Decides what all processes have to decide together.
void choose(const ClosedForm& form, bool mpi, Job& job) {
  job.plan = choose_device(job.options, mpi);
  job.options.device = job.plan.kind;
  check_collectives(job.options, mpi, job.plan.no_gpu);
  // A simulated device says itself, in the middle of the run, what does not fit.
  if (job.plan.kind != DeviceKind::simulated)
    check_fits(job.options, *job.model, form, room_of(job.plan, job.options, mpi));
  if (!job.options.trace.empty()) std::filesystem::create_directories(job.options.trace);
}

int run(const Job& job, const ClosedForm& form, void (*train)(Rank&), bool mpi) {
  std::atomic<bool> too_small = false;
  const RankProgram program = [&](Transport& transport) {
    try {
      run_rank(job.options, job.plan, *job.model, *job.dataset, form, transport, train);
    } catch (const OutOfMemory&) {
      // The ranks are alike: what one says all would say, and those that wait for it need not.
      if (!too_small.exchange(true)) throw;
      throw Aborted("");
    } catch (const Aborted&) {
      if (!too_small) throw;
      throw Aborted("");
    }
  };
  const Options& options = job.options;
  int status = 0;
  if (job.plan.kind == DeviceKind::simulated) {
    status = run_on_simulated_cluster(options.simulation.hardware, options.ranks,
                                      options.simulation.representative, program);
  } else if (mpi) {
    status = run_on_mpi(options.timeout, program);
  } else {
    status = run_on_threads(options.ranks, options.timeout, program);
  }
  return too_small ? kUnusable : status;
}

// Does it, and says what went wrong. The status, which under MPI is that of all processes: the
// worst.
int attempt(const std::string& program, bool mpi, const std::function<void()>& what) {
  std::string mistake;
  int status = 0;
  try {
    what();
  } catch (const UsageError& error) {
    mistake = fmt::format("{}: {}\n", program, error.what());
    status = kUnusable;
  } catch (const std::exception& error) {
    mistake = fmt::format("{}: {}\n", program, error.what());
    status = 1;
  }
  if (mpi) {
    // What rank 0 sees it says for all; what only others see they say themselves.
    const bool said = mpi_rank() != 0 && mpi_worst_status(0) != 0;
    if (mpi_rank() == 0) mpi_worst_status(status);
    if (said) mistake.clear();
    status = mpi_worst_status(status);
  }
  std::fputs(mistake.c_str(), stderr);
  return status;
}

}  // namespace

int launch(int argc, char** argv, void (*train)(Rank&), const ClosedForm& form) {
  const bool mpi = under_mpi();
  const std::string program = std::filesystem::path(argv[0]).filename().string();
  Job job;
  int status = attempt(program, mpi, [&] { read(argc, argv, mpi, job); });
  if (status == 0 && !job.stop) {
    status = attempt(program, mpi, [&] { choose(form, mpi, job); });
    const bool first = !mpi || mpi_rank() == 0;
    if (status == 0 && first && !job.options.quiet) {
      if (!job.options.model_note.empty())
        std::fputs(fmt::format("model: {}\n", job.options.model_note).c_str(), stderr);
      if (!job.plan.notice.empty())
        std::fputs(fmt::format("{}\n", job.plan.notice).c_str(), stderr);
    }
    if (status == 0) status = run(job, form, train, mpi);
  }
  // What was not written was not done: a full disk or a closed pipe must not look like success.
  if (status == 0 && (std::fflush(stdout) != 0 || std::ferror(stdout))) {
    std::fputs(fmt::format("{}: cannot write to standard output\n", program).c_str(), stderr);
    status = 1;
  }
  return status;
}

}  // namespace zero
