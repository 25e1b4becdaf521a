// The finished points of a sweep, in sweep.sqlite of its folder.
//
// Invariants:
//  - A point is either finished and recorded, with all its scalars, or not there.
//  - A point's id is a hash of its whole scenario, of the kind of run and of the program, so that a changed sweep keeps the points that
//    still hold.
//  - A point that a living process of this host works on is claimed by it; claims of dead processes count for nothing.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/results/summary.hpp"
#include "scenarios/sweep/description.hpp"
#include "scenarios/sweep/sqlite.hpp"

namespace straggler {

struct FinishedPoint {
  std::vector<SummaryField> fields;
  double wall_seconds = 0;
  std::string sketch = {};  // written(RunSketch); empty: an earlier version finished it
};

/// Where a finished point stands in the sweep as it was last run.
struct PlacedPoint {
  std::size_t group = 0;
  std::int64_t repeat = 0;
  std::uint64_t seed = 0;
  std::vector<std::string> labels;  // of the swept paths
  std::string id;
};

/// All settings of the sweep, over all shards, and the least number of repeats of each.
struct PlannedSweep {
  std::vector<std::vector<std::string>> settings;  // [groups], labels of the swept paths
  std::int64_t repeats = 0;
  bool operator==(const PlannedSweep&) const = default;
};

/// A line a field: key, kind, value as files have it. Read back, they are equal.
std::string fields_text(const std::vector<SummaryField>& fields);
/// Throws std::invalid_argument.
std::vector<SummaryField> fields_of_text(const std::string& text);

class SweepState {
 public:
  explicit SweepState(const std::filesystem::path& file, DatabaseWait wait = {});
  /// Of a sweep that is only looked at: it may lie where nothing can be written.
  static SweepState to_read(const std::filesystem::path& file, DatabaseWait wait = {}) { return SweepState(file, std::move(wait), true); }

  std::optional<FinishedPoint> find(const std::string& id);
  void record(const std::string& id, const FinishedPoint& point);
  /// False: another living process works on it.
  bool claim(const std::string& id);
  void release(const std::string& id);
  std::size_t points();
  const std::filesystem::path& file() const { return database_.file(); }

  /// The description from the last run; empty: there was none. describe() then replaces it.
  Description description();
  void describe(const Description& description);
  void plan(const PlannedSweep& plan);
  PlannedSweep planned();
  /// The finished points of the sweep as it is now, in its order.
  void place(const std::vector<PlacedPoint>& points);
  std::vector<PlacedPoint> placed();
  /// The answer of a search or a race, for its page; empty: it was not run to its end.
  void keep_answer(const std::string& answer);
  std::string answer();

 private:
  SweepState(const std::filesystem::path& file, DatabaseWait wait, bool only_read);
  std::string sketch(const std::string& id);

  Database database_;
  bool sketches_ = true;  // there is a table of them
};

}  // namespace straggler
