// Imports files, and runs what they become.
#pragma once
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/import/import_format.hpp"
#include "scenarios/schema/reader.hpp"
#include "tests/support/folder.hpp"

namespace straggler::test {

struct ImportedJob {
  Imported imported;
  nlohmann::json facts;
  /// The text of a file that is written; empty: it is not.
  std::string file(const std::string& name) const {
    for (const auto& [each, text] : imported.files)
      if (each == name) return text;
    return {};
  }
  /// The summary's sentences, each on its line.
  std::string said() const {
    std::string text;
    for (const auto& [label, sentence] : imported.said) text += label + "  " + sentence + "\n";
    return text;
  }
};

inline ImportedJob import_paths(const std::vector<std::filesystem::path>& files, const Parameters& options = {}) {
  ImportedJob job{import_files({.files = files, .format = {}, .options = options}), {}};
  job.facts = nlohmann::json::parse(job.file("import.json"));
  return job;
}

/// The refusal's line.
inline std::string refusal_of(const std::vector<std::filesystem::path>& files) {
  try {
    import_files({.files = files, .format = {}, .options = {}});
  } catch (const DataError& error) {
    return error.what();
  }
  return "(none)";
}

/// Seconds of an update of what an import wrote.
inline double replayed_step(const TemporaryFolder& folder, const ImportedJob& job, const std::vector<std::string>& sets = {}) {
  for (const auto& [name, text] : job.imported.files) folder.write("imported/" + name, text);
  RunOptions options;
  options.timing_only = true;
  Experiment experiment(read_scenario(folder / "imported/scenario.yaml", sets), options);
  const RunRecord record = experiment.run(nullptr, nullptr);
  CHECK(record.updates == 400);
  return record.end.seconds() / static_cast<double>(record.updates);
}

}  // namespace straggler::test
