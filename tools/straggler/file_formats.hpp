// The formats of the files that people write.
#pragma once
#include <string>
#include <vector>

#include "scenarios/schema/key.hpp"

namespace straggler::cli {

struct FileFormat {
  std::string name, title;
  std::vector<ScenarioKey> keys;
};
/// A scenario first.
const std::vector<FileFormat>& file_formats();

}  // namespace straggler::cli
