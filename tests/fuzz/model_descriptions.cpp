// What people have of their models: descriptions, headers, ONNX, and lists of sizes.
#include <algorithm>
#include <cmath>

#include "models/formats/model_file.hpp"
#include "models/formats/seems.hpp"
#include "tests/fuzz/target.hpp"

namespace straggler::fuzz {
namespace {

/// What every reader promises.
void check_table(const CostTable& table) {
  std::size_t offset = 0;
  for (const CostLayer& layer : table.layers) {
    if (!(layer.forward_flops >= 0) || !(layer.activation_bytes >= 0)) throw Find("a layer costs less than nothing");
    for (const TensorInfo& tensor : layer.tensors) {
      if (tensor.offset != offset) throw Find("tensors leave a gap or overlap");
      offset += elements(tensor.shape);
    }
  }
  if (offset == 0 || offset != table.parameters()) throw Find("a model without parameters");
  if (!std::isfinite(table.forward_flops()) || !std::isfinite(table.activation_bytes()) || !std::isfinite(table.input_bytes))
    throw Find("costs that are not finite");
}

void read_as_file(const std::string& bytes) {
  const std::string file = write_file("model", bytes);
  may_refuse<DataError>([&] { check_table(read_model_file(file).table); });
  may_refuse<DataError>([&] { check_table(read_model_file(file, {.sequence = 10'000'000}).table); });
}

void model_file(std::string_view input) { read_as_file(std::string(input)); }
const AddTarget add_model_file("model_file", "a config.json, a torchinfo summary, a safetensors header or an index", model_file);

/// Behind the field that starts every model.
void onnx(std::string_view input) { read_as_file("\x08\x08" + std::string(input)); }
const AddTarget add_onnx("onnx", "an ONNX model without its version", onnx);

/// Gzip and tar: every file has as many bytes as its archive says.
void given_file(std::string_view input) {
  const std::string path = write_file("given", input);
  may_refuse<DataError>([&] {
    std::vector<GivenFile> files;
    for_each_file(path, [&](const GivenFile& file, const FileStart& start) {
      if (start.size != file.size() || start.bytes.size() > start.size) throw Find("sizes that differ");
      if (what_it_seems(start).empty()) throw Find("a file that seems to be nothing");
      if (files.size() < 20) files.push_back(file);
    });
    for (const GivenFile& file : files)
      if (file.text(1000).size() != std::min<std::uintmax_t>(1000, file.size())) throw Find("a file that is shorter when it is read again");
  });
}
const AddTarget add_given_file("given_file", "a file that may be packed by gzip, or an archive", given_file);

void layer_sizes(std::string_view input) {
  const ModelEntry& entry = Registry<ModelEntry>::instance().at("sizes");
  const Parameters given = {{"layers", std::string(input) + '\n'}};
  try {
    may_refuse<DataError>([&] { check_table(cost_table(entry, given)); });
  } catch (const std::invalid_argument& error) {
    check_message(error);
  }
}
const AddTarget add_layer_sizes("layer_sizes", "a CSV file of the sizes of layers", layer_sizes);

}  // namespace
}  // namespace straggler::fuzz
