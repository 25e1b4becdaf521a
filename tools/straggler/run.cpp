#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "models/kernels/kernels.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/results/recorder.hpp"
#include "scenarios/results/results.hpp"
#include "scenarios/results/run_info.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/writer.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/interrupt.hpp"
#include "tools/straggler/progress.hpp"
#include "tools/straggler/run_report.hpp"

namespace straggler::cli {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

Exit exit_code(Outcome outcome) {
  switch (outcome) {
    case Outcome::interrupted:
      return Exit::interrupted;
    case Outcome::aborted:
    case Outcome::all_workers_down:
    case Outcome::stalled:
      return Exit::cannot_go_on;
    default:
      return Exit::done;
  }
}

po::options_description own_options() {
  po::options_description options("Options", 110);
  auto add = options.add_options();
  add("out", po::value<std::string>()->value_name("DIR"), "folder of the results (default: results/NAME)");
  add("set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"),
      "changes the scenario, as --set training.batch.per_worker=64; repeatable. A relative path in VALUE starts from the current folder "
      "(one in the file: from the file's folder)");
  add("seed", po::value<std::string>()->value_name("N"), "seed, instead of the scenario's");
  add("timing-only", "when things happen, without the math: no accuracies, no data files needed");
  add("trace", "also writes trace.json, which https://ui.perfetto.dev shows");
  add("replay", po::value<std::string>()->value_name("RUN_DIR"), "forces the choices of that run: the same weights, whatever the times");
  add("kernels", po::value<std::string>()->value_name("NAME"), "instruction set of the math (default: auto, the fastest)");
  add("memory", po::value<std::string>()->value_name("SIZE"),
      "memory that the run may fill, as 8GiB (default: three quarters of the machine's)");
  add("force", "replaces what the folder holds, though it belongs to another scenario");
  return options;
}

std::size_t memory_budget(const Arguments& arguments) {
  if (!arguments.has("memory")) return 0;
  try {
    const double bytes = parse_quantity(arguments.get<std::string>("memory"), Dimension::bytes);
    if (bytes >= 1 && bytes < 1e18) return static_cast<std::size_t>(bytes);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--memory: {}", error.what()));
  }
  throw UsageError(fmt::format("--memory is {}; it must be between 1B and 1e9 GB", in_quotes(arguments.get<std::string>("memory"))));
}

RunOptions run_options(const Arguments& arguments) {
  RunOptions options;
  options.timing_only = arguments.flag("timing-only");
  options.trace = arguments.flag("trace");
  options.threads = arguments.common().threads;
  options.memory_budget = memory_budget(arguments);
  if (arguments.has("kernels")) {
    options.kernels = arguments.get<std::string>("kernels");
    std::vector<std::string> known{"auto"};
    for (const std::string_view name : available_kernels()) known.emplace_back(name);
    if (std::find(known.begin(), known.end(), options.kernels) == known.end())
      throw UsageError(unknown_name("--kernels", options.kernels, known));
  }
  if (arguments.has("replay")) {
    options.replay = arguments.get<std::string>("replay");
    if (!fs::exists(*options.replay / "choices.csv"))
      throw UsageError(fmt::format("--replay {}: there is no choices.csv; name the result folder of a run", options.replay->string()));
  }
  return options;
}

/// What the run needs and what it leaves, in the order in which things may be refused.
class Run {
 public:
  explicit Run(const Arguments& arguments) : options_(run_options(arguments)), common_(arguments.common()) {
    std::vector<std::string> sets;
    if (arguments.has("set")) sets = arguments.get<std::vector<std::string>>("set");
    scenario_ = read_scenario(arguments.positional().front(), sets);
    if (arguments.has("seed")) scenario_.seed = arguments.count("seed", 0);
    request_.out = arguments.has("out") ? fs::path(arguments.get<std::string>("out")) : fs::path("results") / scenario_.name;
    request_.scenario_name = scenario_.name;
    request_.scenario_file = scenario_.file;
    request_.force = arguments.flag("force");
    if (request_.out.empty()) throw UsageError("--out is empty; name a folder");
    refuse_to_replace_the_replayed();
  }

  int execute() {
    catch_interrupts();
    ResultFolder folder(request_);
    Experiment experiment(scenario_, options_);
    Recorder recorder(folder, options_.trace);
    Progress progress(common_.progress, common_.quiet, [&] { return interrupt_requested() || recorder.failed(); });
    const auto start = std::chrono::steady_clock::now();
    const RunRecord record = experiment.run(&recorder, &progress);
    const double wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    progress.clear();
    recorder.finish(folder, scenario_.name);
    write(folder, experiment, record, wall_seconds);
    folder.commit();
    if (!common_.quiet) say_aside(record, recorder, wall_seconds);
    fmt::print("{}", run_report(record, folder.out()));
    return exit_code(record.outcome);
  }

 private:
  void refuse_to_replace_the_replayed() const {
    std::error_code error;
    if (options_.replay && fs::equivalent(*options_.replay, request_.out, error))
      throw ResultsError(fmt::format("{}: the replay would replace the run that it replays; use --out {}-replay", request_.out.string(),
                                     request_.out.string()));
  }

  void write(const ResultFolder& folder, const Experiment& experiment, const RunRecord& record, double wall_seconds) const {
    write_record(folder, record);
    write_file(folder, "scenario.yaml", write_scenario(scenario_));
    if (!options_.timing_only) write_model(folder, experiment.tensors(), experiment.final_weights(), experiment.vocabulary());
    const unsigned threads = options_.threads ? options_.threads : this_machine().cores;
    write_file(folder, "run.json", run_json({wall_seconds, record.events, threads, experiment.kernels()}));
  }

  static void say_aside(const RunRecord& record, const Recorder& recorder, double wall_seconds) {
    for (const std::string& warning : record.warnings) fmt::print(stderr, "warning: {}\n", warning);
    if (const std::string note = recorder.trace_note(); !note.empty()) fmt::print(stderr, "note: {}\n", note);
    fmt::print(stderr, "took {:.2f} s, {} events\n", wall_seconds, record.events);
  }

  RunOptions options_;
  Common common_;
  Scenario scenario_;
  ResultFolder::Request request_;
};

int execute(const std::vector<std::string>& given) {
  Arguments arguments(run_command, own_options());
  if (!arguments.parse(given, 1, 1)) return Exit::done;
  return Run(arguments).execute();
}

}  // namespace

const Command run_command{"run", "SCENARIO.yaml", "runs a scenario and writes its results",
                          "  straggler run scenario.yaml\n"
                          "  straggler run scenario.yaml --out results/fast --set cluster.network.link.bandwidth=10Gbps --seed 2\n"
                          "  straggler run scenario.yaml --timing-only --trace\n"
                          "  straggler run scenario.yaml --replay results/first --out results/again\n",
                          execute};

}  // namespace straggler::cli
