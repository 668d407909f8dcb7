// AdamW on any range of the flat vector: the whole (DDP) or one shard (ZeRO).
#pragma once

#include "common/device/device.h"
#include "common/memory/buffer.h"
#include "common/model/layout.h"

namespace zero {

class Rank;

// Holds the optimizer states of params.range(): fp32 master, exp_avg, exp_avg_sq: 12 bytes an
// element; 16 with --fp32-grads, which keeps the fp32 gradient too. With fp32 parameters the
// parameters themselves are the master: 8 bytes an element. The update of an element depends on
// that element only, so it is the same on whichever rank it is done.
class AdamW {
 public:
  // The master starts as the fp32 copy of params. With fp32, params must outlive the optimizer.
  AdamW(Rank& rank, View params);

  // grads covers the same range as the states (std::invalid_argument otherwise); each is multiplied
  // by grad_factor (in fp32) first. Updates exp_avg, exp_avg_sq and the master. Weight decay on
  // matrices only; linear warm-up of the learning rate over the accepted steps.
  void step(View grads, float grad_factor);

  // Rounds the master to the type of params (same range). With fp32 there is nothing to do.
  void copy_master_to(View params) const;

  Range range() const { return master_.range(); }
  View master() const { return master_; }
  View exp_avg() const { return exp_avg_; }
  View exp_avg_sq() const { return exp_avg_sq_; }
  int steps() const { return steps_; }  // accepted ones

 private:
  Rank& rank_;
  Buffer master_copy_;  // empty with fp32
  View master_;
  Buffer exp_avg_;
  Buffer exp_avg_sq_;
  Buffer fp32_grads_;  // empty unless --fp32-grads
  int steps_ = 0;
};

}  // namespace zero
