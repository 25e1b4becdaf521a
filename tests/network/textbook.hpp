// The plainest possible reference: progressive filling over everything at every event, remaining bytes in long double.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace textbook {

struct Demand {
  std::vector<std::uint32_t> route;
  double weight = 1;
  long double rate = 0;
};

/// Sets the max-min rates of `demands` (weighted): raise all levels together, freeze those on full links, repeat.
inline void fill(std::vector<Demand*>& demands, const std::vector<double>& capacity) {
  constexpr long double infinity = std::numeric_limits<long double>::infinity();
  std::vector<long double> left(capacity.begin(), capacity.end());
  std::vector<char> frozen(demands.size(), 0);
  for (std::size_t done = 0; done < demands.size();) {
    std::vector<long double> weight(capacity.size(), 0);
    for (std::size_t i = 0; i < demands.size(); ++i) {
      for (std::uint32_t l : demands[i]->route) weight[l] += frozen[i] ? 0 : demands[i]->weight;
    }
    long double level = infinity;
    for (std::size_t l = 0; l < capacity.size(); ++l) {
      if (weight[l] > 0 && left[l] / weight[l] < level) level = left[l] / weight[l];
    }
    std::vector<char> full(capacity.size(), 0);
    for (std::size_t l = 0; l < capacity.size(); ++l) full[l] = weight[l] > 0 && left[l] / weight[l] <= level * (1 + 1e-15L);
    for (std::size_t i = 0; i < demands.size(); ++i) {
      bool stop = false;
      for (std::uint32_t l : demands[i]->route) stop |= full[l] != 0;
      if (frozen[i] || !stop) continue;
      frozen[i] = 1;
      ++done;
      demands[i]->rate = level * demands[i]->weight;
      for (std::uint32_t l : demands[i]->route) left[l] = left[l] > demands[i]->rate ? left[l] - demands[i]->rate : 0;
    }
  }
}

}  // namespace textbook
