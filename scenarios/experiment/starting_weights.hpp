// Weights from a file, to start training from in place of those that the seed gives.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "models/zoo/model.hpp"

namespace straggler {

struct StartingWeights {
  std::vector<float> values;  // [Model::length()]
  std::string note;           // a sentence for the user; empty: all is there
};

/// Reads a safetensors file. Every parameter must be there with its shape, and nothing else but the model's buffers; a buffer that is
/// missing keeps the value that the model gives it. Throws DataError that names the first difference.
StartingWeights read_starting_weights(const std::filesystem::path& file, const Model& model, std::uint64_t seed);

/// Parameters, then buffers: the tensors that cover a vector of weights.
std::vector<TensorInfo> all_tensors(const Model& model);

}  // namespace straggler
