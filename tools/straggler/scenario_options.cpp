#include "tools/straggler/scenario_options.hpp"

#include <algorithm>

#include "models/kernels/kernels.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/source_text.hpp"
#include "sim/base/suggest.hpp"

namespace straggler::cli {

namespace po = boost::program_options;

void add_change_options(po::options_description_easy_init& add) {
  add("set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"),
      "changes the scenario, as --set training.batch.per_worker=64; repeatable. A path in VALUE is relative to the current folder (a path "
      "in the file: to the file's folder)");
  add("seed", po::value<std::string>()->value_name("N"), "seed, instead of the scenario's");
  add("kernels", po::value<std::string>()->value_name("NAME"), "instruction set of the math (default: auto, the fastest)");
}

void add_scenario_options(po::options_description_easy_init& add) {
  add_change_options(add);
  add("timing-only", "timing alone, without the math: no accuracies, no data files needed");
}

Scenario read_given_scenario(const Arguments& arguments) { return read_given_scenario(arguments, arguments.positional().front(), {}); }

Scenario read_given_scenario(const Arguments& arguments, const std::filesystem::path& file, const std::vector<std::string>& more) {
  std::vector<std::string> sets;
  if (arguments.has("set")) sets = arguments.get<std::vector<std::string>>("set");
  sets.insert(sets.end(), more.begin(), more.end());
  Scenario scenario = read_scenario(input_file(file.string()), sets);
  if (arguments.has("seed")) scenario.seed = arguments.count("seed", 0);
  return scenario;
}

std::string given_kernels(const Arguments& arguments) {
  if (!arguments.has("kernels")) return "auto";
  const std::string& given = arguments.get<std::string>("kernels");
  std::vector<std::string> known{"auto"};
  for (const std::string_view name : available_kernels()) known.emplace_back(name);
  if (std::find(known.begin(), known.end(), given) == known.end()) throw UsageError(unknown_name("--kernels", given, known));
  return given;
}

}  // namespace straggler::cli
