// As many objects as were asked for at first, side by side, for types that neither move nor copy.
#pragma once
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <utility>

#include "sim/base/huge_pages.hpp"

namespace straggler {

template <class T>
class FixedArray {
 public:
  FixedArray() = default;
  /// Room for so many.
  explicit FixedArray(std::size_t most) : items_(HugePages<T>().allocate(most)), most_(most) {}
  FixedArray(FixedArray&& o) noexcept
      : items_(std::exchange(o.items_, nullptr)), size_(std::exchange(o.size_, 0)), most_(std::exchange(o.most_, 0)) {}
  FixedArray& operator=(FixedArray o) noexcept {
    std::swap(items_, o.items_);
    std::swap(size_, o.size_);
    std::swap(most_, o.most_);
    return *this;
  }
  ~FixedArray() {
    while (size_ > 0) std::destroy_at(items_ + --size_);
    if (items_) HugePages<T>().deallocate(items_, most_);
  }

  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    if (size_ == most_) throw std::length_error("a fixed array is full");
    T& item = *std::construct_at(items_ + size_, std::forward<Arguments>(arguments)...);
    ++size_;
    return item;
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return items_[i]; }
  const T& operator[](std::size_t i) const { return items_[i]; }
  T& front() { return items_[0]; }
  T& back() { return items_[size_ - 1]; }
  T* begin() { return items_; }
  T* end() { return items_ + size_; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + size_; }

 private:
  T* items_ = nullptr;
  std::size_t size_ = 0, most_ = 0;
};

}  // namespace straggler
