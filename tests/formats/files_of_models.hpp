// The sample files, and files that the tests make.
#pragma once
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>

#include "models/formats/model_file.hpp"
#include "tests/support/folder.hpp"

namespace straggler::test {

inline std::filesystem::path sample(const std::string& name) {
  return std::filesystem::path(STRAGGLER_SOURCE_DIR) / "tests/formats/files" / name;
}

inline ModelFile read_sample(const std::string& name, const ModelFileOptions& options = {}) {
  return read_model_file(sample(name), options);
}

/// What read_model_file says of a file with these bytes; empty: it reads it.
inline std::string refusal_of(const TemporaryFolder& folder, const std::string& bytes, const ModelFileOptions& options = {}) {
  try {
    read_model_file(folder.write("file", bytes), options);
  } catch (const DataError& error) {
    return error.what();
  }
  return {};
}

/// The FLOPs of rows with tensors: products with weights, without those of attention.
inline double flops_with_weights(const CostTable& table) {
  double flops = 0;
  for (const CostLayer& layer : table.layers)
    if (!layer.tensors.empty()) flops += layer.forward_flops;
  return flops;
}

/// Eight bytes of length, then the header.
inline std::string safetensors_start(const std::string& header) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header;
}

}  // namespace straggler::test
