// Outcomes of sweeps that a test makes up.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/report/findings.hpp"
#include "scenarios/report/said_words.hpp"
#include "scenarios/sweep/sweep_run.hpp"
#include "tests/support/text.hpp"

namespace straggler::test {

using Numbers = std::vector<std::pair<std::string, double>>;
/// Scalars of a point, by its labels and its repeat; a negative number stands for a scalar that does not apply.
using Truth = std::function<Numbers(const std::vector<std::string>&, std::int64_t)>;

inline SweepOutcome made_up(const std::vector<std::vector<std::string>>& values, std::int64_t repeats, const Truth& truth) {
  SweepOutcome outcome;
  std::vector<std::vector<std::string>> all{{}};
  for (const std::vector<std::string>& axis : values) {
    std::vector<std::vector<std::string>> more;
    for (const auto& labels : all)
      for (const std::string& label : axis) {
        more.push_back(labels);
        more.back().push_back(label);
      }
    all = std::move(more);
  }
  for (const auto& labels : all) {
    for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
      SweepRow row;
      row.group = outcome.groups.size();
      row.repeat = repeat;
      for (const auto& [key, value] : truth(labels, repeat)) row.fields.push_back({key, value < 0 ? Scalar() : Scalar(value)});
      outcome.rows.push_back(std::move(row));
    }
    outcome.groups.push_back({labels, {}, {}});
  }
  return outcome;
}

/// What the page of a sweep finds.
inline std::vector<std::string> sentences(const std::vector<std::string>& columns, const SweepOutcome& outcome, bool seedless = false) {
  const SweepView view(columns, outcome, seedless);
  return page_words(findings(view, plan_of(view)));
}
/// A line each.
inline std::string said(const std::vector<std::string>& columns, const SweepOutcome& outcome, bool seedless = false) {
  return fmt::format("{}\n", fmt::join(sentences(columns, outcome, seedless), "\n"));
}

}  // namespace straggler::test
