#include "scenarios/sweep/swept_axes.hpp"

#include <map>
#include <set>

namespace straggler {
namespace {

bool one_to_one(std::size_t a, std::size_t b, const std::vector<SweepGroup>& groups) {
  std::map<std::string, std::string> there, back;
  for (const SweepGroup& group : groups) {
    if (group.labels.empty()) continue;
    const std::string &x = group.labels[a], &y = group.labels[b];
    if (there.emplace(x, y).first->second != y || back.emplace(y, x).first->second != x) return false;
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
    if (!axes.empty() && axes.back().columns.back() + 1 == column && one_to_one(axes.back().columns.front(), column, groups))
      axes.back().columns.push_back(column);
    else
      axes.push_back({{column}, {}, {}});
  }
  for (SweptAxis& axis : axes) {
    std::map<std::string, std::size_t> known;
    for (const SweepGroup& group : groups) {
      if (group.labels.empty()) {
        axis.of_group.push_back(SweptAxis::none);
        continue;
      }
      const auto [at, fresh] = known.emplace(group.labels[axis.columns.front()], axis.values.size());
      if (fresh) {
        axis.values.emplace_back();
        for (const std::size_t column : axis.columns) axis.values.back().push_back(group.labels[column]);
      }
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
