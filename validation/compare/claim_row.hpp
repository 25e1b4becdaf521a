// A row of a measured table that a claim uses, and how it changes the scenario.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/schema/errors.hpp"

namespace straggler {

/// "PATH=VALUE" for the scenario, and the part of the claim that sets it.
struct PlacedSet {
  std::string text;
  Place place;
  std::string who;  // "bind.nodes"
};

/// `reference`: measured and predicted are 1 by definition (`relative_to`), so that it carries no information.
enum class RowUse { fitted, held_out, reference };

/// A cell of the measured table.
struct MeasuredCell {
  std::string text;
  std::optional<double> number;  // none: it is a word
  explicit MeasuredCell(std::string text);
  /// Numbers are compared as numbers: 4 is 4.0.
  bool like(const MeasuredCell& other) const { return text == other.text || (number && number == other.number); }
};

struct ClaimRow {
  int line = 0;                     // in the table
  std::string label;                // "nodes=4"
  std::vector<MeasuredCell> bound;  // [binds of the claim]
  std::vector<PlacedSet> sets;      // fixed ones first
  double measured = 0;              // SI; above 0
  RowUse use = RowUse::held_out;
  std::optional<std::size_t> relative_to;  // another row
  std::optional<std::size_t> rank;         // the worker whose metric is compared; none: the run's
  std::optional<double> noise;             // standard error of `measured`, or of its ratio to the other row's: a share; none: not known
  double weight = 1;                       // of its squared residual in the fit
};

}  // namespace straggler
