// Model files in the safetensors format (github.com/huggingface/safetensors, "Format"): eight bytes, the little-endian length
// of the header; the header, JSON that names each tensor's type, shape and place, padded with spaces to a multiple of eight;
// then the tensors' bytes without gaps.
#pragma once
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/data/dataset.hpp"
#include "models/zoo/model.hpp"

namespace straggler {

struct SafetensorsFile {
  std::vector<TensorInfo> tensors;  // in the order of their offsets; they cover `values` without gaps
  std::vector<float> values;
  std::map<std::string, std::string> metadata;
};

/// Writes `values`, cut up by `tensors`, as FP32. The file appears whole or not at all. Throws DataError where the file cannot
/// be written, std::logic_error where the tensors do not cover the values exactly or share a name.
void write_safetensors(const std::filesystem::path& path, const std::vector<TensorInfo>& tensors, std::span<const float> values,
                       const std::map<std::string, std::string>& metadata = {});

/// Reads a file of FP32 tensors; PyTorch's counters of batches (int64, "….num_batches_tracked") are left out. Throws DataError ("PATH: what is wrong; what would be right").
SafetensorsFile read_safetensors(const std::filesystem::path& path);

}  // namespace straggler
