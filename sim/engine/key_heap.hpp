// A 4-ary min-heap of 128-bit keys, laid out so that the four children of a node are one cache line.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "sim/base/prefetch.hpp"

namespace straggler {

__extension__ typedef unsigned __int128 HeapKey;  // time 64 | sequence number 32 | who 32: one comparison is the total order

/// Invariants: keys_[root .. end_) is the heap; the children of i are 4(i - 2) .. 4(i - 2) + 3, so with root = 3 and the
/// array aligned to 64 bytes every family of siblings starts a cache line. Choosing the smallest of a whole family
/// compiles to conditional moves. The top of an empty heap is `never`.
class KeyHeap {
 public:
  static constexpr HeapKey never = ~HeapKey{0} >> 1;  // after all keys; its time is Time::never()
  KeyHeap() { grow(); }
  bool empty() const { return end_ == root; }
  std::size_t size() const { return end_ - root; }
  const HeapKey& top() const { return keys_.get()[root]; }

  void push(HeapKey key) {
    if (end_ + 4 >= capacity_) grow();  // room for a whole family behind the last key
    HeapKey* const keys = keys_.get();
    std::size_t i = end_++;
    while (i > root) {
      const std::size_t parent = i / 4 + 2;
      if (keys[parent] <= key) break;
      keys[i] = keys[parent];
      i = parent;
    }
    keys[i] = key;
  }

  void pop() {
    const HeapKey last = keys_.get()[--end_];
    if (end_ > root) {
      sift_down(root, last);
    } else {
      keys_.get()[root] = never;
    }
  }

  /// visit(HeapKey&) may change keys if their order stays.
  template <class Visit>
  void for_each(Visit visit) {
    for (std::size_t i = root; i < end_; ++i) visit(keys_.get()[i]);
  }

  /// Drops the keys for which keep(key) does not hold.
  template <class Keep>
  void keep_if(Keep keep) {
    HeapKey* const keys = keys_.get();
    std::size_t kept = root;
    for (std::size_t i = root; i < end_; ++i) {
      if (keep(keys[i])) keys[kept++] = keys[i];
    }
    end_ = kept;
    if (empty()) keys[root] = never;
    if (end_ < root + 2) return;
    for (std::size_t i = (end_ - 1) / 4 + 2; i >= root; --i) sift_down(i, keys[i]);
  }

 private:
  static constexpr std::size_t root = 3;
  struct Free {
    void operator()(HeapKey* p) const { std::free(p); }
  };

  void sift_down(std::size_t i, HeapKey key) {
    HeapKey* const keys = keys_.get();
    const bool large = end_ > 8192;  // than the nearest cache: without branches to predict, the processor prefetches nothing
    for (;;) {
      const std::size_t child = 4 * (i - 2);
      std::size_t least = child;
      if (child + 4 <= end_) {
        if (large) {
          for (std::size_t k = 0; k < 16; k += 4) prefetch_in_loop(keys + 4 * (child - 2) + k);  // all grandchildren
        }
        const std::size_t left = child + (keys[child + 1] < keys[child]);
        const std::size_t right = child + 2 + (keys[child + 3] < keys[child + 2]);
        least = keys[right] < keys[left] ? right : left;
      } else {
        if (child >= end_) break;
        for (std::size_t k = child + 1; k < end_; ++k) {
          if (keys[k] < keys[least]) least = k;
        }
      }
      if (key <= keys[least]) break;
      keys[i] = keys[least];
      i = least;
    }
    keys[i] = key;
  }

  [[gnu::noinline]] void grow() {
    const std::size_t capacity = capacity_ == 0 ? 64 : 2 * capacity_;
    std::unique_ptr<HeapKey, Free> keys(static_cast<HeapKey*>(std::aligned_alloc(64, capacity * sizeof(HeapKey))));
    if (!keys) throw std::bad_alloc();
    if (keys_) {
      std::memcpy(keys.get(), keys_.get(), end_ * sizeof(HeapKey));
    } else {
      keys.get()[root] = never;
    }
    keys_ = std::move(keys);
    capacity_ = capacity;
  }

  std::unique_ptr<HeapKey, Free> keys_;
  std::size_t end_ = root, capacity_ = 0;
};

}  // namespace straggler
