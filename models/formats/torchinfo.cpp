// The summary that torchinfo prints (github.com/TylerYep/torchinfo): a tree of modules with their output shapes and parameters. FLOPs are
// computed from parameters and shapes, since its own "mult-adds" leave out the tokens of a sequence.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "models/formats/model_file.hpp"
#include "models/formats/reading.hpp"
#include "sim/base/ascii.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler::formats::torchinfo {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t largest = 64 << 20;

/// Where each character of a line begins: columns are aligned by characters, and the tree is drawn with some of three bytes.
std::vector<std::size_t> characters_of(std::string_view line) {
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < line.size(); ++i)
    if ((static_cast<unsigned char>(line[i]) & 0xC0) != 0x80) begins.push_back(i);
  return begins;
}

struct Columns {
  std::vector<std::size_t> begins;  // of all columns, in characters
  std::optional<std::size_t> shape, parameters;

  /// The text of the column that begins there.
  std::string_view cell(std::string_view line, const std::vector<std::size_t>& characters, std::size_t begin) const {
    const auto next = std::upper_bound(begins.begin(), begins.end(), begin);
    if (begin >= characters.size()) return {};
    const std::size_t end = next != begins.end() && *next < characters.size() ? characters[*next] : line.size();
    return trimmed(line.substr(characters[begin], end - characters[begin]));
  }
};

constexpr std::string_view head = "Layer (type";

Columns columns_of(std::string_view line) {
  Columns columns;
  for (const std::string_view title :
       {"Input Shape", "Output Shape", "Param #", "Param %", "Kernel Shape", "Groups", "Mult-Adds", "Trainable"}) {
    const std::size_t at = line.find(title);
    if (at == std::string_view::npos) continue;
    columns.begins.push_back(at);  // the header is ASCII
    if (title == "Output Shape") columns.shape = at;
    if (title == "Param #") columns.parameters = at;
  }
  std::sort(columns.begins.begin(), columns.begins.end());
  return columns;
}

struct Row {
  std::size_t depth = 0;
  std::string name, type;  // "Conv2d: 3-1", "Conv2d"
  std::vector<std::size_t> shape;
  std::optional<std::size_t> parameters;
  bool again = false;  // a module that was called before, "(recursive)"
};

/// "25,557,032"; nothing if it is no number.
std::optional<std::size_t> number_of(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (is_digit(c))
      digits += c;
    else if (c != ',')
      return std::nullopt;
  }
  const std::optional<std::int64_t> value = digits.empty() ? std::nullopt : as_integer(digits);
  if (!value || static_cast<std::uint64_t>(*value) > most_model_parameters) return std::nullopt;
  return static_cast<std::size_t>(*value);
}

/// "[2, 64, 112, 112]"; empty if it is no such list.
std::vector<std::size_t> shape_of(std::string_view text) {
  std::vector<std::size_t> shape;
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return shape;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::optional<std::size_t> side = number_of(trimmed(text.substr(0, comma)));
    if (!side || shape.size() == 16) return {};
    shape.push_back(*side);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return shape;
}

/// The tree is drawn with these, or in ASCII.
bool draws_tree(std::string_view rest) {
  for (const char* each : {" ", "│", "├", "└", "─", "|", "+"})
    if (rest.starts_with(each)) return true;
  return false;
}

/// A row of the tree; nothing: another line, or one of a module's tensors. Each level of the tree is five characters wide.
std::optional<Row> row_of(std::string_view line, const Columns& columns) {
  const std::vector<std::size_t> characters = characters_of(line);
  std::size_t first = 0;  // of the name
  while (first < characters.size() && draws_tree(line.substr(characters[first]))) ++first;
  if (first >= characters.size() || first >= columns.begins.front()) return std::nullopt;
  Row row;
  row.depth = (first + 3) / 5;
  row.name = columns.cell(line, characters, first);
  row.type = row.name.substr(0, row.name.find_first_of(" :"));
  if (columns.shape) row.shape = shape_of(columns.cell(line, characters, *columns.shape));
  std::string_view count = columns.cell(line, characters, *columns.parameters);
  if (draws_tree(count)) return std::nullopt;
  row.again = count == "(recursive)";
  if (count.size() > 2 && count.front() == '(' && count.back() == ')') count = count.substr(1, count.size() - 2);  // it does not learn
  row.parameters = number_of(count);
  return row;
}

// Modules of PyTorch that have no others inside, by their types; Conv1D is the linear layer of Hugging Face's GPT-2.
bool is_convolution(std::string_view type) { return type.find("Conv") != std::string_view::npos && type.ends_with('d'); }
bool is_linear(std::string_view type) { return type.ends_with("Linear") || type == "Conv1D"; }
bool is_norm(std::string_view type) {
  if (type.ends_with('d')) type.remove_suffix(std::min<std::size_t>(2, type.size()));
  return type.ends_with("Norm");
}
bool is_single(std::string_view type) {
  for (const char* each : {"Embedding", "EmbeddingBag", "PReLU", "LSTM", "GRU", "RNN", "Bilinear", "LayerScale"})
    if (type == each) return true;
  return is_convolution(type) || is_linear(type) || is_norm(type);
}

/// Element-wise, or a look-up: no multiply-adds. To embed patches is a convolution.
bool is_cheap(std::string_view type) {
  const bool words = type.find("Embedding") != std::string_view::npos && type.find("Patch") == std::string_view::npos;
  return is_norm(type) || words || type == "PReLU" || type == "LayerScale";
}

/// Where the parameters are used once each: all of an output but its batch and its channels.
double places(const Row& row) {
  double product = 1;
  const bool last = is_linear(row.type) || (row.shape.size() == 3 && !is_convolution(row.type));  // channels stand last
  for (std::size_t i = 1; i < row.shape.size(); ++i)
    if (last ? i + 1 < row.shape.size() : i > 1) product *= static_cast<double>(row.shape[i]);
  return product;
}

struct Summary {
  std::vector<Row> rows;
  std::optional<std::size_t> total, frozen;
  std::optional<double> activation_bytes, input_bytes, parameter_bytes;  // activations: of the batch, forward and backward
  bool has_shapes = true, has_more = false;                              // more: another summary behind it
};

void read_total(std::string_view line, Summary& summary) {
  const auto behind = [line](std::string_view label) {
    return line.starts_with(label) ? trimmed(line.substr(label.size())) : std::string_view();
  };
  // "Input size (kB): 6.33"; small ones have no unit.
  const auto bytes = [&](std::string_view label) -> std::optional<double> {
    std::string_view rest = behind(label);
    double unit = 1;
    for (const auto& [name, size] : {std::pair("(kB)", 1e3), std::pair("(MB)", 1e6), std::pair("(GB)", 1e9), std::pair("(TB)", 1e12)})
      if (rest.starts_with(name)) {
        unit = size;
        rest.remove_prefix(4);
        break;
      }
    if (!rest.starts_with(':')) return std::nullopt;
    std::string text(trimmed(rest.substr(1)));
    std::erase(text, ',');
    const std::optional<double> value = as_number(text);
    return value && *value >= 0 && *value < 1e9 ? std::optional(*value * unit) : std::nullopt;
  };
  if (const auto value = number_of(behind("Total params:"))) summary.total = value;
  if (const auto value = number_of(behind("Non-trainable params:"))) summary.frozen = value;
  if (const auto value = bytes("Forward/backward pass size")) summary.activation_bytes = value;
  if (const auto value = bytes("Input size")) summary.input_bytes = value;
  if (const auto value = bytes("Params size")) summary.parameter_bytes = value;
}

Summary parsed(const fs::path& path, const std::string& text) {
  Summary summary;
  std::optional<Columns> columns;
  TextLines lines(text);
  for (std::string_view line; lines.next(line);) {
    if (line.starts_with(head)) {
      if (summary.has_more = summary.total.has_value(); summary.has_more) break;
      columns = columns_of(line);
      summary.rows.clear();
      summary.has_shapes = columns->shape.has_value();
      if (!columns->parameters)
        refuse_model(path,
                     fmt::format("line {} names no column Param #; print the summary with col_names=(\"output_size\", \"num_params\")",
                                 lines.number()));
    } else if (columns && (line.starts_with("==") || line.empty())) {
      continue;
    } else if (columns && (line.starts_with("Total ") || summary.total)) {
      read_total(line, summary);
    } else if (columns) {
      if (std::optional<Row> row = row_of(line, *columns)) summary.rows.push_back(std::move(*row));
    }
    if (summary.rows.size() > 1'000'000) refuse_model(path, "has more than a million rows; print the summary with a smaller depth");
  }
  if (!columns || summary.rows.empty()) refuse_model(path, "has no rows of layers; print torchinfo.summary(model, input_size=…) into it");
  if (!summary.total) refuse_model(path, "ends before its Total params; print the whole summary");
  return summary;
}

/// A row with parameters: a module without shown ones below it, or the own parameters of one with them.
struct Leaf {
  const Row* row;
  bool block;  // the modules inside are not shown
};

std::vector<Leaf> leaves_of(const std::vector<Row>& rows) {
  std::vector<Leaf> leaves;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool shown = i + 1 < rows.size() && rows[i + 1].depth > rows[i].depth;
    if (!rows[i].parameters && !(rows[i].again && !shown)) continue;
    leaves.push_back({&rows[i], !shown && !is_single(rows[i].type)});
  }
  return leaves;
}

/// The parameters of modules so far. One that is called again has those of the last one of its type with the same output, else with as many
/// channels.
class Called {
 public:
  /// Of that row, noted if the row has them.
  std::size_t parameters(const Row& row) {
    std::string output = row.type + "[", channels;
    for (std::size_t i = 0; i < row.shape.size(); ++i) {
      output += fmt::format("{},", row.shape[i]);
      if (i == 1) channels = fmt::format("{}:{}", row.type, row.shape[i]);
    }
    if (row.parameters) return known_[output] = known_[channels] = *row.parameters;
    const auto found = known_.contains(output) ? known_.find(output) : known_.find(channels);
    return found == known_.end() ? 0 : found->second;
  }

 private:
  std::map<std::string, std::size_t> known_;
};

/// Of a leaf, with the rows without parameters behind it: activations, pools.
std::size_t operations_of(const std::vector<Row>& rows, const Row& leaf) {
  std::size_t count = 1;
  for (auto i = static_cast<std::size_t>(&leaf - rows.data()) + 1; i < rows.size() && !rows[i].parameters && !rows[i].again; ++i) {
    const bool shown = i + 1 < rows.size() && rows[i + 1].depth > rows[i].depth;
    const bool nothing = rows[i].type.starts_with("Dropout") || rows[i].type == "Identity" || rows[i].type == "Flatten";
    if (!shown && !nothing) ++count;
  }
  return count;
}

/// Numbers of an output of one sample.
double outputs(const Row& row) {
  double product = row.shape.empty() ? 0 : 1;
  for (std::size_t i = 1; i < row.shape.size(); ++i) product *= static_cast<double>(row.shape[i]);
  return product;
}

/// Of one sample, by leaf: outputs of layers with parameters. The file counts them twice, forward and backward, also those inside blocks.
std::vector<double> activations(const std::vector<Leaf>& leaves, double sample_numbers) {
  std::vector<double> kept;
  double shown = 0, inside = 0;
  for (const Leaf& leaf : leaves) {
    kept.push_back(leaf.block ? 0 : outputs(*leaf.row));
    shown += kept.back();
    if (leaf.block) inside += static_cast<double>(leaf.row->parameters.value_or(0));
  }
  const double rest = std::max(0.0, sample_numbers - shown);
  for (std::size_t i = 0; i < leaves.size() && inside > 0; ++i)
    if (leaves[i].block) kept[i] = rest * static_cast<double>(leaves[i].row->parameters.value_or(0)) / inside;
  return kept;
}

/// What was counted on the way.
struct Counted {
  std::size_t batch = 0;  // 0: no shapes
  std::size_t blocks = 0, shapeless = 0, missing_parameters = 0;
};

void say(const Summary& summary, const Counted& counted, ModelFile& file) {
  const auto rows = [](std::size_t count, const char* what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); };
  if (counted.batch > 0) file.assumed.push_back(fmt::format("its batch is {}, the first side of its first shape", counted.batch));
  file.assumed.emplace_back("FLOPs are 2 per parameter and place of the output, biases among them, none for norms and embeddings");
  if (summary.activation_bytes)
    file.assumed.emplace_back("backward keeps half of its forward/backward size: the outputs of layers with parameters");
  else
    file.missing.emplace_back("the bytes of activations: its forward/backward size is not there");
  if (counted.shapeless > 0)
    file.missing.push_back(
        fmt::format("the places of {} without an output shape, which count as one (torchinfo.summary with input_size "
                    "tells shapes)",
                    rows(counted.shapeless, "row")));
  if (counted.blocks > 0)
    file.missing.push_back(
        fmt::format("what is inside {} whose rows are not shown (a larger `depth` shows them): each is one tensor, and "
                    "products without weights, as attention has, are not counted",
                    rows(counted.blocks, "block")));
  if (counted.missing_parameters > 0)
    file.missing.push_back(
        fmt::format("where {} of its parameters are used, which no row has", readable_count(counted.missing_parameters)));
  if (summary.frozen.value_or(0) > 0)
    file.missing.push_back(
        fmt::format("gradients: {} of its parameters do not learn, but count here as if they did", readable_count(*summary.frozen)));
  if (summary.has_more) file.missing.emplace_back("what its other summaries are: the first one is read");
}

ModelFile read(const GivenFile& given, const ModelFileOptions&) {
  const fs::path path = given.shown();
  const Summary summary = parsed(path, model_text(given, largest));
  const std::vector<Leaf> leaves = leaves_of(summary.rows);
  Counted counted;
  for (const Row& row : summary.rows)
    if (counted.batch == 0 && !row.shape.empty()) counted.batch = std::max<std::size_t>(row.shape.front(), 1);
  const double batch = static_cast<double>(std::max<std::size_t>(counted.batch, 1));
  const double parameters = static_cast<double>(*summary.total);
  // Half precision counts two bytes a number.
  const double width = parameters > 0 && std::round(summary.parameter_bytes.value_or(0) / parameters) == 2 ? 2 : 4;
  const std::vector<double> kept = activations(leaves, summary.activation_bytes.value_or(0) / (2 * width * batch));
  LayerRows rows;
  Called called;
  std::map<std::string, std::size_t> names;  // how often each is there
  double sum = 0;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const Row& row = *leaves[i].row;
    const std::size_t copy = ++names[row.name];
    const std::string name = copy == 1 ? row.name : fmt::format("{} #{}", row.name, copy);
    const std::size_t used = called.parameters(row);
    const bool computes = !is_cheap(row.type) && used > 0;
    counted.blocks += leaves[i].block ? 1 : 0;
    counted.shapeless += computes && row.shape.empty() ? 1 : 0;
    std::vector<LayerRows::Tensor> tensors;
    if (row.parameters && *row.parameters > 0) tensors.push_back({name, {*row.parameters}});
    sum += static_cast<double>(row.parameters.value_or(0));
    rows.add(name, std::move(tensors), computes ? static_cast<double>(used) * places(row) : 0, kept[i], operations_of(summary.rows, row));
  }
  if (sum > parameters)
    refuse_model(path, fmt::format("its rows have {} parameters, but its total is {}; print the summary again", readable_number(sum),
                                   readable_count(*summary.total)));
  if (sum < parameters) {
    counted.missing_parameters = static_cast<std::size_t>(parameters - sum);
    rows.add("not in the rows", {{"not in the rows", {counted.missing_parameters}}}, 0, 0, 1);
  }
  ModelFile file;
  file.what = fmt::format("{} in {} rows with parameters", summary.rows.front().type, leaves.size());
  file.table = std::move(rows).table(path);
  file.table.knows_activations = summary.activation_bytes.has_value();
  file.table.input_bytes = summary.input_bytes.value_or(0) * (sizeof(float) / width) / batch;
  say(summary, counted, file);
  return file;
}

bool recognizes(const FileStart& start) {
  const std::size_t at = start.bytes.find(head);
  return at == 0 || (at != std::string_view::npos && start.bytes[at - 1] == '\n');
}

const Register<ModelFormat> entry({.name = "torchinfo",
                                   .summary = "a torchinfo summary",
                                   .example = "print(torchinfo.summary(model, input_size=(1, 3, 224, 224), depth=9))",
                                   .parameters = {},
                                   .recognizes = recognizes,
                                   .read = read});

}  // namespace
}  // namespace straggler::formats::torchinfo
