// Model files that were taken although nothing good could come of them.
#include <doctest/doctest.h>

#include <string>

#include "models/data/dataset.hpp"
#include "models/safetensors/model_weights.hpp"
#include "models/safetensors/typed.hpp"
#include "sim/base/registry.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("a running variance below 0 is refused: its root would make every evaluation NaN, and the run look diverged") {
  DataInfo data;
  data.shape = {1, 8, 8};
  data.features = 64;
  data.classes = 3;
  const ModelEntry& entry = Registry<ModelEntry>::instance().at("resnet8");
  const std::unique_ptr<Model> model = entry.make(complete(entry.parameters, {}), data, ModelSetting{select_kernels("auto")});
  std::vector<float> weights(model->length());
  model->initialize(1, weights.data());
  const TemporaryFolder folder;
  const auto read = [&](float variance) {
    TypedFile file;
    for (const TensorInfo& tensor : all_tensors(*model)) {
      std::size_t size = 1;
      for (const std::size_t side : tensor.shape) size *= side;
      std::vector<float> values(weights.begin() + static_cast<std::ptrdiff_t>(tensor.offset),
                                weights.begin() + static_cast<std::ptrdiff_t>(tensor.offset + size));
      if (tensor.name == "layer2.0.bn1.running_var") values.back() = variance;
      file.tensors.push_back(tensor_of(tensor.name, tensor.shape, values));
    }
    return read_model_weights(folder.write("model.safetensors", safetensors_bytes(file)), *model, 1).values;
  };
  const std::string refusal = error_of<DataError>([&] { read(-1e-3f); });
  CHECK(refusal == (folder / "model.safetensors").string() +
                       ": tensor 'layer2.0.bn1.running_var' holds a variance below 0; give the weights of a model that was trained");
  CHECK_NOTHROW(read(0));  // a channel that is always the same
  CHECK(read(1) == weights);
}
