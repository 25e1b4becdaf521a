#include "models/formats/model_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "models/formats/reading.hpp"
#include "models/formats/seems.hpp"

namespace straggler {
namespace {

namespace fs = std::filesystem;

/// "a or b", each with its example.
std::string known_formats() {
  std::string all;
  for (const ModelFormat& format : Registry<ModelFormat>::instance().entries()) all += (all.empty() ? "" : "; or ") + format.summary;
  return all;
}

bool declares(const ModelFormat& format, std::string_view option) {
  return std::any_of(format.parameters.begin(), format.parameters.end(),
                     [option](const Parameter& parameter) { return parameter.name == option; });
}

void check_option(const ModelFormat& format, const fs::path& path, const char* option, bool given) {
  if (given && !declares(format, option))
    refuse_model(path, fmt::format("is {}, which gives its {} itself or has none; remove `{}`", format.summary, option, option), option);
}

}  // namespace

DeclaredParameters model_file_options() {
  return {{.name = "sequence",
           .type = ValueType::count,
           .meaning = "tokens of a sample; default: what the file says, else 1",
           .range = Range::between(1, 1e7)},
          {.name = "classes",
           .type = ValueType::count,
           .meaning = "outputs of an image model's last layer; default: what the file says",
           .range = Range::between(1, 1e6)},
          {.name = "fused_attention",
           .type = ValueType::boolean,
           .fallback = "false",
           .meaning = "attention keeps no products of pairs of tokens for backward, as FlashAttention"}};
}

ModelFileOptions options_of(const Parameters& parameters) {
  ModelFileOptions options;
  if (parameters.has("sequence")) options.sequence = static_cast<std::size_t>(parameters.count("sequence"));
  if (parameters.has("classes")) options.classes = static_cast<std::size_t>(parameters.count("classes"));
  options.fused_attention = parameters.has("fused_attention") && parameters.flag("fused_attention");
  return options;
}

ModelFile read_model_file(const ModelFormat& format, const GivenFile& given, const ModelFileOptions& options) {
  check_option(format, given.shown(), "sequence", options.sequence.has_value());
  check_option(format, given.shown(), "classes", options.classes.has_value());
  check_option(format, given.shown(), "fused_attention", options.fused_attention);
  ModelFile file = format.read(given, options);
  file.format = format.name;
  if (file.table.parameters() == 0) refuse_model(given.shown(), "has no parameters; give the file of a model that learns");
  return file;
}

ModelFile read_model_file(const fs::path& path, const ModelFileOptions& options) {
  std::error_code error;
  if (!fs::exists(path, error)) refuse_model(path, "no such file; give " + known_formats());
  if (!fs::is_regular_file(path, error)) refuse_model(path, "not a file; give " + known_formats());
  std::optional<ModelFile> file;
  const bool archive = for_each_file(path, [&](const GivenFile& given, const FileStart& start) {
    if (given.in_archive()) return;
    for (const ModelFormat& format : Registry<ModelFormat>::instance().entries())
      if (!file && format.recognizes(start)) file = read_model_file(format, given, options);
    if (!file) refuse_model(path, what_it_seems(start) + "; give " + known_formats());
  });
  if (archive) refuse_model(path, "is an archive; unpack it and name a file in it, or let straggler import read it");
  return *std::move(file);
}

CostTable noted_table(ModelFile file, const fs::path& path) {
  const std::string name = path.filename().string();
  CostTable table = std::move(file.table);
  for (const std::string& sentence : file.assumed) table.notes.push_back(fmt::format("{}: assumed: {}", name, sentence));
  for (const std::string& sentence : file.missing) table.notes.push_back(fmt::format("{}: not told: {}", name, sentence));
  return table;
}

}  // namespace straggler
