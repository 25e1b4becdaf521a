// From the text of a scenario to a Scenario, or to everything that is wrong with it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/data/dataset.hpp"
#include "scenarios/schema/errors.hpp"
#include "scenarios/schema/read_options.hpp"
#include "scenarios/schema/scenario.hpp"

namespace straggler {

/// Reads a scenario, with `sets` ("PATH=VALUE") applied in order before anything is checked. Every default is filled in, and every path
/// that is given is absolute and lexically normal: a relative one starts from the file's folder if it stands in the file, from the current
/// folder if in a set. Throws ScenarioErrors with all that is wrong.
Scenario read_scenario(const std::filesystem::path& file, const std::vector<std::string>& sets = {}, const ReadOptions& options = {});

/// The same for a text at hand, which is parsed once however often it is read with other sets.
class ScenarioText {
 public:
  /// `file` names the text in messages and gives the folder.
  ScenarioText(std::string text, std::filesystem::path file);
  /// As read_scenario. May be called by several threads at once.
  Scenario read(const std::vector<std::string>& sets = {}, const ReadOptions& options = {}) const;

 private:
  std::string text_;
  std::filesystem::path file_;
  std::shared_ptr<const YamlNode> tree_;  // null: it cannot be parsed, and each read reports why
};

inline Scenario read_scenario_text(std::string text, const std::filesystem::path& file, const std::vector<std::string>& sets = {},
                                   const ReadOptions& options = {}) {
  return ScenarioText(std::move(text), file).read(sets, options);
}

/// Checks against the data: throws ScenarioErrors if a batch is larger than the data.
void check_against_data(const Scenario& scenario, const DataInfo& data);

/// One error about `path` of the scenario, at the place where it was written.
[[noreturn]] void throw_error(const Scenario& scenario, std::string_view path, std::string_view what);

}  // namespace straggler
