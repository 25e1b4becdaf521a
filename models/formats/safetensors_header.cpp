#include "models/formats/safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "models/formats/model_file.hpp"
#include "models/formats/reading.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/suggest.hpp"

namespace straggler::formats {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;  // not the ordered one, which searches a map of many keys from its begin

static_assert(std::endian::native == std::endian::little, "lengths are copied as they lie in memory");

constexpr std::uint64_t longest_header = 16 << 20;  // 150,000 tensors, of which a parser makes a hundred megabytes

struct Type {
  const char* name;
  std::uint64_t bits;
};
/// Of safetensors (github.com/huggingface/safetensors, Dtype).
constexpr Type types[] = {{"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},   {"I8", 8},    {"F8_E5M2", 8},
                          {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16}, {"BF16", 16}, {"I32", 32},
                          {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},    {"I64", 64}, {"U64", 64}};

HeaderTensor tensor_of(const fs::path& path, const std::string& name, const Json& json) {
  const auto list = [&](const char* key) -> const Json& {
    if (!json.is_object() || !json.contains(key) || !json[key].is_array() || json[key].size() > 16)
      refuse_model(path, fmt::format("tensor {} has no list {}; get an undamaged safetensors file", in_quotes(name), key));
    for (const Json& each : json[key])
      if (!each.is_number_unsigned())
        refuse_model(path, fmt::format("{} of tensor {} are not counts; get an undamaged safetensors file", key, in_quotes(name)));
    return json[key];
  };
  HeaderTensor tensor;
  tensor.name = name;
  double size = 1;
  for (const Json& side : list("shape")) {
    tensor.shape.push_back(side.get<std::size_t>());
    size *= static_cast<double>(tensor.shape.back());
  }
  if (size > static_cast<double>(most_model_parameters))
    refuse_model(path,
                 fmt::format("tensor {} would have {} numbers; get an undamaged safetensors file", in_quotes(name), readable_number(size)));
  if (!json.contains("dtype") || !json["dtype"].is_string())
    refuse_model(path, fmt::format("tensor {} has no dtype; get an undamaged safetensors file", in_quotes(name)));
  tensor.type = json["dtype"].get<std::string>();
  const auto type = std::ranges::find_if(types, [&](const Type& each) { return tensor.type == each.name; });
  if (type == std::end(types))
    refuse_model(path, fmt::format("tensor {} has dtype {}, which safetensors files do not have; save it as F32 or BF16", in_quotes(name),
                                   in_quotes(tensor.type)));
  const Json& offsets = list("data_offsets");
  tensor.begin = offsets.size() == 2 ? offsets[0].get<std::uint64_t>() : 0;
  const double bytes = offsets.size() == 2 ? static_cast<double>(offsets[1].get<std::uint64_t>()) - static_cast<double>(tensor.begin) : -1;
  if (bytes != std::ceil(size * static_cast<double>(type->bits) / 8))
    refuse_model(path, fmt::format("tensor {} has {} numbers of {}, and data_offsets that fit others; get an undamaged safetensors file",
                                   in_quotes(name), readable_count(static_cast<std::size_t>(size)), tensor.type));
  return tensor;
}

/// The header's length, where eight bytes can be one.
std::uint64_t length_of(std::string_view bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  return length;
}

struct Sizes {
  LayerRows rows;
  std::size_t other = 0;              // numbers that do not learn
  std::size_t statistics = 0;         // of them running means and variances
  std::vector<std::string> left_out;  // tensors of these numbers
  std::vector<std::string> types;     // in the order of their first tensors
};

/// Numbers of floats that frameworks keep beside the weights.
bool is_buffer(const HeaderTensor& tensor) {
  for (const char* end : {"running_mean", "running_var", "inv_freq", "masked_bias", "position_ids", "relative_position_index"})
    if (tensor.name.ends_with(end)) return true;
  const bool mask = tensor.name.ends_with("attn.bias") || tensor.name.ends_with("attention.bias");  // GPT-2's and GPT-NeoX's triangle
  return mask && tensor.shape.size() == 4 && tensor.shape[0] == 1 && tensor.shape[1] == 1;
}

bool is_float(const std::string& type) { return type.starts_with("F") || type.starts_with("BF"); }

void add(Sizes& sizes, const HeaderTensor& tensor, double places) {
  const std::size_t count = elements(tensor.shape);
  if (!is_float(tensor.type) || is_buffer(tensor)) {
    sizes.other += count;
    if (tensor.name.ends_with("running_mean") || tensor.name.ends_with("running_var")) sizes.statistics += count;
    sizes.left_out.push_back(tensor.name);
    return;
  }
  if (std::find(sizes.types.begin(), sizes.types.end(), tensor.type) == sizes.types.end()) sizes.types.push_back(tensor.type);
  sizes.rows.add(tensor.name, {{tensor.name, tensor.shape}}, places * static_cast<double>(count), 0, 1);
}

/// What holds of every file that has only sizes.
ModelFile finished(const fs::path& path, Sizes&& sizes, std::size_t tensors, const ModelFileOptions& options) {
  ModelFile file;
  file.what = fmt::format("{} tensors of weights in {}", tensors - sizes.left_out.size(), listed(sizes.types));
  file.table = std::move(sizes.rows).table(path);
  file.table.knows_activations = false;
  file.table.statistics = sizes.statistics;
  file.other_numbers = sizes.other;
  file.assumed.push_back(options.sequence
                             ? fmt::format("FLOPs forward are 2 per parameter at each of {} places", readable_count(*options.sequence))
                             : "FLOPs forward are 2 per parameter and place, at one place; `sequence` sets the places of a sample");
  file.assumed.emplace_back("layers compute in the order of their tensors in the file");
  file.missing.emplace_back("the bytes of activations: a file of weights has only sizes");
  if (!sizes.left_out.empty())
    file.missing.push_back(
        fmt::format("why {} are there: {} numbers that do not learn, left out", some_of(sizes.left_out, 3), readable_count(sizes.other)));
  return file;
}

double places_of(const ModelFileOptions& options) { return static_cast<double>(options.sequence.value_or(1)); }

ModelFile read_file_of_weights(const GivenFile& file, const ModelFileOptions& options) {
  Sizes sizes;
  const std::vector<HeaderTensor> tensors = read_safetensors_header(file);
  for (const HeaderTensor& tensor : tensors) add(sizes, tensor, places_of(options));
  return finished(file.shown(), std::move(sizes), tensors.size(), options);
}

bool is_header(const FileStart& start) {
  if (start.bytes.size() < 10 || start.bytes[8] != '{') return false;
  const std::uint64_t length = length_of(start.bytes);
  return length >= 2 && length < start.size && length <= 100'000'000;
}

/// "model.layers.0" of "model.layers.0.mlp.up_proj.weight": up to its first number; without one, all but the last part.
std::string block_of(const std::string& name) {
  std::size_t at = 0;
  while (at < name.size()) {
    const std::size_t dot = std::min(name.find('.', at), name.size());
    const std::string part = name.substr(at, dot - at);
    if (!part.empty() && part.find_first_not_of("0123456789") == std::string::npos) return name.substr(0, dot);
    at = dot + 1;
  }
  return name.substr(0, name.rfind('.'));
}

/// The index has no sizes, and the files that it names are not there.
ModelFile even_blocks(const fs::path& path, const Json& root, const Json& map, const ModelFileOptions& options) {
  const auto number = [&](const char* key) -> std::uint64_t {
    if (!root.contains("metadata") || !root["metadata"].is_object() || !root["metadata"].contains(key)) return 0;
    const Json& json = root["metadata"][key];  // some writers have it as a float
    const double value = json.is_number() ? json.get<double>() : 0;
    return value >= 1 && value <= 8.0 * static_cast<double>(most_model_parameters) ? static_cast<std::uint64_t>(value) : 0;
  };
  ModelFile file;
  std::uint64_t parameters = number("total_parameters");
  if (parameters == 0) {
    parameters = number("total_size") / 2;
    file.assumed.emplace_back("weights are stored in 16 bits, since the index gives their bytes alone");
  }
  if (parameters == 0)
    refuse_model(path,
                 "has neither sizes nor a total_size, and the files that it names are not beside it; put them there, or give config.json");
  std::set<std::string> names;
  for (const auto& [name, shard] : map.items()) names.insert(block_of(name));
  const std::vector<std::string> blocks(names.begin(), names.end());
  if (blocks.size() > 10'000) refuse_model(path, "names more than 10,000 blocks; give config.json");
  LayerRows rows;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::size_t size = parameters * (i + 1) / blocks.size() - parameters * i / blocks.size();
    rows.add(blocks[i], {{blocks[i], {size}}}, places_of(options) * static_cast<double>(size), 0, 1);
  }
  file.what = fmt::format("{} tensors of weights in {} blocks", map.size(), blocks.size());
  file.table = std::move(rows).table(path);
  file.table.knows_activations = false;
  file.assumed.emplace_back("every block has as many parameters, since the index has no sizes and its files are not beside it");
  file.assumed.push_back(
      fmt::format("FLOPs forward are 2 per parameter at each of {} places", readable_count(options.sequence.value_or(1))));
  file.missing.emplace_back("the sizes of tensors, and the bytes of activations");
  return file;
}

ModelFile read_index(const GivenFile& file, const ModelFileOptions& options) {
  const fs::path path = file.shown();
  const Json root = json_map(path, model_text(file, 32 << 20));
  if (!root.contains("weight_map") || !root["weight_map"].is_object())
    refuse_model(path, "has no weight_map; give a model.safetensors.index.json");
  if (root["weight_map"].empty()) refuse_model(path, "has an empty weight_map; give the index of a model with weights");
  const Json& map = root["weight_map"];
  std::set<std::string> shards;  // in their order: model-00001-of-00004.safetensors, …
  for (const auto& [name, shard] : map.items()) {
    const bool plain = shard.is_string() && fs::path(shard.get<std::string>()).filename() == fs::path(shard.get<std::string>());
    if (!plain || shard.get<std::string>().empty())
      refuse_model(path, fmt::format("the file of {} is not the name of a file beside it; get the original index", in_quotes(name)));
    shards.insert(shard.get<std::string>());
    if (shards.size() > 10'000) refuse_model(path, "names more than 10,000 files; get the original index");
  }
  std::size_t there = 0;
  std::string absent;
  for (const std::string& shard : shards) {
    if (file.has_beside(shard))
      ++there;
    else if (absent.empty())
      absent = shard;
  }
  if (there == 0) return even_blocks(path, root, map, options);
  if (there < shards.size())
    refuse_model(path,
                 fmt::format("names {} files, of which {} are beside it; put {} there, too", shards.size(), there, in_quotes(absent)));
  Sizes sizes;
  std::size_t tensors = 0;
  for (const std::string& shard : shards)
    for (const HeaderTensor& tensor : read_safetensors_header(file.beside(shard))) {
      if (!map.contains(tensor.name) || map[tensor.name] != shard) continue;
      add(sizes, tensor, places_of(options));
      ++tensors;
    }
  if (tensors != map.size())
    refuse_model(path, fmt::format("names {} tensors, of which its files have {}; get the index of these files", map.size(), tensors));
  return finished(path, std::move(sizes), tensors, options);
}

bool is_index(const FileStart& start) {
  return start.bytes.find('{') != std::string_view::npos && start.bytes[start.bytes.find_first_not_of(" \t\r\n")] == '{' &&
         start.bytes.find("\"weight_map\"") != std::string_view::npos;
}

/// The one option of both.
DeclaredParameters places_only() { return {model_file_options().front()}; }

const Register<ModelFormat> weights({.name = "safetensors",
                                     .summary = "a safetensors file, of which only the header is read",
                                     .example = "safetensors.torch.save_file(model.state_dict(), \"model.safetensors\")",
                                     .parameters = places_only(),
                                     .recognizes = is_header,
                                     .read = read_file_of_weights});
const Register<ModelFormat> index({.name = "safetensors_index",
                                   .summary = "a model.safetensors.index.json beside its files",
                                   .example = "model.save_pretrained(\"FOLDER\", max_shard_size=\"5GB\")",
                                   .parameters = places_only(),
                                   .recognizes = is_index,
                                   .read = read_index});

}  // namespace

std::vector<HeaderTensor> read_safetensors_header(const GivenFile& file) {
  const fs::path path = file.shown();
  std::string text = file.text(sizeof(std::uint64_t));
  if (text.size() < sizeof(std::uint64_t))
    refuse_model(path, "is shorter than the 8 bytes of its header's length; get a whole safetensors file");
  const std::uint64_t length = length_of(text);
  if (length > file.size() - sizeof length)
    refuse_model(path,
                 fmt::format("its header would have {} bytes, but the file has {}; get at least its whole header", length, file.size()));
  if (length > longest_header) refuse_model(path, fmt::format("its header has {} bytes; at most {} can be read", length, longest_header));
  text = file.text(sizeof length + length).substr(sizeof length);
  const Json header = json_map(path, text);
  std::vector<HeaderTensor> tensors;
  for (const auto& [name, json] : header.items())
    if (name != "__metadata__") tensors.push_back(tensor_of(path, name, json));
  std::stable_sort(tensors.begin(), tensors.end(), [](const HeaderTensor& a, const HeaderTensor& b) { return a.begin < b.begin; });
  return tensors;
}

}  // namespace straggler::formats
