// The header of a safetensors file (its layout: models/safetensors/safetensors.hpp), without the numbers behind it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "models/formats/given_file.hpp"

namespace straggler::formats {

struct HeaderTensor {
  std::string name, type;  // "F32", "BF16", …
  std::vector<std::size_t> shape;
  std::uint64_t begin = 0;  // in bytes behind the header
};

/// In the order of their places. The file may end behind its header. Throws DataError.
std::vector<HeaderTensor> read_safetensors_header(const GivenFile& file);

}  // namespace straggler::formats
