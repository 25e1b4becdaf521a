// Tensors of several types in the safetensors format (its layout: safetensors.hpp).
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace straggler {

enum class NumberType { f32, f16, bf16, i8, u8, i32, i64 };

/// "F32", "I8", …: the format's names.
const char* name_of(NumberType type);
std::size_t size_of(NumberType type);

struct TypedTensor {
  std::string name;
  NumberType type = NumberType::f32;
  std::vector<std::size_t> shape;
  std::string bytes;  // row-major, little-endian

  std::size_t elements() const;
  /// F32, F16 and BF16 as floats. Throws std::logic_error for the others.
  std::vector<float> floats() const;
};

TypedTensor tensor_of(std::string name, std::vector<std::size_t> shape, std::span<const float> values);
TypedTensor tensor_of(std::string name, std::vector<std::size_t> shape, std::span<const std::int8_t> values);
TypedTensor tensor_of(std::string name, std::vector<std::size_t> shape, std::span<const std::int32_t> values);

struct TypedFile {
  std::vector<TypedTensor> tensors;  // in file order
  std::map<std::string, std::string> metadata;
};

/// PyTorch counts a batch norm's batches in an unused int64: "bn1.num_batches_tracked".
bool is_counter(const TypedTensor& tensor);

/// A whole file. Throws std::logic_error where a tensor's bytes do not fit its shape or two share a name.
std::string safetensors_bytes(const TypedFile& file);

/// Throws DataError ("PATH: what is wrong; what would be right").
TypedFile read_typed_safetensors(const std::filesystem::path& path);

}  // namespace straggler
