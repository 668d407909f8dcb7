// What the bytes view says of a rank: what the formulas claim, and what is measured beside it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "visualizer/view/session.h"

namespace zero::view {

// The formulas of a run's header, in bytes of one GPU; absent where the header has none.
struct Claims {
  std::array<std::optional<std::int64_t>, 3> states;  // parameters, gradients, optimizer states
  std::optional<std::int64_t> model_states;           // their sum
  std::optional<std::int64_t> sent;                   // in an iteration
};
Claims claims_of(const std::string& closed_form);

// Made once of a session's runs.
class BytesFacts {
 public:
  explicit BytesFacts(const Session& session);

  const Claims& claims(int run) const { return of(run).claims; }
  // Of what a rank has sent, the part that it had sent before the iteration that it is in.
  std::int64_t sent_before(int run, int rank, std::size_t done) const;
  // Whether the messages are told of: a library's are not.
  bool sends_known(int run) const { return of(run).sends || !of(run).library; }
  // Whether a rank has begun to free all that it has, after so many of its events.
  bool leaves(int run, int rank, std::size_t done) const {
    return done > of(run).leaving[static_cast<std::size_t>(rank)];
  }
  std::int64_t most_peak() const { return most_peak_; }  // of any rank of any run
  std::int64_t most_sent() const { return most_sent_; }  // in an iteration, claimed or measured

 private:
  struct Begin {
    std::uint32_t own = 0;  // index of the iteration's first step
    std::int64_t sent = 0;  // before it
  };
  struct OfRun {
    Claims claims;
    std::vector<std::vector<Begin>> iterations;  // by rank
    std::vector<std::size_t> leaving;            // by rank: the first of its last frees
    bool sends = false, library = false;
  };
  const OfRun& of(int run) const { return runs_[static_cast<std::size_t>(run)]; }

  std::vector<OfRun> runs_;
  std::int64_t most_peak_ = 1, most_sent_ = 1;
};

// Whether what is measured is what is claimed. Unknown: it cannot be told yet, or nothing is
// claimed.
enum class Verdict : std::uint8_t { unknown, equal, different };

// One rank of a run, now.
struct BytesNow {
  std::array<std::int64_t, kMemoryCategories> live{};
  std::int64_t total = 0, peak = 0;
  std::int64_t states = 0;  // of the three model states
  Verdict states_verdict = Verdict::unknown;
  std::int64_t sent = 0;  // in this iteration
  Verdict sent_verdict = Verdict::unknown;
};
BytesNow bytes_now(const Session& session, const BytesFacts& facts, int run, int rank);

}  // namespace zero::view
