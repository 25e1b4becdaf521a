#include "scenarios/results/whole_files.hpp"

#include <fmt/format.h>

#include <deque>
#include <system_error>

#include "scenarios/results/out_file.hpp"
#include "sim/base/aside_file.hpp"
#include "sim/base/hidden_folder.hpp"

namespace straggler {

namespace fs = std::filesystem;

void write_whole_files(const fs::path& folder, const std::vector<std::pair<std::string, std::string>>& files) {
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) throw ResultsError(fmt::format("{}: cannot be made: {}; choose another place", folder.string(), error.message()));
  std::vector<std::string> names;
  for (const auto& [name, text] : files) names.push_back(name);
  remove_abandoned(folder, names);
  std::deque<AsideFile> all;
  for (const auto& [name, text] : files) {
    const AsideFile& aside = all.emplace_back(folder / name);
    OutFile file(aside.path(), aside.place().string());
    file.write(text);
    file.close();
  }
  for (AsideFile& aside : all)
    if ((error = aside.put_into_place()))
      throw ResultsError(fmt::format("{}: cannot be replaced: {}; choose another place", aside.place().string(), error.message()));
}

}  // namespace straggler
