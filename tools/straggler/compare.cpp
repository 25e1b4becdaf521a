#include <fmt/format.h>

#include "scenarios/report/compare_page.hpp"
#include "scenarios/results/out_file.hpp"
#include "scenarios/results/result_folder.hpp"
#include "scenarios/results/verdict.hpp"
#include "scenarios/results/whole_files.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/screen.hpp"

namespace straggler::cli {

namespace fs = std::filesystem;

namespace {

/// DIR/report.html, in a folder that is new, empty or has such a page.
fs::path write_page(const Comparison& comparison, const fs::path& folder) {
  if (folder.empty()) throw UsageError("--out is empty; name a folder");
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    throw ResultsError(fmt::format("{}: is a file, not a folder; choose another with --out", folder.string()));
  const std::string held = fs::exists(folder / "summary.json", error) ? "holds a run" : results_of_another_command(folder);
  if (!held.empty())
    throw ResultsError(fmt::format("{}: {}, whose page would be replaced; choose another folder with --out", folder.string(), held));
  if (fs::exists(folder, error) && !fs::is_empty(folder, error) && !is_compare_page(folder / "report.html"))
    throw ResultsError(
        fmt::format("{}: is not empty and holds no page of straggler compare; use --out {}", folder.string(), free_neighbour(folder)));
  write_whole_files(folder, {{"report.html", compare_page(comparison, folder)}});
  return folder / "report.html";
}

int execute_compare(const std::vector<std::string>& given) {
  boost::program_options::options_description own("Options", help_width);
  own.add_options()("out,o", boost::program_options::value<std::string>()->value_name("DIR"),
                    "also writes DIR/report.html: learning curves of all runs, where their time went, and the table");
  own.add_options()("json", "prints the table as one JSON object, with all scalars and thresholds of each run");
  Arguments arguments(compare_command, own);
  constexpr std::size_t most = 10'000;
  if (!arguments.parse(given, 1, most)) return Exit::done;
  std::vector<RunResult> runs;
  std::vector<std::string> skipped;
  for (const std::string& folder : arguments.positional()) {
    std::string held = results_of_another_command(folder);
    if (std::error_code error; !fs::exists(fs::path(folder) / "summary.json", error) && is_compare_page(fs::path(folder) / "report.html"))
      held = "holds a page of straggler compare";
    if (held.empty())
      runs.push_back(read_run_result(folder));
    else
      skipped.push_back(fmt::format("{}: {}", folder, held));
  }
  if (runs.empty()) throw ResultsError(fmt::format("{}; name the result folders of runs", skipped.front()));
  const Comparison comparison = compare(std::move(runs));
  std::optional<fs::path> page;
  if (arguments.has("out")) page = write_page(comparison, arguments.get<std::string>("out"));
  if (arguments.flag("json")) {
    print_text("{}", comparison_json(comparison, skipped));
    return Exit::done;
  }
  const std::size_t width = terminal_width(stdout);
  print_text("{}\n", width == 0 ? comparison_table(comparison) : comparison_table(comparison, width));
  print_screen("{}\n", plain(verdict(comparison)));
  for (const Said& note : comparison_notes(comparison)) print_screen("note: {}\n", plain(note));
  for (const std::string& note : skipped) print_screen("note: {}, and is left out\n", note);
  if (page) print_page(*page);
  return Exit::done;
}

}  // namespace

const Command compare_command{"compare", "RUN_DIR...", "compares runs: times to accuracies, which run wins, and why",
                              "  straggler compare results/ssgd results/asgd results/nonblocking\n"
                              "  straggler compare results/ssgd results/asgd --out results/compared\n"
                              "  straggler compare results/*       # folders of other commands are left out, with a note\n"
                              "  straggler compare results/* --json\n",
                              execute_compare};

}  // namespace straggler::cli
