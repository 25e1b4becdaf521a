// The inputs of samples. They are read as floats, but images stay bytes in memory, a quarter of it, and windows of a text share its
// symbols.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/kernels/kernels.hpp"
#include "sim/base/huge_pages.hpp"
#include "sim/base/prefetch.hpp"

namespace straggler {

/// resize() leaves new elements uninitialized.
using SampleFloats = std::vector<float, Unfilled<float>>;
using SampleBytes = std::vector<std::uint8_t, Unfilled<std::uint8_t>>;
/// The symbols of a text, as numbers in the vocabulary.
using Symbols = std::vector<std::int32_t>;
using PixelMaps = std::shared_ptr<const std::vector<PixelMap>>;  // [channels]

/// [count()][features()], row-major.
class SampleInputs {
 public:
  SampleInputs() = default;
  SampleInputs(SampleFloats floats, std::size_t features);
  /// Images, [channels][area] each, from `start` on to the end of `bytes`.
  SampleInputs(SampleBytes bytes, std::size_t start, std::size_t area, PixelMaps maps);
  /// Windows of `length` symbols that begin at `starts`. A symbol follows each.
  SampleInputs(std::shared_ptr<const Symbols> text, std::vector<std::uint32_t> starts, std::size_t length);

  std::size_t count() const { return count_; }
  std::size_t features() const { return features_; }
  /// Reading converts images and windows.
  bool images() const { return maps_ != nullptr; }
  bool windows() const { return text_ != nullptr; }
  /// The labels of a window, [features()]: for each of its symbols the next one.
  const std::int32_t* next_symbols(std::size_t window) const { return text_->data() + starts_[window] + 1; }
  /// As they lie in memory.
  std::span<const std::byte> memory() const;

  void copy(std::size_t sample, float* out) const;
  /// Samples `first` on, [count][features()]: where they are in memory, or converted, in `room`.
  const float* rows(std::size_t first, std::size_t count, float* room) const;
  /// These samples, in panels (models/kernels/kernels.hpp).
  void gather_panels(const Kernels& kernels, std::span<const std::uint32_t> samples, float* panels) const;
  /// Soon a sample is read.
  void prefetch(std::size_t sample) const {
    if (images())
      prefetch_line(image(sample));
    else if (windows())
      prefetch_line(text_->data() + starts_[sample]);
    else
      prefetch_line(floats_.data() + sample * features_);
  }

  /// A copy of these samples.
  SampleInputs subset(std::span<const std::uint32_t> samples) const;
  /// Moves these samples, which ascend, out.
  SampleInputs take(std::span<const std::uint32_t> samples);

 private:
  const std::uint8_t* image(std::size_t sample) const { return bytes_.data() + start_ + sample * features_; }

  std::size_t count_ = 0, features_ = 0;
  SampleFloats floats_;
  SampleBytes bytes_;  // of images, instead
  std::size_t start_ = 0, area_ = 0;
  PixelMaps maps_;                       // null: floats, or windows
  std::shared_ptr<const Symbols> text_;  // of windows, instead
  std::vector<std::uint32_t> starts_;    // [count_], into text_
};

}  // namespace straggler
