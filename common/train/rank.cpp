// One rank: its memory, its data, its place in the program, its report.
#include "common/train/rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "common/train/checkpoint.h"
#include "common/train/fingerprint.h"
#include "common/train/open_device.h"
#include "common/train/report.h"

namespace zero {
namespace {

TraceHeader make_header(const Options& options, const Model& model, const ClosedFormBytes& form,
                        const Transport& transport) {
  TraceHeader header;
  header.program = options.program;
  header.options = options_json(options);
  header.run = fmt::format("{:016x}", std::hash<std::string>{}(header.program + header.options));
  header.closed_form = closed_form_json(form);
  header.rank = transport.rank();
  header.world_size = transport.world_size();
  header.dtype = to_string(options.dtype);
  header.num_parameters = model.num_parameters();
  header.padded_parameters = model.padded_parameters();
  for (const Unit& unit : model.units()) header.units.push_back({unit.name(), unit.range()});
  for (const TensorInfo& tensor : model.tensors())
    header.tensors.push_back({tensor.name, tensor.range});
  const Partition partition(model.num_parameters(), transport.world_size());
  for (int r = 0; r < transport.world_size(); ++r)
    header.shards.push_back({std::to_string(r), partition.shard(r)});
  header.traced = options.trace_ranks;
  return header;
}

// A part of the state that a rank holds, and its fingerprint.
struct Held {
  Range range;
  std::uint64_t fingerprint;
};

// The sum over what the ranks hold, each range once; where a range is held by several ranks they
// must agree.
std::uint64_t combine(const std::vector<Held>& held, const char* what) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < held.size(); ++i) {
    bool counted = held[i].range.empty();
    for (std::size_t j = 0; j < i && !counted; ++j) {
      if (held[j].range != held[i].range) continue;
      counted = true;
      if (held[j].fingerprint != held[i].fingerprint) {
        throw std::runtime_error(
            fmt::format("ranks {} and {} hold different bits: {} of [{}, {}): fingerprints {:016x} "
                        "and {:016x}",
                        j, i, what, held[i].range.begin, held[i].range.end, held[j].fingerprint,
                        held[i].fingerprint));
      }
    }
    if (!counted) sum += held[i].fingerprint;
  }
  return sum;
}

}  // namespace

Rank::Rank(const Options& chosen, const DevicePlan& plan, const Model& the_model,
           const Dataset& dataset, const ClosedForm& form, Transport& host)
    : options(chosen),
      model(the_model),
      tracker_(place_, chosen.memory_budget, chosen.device != DeviceKind::simulated),
      trace_(place_),
      report_(std::make_unique<Report>(chosen, the_model, form)),
      device_(open_traced_device(plan, host)),
      transport_(open_transport(chosen, plan, host, *device_)),
      communicator_(open_communicator(chosen, transport_ ? *transport_ : host, *device_, trace_)),
      comm(*communicator_),
      device(*device_),
      dataset_(dataset),
      virtual_clock_(host.virtual_clock()) {}

// The trace opens before the first allocation, so that it tells all of them.
std::unique_ptr<Device> Rank::open_traced_device(const DevicePlan& plan, Transport& host) {
  const std::vector<int>& ranks = options.trace_ranks;
  const bool traced =
      !options.trace.empty() &&
      (ranks.empty() || std::find(ranks.begin(), ranks.end(), host.rank()) != ranks.end());
  if (!traced && !options.trace.empty())
    Trace::leave_out(options.trace, host.rank(), host.world_size());
  auto opened = open_device(options, plan, host, tracker_, traced ? &trace_ : nullptr);
  if (traced) {
    trace_.open(options.trace, make_header(options, model, report_->closed_form(), host),
                options.trace_iterations, options.trace_values, opened->make_clock());
  }
  return opened;
}

Rank::~Rank() = default;

std::optional<Batch> Rank::next_batch() {
  if (++place_.iteration == options.iterations) return std::nullopt;
  step("0. The next micro-batch");
  if (place_.iteration == 0) measure_traffic();  // what came before is no iteration's
  iteration_began_ = device.seconds();
  if (virtual_clock_) clock_before_ = *virtual_clock_;
  flops_before_ = device.product_flops();
  Batch batch = make_batch(dataset_, place_.iteration, options.batch, model.config().context,
                           comm.rank(), comm.world_size());
  if (comm.rank() == options.overflow_rank && place_.iteration == options.overflow_iteration)
    batch.loss_weight = std::numeric_limits<float>::infinity();
  return batch;
}

void Rank::begin(std::string_view banner, std::string_view unit) {
  place_.step = std::atoi(std::string(banner.substr(0, banner.find('.'))).c_str());
  place_.banner = banner;
  place_.unit = unit;
  trace_.step();
}

void Rank::step(std::string_view banner) { begin(banner, ""); }

void Rank::step(std::string_view banner, const Unit& unit) { begin(banner, unit.name()); }

std::uint64_t Rank::combine_fingerprints(View params, const AdamW& optimizer) {
  const std::int64_t end = model.num_parameters();
  const Held own_params{params.range(), fingerprint(params, State::parameters, end)};
  const Held own_states{optimizer.range(),
                        fingerprint(optimizer.master(), State::master, end) +
                            fingerprint(optimizer.exp_avg(), State::exp_avg, end) +
                            fingerprint(optimizer.exp_avg_sq(), State::exp_avg_sq, end)};
  const std::vector<Held> all_params = comm.all_gather_scalar(own_params);
  const std::vector<Held> all_states = comm.all_gather_scalar(own_states);
  // Without values there is nothing to compare.
  if (params.data() == nullptr) return 0;
  return combine(all_params, "parameters") + combine(all_states, "optimizer states");
}

void Rank::measure_traffic() {
  const std::int64_t sent = comm.tensor_bytes_sent() - sent_before_;
  const std::int64_t scalars = comm.scalar_bytes_sent() - scalars_before_;
  sent_before_ = comm.tensor_bytes_sent();
  scalars_before_ = comm.scalar_bytes_sent();
  if (!record_) {
    record_ = std::make_unique<RankRecord>();
    return;
  }
  record_->sent = std::max(record_->sent, sent);
  record_->sent_least = std::min(record_->sent_least, sent);
  record_->scalars = std::max(record_->scalars, scalars);
  record_->scalars_least = std::min(record_->scalars_least, scalars);
}

void Rank::report(double loss, const GradientNorm& norm, View params, const AdamW& optimizer) {
  device.synchronize();  // what the iteration asked for is part of its time
  const double seconds = device.seconds() - iteration_began_;
  const VirtualClock clock = virtual_clock_ ? *virtual_clock_ : VirtualClock();
  IterationRecord record{
      .iteration = place_.iteration,
      .loss = 0,
      .fingerprint = combine_fingerprints(params, optimizer),
      .norm = norm,
      .seconds = seconds,
      .computing_seconds = to_seconds(clock.computing() - clock_before_.computing()),
      .communicating_seconds = to_seconds(clock.communicating() - clock_before_.communicating()),
      .product_flops = device.product_flops() - flops_before_};
  for (const double part : comm.all_gather_scalar(loss)) record.loss += part / comm.world_size();
  for (const double other : comm.all_gather_scalar(norm.value)) {
    if (std::bit_cast<std::uint64_t>(other) != std::bit_cast<std::uint64_t>(norm.value))
      throw std::runtime_error(
          fmt::format("two ranks have different norms: {} here, {}", norm.value, other));
  }
  measure_traffic();
  report_->add(record);
  trace_.iteration(record.loss, !norm.is_finite(), tracker_);
  if (comm.rank() == 0 && !options.quiet) {
    const std::string line = report_->line(record);
    if (place_.iteration == 0) std::fputs(report_->heading().c_str(), stdout);
    std::fputs(line.c_str(), stdout);
    std::fflush(stdout);
  }
  if (place_.iteration + 1 == options.iterations) finish(params, optimizer);
}

void Rank::finish(View params, const AdamW& optimizer) {
  step("0. Save what was asked for");
  // The initial weights depend on nothing that the run did, so that they can come last: a run that
  // does not fit leaves no file behind.
  if (!options.save_initial.empty() && comm.rank() == 0)
    save_initial_model(model, options.dtype, options.save_initial);
  if (!options.dump_state.empty()) dump_state(*this, params, optimizer, options.dump_state);
  if (!options.save.empty()) save_model(*this, params, options.save);
  for (int c = 0; c < kMemoryCategories; ++c) {
    record_->live[c] = tracker_.live(static_cast<Memory>(c));
    record_->peak[c] = tracker_.peak(static_cast<Memory>(c));
  }
  record_->peak_total = tracker_.peak_total();
  const Place& peak = tracker_.peak_place();
  const std::string where = peak.unit.empty() ? peak.banner : peak.banner + " (" + peak.unit + ")";
  std::strncpy(record_->peak_step.data(), where.c_str(), record_->peak_step.size() - 1);
  std::vector<RankRecord> records = comm.all_gather_scalar(*record_);
  if (comm.rank() == 0) report_->set_ranks(std::move(records));
  trace_.close();
  if (comm.rank() != 0) return;
  if (!options.json.empty()) report_->write_json(options.json);
  if (!options.quiet) {
    std::fputs(report_->summary().c_str(), stdout);
    std::fflush(stdout);
    if (!virtual_clock_) {
      std::fputs(
          fmt::format("median {:.1f} ms per iteration\n", report_->median_seconds() * 1e3).c_str(),
          stderr);
    }
  }
  if (report_->none_accepted()) {
    std::fputs(
        fmt::format(
            "warning: no iteration was accepted, so nothing was learnt: every gradient overflowed. "
            "Let it run longer (the loss scale halves each time) or lower --loss-scale.\n")
            .c_str(),
        stderr);
  }
}

}  // namespace zero
