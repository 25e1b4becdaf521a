// The weights of a model from a safetensors file of any program.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "models/zoo/model.hpp"

namespace straggler {

/// Parameters, then buffers: the tensors that cover a vector of weights.
std::vector<TensorInfo> all_tensors(const Model& model);

struct ModelWeights {
  std::vector<float> values;        // [Model::length()]
  std::vector<std::string> absent;  // buffers absent from the file: they keep their values from the seed
};

/// Every parameter must be there in its shape, as F32, F16 or BF16, and nothing else but the model's buffers (PyTorch's counters of batches
/// aside); all numbers finite. Throws DataError that names the first tensor that differs.
ModelWeights read_model_weights(const std::filesystem::path& path, const Model& model, std::uint64_t seed);

/// The same for a trained model: the buffers must be there, too.
std::vector<float> read_trained_weights(const std::filesystem::path& path, const Model& model);

}  // namespace straggler
