#include "models/data/sample_inputs.hpp"

#include <algorithm>
#include <utility>

namespace straggler {
namespace {

/// Copies of rows, of `features` elements each, that follow `start` elements of `all`.
template <class Elements>
Elements rows_of(const Elements& all, std::size_t start, std::size_t features, std::span<const std::uint32_t> rows) {
  Elements copies(rows.size() * features);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(start + rows[i] * features), features,
                copies.begin() + static_cast<std::ptrdiff_t>(i * features));
  return copies;
}

/// Removes these rows, which ascend, of `count`.
template <class Elements>
void erase_rows(Elements& all, std::size_t start, std::size_t features, std::size_t count, std::span<const std::uint32_t> rows) {
  const auto row = [&](std::size_t i) { return all.begin() + static_cast<std::ptrdiff_t>(start + i * features); };
  std::size_t next = 0, kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (next < rows.size() && rows[next] == i) {
      ++next;
      continue;
    }
    if (kept != i) std::copy(row(i), row(i + 1), row(kept));
    ++kept;
  }
  all.resize(start + kept * features);
}

}  // namespace

SampleInputs::SampleInputs(SampleFloats floats, std::size_t features)
    : count_(floats.size() / features), features_(features), floats_(std::move(floats)) {}

SampleInputs::SampleInputs(SampleBytes bytes, std::size_t start, std::size_t area, PixelMaps maps)
    : features_(maps->size() * area), bytes_(std::move(bytes)), start_(start), area_(area), maps_(std::move(maps)) {
  count_ = (bytes_.size() - start_) / features_;
}

SampleInputs::SampleInputs(std::shared_ptr<const Symbols> text, std::vector<std::uint32_t> starts, std::size_t length)
    : count_(starts.size()), features_(length), text_(std::move(text)), starts_(std::move(starts)) {}

std::span<const std::byte> SampleInputs::memory() const {
  if (windows()) return std::as_bytes(std::span(*text_));
  return images() ? std::as_bytes(std::span(bytes_)) : std::as_bytes(std::span(floats_));
}

void SampleInputs::copy(std::size_t sample, float* out) const {
  if (windows()) {
    const std::int32_t* const from = text_->data() + starts_[sample];
    std::transform(from, from + features_, out, [](std::int32_t symbol) { return static_cast<float>(symbol); });
    return;
  }
  if (!images()) {
    std::copy_n(floats_.data() + sample * features_, features_, out);
    return;
  }
  const std::uint8_t* from = image(sample);
  for (const PixelMap& map : *maps_)
    for (const std::uint8_t* const end = from + area_; from != end;) *out++ = map.values[*from++];
}

const float* SampleInputs::rows(std::size_t first, std::size_t count, float* room) const {
  if (!images() && !windows()) return floats_.data() + first * features_;
  for (std::size_t i = 0; i < count; ++i) copy(first + i, room + i * features_);
  return room;
}

void SampleInputs::gather_panels(const Kernels& kernels, std::span<const std::uint32_t> samples, float* panels) const {
  if (windows())
    for (std::size_t row = 0; row < samples.size(); ++row) {
      const std::int32_t* const from = text_->data() + starts_[samples[row]];
      float* const to = panels + row / panel_rows * features_ * panel_rows + row % panel_rows;
      for (std::size_t i = 0; i < features_; ++i) to[i * panel_rows] = static_cast<float>(from[i]);
    }
  else if (images())
    kernels.gather_pixels(samples.size(), maps_->size(), area_, maps_->data(), image(0), samples.data(), panels);
  else
    kernels.gather_panels(samples.size(), features_, floats_.data(), samples.data(), panels);
}

SampleInputs SampleInputs::subset(std::span<const std::uint32_t> samples) const {
  if (windows()) return {text_, rows_of(starts_, 0, 1, samples), features_};
  if (images()) return {rows_of(bytes_, start_, features_, samples), 0, area_, maps_};
  return {rows_of(floats_, 0, features_, samples), features_};
}

SampleInputs SampleInputs::take(std::span<const std::uint32_t> samples) {
  SampleInputs taken = subset(samples);
  if (windows())
    erase_rows(starts_, 0, 1, count_, samples);
  else if (images())
    erase_rows(bytes_, start_, features_, count_, samples);
  else
    erase_rows(floats_, 0, features_, count_, samples);
  count_ -= samples.size();
  return taken;
}

}  // namespace straggler
