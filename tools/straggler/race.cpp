#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "scenarios/race/race_run.hpp"
#include "scenarios/race/race_tables.hpp"
#include "scenarios/report/race_page.hpp"
#include "scenarios/results/whole_files.hpp"
#include "scenarios/schema/source_text.hpp"
#include "sim/base/suggest.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/interrupt.hpp"
#include "tools/straggler/points.hpp"
#include "tools/straggler/program.hpp"
#include "tools/straggler/ranks.hpp"

namespace straggler::cli {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

constexpr const char* race_file = "race.sqlite";
constexpr std::uint64_t default_budget = 20, default_seeds = 5;

po::options_description race_options() {
  po::options_description options("Options", help_width);
  auto add = options.add_options();
  const auto texts = [](const char* name) { return po::value<std::vector<std::string>>()->composing()->value_name(name); };
  add("schemes", texts("SCHEME,..."), "entrants: names of schemes, or flow YAML such as \"ssgd,damped={kind: asgd, staleness: inverse}\"");
  add("entrant", texts("YAML"),
      "one more entrant, which differs in any settings: \"slow: {training.scheme: asgd, cluster.servers.count: 2}\"; repeatable");
  add("tune", texts("LIST"),
      "tunes these for every entrant alike, on held-out samples: learning_rate, momentum, weight_decay, or any "
      "PATH={from: A, to: B, scale: log}");
  add("by", po::value<std::string>()->value_name("WHAT"),
      "what decides who is first: time (default), price, energy or bytes until the threshold");
  add("budget", po::value<std::string>()->value_name("N"), "number of settings that every entrant tries, the same for all (default: 20)");
  add("tuning-seeds", po::value<std::string>()->value_name("N"), "runs of each setting (default: 1)");
  add("seeds", po::value<std::string>()->value_name("N"), "runs of each entrant in the race, 2 to 50 (default: 5)");
  add("unpaired", "no two runs share a seed (by default run i of every entrant has the same one)");
  add("out,o", po::value<std::string>()->value_name("DIR"), "folder of the results (default: results/NAME-race)");
  add("set", texts("PATH=VALUE"), "changes the scenario for everyone; repeatable");
  add("timing-only", "timing alone: who finishes an epoch first");
  add("alone", "runs by itself, even if a launcher (mpirun, srun) started several processes");
  add_pool_options(add);
  add("json", "prints the tables as one JSON object, times in seconds");
  add("force", "starts again, even in a folder that holds something else");
  return options;
}

std::vector<std::string> all_of(const Arguments& arguments, const char* name) {
  return arguments.has(name) ? arguments.get<std::vector<std::string>>(name) : std::vector<std::string>();
}

std::size_t count_or(const Arguments& arguments, const char* name, std::uint64_t least, std::uint64_t most, std::uint64_t fallback) {
  if (!arguments.has(name)) return fallback;
  const std::uint64_t given = arguments.count(name, least);
  if (given > most) throw UsageError(fmt::format("--{} is {}; it must be at most {}", name, given, most));
  return given;
}

template <class Read>
auto with_option(const char* option, const std::string& text, const Read& read) {
  try {
    return read(text);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("{} {}: {}", option, text, error.what()));
  }
}

Race race_of(const Arguments& arguments) {
  Race race;
  race.scenario = input_file(arguments.positional().front());
  race.more = all_of(arguments, "set");
  race.seeds = count_or(arguments, "seeds", 2, most_ranked, default_seeds);
  race.paired = !arguments.flag("unpaired");
  race.timing_only = arguments.flag("timing-only");
  if (arguments.has("by")) {
    const std::string& given = arguments.get<std::string>("by");
    const MeasureRow* const by = find_measure(given);
    if (by == nullptr) {
      std::vector<std::string> known;
      for (const MeasureRow& row : measures()) known.emplace_back(row.name);
      throw UsageError(unknown_name("--by", given, known));
    }
    race.by = by->measure;
  }
  for (const std::string& list : all_of(arguments, "schemes"))
    for (Entrant& each : with_option("--schemes", list, entrants_of_schemes)) race.entrants.push_back(std::move(each));
  for (const std::string& text : all_of(arguments, "entrant")) race.entrants.push_back(with_option("--entrant", text, entrant_of_yaml));
  const std::size_t budget = count_or(arguments, "budget", 1, 10'000, default_budget);
  const std::size_t tuning_seeds = count_or(arguments, "tuning-seeds", 1, 1000, 1);
  if (!arguments.has("tune") && (arguments.has("budget") || arguments.has("tuning-seeds")))
    throw UsageError("--budget and --tuning-seeds need --tune; add --tune learning_rate,momentum or the like");
  if (arguments.has("tune") && race.timing_only)
    throw UsageError("--tune needs the math, which --timing-only leaves out; remove one of them");
  try {
    if (arguments.has("tune")) {
      race.tuning = tuning_of(all_of(arguments, "tune"), budget);
      race.tuning->seeds = tuning_seeds;
    }
    check_entrants(race);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
  return race;
}

void write_tables(const fs::path& out, const RaceOutcome& outcome, SweepState& state) {
  keep(state, outcome);
  std::vector<std::pair<std::string, std::string>> files{
      {"report.html", race_page(outcome, state.description())}, {"race.csv", race_csv(outcome)}, {"verdicts.csv", verdicts_csv(outcome)}};
  if (outcome.tuning)
    files.emplace_back("tuning.csv", tuning_csv(outcome));
  else
    fs::remove(out / "tuning.csv");  // of an earlier race
  try {
    write_whole_files(out, files);
  } catch (const DiskError& error) {
    throw DiskError(fmt::format("{}; the finished runs are kept: the same command continues", error.what()));
  }
  results_are_in(out);
}

int execute_race(const std::vector<std::string>& given) {
  Arguments arguments(race_command, race_options());
  if (!arguments.parse(given, 1, 1)) return Exit::done;
  const Race race = race_of(arguments);
  const PoolOptions options = read_pool_options(arguments);
  const RaceReader reader(race);
  check_runs(race, reader);
  const fs::path out = arguments.has("out") ? fs::path(arguments.get<std::string>("out")) : fs::path("results") / (reader.name() + "-race");
  open_results(out, race_file, "race", arguments.flag("force"));
  if (arguments.flag("force")) {
    SweepState nothing(":memory:");
    can_resume(race, reader, PointPool(options, nothing, nullptr, {}));  // reads every scenario first: throws before anything is lost
    remove_state(out, race_file);
  }
  catch_interrupts();
  SweepState state(out / race_file, wait_for_others(arguments.common()));
  const std::unique_ptr<EvaluationFile> store = open_store(arguments);
  PointsLine line(arguments.common(), false);
  const auto start = std::chrono::steady_clock::now();
  PointPool pool(options, state, store.get(), [&](const SweepProgress& now) {
    line.show(now);
    return interrupt_requested();
  });
  adopt_folder(state, {out, "race", describe(race, reader), [&] { return can_resume(race, reader, pool); }}, arguments.common());
  share_with_ranks(pool, arguments, options);
  for (const auto& warning : {too_few_seeds_warning(race), two_optima_warning(race, reader)})
    if (warning && !arguments.common().quiet) print_text(stderr, "warning: {}\n", *warning);
  const RaceOutcome outcome = run_race(race, reader, pool);
  line.clear();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!outcome.interrupted) {
    write_tables(out, outcome, state);
    if (arguments.flag("json"))
      print_text("{}", race_json(outcome, out.string()));
    else {
      print_result(race_table(outcome), arguments.common().quiet);
      print_text("\nresults in {}\n", out.string());
    }
    std::fflush(stdout);
  } else if (!arguments.common().quiet) {
    print_text(stderr, "interrupted before the end: there is no result yet; the same command continues\n");
  }
  for (const std::string& failure : outcome.failed_candidates) print_text(stderr, "counts as worst: {}\n", failure);
  for (const std::string& failure : outcome.failures) print_text(stderr, "failed, counts as missed: {}\n", failure);
  print_timing(pool.progress(), seconds, arguments.common());
  if (outcome.interrupted) return Exit::interrupted;
  if (!arguments.flag("json")) print_page(out / "report.html");
  return outcome.failures.empty() ? Exit::done : Exit::cannot_go_on;
}

}  // namespace

const Command race_command{
    "race",
    "SCENARIO.yaml",
    "which scheme is first over the same seeds; --tune tunes all alike",
    "  straggler race scenarios/quickstart.yaml --schemes ssgd,asgd,nonblocking,fedavg\n"
    "  straggler race scenario.yaml --schemes ssgd,asgd --tune learning_rate,momentum --budget 20 --seeds 8\n"
    "  straggler race scenario.yaml --schemes \"plain=asgd,damped={kind: asgd, staleness: inverse}\"\n"
    "  straggler race scenario.yaml --schemes asgd --entrant \"two: {training.scheme: asgd, cluster.servers.count: 2}\"\n"
    "  straggler race scenario.yaml --schemes ssgd,asgd --tune \"learning_rate={from: 0.01, to: 10, scale: log}\"\n"
    "  straggler race scenario.yaml --schemes fedavg,fedbuff --by bytes\n"
    "  straggler race scenario.yaml --schemes ssgd,asgd --json\n",
    execute_race,
    "\n"
    "What it prints:\n"
    "  +- is half of the 95 % confidence interval of the mean over the seeds (Student's t).\n"};

}  // namespace straggler::cli
