// A sweep: one scenario, many settings of it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/schema/errors.hpp"
#include "scenarios/schema/key.hpp"
#include "scenarios/schema/reader.hpp"

namespace straggler {

/// One value that a path takes: its name in tables, and the YAML that is put there.
struct AxisValue {
  std::string label, yaml;
  Place place;
};

/// Paths that are varied together; most axes have one.
struct Axis {
  std::vector<std::string> paths;
  std::vector<std::vector<AxisValue>> values;  // [settings][paths]
};

/// Repeat a group until the 95 % confidence interval of the metric is this narrow, relative to its mean.
struct UntilInterval {
  double relative = 0.02;
  std::string metric;      // a scalar of summary.json
  std::int64_t most = 30;  // repeats
};

struct Sweep {
  std::filesystem::path file, folder;  // folder: where relative paths in it start
  std::string name;
  std::filesystem::path scenario;  // empty: `base` holds it
  std::string base;                // the inline scenario, as YAML
  std::vector<Axis> axes;          // crossed, the first one slowest
  std::int64_t repeats = 1;
  std::optional<UntilInterval> until;
  bool timing_only = false;
  std::vector<std::pair<std::string, std::string>> set;  // path, YAML: for every point
  std::shared_ptr<const Places> places;
  /// The axis that varies the number of workers by name.
  struct Scaling {
    enum class Kind { weak, strong };
    std::size_t axis = 0;
    Kind kind = Kind::weak;
    Place place;
  };
  std::optional<Scaling> scaling;

  /// All paths that vary, in the order of the axes: the columns of points.csv.
  std::vector<std::string> columns() const;
};

class Section;
/// Reads further keys of a sweep file after the others.
using MoreKeys = std::function<void(Section& top, Sweep& sweep)>;

/// The keys of a sweep file, except its search.
std::vector<ScenarioKey> sweep_keys();

/// Reads a sweep file. Throws ScenarioErrors with all its problems.
Sweep read_sweep(const std::filesystem::path& file, const MoreKeys& more = {});

/// The scenario that is varied. Throws ScenarioErrors where it cannot be read.
ScenarioText base_scenario(const Sweep& sweep);

/// A scenario of the sweep, to be run once for every repeat.
struct SweepGroup {
  std::vector<std::string> labels;                       // [columns]
  std::vector<std::pair<std::string, std::string>> set;  // path, YAML
  std::vector<Place> places;                             // of these
};

/// All settings, the last axis fastest. Throws ScenarioErrors if there are more than `most_points`.
std::vector<SweepGroup> groups_of(const Sweep& sweep);
inline constexpr std::size_t most_points = 1'000'000;

/// The scenario of one point. `more`: sets of the command line ("PATH=VALUE"), which come last. Repeat r has the group's seed plus r.
/// Throws ScenarioErrors; an error that a value of an axis causes is reported at its place in the sweep's file.
class PointReader {
 public:
  PointReader(const Sweep& sweep, std::vector<std::string> more);
  Scenario read(const SweepGroup& group, std::int64_t repeat) const;

 private:
  const Sweep& sweep_;
  std::vector<std::string> more_;
  ScenarioText base_;
};

}  // namespace straggler
