// The memory and traffic formulas of data-parallel training (ZeRO paper, sections 5 and 7).
#include "common/train/closed_form.h"

#include <fmt/format.h>

#include <array>

#include "common/comm/partition.h"
#include "common/memory/bytes.h"

namespace zero {

ClosedFormBytes evaluate(const ClosedForm& form, std::int64_t num_parameters, int world_size,
                         Dtype dtype, int optimizer_bytes_per_parameter) {
  const std::int64_t whole = Partition::padded_size(num_parameters, world_size);
  const std::int64_t shard = whole / world_size;
  const auto elements = [&](Kept kept) { return kept == Kept::whole ? whole : shard; };
  ClosedFormBytes bytes;
  bytes.parameters = bytes_of(dtype) * elements(form.parameters);
  bytes.gradients = bytes_of(dtype) * elements(form.gradients);
  bytes.optimizer_states = optimizer_bytes_per_parameter * elements(form.optimizer_states);
  bytes.model_states = bytes.parameters + bytes.gradients + bytes.optimizer_states;
  bytes.sent_per_iteration = form.passes * bytes_of(dtype) * shard * (world_size - 1);
  return bytes;
}

std::string which_stage_fits(std::int64_t room, std::int64_t others, std::int64_t num_parameters,
                             int world_size, Dtype dtype, int optimizer_bytes_per_parameter) {
  constexpr auto kWhole = Kept::whole;
  constexpr auto kShard = Kept::shard;
  constexpr std::array<ClosedForm, 4> kForms = {{{kWhole, kWhole, kWhole, 2},
                                                 {kWhole, kWhole, kShard, 2},
                                                 {kWhole, kShard, kShard, 2},
                                                 {kShard, kShard, kShard, 3}}};
  constexpr std::array<const char*, 4> kSharded = {"nothing sharded", "optimizer states sharded",
                                                   "gradients too", "parameters too"};
  std::string needs;
  int fits = -1;
  for (int stage = 0; stage < 4; ++stage) {
    const std::int64_t bytes =
        evaluate(kForms[stage], num_parameters, world_size, dtype, optimizer_bytes_per_parameter)
            .model_states;
    needs += fmt::format("{}stage {} ({}) {}", stage ? ", " : "", stage, kSharded[stage],
                         format_bytes(bytes));
    if (fits < 0 && bytes + others <= room) fits = stage;
  }
  const std::string verdict =
      fits >= 0 ? fmt::format("the first that may fit: stage {}", fits)
      : others >= room
          ? "none can fit on any number of ranks: use a smaller batch or model, or more memory"
          : "none can fit: use more ranks, a smaller batch or model, or more memory";
  return fmt::format(
      "model states on {} ranks would be {}; beside at least {} for activations and the rest, {}",
      world_size, needs, format_bytes(others), verdict);
}

}  // namespace zero
