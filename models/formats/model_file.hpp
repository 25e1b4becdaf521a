// What people have of their models, for timing: a description, or a file of weights, read into one table of costs. A format is a file of
// this folder that registers itself.
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/formats/given_file.hpp"
#include "models/zoo/cost_model.hpp"
#include "sim/base/registry.hpp"

namespace straggler {

/// What a file does not say and a user may. Each format names those that it reads.
struct ModelFileOptions {
  std::optional<std::size_t> sequence = {};  // tokens, or other places, of a sample
  std::optional<std::size_t> classes = {};   // outputs of an image model's last layer
  bool fused_attention = false;              // true: backward computes attention's products again instead of keeping them
};

/// The same for every format.
struct ModelFile {
  std::string format;                // its name
  std::string what;                  // a noun phrase: "gpt2 with 12 blocks of width 768"
  CostTable table;                   // its parameters are those that learn
  std::size_t other_numbers = 0;     // in the file without learning: running statistics, masks
  std::vector<std::string> assumed;  // sentences: figures that the file does not give
  std::vector<std::string> missing;  // sentences: what it cannot tell
};

struct ModelFormat {
  std::string name, summary;      // summary: a noun phrase, for help and refusals
  std::string example;            // a command or a line that makes such a file
  DeclaredParameters parameters;  // those of model_file_options() that it reads
  bool (*recognizes)(const FileStart& start);
  /// Throws DataError ("PATH: what is wrong; what would be right"); its key names the option that is wrong, if one is.
  ModelFile (*read)(const GivenFile& file, const ModelFileOptions& options);
};

/// Every option, as a cost model or a command declares it.
DeclaredParameters model_file_options();
ModelFileOptions options_of(const Parameters& parameters);

/// Reads a file of any format, plain or packed by gzip, recognized by its content. Throws DataError; also where the format does not read an
/// option that is given.
ModelFile read_model_file(const std::filesystem::path& path, const ModelFileOptions& options = {});
/// Reads a file that the format recognizes. Throws DataError.
ModelFile read_model_file(const ModelFormat& format, const GivenFile& file, const ModelFileOptions& options);

/// The table, with its sentences as notes for the user: each begins with the file's name.
CostTable noted_table(ModelFile file, const std::filesystem::path& path);

}  // namespace straggler
