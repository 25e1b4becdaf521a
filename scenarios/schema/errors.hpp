// Problems of a scenario, with their places.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/schema/yaml_node.hpp"
#include "sim/base/refusal.hpp"

namespace straggler {

/// One thing that is wrong. It stays a value until it is printed, so that a caller that knows the cause can name it.
struct Problem {
  Place place = whole_file;  // in `source`
  std::string source;        // the file as it was named, or the text of a --set; empty: nothing is named
  std::string path;          // the subject; empty: the source as a whole
  std::string what, remedy;  // "is missing", "write a number"; without a remedy `what` is the whole text

  Problem() = default;
  /// `text`: "what; remedy".
  explicit Problem(std::string_view text);
  Problem(Place place, std::string source, std::string_view path, std::string_view text);

  /// "what; remedy".
  std::string text() const;
  /// "PATH: what; remedy", without the source.
  std::string about() const;
  /// "FILE:LINE:COLUMN: PATH: what; remedy", "--set PATH=VALUE: PATH: …", or "FILE: …" about the file as such.
  std::string line() const;
  /// Words at the end of the line.
  void add(std::string_view words) { (remedy.empty() ? what : remedy) += words; }
};

/// All problems of a scenario. what() has one line for each.
struct ScenarioErrors : Refusal {
  explicit ScenarioErrors(std::vector<Problem> all);
  explicit ScenarioErrors(Problem problem) : ScenarioErrors(std::vector{std::move(problem)}) {}
  std::vector<Problem> problems;
  /// One for each problem.
  std::vector<std::string> lines() const;
};
/// Where every value of a scenario was written. Outlives reading, so that later stages (data, models, the cluster) can point
/// at a place too.
class Places {
 public:
  /// `sources`: the file as it was named, then the texts of the --sets.
  explicit Places(std::vector<std::string> sources);
  /// Of which values are places known from now on.
  void set_root(std::shared_ptr<const YamlNode> root) { root_ = std::move(root); }
  /// Of `path`, or of the nearest path that holds it ("a.b" holds "a.b.c" and "a.b[0]"); the top of the file if there is none.
  Place find(std::string_view path) const;
  /// About `path`, or about the whole source if it is empty. `text`: "what; remedy".
  Problem problem(Place place, std::string_view path, std::string_view text) const;
  Problem problem(std::string_view path, std::string_view text) const { return problem(find(path), path, text); }

 private:
  std::vector<std::string> sources_;
  std::shared_ptr<const YamlNode> root_;  // null: nothing is known
};

/// The problems so far, so that all can be reported at once.
class Problems {
 public:
  explicit Problems(const Places& places) : places_(places) {}
  void add(Place place, std::string_view path, std::string_view text) { found_.push_back(places_.problem(place, path, text)); }
  void add(std::string_view path, std::string_view text) { add(places_.find(path), path, text); }
  const std::vector<Problem>& found() const { return found_; }
  bool any() const { return !found_.empty(); }
  /// Throws ScenarioErrors if there is any, in the order of their places, at most a hundred of them.
  void raise() const;

 private:
  const Places& places_;
  std::vector<Problem> found_;
};

}  // namespace straggler
