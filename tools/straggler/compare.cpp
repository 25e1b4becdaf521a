#include <fmt/format.h>

#include "scenarios/results/comparison.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {

namespace {

int execute(const std::vector<std::string>& given) {
  Arguments arguments(compare_command, boost::program_options::options_description());
  constexpr std::size_t most = 10'000;
  if (!arguments.parse(given, 1, most)) return Exit::done;
  std::vector<RunResult> runs;
  for (const std::string& folder : arguments.positional()) runs.push_back(read_run_result(folder));
  const Comparison comparison = compare(std::move(runs));
  fmt::print("{}\n{}\n", comparison_table(comparison), comparison.verdict);
  for (const std::string& note : comparison.notes) fmt::print("note: {}\n", note);
  return Exit::done;
}

}  // namespace

const Command compare_command{"compare", "RUN_DIR...",
                              "runs side by side: time to accuracy, speed-up, where the time went, and which wins and why",
                              "  straggler compare results/ssgd results/asgd results/nonblocking\n"
                              "  straggler compare results/*\n",
                              execute};

}  // namespace straggler::cli
