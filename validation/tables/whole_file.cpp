#include "validation/tables/whole_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <system_error>

#include "scenarios/results/out_file.hpp"

namespace straggler {

namespace fs = std::filesystem;

void write_whole_files(const fs::path& folder, const std::vector<std::pair<std::string, std::string>>& files) {
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) throw ResultsError(fmt::format("{}: cannot be made: {}; choose another place", folder.string(), error.message()));
  std::vector<fs::path> aside;
  try {
    for (const auto& [name, text] : files) {
      aside.push_back(folder / fmt::format(".{}.straggler-{}", name, ::getpid()));
      OutFile file(aside.back(), (folder / name).string());
      file.write(text);
      file.close();
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
      const fs::path place = folder / files[i].first;
      fs::rename(aside[i], place, error);
      if (error) throw ResultsError(fmt::format("{}: cannot be replaced: {}; choose another place", place.string(), error.message()));
    }
  } catch (const ResultsError&) {
    for (const fs::path& path : aside) fs::remove(path, error);
    throw;
  }
}

}  // namespace straggler
