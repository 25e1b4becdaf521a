// What sweeps, searches and races keep of a run beside its scalars, since it leaves no folder: its learning curve, when it reached which
// accuracy, and what it waited for.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/results/reader.hpp"
#include "scenarios/schema/scenario.hpp"

namespace straggler {

struct SketchPoint {
  double time_s = 0, update = 0, samples = 0, bytes_sent = 0;
  std::optional<double> epoch, test_accuracy, test_loss;  // epoch: none if its number of samples is not known
};

struct RunSketch {
  std::vector<SketchPoint> curve;  // of evaluations; of more than `most_sketched` the extremes of accuracy (else of loss) of each stretch
  std::uint64_t evaluations = 0;   // that the run had
  std::vector<ThresholdResult> thresholds;  // ascending, the target among them
  std::string waited_for;                   // as in RunResult
  std::string busiest_link;                 // empty: no link carried anything, or there are too many to look at
  double busiest_use = 0;                   // its share of use over the run
};
inline constexpr std::size_t most_sketched = 400;

RunSketch sketch_of(const Scenario& scenario, const RunRecord& record);

/// As a state keeps it. Equal sketches have equal texts.
std::string written(const RunSketch& sketch);
/// The inverse; of an empty text an empty sketch. Throws ResultsError if the text is damaged.
RunSketch read_sketch(const std::string& text);

/// A point of a sweep as comparisons see a run. It has no folder.
RunResult result_of(const std::vector<SummaryField>& fields, const RunSketch& sketch);
/// Repeats of one setting as one result: means over the runs that finished (if none did, over all) and have a value, times to an accuracy
/// over those that reached it. At least one run.
RunResult mean_of(const std::vector<RunResult>& runs);

/// A run of a search or a race, which leaves no folder.
struct StudyRun {
  std::uint64_t seed = 0;
  std::vector<SummaryField> fields;  // empty: it failed
  std::string sketch = {};           // as `written`; empty: there is none
  /// "completed", "failed"
  std::string ending() const {
    const std::string outcome = text_of(fields, "outcome");
    return outcome.empty() ? "failed" : outcome;
  }
};
/// mean_of() those that did not fail. None: all have.
std::optional<RunResult> mean_result(const std::vector<StudyRun>& runs);

}  // namespace straggler
