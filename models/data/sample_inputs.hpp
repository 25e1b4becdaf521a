// The inputs of samples. They are read as floats, but images stay bytes in memory, a quarter of it.
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
using PixelMaps = std::shared_ptr<const std::vector<PixelMap>>;  // [channels]

/// [count()][features()], row-major.
class SampleInputs {
 public:
  SampleInputs() = default;
  SampleInputs(SampleFloats floats, std::size_t features);
  /// Images, [channels][area] each, from `start` on to the end of `bytes`.
  SampleInputs(SampleBytes bytes, std::size_t start, std::size_t area, PixelMaps maps);

  std::size_t count() const { return count_; }
  std::size_t features() const { return features_; }
  /// Whether reading converts them.
  bool images() const { return maps_ != nullptr; }
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
  PixelMaps maps_;  // null: floats
};

}  // namespace straggler
