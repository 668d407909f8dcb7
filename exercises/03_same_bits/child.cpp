// Calls an answer to exercise 03 once for each order of arrival, and writes the bits it returned.
#include "exercises/api/child.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "exercises/03_same_bits/api.h"

namespace zero::exercise {
namespace {

using nlohmann::json;

// Time passes only while somebody waits: so an order of arrival is the same in every run of it.
class OrderedInbox : public Inbox {
 public:
  OrderedInbox(int rank, std::vector<std::vector<Half>> sent, std::vector<int> order)
      : rank_(rank), sent_(std::move(sent)), order_(std::move(order)), returned_(sent_.size()) {
    // A NaN with another payload in each slot.
    for (const auto& contribution : sent_) {
      const Half garbage{static_cast<std::uint16_t>(0x7e01 + slots_.size())};
      slots_.emplace_back(contribution.size(), garbage);
    }
  }

  int rank() const override { return rank_; }
  int world_size() const override { return static_cast<int>(sent_.size()); }
  std::int64_t size() const override { return static_cast<std::int64_t>(sent_.front().size()); }

  void wait(int rank) override {
    check(rank);
    while (!has_arrived(rank)) arrive();
    returned_[rank] = true;
  }

  int wait_any() override {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (i == arrived_) arrive();
      const int rank = order_[i];
      if (!returned_[rank]) {
        returned_[rank] = true;
        return rank;
      }
    }
    end_because_ranks_wait(
        fmt::format("rank {} waits in wait_any for one contribution more; all {} have come, and "
                    "each is returned once (the own one too)",
                    rank_, world_size()));
  }

  std::span<const Half> contribution(int rank) const override {
    check(rank);
    return slots_[rank];
  }

  std::vector<int> never_arrived() const {
    return {order_.begin() + static_cast<std::ptrdiff_t>(arrived_), order_.end()};
  }

 private:
  void check(int rank) const {
    if (rank < 0 || rank >= world_size()) {
      throw std::out_of_range(
          fmt::format("there is no rank {}: they are 0 to {}", rank, world_size() - 1));
    }
  }
  bool has_arrived(int rank) const {
    for (std::size_t i = 0; i < arrived_; ++i) {
      if (order_[i] == rank) return true;
    }
    return false;
  }
  void arrive() {
    const int rank = order_[arrived_++];
    std::copy(sent_[rank].begin(), sent_[rank].end(), slots_[rank].begin());
  }

  int rank_;
  std::vector<std::vector<Half>> sent_;   // (K, size)
  std::vector<std::vector<Half>> slots_;  // the same, from the moment of arrival
  std::vector<int> order_;                // ranks, in the order in which they arrive
  std::vector<bool> returned_;            // by wait or wait_any, per rank
  std::size_t arrived_ = 0;               // so many of order_
};

json bits_of(std::span<const Half> values) {
  json bits = json::array();
  for (const Half x : values) bits.push_back(x.bits);
  return bits;
}

constexpr std::size_t kRoom = 16;  // elements

json answer(const json& instance) {
  std::vector<std::vector<Half>> sent;
  for (const json& contribution : instance.at("contributions")) {
    sent.emplace_back();
    for (const json& bits : contribution) sent.back().push_back({bits.get<std::uint16_t>()});
  }
  const Half garbage{instance.at("garbage").get<std::uint16_t>()};
  json results = json::array();
  for (const json& order : instance.at("orders")) {
    OrderedInbox inbox(instance.at("rank"), sent, order);
    // With room on both sides, to see what is written beside it.
    std::vector<Half> memory(sent.front().size() + 2 * kRoom, garbage);
    const std::span<Half> average = std::span(memory).subspan(kRoom, sent.front().size());
    reduce_in_rank_order(inbox, average);
    results.push_back({{"average", bits_of(average)},
                       {"before", bits_of(std::span(memory).first(kRoom))},
                       {"behind", bits_of(std::span(memory).last(kRoom))},
                       {"never_arrived", inbox.never_arrived()}});
  }
  return results;
}

}  // namespace
}  // namespace zero::exercise

int main(int argc, char** argv) {
  return zero::exercise::run_child(argc, argv, zero::exercise::answer);
}
