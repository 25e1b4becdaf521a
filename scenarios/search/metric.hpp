// The metric of a search: one scalar of a run, over repeats some of which may miss it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/results/measures.hpp"
#include "scenarios/results/run_sketch.hpp"
#include "scenarios/schema/errors.hpp"
#include "scenarios/schema/scenario.hpp"
#include "scenarios/statistics/better.hpp"
#include "scenarios/statistics/statistics.hpp"

namespace straggler {

struct Metric {
  std::string name;  // a scalar of summary.json, or time_to_X_s; empty: the time to the target, or without one samples_per_second
  bool maximize = false;
  bool chosen = false;    // whether `maximize` was given
  std::string path = {};  // its place in the file
  Place place = whole_file;
};

/// Scalars that a search may look at, but for the times to thresholds.
std::vector<std::string> known_metrics();
/// The X of time_to_X_s, price_to_X, energy_to_X_joules and bytes_to_X, if that is a number.
std::optional<double> threshold_of(const std::string& metric);
/// The measure that it is a value of, of a whole run or until an accuracy; none: it is something else.
std::optional<Measure> measure_of(const std::string& metric);
/// Of a run, with its sketch, which may be empty; none: it missed it.
std::optional<double> metric_value(const std::string& metric, const std::vector<SummaryField>& fields, const std::string& sketch);
/// Only with math is it known.
bool metric_needs_math(const std::string& metric);
/// More of it is better, by default.
bool more_is_better(const std::string& metric);
/// How people read its values.
std::string (*metric_text(const std::string& metric))(double);

/// Results of the repeats of one setting. A repeat without a value (it missed the target, did not finish, or failed) counts as worse than
/// any with one.
struct Measured {
  std::vector<std::optional<double>> values;  // by repeat
  std::size_t reached = 0;
  RepeatStatistics statistics;      // of the repeats that have a value
  bool exact = false;               // the metric does not depend on the seed
  std::vector<StudyRun> runs = {};  // repeats that did not fail

  static Measured of(std::vector<std::optional<double>> values, bool exact = false);
  Contender contender() const { return contender_of(values); }
};

/// a - b, repeat by repeat (paired by seed), of the repeats where both have a value.
RepeatStatistics paired_difference(const Measured& a, const Measured& b);

}  // namespace straggler
