#include "scenarios/sweep/swept_axes.hpp"

#include <map>
#include <set>

namespace straggler {
namespace {

std::vector<std::string> labels_at(const SweepGroup& group, const std::vector<std::size_t>& columns) {
  std::vector<std::string> labels;
  for (const std::size_t column : columns) labels.push_back(group.labels[column]);
  return labels;
}

/// Whether the values of some columns determine that of another, or the other way round.
bool vary_together(const std::vector<std::size_t>& columns, std::size_t other, const std::vector<SweepGroup>& groups) {
  std::map<std::vector<std::string>, std::string> there;
  std::map<std::string, std::vector<std::string>> back;
  bool forth = true, reverse = true;
  for (const SweepGroup& group : groups) {
    if (group.labels.empty()) continue;
    const std::vector<std::string> x = labels_at(group, columns);
    const std::string& y = group.labels[other];
    forth = forth && there.emplace(x, y).first->second == y;
    reverse = reverse && back.emplace(y, x).first->second == x;
    if (!forth && !reverse) return false;
  }
  return true;
}

}  // namespace

std::vector<SweptAxis> swept_axes(std::size_t columns, const std::vector<SweepGroup>& groups) {
  std::vector<SweptAxis> axes;
  for (std::size_t column = 0; column < columns; ++column) {
    std::set<std::string> different;
    for (const SweepGroup& group : groups)
      if (!group.labels.empty()) different.insert(group.labels[column]);
    if (different.size() < 2) continue;
    if (!axes.empty() && axes.back().columns.back() + 1 == column && vary_together(axes.back().columns, column, groups))
      axes.back().columns.push_back(column);
    else
      axes.push_back({{column}, {}, {}});
  }
  for (SweptAxis& axis : axes) {
    std::map<std::vector<std::string>, std::size_t> known;
    for (const SweepGroup& group : groups) {
      if (group.labels.empty()) {
        axis.of_group.push_back(SweptAxis::none);
        continue;
      }
      const auto [at, fresh] = known.emplace(labels_at(group, axis.columns), axis.values.size());
      if (fresh) axis.values.push_back(at->first);
      axis.of_group.push_back(at->second);
    }
  }
  return axes;
}

bool counts_workers(const std::string& path) {
  if (path == "cluster.workers") return true;
  return path.starts_with("cluster.workers[") && path.ends_with("].count");
}

}  // namespace straggler
