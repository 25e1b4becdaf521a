#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "scenarios/reasons/explain.hpp"
#include "scenarios/report/explain_page.hpp"
#include "scenarios/results/out_file.hpp"
#include "scenarios/results/whole_files.hpp"
#include "scenarios/schema/reader.hpp"
#include "tools/straggler/interrupt.hpp"
#include "tools/straggler/program.hpp"
#include "tools/straggler/scenario_options.hpp"
#include "tools/straggler/screen.hpp"
#include "tools/straggler/table_folder.hpp"

namespace straggler::cli {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

po::options_description explain_options() {
  po::options_description options("Options", help_width);
  auto add = options.add_options();
  add("out,o", po::value<std::string>()->value_name("DIR"), "folder of the tables (default: results/NAME-explain)");
  add_scenario_options(add);
  add("json", "prints the tables and sentences as one JSON object, times in seconds");
  add("force", "writes into the folder even if it holds something else");
  return options;
}

/// Prints the next run on standard error once two seconds have passed.
std::function<void(std::size_t, std::size_t, const std::string&)> teller(const Common& common) {
  if (common.progress == ProgressStyle::none) return {};
  using Clock = std::chrono::steady_clock;
  return [start = Clock::now()](std::size_t number, std::size_t count, const std::string& what) {
    if (Clock::now() - start < std::chrono::seconds(2)) return;
    print_text(stderr, "run {} of {}: {}\n", number, count, what);
  };
}

int execute_explain(const std::vector<std::string>& given) {
  Arguments arguments(explain_command, explain_options());
  if (!arguments.parse(given, 1, 1)) return Exit::done;
  const Scenario scenario = read_given_scenario(arguments);
  const fs::path out =
      arguments.has("out") ? fs::path(arguments.get<std::string>("out")) : fs::path("results") / (scenario.name + "-explain");
  const std::string columns = explain_csv({});
  refuse_foreign_folder(out, "explain", "explain.csv", std::string_view(columns).substr(0, columns.find('\n')), arguments.flag("force"));
  ExplainOptions options;
  options.run.timing_only = arguments.flag("timing-only");
  options.run.threads = arguments.common().threads;
  options.run.choose_threads = arguments.common().choose_threads;
  options.run.kernels = given_kernels(arguments);
  options.tell = teller(arguments.common());
  options.interrupted = interrupt_requested;
  options.slowdowns = true;
  catch_interrupts();
  try {
    const Explained explained = explain(scenario, options);
    const std::string json = explain_json(explained, out.string());
    write_whole_files(out, {{"explain.csv", explain_csv(explained)},
                            {"elasticities.csv", elasticities_csv(explained)},
                            {"slowdowns.csv", slowdowns_csv(*explained.slowdowns)},
                            {"step_slowdowns.csv", step_slowdowns_csv(*explained.slowdowns)},
                            {"explain.json", json},
                            {"report.html", explain_page(explained)}});
    results_are_in(out);
    if (!arguments.common().quiet)
      for (const std::string& warning : explained.warnings) print_text(stderr, "warning: {}\n", warning);
    if (arguments.flag("json"))
      print_text("{}", json);
    else {
      print_screen("{}\nresults in {}\n", explain_text(explained), out.string());
      print_page(out / "report.html");
    }
  } catch (const ExplainInterrupted&) {
    if (!arguments.common().quiet) print_text(stderr, "interrupted before the end: nothing is written\n");
    return Exit::interrupted;
  }
  return Exit::done;
}

}  // namespace

const Command explain_command{"explain", "SCENARIO.yaml", "why a run takes as long as it does: one cause removed at a time",
                              "  straggler explain scenario.yaml\n"
                              "  straggler explain scenario.yaml --timing-only --out results/why\n"
                              "  straggler explain scenario.yaml --set training.scheme=asgd --seed 2 --json\n",
                              execute_explain};

}  // namespace straggler::cli
