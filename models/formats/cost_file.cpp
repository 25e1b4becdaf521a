// The cost of a model from a file that people have (model_file.hpp).
#include "models/formats/model_file.hpp"
#include "models/zoo/architecture.hpp"
#include "models/zoo/cost_model.hpp"
#include "sim/base/registry.hpp"

namespace straggler::formats::cost_file {
namespace {

DeclaredParameters parameters() {
  std::vector<Parameter> all = {{.name = "path",
                                 .type = ValueType::path,
                                 .required = true,
                                 .meaning = "Hugging Face `config.json`, torchinfo summary, ONNX model, safetensors file or its "
                                            "`model.safetensors.index.json`, recognized by its content"}};
  for (const Parameter& option : model_file_options()) all.push_back(option);
  return all;
}

const Register<ModelEntry> entry({
    .name = "file",
    .summary = "the layers that a file describes: config.json, torchinfo summary, ONNX model, safetensors file or index",
    .reference = "the formats' own documents: huggingface.co/docs, github.com/TylerYep/torchinfo, github.com/onnx/onnx",
    .cost_parameters = parameters(),
    .cost_table =
        [](const Parameters& parameters) {
          const std::filesystem::path path = parameters.text("path");
          return noted_table(read_model_file(path, options_of(parameters)), path);
        },
});

}  // namespace
}  // namespace straggler::formats::cost_file
