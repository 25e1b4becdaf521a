// The plainest possible reference: progressive filling over everything at every event, remaining bytes in long double.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace textbook {

struct Demand {
  double volume(std::size_t hop) const { return volumes.empty() ? 1 : volumes[hop]; }

  std::vector<std::uint32_t> route;
  std::vector<double> volumes;  // of each link of the route; empty: 1
  double weight = 1, most = std::numeric_limits<double>::infinity();
  long double rate = 0;
};

/// Sets the max-min rates of `demands` (weighted): raise all levels together, freeze those on full links and those at their most, repeat.
inline void fill(std::vector<Demand*>& demands, const std::vector<double>& capacity) {
  constexpr long double infinity = std::numeric_limits<long double>::infinity();
  std::vector<long double> left(capacity.begin(), capacity.end());
  std::vector<char> frozen(demands.size(), 0);
  for (std::size_t done = 0; done < demands.size();) {
    std::vector<long double> weight(capacity.size(), 0);
    long double level = infinity;
    for (std::size_t i = 0; i < demands.size(); ++i) {
      const Demand& d = *demands[i];
      if (frozen[i]) continue;
      for (std::size_t k = 0; k < d.route.size(); ++k) weight[d.route[k]] += static_cast<long double>(d.weight) * d.volume(k);
      level = std::min(level, static_cast<long double>(d.most) / d.weight);
    }
    for (std::size_t l = 0; l < capacity.size(); ++l) {
      if (weight[l] > 0 && left[l] / weight[l] < level) level = left[l] / weight[l];
    }
    std::vector<char> full(capacity.size(), 0);
    for (std::size_t l = 0; l < capacity.size(); ++l) full[l] = weight[l] > 0 && left[l] / weight[l] <= level * (1 + 1e-15L);
    for (std::size_t i = 0; i < demands.size(); ++i) {
      Demand& d = *demands[i];
      bool stop = static_cast<long double>(d.most) / d.weight <= level * (1 + 1e-15L);
      for (std::uint32_t l : d.route) stop |= full[l] != 0;
      if (frozen[i] || !stop) continue;
      frozen[i] = 1;
      ++done;
      d.rate = level * d.weight;
      for (std::size_t k = 0; k < d.route.size(); ++k) {
        const long double taken = d.rate * d.volume(k);
        left[d.route[k]] = left[d.route[k]] > taken ? left[d.route[k]] - taken : 0;
      }
    }
  }
}

}  // namespace textbook
