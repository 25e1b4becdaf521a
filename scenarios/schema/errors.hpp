// Where in a scenario something is wrong, and the lines that say so.
#pragma once
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace straggler {

/// A spot in one of a scenario's sources: source 0 is the file, source k the k-th --set. Lines and columns start at 1.
struct Place {
  int source = 0, line = 1, column = 1;
  auto operator<=>(const Place&) const = default;
};
/// The file itself, where there is no text to point at.
inline constexpr Place whole_file{0, 0, 0};

/// Everything that is wrong with a scenario, one line each: "FILE:LINE:COLUMN: PATH: what is wrong; what would be right",
/// "--set PATH=VALUE: PATH: …", or "FILE: …" about the file as such. what() is all lines, one below the other. Bad input: exit code 2.
struct ScenarioErrors : std::runtime_error {
  explicit ScenarioErrors(std::vector<std::string> all);
  std::vector<std::string> lines;
};

/// Where every value of a scenario was written. Outlives reading, so that later stages (data, models, the cluster) can point
/// at a place too.
class Places {
 public:
  /// `sources`: the file as it was named, then the texts of the --sets.
  explicit Places(std::vector<std::string> sources);
  void set(const std::string& path, Place place) { by_path_[path] = place; }
  /// Of `path`, or of the nearest path that holds it ("a.b" holds "a.b.c" and "a.b[0]"); the top of the file if there is none.
  Place find(std::string_view path) const;
  /// One line about `path`; about the whole source where that is empty.
  std::string line(Place place, std::string_view path, std::string_view what) const;
  std::string line(std::string_view path, std::string_view what) const { return line(find(path), path, what); }

 private:
  std::vector<std::string> sources_;
  std::map<std::string, Place, std::less<>> by_path_;
};

/// What is wrong so far, so that all of it can be told at once.
class Problems {
 public:
  explicit Problems(const Places& places) : places_(places) {}
  void add(Place place, std::string_view path, std::string_view what);
  void add(std::string_view path, std::string_view what) { add(places_.find(path), path, what); }
  bool any() const { return !found_.empty(); }
  /// Throws ScenarioErrors if there is any, in the order of their places, at most a hundred of them.
  void raise() const;

 private:
  struct Problem {
    Place place;
    std::string line;
  };
  const Places& places_;
  std::vector<Problem> found_;
};

}  // namespace straggler
