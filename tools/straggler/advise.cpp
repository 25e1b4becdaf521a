#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "models/formats/given_file.hpp"
#include "scenarios/advise/advise_said.hpp"
#include "scenarios/import/import_format.hpp"
#include "scenarios/report/advise_page.hpp"
#include "scenarios/results/out_file.hpp"
#include "scenarios/results/whole_files.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"
#include "tools/straggler/interrupt.hpp"
#include "tools/straggler/program.hpp"
#include "tools/straggler/scenario_options.hpp"
#include "tools/straggler/screen.hpp"
#include "tools/straggler/table_folder.hpp"

namespace straggler::cli {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

po::options_description advise_options() {
  po::options_description options("Options", help_width);
  auto add = options.add_options();
  add("out,o", po::value<std::string>()->value_name("DIR"),
      "folder of the tables (default: results/NAME-advise; NAME: the scenario's, or an import's folder)");
  add("only", po::value<std::string>()->value_name("NAMES"), "tries these remedies alone, as --only overlap,bucket");
  add("by", po::value<std::string>()->value_name("WHAT"),
      "rate: each list by samples per second (default); time: all together by the time "
      "to the target accuracy; price, energy: all together by that of as many samples");
  add("all", "also remedies that are left out, with the reasons");
  add_scenario_options(add);
  add("json", "prints the tables and sentences as one JSON object, times in seconds");
  add("force", "writes into the folder even if it holds something else");
  return options;
}

AdviceBy given_by(const Arguments& arguments) {
  if (!arguments.has("by")) return AdviceBy::rate;
  const std::string& given = arguments.get<std::string>("by");
  const std::optional<AdviceBy> by = advice_by_choice.find(given);
  if (!by) throw UsageError(unknown_name("--by", given, advice_by_choice.names()));
  return *by;
}

std::vector<std::string> given_remedies(const Arguments& arguments) {
  if (!arguments.has("only")) return {};
  std::vector<std::string> given = split_at_commas(arguments.get<std::string>("only")), names = remedy_names();
  for (std::string& name : given) name = trimmed(name);
  if (given.empty()) throw UsageError("--only names no remedy; known: " + joined(names));
  for (const std::string& name : given)
    if (std::ranges::find(names, name) == names.end()) throw UsageError("--only: " + unknown_name("remedy", name, names));
  return given;
}

/// The next trial, once two seconds have passed.
std::function<void(std::size_t, std::size_t, const std::string&)> trial_teller(const Common& common) {
  if (common.progress == ProgressStyle::none) return {};
  using Clock = std::chrono::steady_clock;
  return [start = Clock::now()](std::size_t number, std::size_t count, const std::string& what) {
    if (Clock::now() - start < std::chrono::seconds(2)) return;
    print_text(stderr, "remedy {} of {}: {}\n", number, count, what);
  };
}

void refuse_foreign(const Arguments& arguments, const fs::path& out) {
  const std::string columns = advise_csv({});
  refuse_foreign_folder(out, "advise", "advise.csv", std::string_view(columns).substr(0, columns.find('\n')), arguments.flag("force"));
}

void write_advice(const Arguments& arguments, const Advice& advice, const fs::path& out, const std::string& json) {
  refuse_foreign(arguments, out);
  write_whole_files(
      out, {{"advise.csv", advise_csv(advice, arguments.flag("all"))}, {"advise.json", json}, {"report.html", advise_page(advice)}});
  results_are_in(out);
}

/// Files without a job: what they tell.
int advise_files(const Arguments& arguments, const fs::path& import_json) {
  const Advice advice = advise_on_figures(import_json);
  const std::string out = arguments.has("out") ? arguments.get<std::string>("out") : std::string(), json = advise_json(advice, out);
  if (!out.empty()) write_advice(arguments, advice, out, json);
  if (arguments.flag("json"))
    print_text("{}", json);
  else
    print_screen("{}", advise_text(advice));
  return Exit::done;
}

/// Of a file that is no scenario: what it is instead. Empty: no format of imports.
std::string format_of(const fs::path& file) {
  std::string found;
  try {
    for_each_file(file, [&](const GivenFile&, const FileStart& start) {
      for (const ImportFormat& format : import_formats())
        if (found.empty() && format.recognizes(start)) found = format.summary;
    });
  } catch (const DataError&) {  // whatever it is, the scenario's reader says what is wrong
  }
  return found;
}

Scenario read_job(const Arguments& arguments, const fs::path& file) {
  try {
    return read_given_scenario(arguments, file, {});
  } catch (const ScenarioErrors&) {
    const std::string format = fs::is_regular_file(file) ? format_of(file) : std::string();
    if (format.empty()) throw;
    throw DataError(
        fmt::format("{0}: is {1}; import it first (straggler import {0} --out DIR), then advise on DIR", file.string(), format));
  }
}

/// results/NAME-advise. NAME is the scenario's, or that of an import's folder: several imports may share a scenario's name.
fs::path usual_folder(const GivenJob& job, const std::string& name) {
  std::string word = name;
  if (job.imported) word = fs::absolute(*job.imported).lexically_normal().parent_path().filename().string();
  const std::string_view end = "-import";
  if (word.size() > end.size() && word.ends_with(end)) word.resize(word.size() - end.size());
  return fs::path("results") / (word + "-advise");
}

int execute_advise(const std::vector<std::string>& given) {
  Arguments arguments(advise_command, advise_options());
  if (!arguments.parse(given, 1, 1)) return Exit::done;
  const GivenJob job = given_job(arguments.positional().front());
  std::error_code error;
  if (job.imported && !fs::exists(job.scenario, error)) return advise_files(arguments, *job.imported);
  const ReadWith read = [&](const std::vector<std::string>& sets) { return read_given_scenario(arguments, job.scenario, sets); };
  const std::string name = read_job(arguments, job.scenario).name;
  const fs::path out = arguments.has("out") ? fs::path(arguments.get<std::string>("out")) : usual_folder(job, name);
  refuse_foreign(arguments, out);
  AdviseOptions options;
  options.run.timing_only = arguments.flag("timing-only");
  options.run.threads = arguments.common().threads;
  options.run.choose_threads = arguments.common().choose_threads;
  options.run.kernels = given_kernels(arguments);
  options.file = job.scenario.string();
  options.imported = job.imported;
  options.by = given_by(arguments);
  options.only = given_remedies(arguments);
  options.tell = trial_teller(arguments.common());
  options.interrupted = interrupt_requested;
  catch_interrupts();
  try {
    const Advice advice = advise(read, options);
    const std::string json = advise_json(advice, out.string());
    write_advice(arguments, advice, out, json);
    if (!arguments.common().quiet)
      for (const std::string& warning : advice.warnings) print_text(stderr, "warning: {}\n", warning);
    if (arguments.flag("json"))
      print_text("{}", json);
    else {
      print_screen("{}\nresults in {}\n", advise_text(advice, arguments.flag("all")), out.string());
      print_page(out / "report.html");
    }
  } catch (const ExplainInterrupted&) {
    if (!arguments.common().quiet) print_text(stderr, "interrupted before the end: nothing is written\n");
    return Exit::interrupted;
  }
  return Exit::done;
}

}  // namespace

const Command advise_command{"advise", "SCENARIO.yaml|FOLDER", "what to change, what it gains, and what it does to learning",
                             "  straggler advise scenario.yaml --timing-only\n"
                             "  straggler advise results/job-import\n"
                             "  straggler advise scenario.yaml --only batch,local_steps --out results/advice\n",
                             execute_advise};

}  // namespace straggler::cli
