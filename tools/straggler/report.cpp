#include <fmt/format.h>

#include "scenarios/report/run_page.hpp"
#include "scenarios/report/sweep_report.hpp"
#include "scenarios/results/out_file.hpp"
#include "scenarios/sweep/sweep_run.hpp"
#include "tools/straggler/command.hpp"
#include "validation/tables/whole_file.hpp"

namespace straggler::cli {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

Files sweep_files(const fs::path& state) {
  SweepState copy(":memory:");
  const SweepOutcome outcome = merge_sweeps({state}, copy);
  const std::vector<std::string> description = copy.description();
  constexpr std::string_view mark = "columns: ";
  std::vector<std::string> columns;
  for (const std::string& line : description)
    if (line.starts_with(mark)) columns.push_back(line.substr(mark.size()));
  return sweep_report_files(description, columns, outcome);
}

int execute(const std::vector<std::string>& given) {
  po::options_description own("Options", 110);
  own.add_options()("out,o", po::value<std::string>()->value_name("FILE"),
                    "the page (default: report.html in the folder, with a sweep's maps)");
  Arguments arguments(report_command, own);
  if (!arguments.parse(given, 1, 1)) return Exit::done;
  const fs::path folder = arguments.positional().front();
  Files files;
  if (fs::exists(folder / "sweep.sqlite"))
    files = sweep_files(folder / "sweep.sqlite");
  else if (fs::exists(folder / "summary.json"))
    files = {{"report.html", run_page(folder)}};
  else
    throw ResultsError(
        fmt::format("{}: holds neither a run's summary.json nor a sweep's sweep.sqlite; name a result folder", folder.string()));
  fs::path place = folder;
  if (arguments.has("out")) {
    const fs::path out = arguments.file("out");
    place = out.parent_path();
    files.resize(1);
    files.front().first = out.filename().string();
  }
  write_whole_files(place, files);
  for (const auto& [name, text] : files) fmt::print("{}\n", (place / name).string());
  return Exit::done;
}

}  // namespace

const Command report_command{"report", "RESULT_DIR", "one page about a run or a sweep, made from its result folder",
                             "  straggler report results/first\n  straggler report results/bandwidth -o bandwidth.html\n", execute};

}  // namespace straggler::cli
