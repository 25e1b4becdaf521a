#include "models/formats/model_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "models/formats/reading.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {
namespace {

namespace fs = std::filesystem;

/// A config.json names its family behind the names of all classes.
constexpr std::size_t start_bytes = 1 << 20;

/// "a or b", each with its example.
std::string known_formats() {
  std::string all;
  for (const ModelFormat& format : Registry<ModelFormat>::instance().entries()) all += (all.empty() ? "" : "; or ") + format.summary;
  return all;
}

/// What a file is that no format recognizes.
std::string seems(const FileStart& start) {
  const std::string_view text = trimmed(start.bytes);
  if (text.empty()) return "is empty";
  if (text.front() == '{' || text.front() == '[') return "is JSON, but has neither a model_type nor a weight_map";
  if (text.starts_with("PK")) return "is a zip archive, as torch.save writes it";
  if (start.bytes.starts_with("\x89HDF")) return "is an HDF5 file";
  if (text.starts_with("\x1f\x8b")) return "is packed by gzip; unpack it";
  return "describes no model that can be read";
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
           .meaning = "`true`: attention keeps no products of pairs of tokens for backward (FlashAttention)"}};
}

ModelFileOptions options_of(const Parameters& parameters) {
  ModelFileOptions options;
  if (parameters.has("sequence")) options.sequence = static_cast<std::size_t>(parameters.count("sequence"));
  if (parameters.has("classes")) options.classes = static_cast<std::size_t>(parameters.count("classes"));
  options.fused_attention = parameters.has("fused_attention") && parameters.flag("fused_attention");
  return options;
}

ModelFile read_model_file(const fs::path& path, const ModelFileOptions& options) {
  std::error_code error;
  if (!fs::exists(path, error)) refuse_model(path, "no such file; give " + known_formats());
  if (!fs::is_regular_file(path, error)) refuse_model(path, "not a file; give " + known_formats());
  const FileText begin = read_file(path, start_bytes);
  if (begin.fault != FileFault::none) refuse_model(path, fmt::format("cannot be read ({}); make it readable", begin.reason));
  const FileStart start{begin.text, fs::file_size(path, error)};
  for (const ModelFormat& format : Registry<ModelFormat>::instance().entries()) {
    if (!format.recognizes(start)) continue;
    check_option(format, path, "sequence", options.sequence.has_value());
    check_option(format, path, "classes", options.classes.has_value());
    check_option(format, path, "fused_attention", options.fused_attention);
    ModelFile file = format.read(path, options);
    file.format = format.name;
    if (file.table.parameters() == 0) refuse_model(path, "has no parameters; give the file of a model that learns");
    return file;
  }
  refuse_model(path, seems(start) + "; give " + known_formats());
}

CostTable noted_table(ModelFile file, const fs::path& path) {
  const std::string name = path.filename().string();
  CostTable table = std::move(file.table);
  for (const std::string& sentence : file.assumed) table.notes.push_back(fmt::format("{}: assumed: {}", name, sentence));
  for (const std::string& sentence : file.missing) table.notes.push_back(fmt::format("{}: not told: {}", name, sentence));
  return table;
}

}  // namespace straggler
