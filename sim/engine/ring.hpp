// A first-in-first-out queue in one power-of-two buffer. When emptied it frees a large buffer: the memory of a burst of a million does not
// stay.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace straggler {

/// Every element has a position that counts up from 0 and stays the same until it is popped, also through growth.
template <class T>
class Ring {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  bool empty() const { return head_ == tail_; }
  bool full() const { return size() == capacity_; }
  std::size_t size() const { return static_cast<std::size_t>(tail_ - head_); }
  T& front() { return at_position(head_); }
  const T& front() const { return at_position(head_); }
  T& back() { return at_position(tail_ - 1); }
  const T& back() const { return at_position(tail_ - 1); }
  T& operator[](std::size_t i) { return at_position(head_ + i); }
  const T& operator[](std::size_t i) const { return at_position(head_ + i); }
  /// Any number congruent to the position works, modulo a power of two that is at least the capacity.
  T& at_position(std::uint64_t position) { return buffer_[position & (capacity_ - 1)]; }
  const T& at_position(std::uint64_t position) const { return buffer_[position & (capacity_ - 1)]; }

  std::uint64_t first_position() const { return head_; }

  /// Returns the position of the new element.
  std::uint64_t push_back(const T& value) {
    if (full()) return grow_and_push_back(value);
    return add(value);
  }
  /// The same while it is not full().
  std::uint64_t add(const T& value) {
    buffer_[tail_ & (capacity_ - 1)] = value;
    return tail_++;
  }
  /// Returns how many more elements it has room for.
  std::uint64_t grow() {
    const std::uint64_t before = capacity_, capacity = capacity_ == 0 ? 4 : 2 * capacity_;
    auto buffer = std::make_unique_for_overwrite<T[]>(capacity);
    for (std::uint64_t i = head_; i != tail_; ++i) buffer[i & (capacity - 1)] = buffer_[i & (capacity_ - 1)];
    buffer_ = std::move(buffer);
    capacity_ = capacity;
    return capacity - before;
  }
  void pop_front() {
    if (++head_ == tail_ && capacity_ > kept_capacity) release();
  }
  /// pop_front() where others remain.
  void drop_front() { ++head_; }
  void pop_back() {
    if (head_ == --tail_ && capacity_ > kept_capacity) release();
  }

  /// Keeps the elements for which keep(element) holds, in their order; positions change.
  template <class Keep>
  void keep_if(Keep keep) {
    std::uint64_t kept = head_;
    for (std::uint64_t i = head_; i != tail_; ++i) {
      if (!keep(at_position(i))) continue;
      if (kept != i) at_position(kept) = at_position(i);
      ++kept;
    }
    tail_ = kept;
  }

 private:
  static constexpr std::uint64_t kept_capacity = 1 << 14;
  [[gnu::noinline]] void release() {
    buffer_.reset();
    capacity_ = 0;
  }
  [[gnu::noinline]] std::uint64_t grow_and_push_back(const T value) {
    grow();
    return add(value);
  }

  std::unique_ptr<T[]> buffer_;
  std::uint64_t capacity_ = 0, head_ = 0, tail_ = 0;
};

}  // namespace straggler
