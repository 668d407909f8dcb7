// A sequence in blocks that copies share: a change costs one block, however long the sequence is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace zero::replay {

// Copies are values: a change of one is not seen in the other. A change ends all iterators.
template <class T>
class SharedList {
  using Block = std::shared_ptr<std::vector<T>>;  // never empty

 public:
  class Iterator {
   public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    Iterator() = default;
    reference operator*() const { return (**block_)[index_]; }
    pointer operator->() const { return &**this; }
    Iterator& operator++() {
      if (++index_ == (*block_)->size()) ++block_, index_ = 0;
      return *this;
    }
    Iterator operator++(int) { return std::exchange(*this, std::next(*this)); }
    Iterator& operator--() {
      if (index_ == 0) --block_, index_ = (*block_)->size();
      --index_;
      return *this;
    }
    Iterator operator--(int) { return std::exchange(*this, std::prev(*this)); }
    bool operator==(const Iterator&) const = default;

   private:
    friend SharedList;
    Iterator(const Block* block, std::size_t index) : block_(block), index_(index) {}
    const Block* block_ = nullptr;
    std::size_t index_ = 0;
  };
  using value_type = T;
  using const_iterator = Iterator;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Iterator begin() const { return {blocks_.data(), 0}; }
  Iterator end() const { return {blocks_.data() + blocks_.size(), 0}; }
  const T& front() const { return blocks_.front()->front(); }
  const T& back() const { return blocks_.back()->back(); }

  // The first element that is not `before`. Requires that those that are come first.
  template <class Before>
  Iterator first_not(Before before) const {
    const auto block =
        std::partition_point(blocks_.begin(), blocks_.end(),
                             [&](const Block& candidate) { return before(candidate->back()); });
    if (block == blocks_.end()) return end();
    const auto found = std::partition_point((*block)->begin(), (*block)->end(), before);
    return {&*block, static_cast<std::size_t>(found - (*block)->begin())};
  }

  // An element, to change it.
  T& change(Iterator at) { return own(block_of(at))[at.index_]; }
  void insert(Iterator before, T value) {
    std::vector<T> one;
    one.push_back(std::move(value));
    replace(before, before, std::move(one));
  }
  void push_back(T value) { insert(end(), std::move(value)); }
  void erase(Iterator at) { replace(at, std::next(at), {}); }
  // Puts `fresh` where [first, last) was.
  void replace(Iterator first, Iterator last, std::vector<T> fresh);

  bool operator==(const SharedList& other) const {
    if (size_ != other.size_) return false;
    return blocks_ == other.blocks_ || std::equal(begin(), end(), other.begin());
  }

 private:
  static constexpr std::size_t kMost = 128;  // elements in a block

  std::size_t block_of(Iterator at) const {
    return static_cast<std::size_t>(at.block_ - blocks_.data());
  }
  // A block that no copy shares.
  std::vector<T>& own(std::size_t b) {
    if (blocks_[b].use_count() > 1) blocks_[b] = std::make_shared<std::vector<T>>(*blocks_[b]);
    return *blocks_[b];
  }
  void drop(std::size_t from, std::size_t to) {
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(from),
                  blocks_.begin() + static_cast<std::ptrdiff_t>(to));
  }
  void split(std::size_t b);

  std::vector<Block> blocks_;
  std::size_t size_ = 0;
};

template <class T>
void SharedList<T>::replace(Iterator first, Iterator last, std::vector<T> fresh) {
  if (blocks_.empty()) {
    if (fresh.empty()) return;
    size_ = fresh.size();
    blocks_.push_back(std::make_shared<std::vector<T>>(std::move(fresh)));
    return split(0);
  }
  std::size_t b = block_of(first), from = first.index_, e = block_of(last), to = last.index_;
  if (b == blocks_.size()) from = blocks_[--b]->size();
  if (e > b && to == 0) to = blocks_[--e]->size();

  std::vector<T>& block = own(b);
  for (std::size_t i = b; i <= e; ++i) size_ -= blocks_[i]->size();
  if (e > b) {  // what stays of the last block moves into the first
    const std::vector<T>& tail = *blocks_[e];
    block.erase(block.begin() + static_cast<std::ptrdiff_t>(from), block.end());
    block.insert(block.end(), tail.begin() + static_cast<std::ptrdiff_t>(to), tail.end());
    to = from;
    drop(b + 1, e + 1);
  }
  // Over what is replaced, as far as it goes; then make or close the room that is left.
  const std::size_t both = std::min(to - from, fresh.size());
  const auto place = block.begin() + static_cast<std::ptrdiff_t>(from);
  const auto rest = place + static_cast<std::ptrdiff_t>(both);
  const auto middle = fresh.begin() + static_cast<std::ptrdiff_t>(both);
  std::move(fresh.begin(), middle, place);
  if (to - from > both) {
    block.erase(rest, block.begin() + static_cast<std::ptrdiff_t>(to));
  } else {
    block.insert(rest, std::make_move_iterator(middle), std::make_move_iterator(fresh.end()));
  }
  size_ += block.size();
  if (block.empty()) drop(b, b + 1);
  else split(b);
}

// Cuts a block that has become too long into equal parts.
template <class T>
void SharedList<T>::split(std::size_t b) {
  std::vector<T>& block = *blocks_[b];
  const std::size_t parts = (block.size() + kMost - 1) / kMost;
  if (parts <= 1) return;
  std::vector<Block> cut;
  for (std::size_t p = 0; p < parts; ++p) {
    const auto at = [&](std::size_t part) {
      return std::make_move_iterator(block.begin() +
                                     static_cast<std::ptrdiff_t>(block.size() * part / parts));
    };
    cut.push_back(std::make_shared<std::vector<T>>(at(p), at(p + 1)));
  }
  blocks_[b] = std::move(cut.front());
  blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(b) + 1,
                 std::make_move_iterator(cut.begin() + 1), std::make_move_iterator(cut.end()));
}

}  // namespace zero::replay
