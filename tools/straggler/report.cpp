#include <fmt/format.h>

#include "scenarios/report/compare_page.hpp"
#include "scenarios/report/race_page.hpp"
#include "scenarios/report/run_page.hpp"
#include "scenarios/report/search_page.hpp"
#include "scenarios/report/sweep_report.hpp"
#include "scenarios/results/comparison.hpp"
#include "scenarios/results/out_file.hpp"
#include "scenarios/results/whole_files.hpp"
#include "scenarios/sweep/sweep_run.hpp"
#include "sim/base/text_lines.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/points.hpp"

namespace straggler::cli {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

/// `folder` relative to a page in `page_folder`; empty: they are the same.
std::string seen_from(const fs::path& page_folder, const fs::path& folder) {
  // Made absolute first: the missing part of a path that does not exist yet would stay unresolved.
  const fs::path way = fs::relative(fs::absolute(folder), fs::absolute(page_folder.empty() ? fs::path(".") : page_folder));
  return way == "." ? std::string() : way.generic_string();
}

Files sweep_files(const fs::path& file, const fs::path& page_folder, const DatabaseWait& wait) {
  SweepState state = SweepState::to_read(file, wait);
  if (state.description().is_search())
    return {
        {"report.html", search_page(kept_search(state, file.string()), state.description(), seen_from(page_folder, file.parent_path()))}};
  SweepState copy(":memory:");
  const SweepOutcome outcome = merge_sweeps({file}, copy, wait);
  const Description description = copy.description();
  return sweep_report_files(description, description.all(Described::column), outcome);
}

Files race_files(const fs::path& file, const fs::path& page_folder, const DatabaseWait& wait) {
  SweepState state = SweepState::to_read(file, wait);
  return {{"report.html", race_page(kept_race(state, file.string()), state.description(), seen_from(page_folder, file.parent_path()))}};
}

/// The page is right without the scenario, but says less.
void warn_unread(const std::string& why) { print_text(stderr, "warning: {}; the page has no timeline\n", why); }

Files files_of(const fs::path& folder, const fs::path& page_folder, const DatabaseWait& wait, bool quiet) {
  if (fs::exists(folder / "sweep.sqlite")) return sweep_files(folder / "sweep.sqlite", page_folder, wait);
  if (fs::exists(folder / "race.sqlite")) return race_files(folder / "race.sqlite", page_folder, wait);
  if (fs::exists(folder / "summary.json")) return {{"report.html", quiet ? run_page(folder) : run_page(folder, warn_unread)}};
  throw ResultsError(fmt::format(
      "{}: holds no summary.json of a run, sweep.sqlite of a sweep or race.sqlite of a race; name a result folder", folder.string()));
}

/// One page that compares several runs.
Files compared_files(const std::vector<std::string>& folders, const fs::path& page_folder) {
  std::vector<RunResult> runs;
  for (const std::string& folder : folders) {
    if (const std::string held = results_of_another_command(folder); !held.empty())
      throw ResultsError(fmt::format("{}: {}; several folders must all be runs", folder, held));
    runs.push_back(read_run_result(folder));
  }
  return {{"compared.html", compare_page(compare(std::move(runs)), page_folder)}};
}

/// Before a page of several runs is written under its default name: an earlier one is replaced with a note, anything else is refused.
void make_room(const fs::path& page, const std::string& text, bool quiet) {
  if (std::error_code error; !fs::exists(fs::symlink_status(page, error))) return;
  if (!is_compare_page(page))
    throw ResultsError(fmt::format("{}: is no page of `straggler report`; name another file with -o", page.string()));
  if (!quiet && read_file(page).text != text)
    print_text(stderr, "note: {}: replaces an earlier page; -o names another file\n", page.string());
}

int execute_report(const std::vector<std::string>& given) {
  po::options_description own("Options", help_width);
  own.add_options()("out,o", po::value<std::string>()->value_name("FILE"),
                    "the page (default: report.html in the folder, with a sweep's maps; of several runs: compared.html)");
  Arguments arguments(report_command, own);
  constexpr std::size_t most = 10'000;
  if (!arguments.parse(given, 1, most)) return Exit::done;
  if (arguments.positional().size() > 1) {
    const fs::path out = arguments.has("out") ? arguments.file("out") : fs::path("compared.html");
    const Files files = compared_files(arguments.positional(), out.parent_path());
    if (!arguments.has("out")) make_room(out, files.front().second, arguments.common().quiet);
    write_whole_files(out.parent_path(), {{out.filename().string(), files.front().second}});
    print_text("{}\n", out.string());
    return Exit::done;
  }
  const fs::path folder = arguments.positional().front();
  const DatabaseWait wait = wait_for_others(arguments.common());
  const bool quiet = arguments.common().quiet;
  if (!arguments.has("out")) {
    const Files files = files_of(folder, folder, wait, quiet);
    write_whole_files(folder, files);
    if (fs::exists(folder / "sweep.sqlite")) remove_old_maps(folder, files);
    for (const auto& [name, text] : files) print_text("{}\n", (folder / name).string());
    return Exit::done;
  }
  const fs::path out = arguments.file("out");
  const Files files = files_of(folder, out.parent_path(), wait, quiet);
  write_whole_files(out.parent_path(), {{out.filename().string(), files.front().second}});
  print_text("{}\n", out.string());
  return Exit::done;
}

}  // namespace

const Command report_command{"report", "RESULT_DIR...", "one page about a run, sweep, search or race, or about several runs",
                             "  straggler report results/first\n  straggler report results/bandwidth -o bandwidth.html\n"
                             "  straggler report results/ssgd results/asgd -o compared.html\n",
                             execute_report};

}  // namespace straggler::cli
