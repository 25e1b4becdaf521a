// What people have of their jobs and models, turned into a folder that runs. A format is a row: who reads it, and what becomes of it.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/formats/given_file.hpp"
#include "models/zoo/cost_model.hpp"
#include "scenarios/import/execution_trace.hpp"
#include "scenarios/import/imported.hpp"
#include "sim/base/parameters.hpp"

namespace straggler {

/// What files of other formats add to those of a job.
struct Companions {
  std::optional<CostTable> model;           // the model that the job trains
  std::optional<ExecutionTrace> execution;  // shapes of what a rank ran
  std::string model_file, execution_file;   // their names
  std::optional<HostNetwork> topology;      // of the hosts that it runs on
};

/// Registers itself from a file of its own (sim/base/registry.hpp).
struct ImportFormat {
  std::string name, summary;      // summary: a noun phrase, "an ONNX model"
  std::string example;            // a line that makes such a file
  std::string yields;             // what its files describe: "a model"
  DeclaredParameters parameters;  // options of the command that it reads
  std::function<bool(const FileStart& start)> recognizes;
  /// Of files that it recognizes. Throws DataError; its key names the option that is wrong, if one is.
  std::function<Imported(const std::vector<GivenFile>& files, const Parameters& options)> read;
  /// The same, with more than a topology beside them. Null: it does not read that.
  std::function<Imported(const std::vector<GivenFile>& files, const Parameters& options, const Companions& companions)> read_with = {};
  /// Adds its files to those of a job. Null: they describe the job themselves.
  std::function<void(const std::vector<GivenFile>& files, Companions& companions)> joins = {};
  /// With files that its claim predicts. Null: they are read alone, and their step is predicted.
  std::function<Imported(const std::vector<GivenFile>& files, const std::vector<GivenFile>& held)> predict = {};
};

/// By what they yield, then by name: those that registered themselves from a file of this folder, and the formats of models
/// (models/formats).
const std::vector<ImportFormat>& import_formats();

/// What the formats read, each option once, in the order of their first formats.
struct ImportOption {
  Parameter parameter;
  std::vector<std::string> formats;  // that read it
};
std::vector<ImportOption> import_options();

struct ImportRequest {
  std::vector<std::filesystem::path> files;
  std::string format = {};                           // empty: recognized by content
  Parameters options = {};                           // of import_options()
  std::vector<std::filesystem::path> held_out = {};  // of the same format: what the claim predicts
};

/// Throws DataError, with a line for the user.
Imported import_files(const ImportRequest& request);

}  // namespace straggler
