// The runs behind a page of settings (a sweep, a search, a race): their learning curves in one picture, and a sheet for each setting, which
// a click on a point opens.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/report/figure.hpp"
#include "scenarios/results/endings.hpp"
#include "scenarios/results/run_sketch.hpp"

namespace straggler {

/// A run as a page keeps it.
struct ShownRun {
  std::uint64_t seed = 0;
  std::map<std::string, double> numbers;  // scalars that sheets show, and target_accuracy
  std::string sketch;                     // written(RunSketch); empty: there is none
  std::string outcome = "completed";
};
ShownRun shown_run(std::uint64_t seed, const std::vector<SummaryField>& fields, const std::string& sketch);

/// A setting or an entrant with its runs.
struct ShownSetting {
  std::string name;                                        // on the page and in legends: "asgd, bandwidth 1Gbps"
  std::vector<std::pair<std::string, std::string>> paths;  // where it differs from the others in the scenario: path, value
  std::vector<ShownRun> runs;

  /// The target of its runs; none: they have none.
  std::optional<double> target() const;
  /// How its runs ended.
  Endings endings() const;
};

/// Looks of their curves: settings of one scheme share its colour and differ in dashes; without schemes each has a colour.
std::vector<std::size_t> setting_looks(const std::vector<ShownSetting>& settings);

/// The link that carried most for its bandwidth, over the runs: "server 0 down, 93 %". Empty: not known.
std::string busiest_link(const std::vector<ShownRun>& runs);

class RunSheets {
 public:
  /// `looks`: [settings], of their curves. Keeps a reference to the settings.
  RunSheets(const std::vector<ShownSetting>& settings, std::vector<std::size_t> looks);

  /// To the sheet of a setting; empty if it has none (no run is known, or the page would be too large).
  std::string link(std::size_t setting) const;
  /// Learning curves (test accuracy, test loss) of these settings. Of many the first ones are drawn and others evenly spaced, and the
  /// caption says so. None where no run has any. `target`: an accuracy. `where`: at the end of titles, may be empty.
  std::vector<Figure> curves(const std::vector<std::size_t>& order, std::optional<double> target, const std::string& where = {}) const;
  /// The share of the workers' time by phase, of these settings.
  std::vector<Figure> time_split(const std::vector<std::size_t>& settings) const;
  /// All sheets, below a heading; empty without any.
  std::string html() const;

 private:
  struct Shown {
    std::vector<RunSketch> sketches;  // [runs]
    std::string html;                 // of the sheet; empty: none
  };
  std::string sheet(std::size_t setting, std::size_t most_points) const;
  std::string table(std::size_t setting) const;
  std::string facts(const std::vector<std::size_t>& settings) const;

  const std::vector<ShownSetting>& settings_;
  std::vector<std::size_t> looks_;
  std::vector<Shown> shown_;
};

}  // namespace straggler
