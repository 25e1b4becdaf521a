#include "scenarios/results/whole_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <deque>
#include <system_error>

#include "scenarios/results/out_file.hpp"
#include "sim/base/aside_file.hpp"

namespace straggler {

namespace fs = std::filesystem;

void write_whole_files(const fs::path& folder, const std::vector<std::pair<std::string, std::string>>& files) {
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) throw ResultsError(fmt::format("{}: cannot be made: {}; choose another place", folder.string(), error.message()));
  std::deque<AsideFile> all;
  for (const auto& [name, text] : files) {
    const AsideFile& aside = all.emplace_back(folder / name, folder / fmt::format(".{}.straggler-{}", name, ::getpid()));
    OutFile file(aside.path(), aside.place().string());
    file.write(text);
    file.close();
  }
  for (AsideFile& aside : all)
    if ((error = aside.put_into_place()))
      throw ResultsError(fmt::format("{}: cannot be replaced: {}; choose another place", aside.place().string(), error.message()));
}

}  // namespace straggler
