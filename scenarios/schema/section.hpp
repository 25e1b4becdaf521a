// Typed reading of one map of a scenario: every value checked, everything wrong noted at its place, nothing ignored.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/schema/errors.hpp"
#include "scenarios/schema/scenario.hpp"
#include "scenarios/schema/vocabulary.hpp"
#include "scenarios/schema/yaml_tree.hpp"

namespace straggler {

/// Times that a simulation can hold: Time refuses more than 100 days.
inline constexpr double longest_time = 100 * 86'400.0;
inline Range any_time() { return Range::between(0, longest_time); }
inline Range some_time() { return Range::between(1e-12, longest_time); }  // at least a tick
inline Range any_slowdown() { return Range::between(1e-6, 1e6); }
inline Range any_rate() { return Range::between(0.125, 1e18); }  // at least a bit per second

struct ReadContext {
  const Vocabulary& vocabulary;
  Problems& problems;
  std::filesystem::path folder;  // of the scenario file: where relative paths that stand in it start
  // The first --sets, this many, are from a file in that folder; relative paths in the others start from the current one.
  int sets_of_file = 0;
  std::filesystem::path sets_folder = {};
  // Defaults of workers and servers, once read.
  std::map<std::string, DeviceSpec>* devices = nullptr;  // devices that workers may name; built-in ones are added when named
  bool devices_given = false;
  const NetworkSpec* network = nullptr;
  std::uint64_t memory = 0;            // bytes that a run may fill
  std::uint64_t bytes_per_worker = 0;  // at least
  std::size_t population_rows = 0;     // read so far, of all files
};

/// "a number", "a list", "a map", "empty": description of a node, for messages.
std::string what_stands(const YamlNode& node);

/// Description of a parameter's value, for "write …": "a rate such as 1Gbps or 125MB/s".
std::string example(const Parameter& parameter);
/// Of a count that may be absent: a scenario may write its choice for that.
bool has_word_of_absence(const Parameter& parameter);

/// The value of a scalar (or, for ValueType::counts and nested, of a list); nothing and a problem at its place if it is not of that type.
/// A path comes out absolute and lexically normal: from the scenario's folder if it stands in the file, from the current one if in a --set.
std::optional<Value> read_value(ReadContext& context, const YamlNode& node, const std::string& path, const Parameter& parameter);

/// One map. Request every key that it may have, then call finish(), which refuses the others and reports missing required ones, except
/// those that an unknown key must have meant: one mistake, one line. An absent section reads as an empty map.
class Section {
 public:
  /// `node` null: absent; problems about missing keys then point at `parent`. A node that is not a map is a problem.
  Section(ReadContext& context, const YamlNode* node, std::string path, Place parent);

  bool has(std::string_view key) const { return node_ != nullptr && node_->find(key) != nullptr; }
  /// Null if absent. Makes the key known.
  const YamlNode* find(const std::string& key);
  /// Null if absent, and a problem at finish().
  const YamlNode* require(const std::string& key, const std::string& remedy);
  /// The section under `key`.
  Section section(const std::string& key);

  std::optional<Value> value(const Parameter& parameter);
  /// value() was called for it, it is there, and it was valid.
  bool understood(std::string_view key) const;
  std::optional<double> measure(const std::string& key, ValueType type, const Range& range);
  std::optional<std::int64_t> count(const std::string& key, const Range& range);
  /// 0 if absent, and a problem at finish().
  double required_measure(const std::string& key, ValueType type, const Range& range, const std::string& remedy);
  bool flag(const std::string& key, bool fallback);
  std::string choice(const std::string& key, std::vector<std::string> choices, const std::string& fallback);
  /// Empty if absent or not a scalar.
  std::string word(const std::string& key);

  void finish();
  /// After finish(): an unknown key is nearest to one of these, so that its absence need not be reported.
  bool misspelt(std::initializer_list<std::string_view> keys) const;

  const std::string& path() const { return path_; }
  std::string path_of(std::string_view key) const { return path_.empty() ? std::string(key) : path_ + "." + std::string(key); }
  /// Of the key that opens this section (its first character, for an item of a list).
  Place place() const { return place_; }
  /// Of the key, if it is there, else of the section.
  Place place_of(std::string_view key) const;
  bool given() const { return node_ != nullptr; }
  const YamlNode* node() const { return node_; }
  void problem(std::string_view key, std::string_view what);
  ReadContext& context() { return context_; }

 private:
  void missing(const std::string& key, const std::string& remedy) { missing_.emplace_back(key, "is missing; " + remedy); }

  ReadContext& context_;
  const YamlNode* node_;
  bool no_map_ = false;  // reported; its keys need not be there
  std::string path_;
  Place place_;
  std::vector<std::string> known_, understood_;
  std::vector<std::string> meant_;                            // nearest to the unknown keys
  std::vector<std::pair<std::string, std::string>> missing_;  // (key, message)
};

/// `{kind: NAME, parameter: value, …}`, or NAME alone. `fallback`: the kind where none is named; empty: one must be. `more` reads keys
/// that stand beside the kind's own.
Kind read_kind(ReadContext& context, const YamlNode* node, const std::string& path, Place parent, KindGroup group,
               const std::string& fallback, const std::function<void(Section&)>& more = {});

}  // namespace straggler
