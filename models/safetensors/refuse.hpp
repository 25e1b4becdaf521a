// Rejection of a model file.
#pragma once
#include <filesystem>
#include <string>

#include "models/data/dataset.hpp"

namespace straggler {

/// Throws DataError: "PATH: sentence".
[[noreturn]] inline void refuse(const std::filesystem::path& path, const std::string& sentence) {
  throw DataError(path.string() + ": " + sentence);
}

}  // namespace straggler
