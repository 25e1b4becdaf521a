// The axes of a sweep, derived from its finished groups: which columns vary, which vary together, which value each group has.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "scenarios/sweep/sweep_run.hpp"

namespace straggler {

struct SweptAxis {
  std::vector<std::size_t> columns;              // one, or several whose values go together
  std::vector<std::vector<std::string>> values;  // [values][columns], in the order in which they turn up
  std::vector<std::size_t> of_group;             // [groups]: index of the value; `none` for a group without labels
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
};

/// The axes along which groups differ, in the order of the columns. Neighbouring columns are one axis (a zip) if the values of one
/// determine those of the other; a column that has a single value is none.
std::vector<SweptAxis> swept_axes(std::size_t columns, const std::vector<SweepGroup>& groups);

/// Whether a swept path sets how many workers there are: a group's count, or all groups.
bool counts_workers(const std::string& path);

}  // namespace straggler
