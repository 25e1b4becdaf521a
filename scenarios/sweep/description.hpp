// A description of the sweep, search or race that was run into a folder. The folder's state keeps it, to report changes since then, and to
// refuse a run that would keep nothing of the folder.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace straggler {

/// The subject of a fact.
enum class Described : std::uint8_t {
  sweep,            // its name
  scenario,         // the name of the first point's scenario
  point_scenario,   // a line of that scenario, as YAML
  axis,             // "PATH: YAML", of one value
  repeats,          // of each setting
  timing,           // `seedless_timing`, or no such fact
  find,             // metric, number of settings, repeats
  find_over,        // a setting that is searched, and its range
  crossover,        // metric, repeats, grid, tolerance
  crossover_value,  // "PATH: YAML", of one of the two that are compared
  crossover_along,  // the setting that is varied, and its range
  column,           // a path that varies, in the order of the tables
  program,          // the version
  math,             // which arithmetic
  run_scenario,     // a line of the scenario of a race's first run
  entrant,          // "LABEL: PATH: YAML", of one change
  seeds,            // of each entrant
  tuned,            // the tuned settings, as given
  candidates,       // how many each entrant tries, and on how many seeds
  other             // of another version
};

struct DescribedFact {
  Described about = Described::other;
  std::string text;
  auto operator<=>(const DescribedFact&) const = default;
  /// "axis PATH: YAML", for users.
  std::string line() const;
};

inline constexpr const char* seedless_timing = "the same from every seed";

/// Equal descriptions are of the same sweep, search or race.
class Description {
 public:
  void add(Described about, std::string text) { facts_.push_back({about, std::move(text)}); }
  /// A fact for each line.
  void add_lines(Described about, const std::string& text);
  void add(const Description& more) { facts_.insert(facts_.end(), more.facts_.begin(), more.facts_.end()); }

  const std::vector<DescribedFact>& facts() const { return facts_; }
  bool empty() const { return facts_.empty(); }
  bool operator==(const Description&) const = default;
  /// The texts of all facts about this, in order.
  std::vector<std::string> all(Described about) const;
  /// The text of the first one; empty without one.
  std::string one(Described about) const;
  bool has(Described about) const;
  /// The seed changes the timing of no setting.
  bool seedless() const { return has(Described::timing); }
  bool is_search() const { return has(Described::find) || has(Described::crossover); }

  /// As a state keeps it, and back. Lines of another version are `other`.
  std::vector<std::string> lines() const;
  static Description of_lines(const std::vector<std::string>& lines);

 private:
  std::vector<DescribedFact> facts_;
};

/// How a description differs from an earlier one.
struct DescriptionChange {
  std::vector<DescribedFact> gone, fresh;                // each in its own order
  std::optional<DescribedFact> first_now, first_before;  // where the two first differ; none: that one has ended there
  /// "'LINE' here, 'LINE' there": of the first difference.
  std::string first() const;
};
DescriptionChange change(const Description& now, const Description& before);

}  // namespace straggler
