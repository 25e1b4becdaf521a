#include "models/zoo/noise.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace straggler {

AliasTable::AliasTable(std::span<const double> weights) : cells_(weights.size()) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> share(weights.size());  // of one cell
  std::vector<std::uint32_t> small, large;
  for (std::uint32_t i = 0; i < weights.size(); ++i) {
    share[i] = weights[i] / total * static_cast<double>(weights.size());
    (share[i] < 1 ? small : large).push_back(i);
  }
  const auto set = [this](std::uint32_t cell, double own, std::uint32_t alias) {
    cells_[cell] = {static_cast<std::uint32_t>(std::min(own * 0x1p32, 0x1p32 - 1)), alias};
  };
  while (!small.empty() && !large.empty()) {
    const std::uint32_t cell = small.back(), giver = large.back();
    small.pop_back();
    set(cell, share[cell], giver);
    share[giver] -= 1 - share[cell];
    if (share[giver] >= 1) continue;
    large.pop_back();
    small.push_back(giver);
  }
  // The remaining cells are full, up to rounding.
  for (const auto* rest : {&small, &large})
    for (const std::uint32_t cell : *rest) set(cell, 1, cell);
}

namespace {

std::vector<double> powers(std::span<const std::uint64_t> counts) {
  std::vector<double> weights;
  for (const std::uint64_t count : counts) weights.push_back(std::pow(static_cast<double>(count), 0.75));
  return weights;
}

}  // namespace

Noise::Noise(std::span<const std::uint64_t> counts) : table_(powers(counts)) {}

}  // namespace straggler
