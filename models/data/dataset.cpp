#include "models/data/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/data/permutation.hpp"

namespace straggler {

std::vector<std::uint32_t> choose(std::size_t count, std::size_t total, RandomStream random) {
  std::vector<std::uint32_t> all(total);
  std::iota(all.begin(), all.end(), 0u);
  for (std::size_t i = 0; i < count; ++i) std::swap(all[i], all[i + random.below(total - i)]);
  all.resize(count);
  std::sort(all.begin(), all.end());
  return all;
}

void hold_out_validation(Dataset& data, double fraction, std::uint64_t seed) {
  if (!(fraction >= 0 && fraction < 1))
    throw std::invalid_argument(fmt::format("a validation share of {}; it must be at least 0 and below 1", fraction));
  const std::size_t total = data.train.count(), features = data.info.features;
  const auto count = static_cast<std::size_t>(std::llround(fraction * static_cast<double>(total)));
  if (count == 0) return;
  if (count >= total)
    throw std::invalid_argument(fmt::format("a validation share of {} leaves no training sample of {}; take less", fraction, total));
  const std::vector<std::uint32_t> held = choose(count, total, RandomStream(seed, "data/validation"));
  DataSplit& train = data.train;
  DataSplit& validation = data.validation;
  validation.inputs.reserve(count * features);
  validation.labels.reserve(count);
  std::size_t next = 0, kept = 0;
  for (std::size_t i = 0; i < total; ++i) {
    const auto row = train.inputs.begin() + static_cast<std::ptrdiff_t>(i * features);
    const auto row_end = row + static_cast<std::ptrdiff_t>(features);
    if (next < count && held[next] == i) {
      ++next;
      validation.inputs.insert(validation.inputs.end(), row, row_end);
      validation.labels.push_back(train.labels[i]);
    } else {
      if (kept != i) std::copy(row, row_end, train.inputs.begin() + static_cast<std::ptrdiff_t>(kept * features));
      train.labels[kept++] = train.labels[i];
    }
  }
  train.inputs.resize(kept * features);
  train.labels.resize(kept);
  data.info.train = kept;
  data.content = Hasher().add(data.content).add("validation").add(std::uint64_t{count}).add(seed).key();
}

}  // namespace straggler
