// A race: several ways to train on one scenario, from the same seeds; with a tuning, all tuned alike beforehand. Which one is first at each
// threshold?
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/results/measures.hpp"
#include "scenarios/schema/reader.hpp"

namespace straggler {

/// One that takes part: the scenario with these changes.
struct Entrant {
  std::string label;                                     // its name in tables
  std::string given;                                     // how it was given, for messages: "--schemes asgd"
  std::vector<std::pair<std::string, std::string>> set;  // path, YAML
};

/// How each entrant's settings are chosen before the race: all of them try the same candidates, on seeds of which the race has none, and
/// are judged on samples that are held out of the training data.
struct Tuning {
  std::vector<std::string> paths;
  std::vector<std::string> given;                    // [paths], as in --tune: "learning_rate"
  std::vector<std::vector<std::string>> candidates;  // [budget][paths], YAML
  std::vector<std::vector<double>> shares;           // [budget][paths], where in its range (0 to 1); -1: choices, which have no order
  std::size_t seeds = 1;
};

/// `what`: each item a comma list of learning_rate, momentum, weight_decay, or PATH={from: A, to: B, scale: linear | log, whole: true}, or
/// PATH=[choices]. Makes `budget` candidates, evenly spread, or all if there are fewer. Throws std::invalid_argument.
Tuning tuning_of(const std::vector<std::string>& what, std::size_t budget);

struct Race {
  std::filesystem::path scenario;
  std::vector<std::string> more;  // sets of the command line: for every entrant, before its own
  std::vector<Entrant> entrants;
  std::size_t seeds = 5;
  bool paired = true;  // run i of every entrant has the scenario's seed plus i; else no two runs have a seed in common
  bool timing_only = false;
  Measure by = Measure::time;  // what decides who is first
  std::optional<Tuning> tuning;
};

/// Entrants from "ssgd,a={kind: asgd, staleness: inverse}": names of schemes or flow YAML, each with `label=` before it or not. Throws
/// std::invalid_argument.
std::vector<Entrant> entrants_of_schemes(const std::string& list);
/// An entrant from "NAME: {PATH: VALUE, …}". Throws std::invalid_argument.
Entrant entrant_of_yaml(const std::string& text);

/// Throws std::invalid_argument: fewer than two entrants, two of one name, a setting both given and tuned.
void check_entrants(const Race& race);

/// A finish line, at which times, prices, energies or bytes are taken.
struct Finish {
  std::string name;        // "0.85"; timing alone: "epoch"
  std::string field;       // of a finished point, until the accuracy; timing alone: of the whole run, by epochs; empty: its seconds
  double accuracy = 0;     // 0: timing alone
  bool is_target = false;  // the scenario's target_accuracy
};

/// Reads the scenarios of a race. An error that a setting causes is reported with the text of the setting.
class RaceReader {
 public:
  /// Reads every entrant's, so that errors are reported at once. Throws ScenarioErrors.
  explicit RaceReader(const Race& race);

  /// Run `number` of an entrant in the race, with the values chosen by its tuning ([tuning.paths]; empty: not tuned).
  Scenario racing(std::size_t entrant, const std::vector<std::string>& chosen, std::size_t number) const;
  /// Run `number` of a candidate.
  Scenario tuning(std::size_t entrant, const std::vector<std::string>& candidate, std::size_t number) const;

  std::uint64_t racing_seed(std::size_t entrant, std::size_t number) const;
  std::uint64_t tuning_seed(std::size_t number) const;
  /// The scenario's.
  const std::string& name() const { return name_; }
  /// Ascending; the thresholds of the race.
  const std::vector<Finish>& finishes() const { return finishes_; }
  /// Ascending; the levels by which candidates are judged: up to the target, or all if there is none.
  const std::vector<Finish>& levels() const { return levels_; }
  /// Sentences about parts that the race leaves out.
  const std::vector<std::string>& notes() const { return notes_; }
  /// Nothing that the race compares depends on the seed: it is for timing alone, and no entrant's times are random.
  bool exact() const { return exact_; }
  /// Runs of each entrant: one tells all where the race is exact.
  std::size_t seeds() const { return exact_ ? 1 : race_.seeds; }

 private:
  Scenario read(std::size_t entrant, const std::vector<std::string>& values, const std::vector<std::string>& last) const;
  void check_alike(const Scenario& first, const Scenario& other, const Entrant& entrant) const;
  void resolve_finishes(const Scenario& scenario);
  /// What is compared can be known of each.
  void check_costs(const std::vector<Scenario>& entrants) const;
  /// About the setting of each entrant's first run.
  void note_settings(const std::vector<Scenario>& entrants);

  const Race& race_;
  ScenarioText text_;
  std::string name_;
  std::vector<Finish> finishes_, levels_;
  std::vector<std::string> notes_;
  std::uint64_t seed_ = 1;
  bool exact_ = false;
};

}  // namespace straggler
