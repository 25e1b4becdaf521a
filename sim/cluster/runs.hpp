// A constant sequence with many equal neighbours: a million equal values take one record.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

namespace straggler {

template <class T>
class Runs {
 public:
  struct Run {
    std::size_t first;  // it ends where the next begins
    T value;
  };

  void push_back(const T& value) {
    if (runs_.empty() || !(runs_.back().value == value)) runs_.push_back({size_, value});
    ++size_;
  }
  std::size_t size() const { return size_; }
  /// i < size().
  const T& operator[](std::size_t i) const {
    if (runs_.size() == 1) return runs_.front().value;
    return runs_[run_of(i)].value;
  }

  const std::vector<Run>& runs() const { return runs_; }
  std::size_t run_of(std::size_t i) const {
    const auto after = std::upper_bound(runs_.begin(), runs_.end(), i, [](std::size_t item, const Run& run) { return item < run.first; });
    return static_cast<std::size_t>(after - runs_.begin()) - 1;
  }
  std::size_t end_of(std::size_t run) const { return run + 1 < runs_.size() ? runs_[run + 1].first : size_; }

 private:
  std::vector<Run> runs_;
  std::size_t size_ = 0;
};

}  // namespace straggler
