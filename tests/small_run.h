// A small run for tests of traces: K ranks that do a bit of everything, in one thread.
#pragma once

#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "common/comm/partition.h"
#include "common/memory/tracker.h"
#include "common/trace/trace.h"
#include "tests/plain_heap.h"
#include "tests/support/files.h"

namespace zero {

// Gradients are 2^rank in fp32, so that a sum is the set of ranks in it. Per iteration: forward
// with nested operators and activations; backward; a ring reduce_scatter; a direct reduce of the
// last unit to rank 0; a chain broadcast of the first unit from rank 0; a library all_gather.
class SmallRun {
 public:
  struct Options {
    int world_size = 3;
    int iterations = 2;  // that are run
    int told = 0;        // that are told: 0: all
    bool values = true;
    int fails = -1;  // this rank fails at the end
    std::string run = "small 1";
  };

  SmallRun(const std::string& directory, const Options& options)
      : options_(options), partition_(2 * options.world_size + 1, options.world_size) {
    for (int r = 0; r < options.world_size; ++r) {
      ranks_.push_back(std::make_unique<RankState>(r));
      ranks_.back()->trace.open(directory, header(r), options.told, options.values);
    }
    for (auto& rank : ranks_) {
      rank->params = rank->heap.allocate(Memory::parameters, "params", Dtype::fp32, all());
      rank->grads = rank->heap.allocate(Memory::gradients, "grads", Dtype::fp32, all());
      rank->scratch =
          rank->heap.allocate(Memory::communication, "running chunk", Dtype::fp32, kScratch);
      fill(rank->params, 0.5f);
      rank->heap.wrote(rank->params, Written::initial);
    }
    for (int i = 0; i < options.iterations; ++i) iterate(i);
    for (auto& rank : ranks_) {
      if (rank->number == options.fails) rank->trace.failed("rank \"one\" is\ttired");
      rank->params.release();
      rank->grads.release();
      rank->scratch.release();
      rank->trace.close();
    }
  }

  const Partition& partition() const { return partition_; }
  Range all() const { return partition_.all(); }
  Range embedding() const { return {0, all().end / 2}; }
  Range head() const { return {all().end / 2, all().end}; }

  // Bytes that each rank sent in each iteration, counted here.
  std::map<std::pair<int, int>, std::int64_t> sent_bytes;

 private:
  static constexpr std::int64_t kScratch = 64;

  struct RankState {
    explicit RankState(int r)
        : number(r), tracker(place), trace(place), heap(tracker, &trace, true, r) {}
    int number;
    Place place;
    MemoryTracker tracker;
    Trace trace;
    PlainHeap heap;
    Buffer params, grads, scratch, activations, unit;
  };
  using Key = std::tuple<std::int64_t, int, std::int64_t, int, int>;

  TraceHeader header(int rank) const {
    TraceHeader header;
    header.run = options_.run;
    header.program = "small";
    header.rank = rank;
    header.world_size = options_.world_size;
    header.options = R"({"text": "a \"quoted\" word", "batch": 3})";
    header.closed_form = "{\n\"parameters\": 36}";
    header.dtype = "fp32";
    header.num_parameters = 2 * options_.world_size + 1;
    header.padded_parameters = all().end;
    header.units = {{"embedding", embedding()}, {"head", head()}};
    header.tensors = {{"wte.weight", embedding()},
                      {"lm_head.weight", {head().begin, header.num_parameters}}};
    for (int r = 0; r < options_.world_size; ++r) {
      header.shards.push_back({std::to_string(r), partition_.shard(r)});
    }
    return header;
  }

  static void fill(View view, float value) {
    for (std::int64_t i = 0; i < view.size(); ++i) view.as<float>()[i] = value;
  }
  // into = (from + own) / divisor; own may be empty.
  static void combine(View into, View from, View own, int divisor) {
    for (std::int64_t i = 0; i < into.size(); ++i) {
      const float sum = from.as<float>()[i] + (own.size() > 0 ? own.as<float>()[i] : 0.0f);
      into.as<float>()[i] = sum / static_cast<float>(divisor);
    }
  }

  void step(int number, const std::string& banner, const std::string& unit) {
    for (auto& rank : ranks_) {
      rank->place.step = number;
      rank->place.banner = banner;
      rank->place.unit = unit;
      rank->trace.step();
    }
  }

  void send(RankState& rank, const Hop& hop, View from) {
    rank.trace.sent(hop, from);
    std::vector<float> message(from.as<float>(), from.as<float>() + from.size());
    mail_[key(hop)].push_back(message);
    sent_bytes[{rank.number, rank.place.iteration}] += from.size() * 4;
  }
  // The message is put into `into`; the caller adds.
  void receive(const Hop& hop, View into) {
    const std::vector<float> message = mail_.at(key(hop)).front();
    mail_.at(key(hop)).pop_front();
    std::copy(message.begin(), message.end(), into.as<float>());
  }
  static Key key(const Hop& hop) {
    return {hop.collective, hop.step, hop.chunk, hop.source, hop.destination};
  }

  void begin(const char* name, const char* algorithm, Range range, int owner) {
    ++collective_;
    hop_ = Hop{};
    hop_.collective = collective_;
    hop_.name = name;
    hop_.algorithm = algorithm;
    for (auto& rank : ranks_) {
      rank->trace.collective_begins(collective_, name, algorithm, range, owner);
    }
  }
  void end() {
    for (auto& rank : ranks_) rank->trace.collective_ends(collective_);
  }
  Hop hop(int step, int steps, int source, int destination, Effect effect, Range range) const {
    Hop hop = hop_;
    hop.step = step;
    hop.steps = steps;
    hop.source = source;
    hop.destination = destination;
    hop.effect = effect;
    hop.range = range;
    return hop;
  }

  void iterate(int iteration) {
    for (auto& rank : ranks_) rank->place.iteration = iteration;
    step(1, "1. Forward", "embedding");
    for (auto& rank : ranks_) {
      const OperatorSpan outer(rank->heap, "embedding_forward");
      const OperatorSpan inner(rank->heap, "gather_rows");
      rank->activations =
          rank->heap.allocate(Memory::activations, "stream", Dtype::fp16, std::int64_t{5});
      rank->heap.wrote(rank->activations, Written::zero);
    }
    step(2, "2. Backward", "");
    for (auto& rank : ranks_) {
      const OperatorSpan span(rank->heap, "embedding_backward");
      fill(rank->grads, static_cast<float>(1 << rank->number));
      rank->heap.wrote(rank->grads, Written::local_gradient);
      rank->activations.release();
    }
    step(3, "3. Reduce", "");
    ring_reduce_scatter();
    direct_reduce();
    step(6, "6. Gather", "");
    chain_broadcast();
    begin("all_gather", "library", all(), -1);
    for (auto& rank : ranks_) rank->trace.library(collective_, "all_gather", rank->params);
    end();
    for (auto& rank : ranks_) {
      const double loss = iteration == 1 ? std::numeric_limits<double>::infinity() : 5.5;
      rank->trace.iteration(loss, iteration == 1, rank->tracker);
    }
  }

  void ring_reduce_scatter() {
    const int K = options_.world_size;
    begin("reduce_scatter", "ring", all(), -1);
    for (int s = 1; s < K; ++s) {
      for (auto& rank : ranks_) {
        const Range out = partition_.shard((rank->number - s + K) % K);
        const View from = s == 1 ? (*rank).grads[out] : rank->scratch.view().first(out.size());
        send(*rank, hop(s, K - 1, rank->number, (rank->number + 1) % K, Effect::add, out), from);
      }
      for (auto& rank : ranks_) {
        const Range in = partition_.shard((rank->number - s - 1 + 2 * K) % K);
        const bool last = s == K - 1;
        const View running = rank->scratch.view().first(in.size());
        const View into = last ? rank->grads[in] : running;
        const Hop h = hop(s, K - 1, (rank->number - 1 + K) % K, rank->number, Effect::add, in);
        receive(h, running);
        combine(into, running, rank->grads[in], last ? K : 1);
        rank->trace.received(h, into, rank->grads[in], last ? K : 1);
      }
    }
    end();
  }

  // The last shard's gradients, some of them averages by now: its values are not checked.
  void direct_reduce() {
    const int K = options_.world_size;
    const Range range = partition_.shard(K - 1);
    begin("reduce", "direct", range, 0);
    RankState& owner = *ranks_[0];
    const View sum = owner.scratch.view().slice(32, range.size());
    combine(sum, owner.grads[range], {}, 1);
    owner.trace.moved(hop(1, K, 0, 0, Effect::copy, range), owner.grads[range], sum);
    for (int r = 1; r < K; ++r) {
      const Hop h = hop(r, K - 1, r, 0, Effect::add, range);
      send(*ranks_[static_cast<std::size_t>(r)], h,
           ranks_[static_cast<std::size_t>(r)]->grads[range]);
      const View incoming = owner.scratch.view().first(range.size());
      receive(h, incoming);
      combine(sum, sum, incoming, 1);
      owner.trace.received(h, sum, View());
    }
    combine(owner.grads[range], sum, {}, K);
    owner.trace.moved(hop(K, K, 0, 0, Effect::copy, range), sum, owner.grads[range], K);
    end();
  }

  void chain_broadcast() {
    const int K = options_.world_size;
    for (auto& rank : ranks_) {
      rank->unit = rank->heap.allocate(Memory::temporary, "unit_params", Dtype::fp32, embedding());
    }
    const Range range = embedding().intersect(partition_.shard(0));
    begin("broadcast", "ring", range, 0);
    RankState& owner = *ranks_[0];
    combine(owner.unit[range], owner.params[range], {}, 1);
    owner.trace.moved(hop(1, K - 1, 0, 0, Effect::copy, range), owner.params[range],
                      owner.unit[range]);
    for (int r = 1; r < K; ++r) {
      RankState& from = *ranks_[static_cast<std::size_t>(r - 1)];
      RankState& to = *ranks_[static_cast<std::size_t>(r)];
      const Hop h = hop(r, K - 1, r - 1, r, Effect::copy, range);
      send(from, h, from.unit[range]);
      receive(h, to.unit[range]);
      to.trace.received(h, to.unit[range], View());
    }
    end();
    for (auto& rank : ranks_) rank->unit.release();
  }

  Options options_;
  Partition partition_;
  std::vector<std::unique_ptr<RankState>> ranks_;
  std::map<Key, std::deque<std::vector<float>>> mail_;
  std::int64_t collective_ = 0;
  Hop hop_;
};

}  // namespace zero
