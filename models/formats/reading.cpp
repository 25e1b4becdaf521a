#include "models/formats/reading.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "sim/base/json_depth.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {
namespace {

[[noreturn]] void refuse_large(const std::filesystem::path& path, std::uintmax_t most, const std::string& key) {
  refuse_model(
      path, fmt::format("is larger than {}, as no file of this format is; give a smaller one", readable_bytes(static_cast<double>(most))),
      key);
}

}  // namespace

void refuse_model(const std::filesystem::path& path, const std::string& sentence, const std::string& key) {
  throw DataError(path.string() + ": " + sentence, key);
}

std::string model_text(const std::filesystem::path& path, std::uintmax_t most, const std::string& key) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) refuse_model(path, "no such file; give a file that describes a model", key);
  if (!std::filesystem::is_regular_file(path, error)) refuse_model(path, "not a file; give a file that describes a model", key);
  FileText file = read_file(path, most + 1);
  if (file.fault == FileFault::closed) refuse_model(path, fmt::format("cannot be opened ({}); make it readable", file.reason), key);
  if (file.fault != FileFault::none)
    refuse_model(path, fmt::format("only {} bytes could be read ({}); get a whole file", file.text.size(), file.reason), key);
  if (file.text.size() > most) refuse_large(path, most, key);
  return std::move(file.text);
}

std::string model_text(const GivenFile& file, std::uintmax_t most) {
  if (file.size() > most) refuse_large(file.shown(), most, {});
  return file.text(most);
}

nlohmann::json json_map(const std::filesystem::path& path, std::string_view text) {
  if (nests_deeper(text)) refuse_model(path, "nests lists and maps deeper than any description of a model; get the original file");
  nlohmann::json root = nlohmann::json::parse(text, nullptr, false);
  if (!root.is_object()) refuse_model(path, "is not whole JSON with a map as its root; get an undamaged file");
  return root;
}

void LayerRows::add(std::string name, std::vector<Tensor> tensors, double multiply_adds, double kept, std::size_t operations) {
  CostLayer layer;
  layer.name = std::move(name);
  layer.forward_flops = 2 * multiply_adds;
  layer.activation_bytes = sizeof(float) * kept;
  layer.operations = operations;
  layer.block = block_;
  layer.block_input = std::exchange(block_input_, 0);
  for (Tensor& tensor : tensors) {
    double size = 1;
    for (const std::size_t side : tensor.shape) size *= static_cast<double>(side);
    parameters_ += size;
    if (parameters_ <= static_cast<double>(most_model_parameters)) {
      layer.tensors.push_back({std::move(tensor.name), std::move(tensor.shape), offset_});
      offset_ += elements(layer.tensors.back().shape);
    }
  }
  made_.layers.push_back(std::move(layer));
}

void LayerRows::linear(const std::string& name, const Linear& its, double kept, std::size_t operations) {
  std::vector<Tensor> tensors = {{name + ".weight", its.transposed ? Shape{its.in, its.out} : Shape{its.out, its.in}}};
  if (its.bias) tensors.push_back({name + ".bias", {its.out}});
  add(name, std::move(tensors), its.places * static_cast<double>(its.in) * static_cast<double>(its.out), kept, operations);
}

void LayerRows::of_pairs(double others) {
  CostLayer& layer = made_.layers.back();
  layer.pairs = {layer.forward_flops, layer.activation_bytes - sizeof(float) * others, layer.mask_bytes};
}

void LayerRows::within(std::string block, double input) {
  block_ = std::move(block);
  block_input_ = sizeof(float) * input;
}

namespace {

/// Up to the first number between two dots; empty: there is none.
std::string numbered_part(std::string_view name) {
  for (std::size_t at = name.find('.'), end = 0; at != std::string_view::npos; at = end) {
    end = name.find('.', at + 1);
    if (end == std::string_view::npos) break;
    const std::string_view part = name.substr(at + 1, end - at - 1);
    if (!part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos) return std::string(name.substr(0, end));
  }
  return {};
}

/// A block reads what the layer before it makes: at most all that this keeps.
void number_blocks(std::vector<CostLayer>& layers) {
  for (CostLayer& layer : layers)
    if (!layer.block.empty()) return;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].block = numbered_part(layers[i].name);
    if (i > 0 && !layers[i].block.empty() && layers[i].block != layers[i - 1].block && !layers[i - 1].block.empty())
      layers[i].block_input = layers[i - 1].activation_bytes;
  }
}

}  // namespace

CostTable LayerRows::table(const std::filesystem::path& path, const std::string& key) && {
  if (parameters_ > static_cast<double>(most_model_parameters))
    refuse_model(
        path,
        fmt::format("has {:.3g} parameters; write a model of at most {:.0e}", parameters_, static_cast<double>(most_model_parameters)),
        key);
  number_blocks(made_.layers);
  return std::move(made_);
}

std::string some_of(const std::vector<std::string>& words, std::size_t most) {
  if (words.size() <= most + 1) return listed(words);
  std::vector<std::string> shown(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(most));
  shown.push_back(fmt::format("{} more", words.size() - most));
  return listed(shown);
}

}  // namespace straggler
