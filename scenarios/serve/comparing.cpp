#include "scenarios/serve/comparing.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "scenarios/report/compare_page.hpp"
#include "scenarios/results/verdict.hpp"
#include "scenarios/results/whole_files.hpp"
#include "scenarios/serve/result_list.hpp"

namespace straggler {

namespace fs = std::filesystem;

nlohmann::ordered_json compare_results(const fs::path& root, const nlohmann::ordered_json& request) {
  const nlohmann::ordered_json asked = request.value("results", nlohmann::ordered_json::array());
  constexpr std::size_t most = 64;
  if (!asked.is_array() || asked.size() < 2 || asked.size() > most)
    throw std::invalid_argument(fmt::format("results must name 2 to {} runs; tick some", most));
  std::vector<RunResult> runs;
  for (const nlohmann::ordered_json& each : asked) {
    if (!each.is_string()) throw std::invalid_argument("results must be names of runs in this folder");
    const std::string path = each.get<std::string>();
    const auto file = served_file(root, (path == "." ? "" : path + "/") + "summary.json");
    if (!file) throw std::invalid_argument(path + " is no run in this folder");
    runs.push_back(read_run_result(file->parent_path()));
  }
  const Comparison comparison = compare(std::move(runs));
  std::error_code ignored;
  fs::path place;
  for (int number = 1; place.empty() || fs::exists(place, ignored); ++number) place = root / "what-if" / fmt::format("compared-{}", number);
  write_whole_files(place, {{"report.html", compare_page(comparison, place)}});
  return {{"page", (place / "report.html").lexically_relative(root).generic_string()}, {"verdict", plain(verdict(comparison))}};
}

}  // namespace straggler
