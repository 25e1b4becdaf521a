// Scratch memory of the layers.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace straggler {

/// Floats aligned to a cache line.
class Floats {
 public:
  float* data() const { return data_.get(); }
  /// Ensures space for at least `count` floats; a larger block than before is zero.
  void grow(std::size_t count) {
    if (count <= count_) return;
    data_.reset(static_cast<float*>(::operator new(count * sizeof(float), alignment)));
    std::fill_n(data_.get(), count, 0.0f);
    count_ = count;
  }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Delete {
    void operator()(float* data) const { ::operator delete(data, alignment); }
  };
  std::unique_ptr<float, Delete> data_;
  std::size_t count_ = 0;
};

}  // namespace straggler
