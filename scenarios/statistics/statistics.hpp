// Mean, spread and confidence of repeats.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace straggler {

struct RepeatStatistics {
  std::size_t count = 0;
  double mean = 0;
  double deviation = 0;   // of the sample (n - 1); 0 with fewer than two
  double half_width = 0;  // of the 95 % confidence interval of the mean (Student's t); 0 with fewer than two
};

RepeatStatistics statistics_of(const std::vector<double>& values);

/// The metric in each run; none: the run missed it, or failed.
using RunValues = std::vector<std::optional<double>>;
/// Of the runs that have a value.
RepeatStatistics statistics_of(const RunValues& values);

/// How a table or a page puts a mean.
struct MeanStyle {
  const char* sign = " +- ";
  bool missed = false;       // without a value: "missed (0 of 5)", of one run "missed"; else "-"
  bool zero_widths = false;  // an interval without a width is written, too
  bool count_all = false;    // the count, even where all of several runs have a value
};

/// "12.3 s", "12.3 s +- 0.4 s", "12.3 s +- 0.4 s (3 of 5)": a mean is never without the number of runs that it leaves out.
std::string mean_text(const RepeatStatistics& statistics, std::size_t runs, std::string (*text)(double), const MeanStyle& style = {});

/// The line that says what "+-" means.
inline constexpr const char* half_width_note = "+-: half of the 95 % confidence interval of the mean (Student's t)\n";

}  // namespace straggler
