#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>

#include "scenarios/experiment/data_cache.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/experiment/run_checkpoint.hpp"
#include "scenarios/experiment/trajectory_store.hpp"
#include "scenarios/ranks/math_ranks.hpp"
#include "scenarios/ranks/math_work.hpp"
#include "scenarios/report/run_files.hpp"
#include "scenarios/results/live_progress.hpp"
#include "scenarios/results/reader.hpp"
#include "scenarios/results/recorder.hpp"
#include "scenarios/results/replaced.hpp"
#include "scenarios/results/result_folder.hpp"
#include "scenarios/results/results.hpp"
#include "scenarios/results/run_info.hpp"
#include "scenarios/sweep/evaluation_file.hpp"
#include "sim/base/machine.hpp"
#include "sim/base/suggest.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/interrupt.hpp"
#include "tools/straggler/launcher.hpp"
#include "tools/straggler/program.hpp"
#include "tools/straggler/progress.hpp"
#include "tools/straggler/run_report.hpp"
#include "tools/straggler/scenario_options.hpp"
#include "tools/straggler/screen.hpp"

namespace straggler::cli {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

int exit_code(Outcome outcome) {
  if (outcome == Outcome::interrupted) return Exit::interrupted;
  return straggler::cannot_go_on(outcome) ? Exit::cannot_go_on : Exit::done;
}

po::options_description run_options() {
  po::options_description options("Options", help_width);
  auto add = options.add_options();
  add("out,o", po::value<std::string>()->value_name("DIR"), "folder of the results (default: results/NAME)");
  add_scenario_options(add);
  add("trace", "also writes trace.json, which https://ui.perfetto.dev shows");
  add("keep", po::value<std::string>()->value_name("TABLES"),
      "comma-separated tables to write besides summary and curve (always written): order (also choices.csv, which --replay "
      "reads), workers, links, staleness, page (report.html, which straggler report makes later, too); or all, or none (default: all)");
  add("replay", po::value<std::string>()->value_name("RUN_DIR"), "replays the choices of that run, and so its weights; times may differ");
  add("checkpoint-every", po::value<std::string>()->value_name("INTERVAL"),
      "saves the state in DIR.checkpoint, beside the results, for --resume: every INTERVAL of wall-clock time (10min) or every N updates "
      "(5000). It is removed when the run ends");
  add("resume", "continues from that checkpoint, to the same results; without one, starts from the beginning");
  add("store", po::value<std::string>()->value_name("FILE"),
      "reuses what earlier runs and sweeps with the same training have stored in this file, and adds what this run computes; results are "
      "the same (default: none)");
  add("memory", po::value<std::string>()->value_name("SIZE"),
      "memory of the whole run with its data, such as 8GiB, without a unit in bytes; messages that wait for a server are not counted "
      "(default: three quarters of the usable memory)");
  add("force", "replaces the content of the folder, even results of another scenario or scheme");
  add("alone", "runs by itself, even if a launcher (mpirun, srun) started several processes");
  return options;
}

std::size_t memory_budget(const Arguments& arguments) {
  if (!arguments.has("memory")) return 0;
  try {
    const double bytes = size_of(arguments.get<std::string>("memory"));
    if (bytes >= 1 && bytes < 1e18) return static_cast<std::size_t>(bytes);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--memory: {}", error.what()));
  }
  throw UsageError(fmt::format("--memory is {}; it must be between 1B and 1e9 GB", in_quotes(arguments.get<std::string>("memory"))));
}

KeptTables kept_tables(const Arguments& arguments) {
  if (!arguments.has("keep")) return {};
  const auto& given = arguments.get<std::string>("keep");
  if (given == "all") return {};
  KeptTables kept{false, false, false, false, false};
  if (given == "none") return kept;
  bool always = true;  // the summary and the curve are written whatever is named
  const std::vector<std::pair<std::string, bool*>> tables = {
      {"order", &kept.order}, {"workers", &kept.workers}, {"links", &kept.links}, {"staleness", &kept.staleness},
      {"page", &kept.page},   {"summary", &always},       {"curve", &always}};
  std::vector<std::string> names;
  for (const auto& [name, keep] : tables) names.push_back(name);
  for (const std::string& part : split_at_commas(given)) {
    const auto table = std::find_if(tables.begin(), tables.end(), [&](const auto& each) { return each.first == part; });
    if (table == tables.end())
      throw UsageError(
          fmt::format("--keep: {}; write some of them separated by commas, or all, or none", unknown_name("table", part, names)));
    *table->second = true;
  }
  return kept;
}

RunOptions run_options(const Arguments& arguments) {
  RunOptions options;
  options.timing_only = arguments.flag("timing-only");
  options.trace = arguments.flag("trace");
  options.threads = arguments.common().threads;
  options.choose_threads = arguments.common().choose_threads;
  options.memory_budget = memory_budget(arguments);
  options.kernels = given_kernels(arguments);
  if (arguments.has("replay")) {
    options.replay = arguments.get<std::string>("replay");
    if (!fs::exists(*options.replay / "choices.csv"))
      throw UsageError(
          fmt::format("--replay {}: there is no choices.csv; name the result folder of a run (one with --keep needs order in it)",
                      options.replay->string()));
  }
  return options;
}

std::optional<CheckpointRequest> checkpoint_request(const Arguments& arguments, const fs::path& out) {
  const bool every = arguments.has("checkpoint-every");
  if (!every && !arguments.flag("resume")) return std::nullopt;
  if (arguments.flag("timing-only"))
    throw UsageError(
        fmt::format("{} needs the math, which --timing-only leaves out; remove one of them", every ? "--checkpoint-every" : "--resume"));
  std::optional<CheckpointRequest> request;
  try {
    request = checkpoint_beside(out, version(), compiler());
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
  if (every) request->interval = arguments.checkpoint_interval("checkpoint-every");
  request->resume = arguments.flag("resume");
  return request;
}

fs::path out_of(const Arguments& arguments, const Scenario& scenario) {
  return arguments.has("out") ? fs::path(arguments.get<std::string>("out")) : fs::path("results") / scenario.name;
}

void warn(const std::string& line) { print_text(stderr, "warning: {}\n", line); }

/// In which rank 0 says where it listens, beside the results.
fs::path rank_file(fs::path out) {
  if (!out.has_filename()) out = out.parent_path();
  return out += ".ranks";
}

/// Inputs and outputs of the run, in the order in which they are checked.
class Run {
 public:
  /// `given`: all arguments, if several processes were `started` for them.
  Run(const Arguments& arguments, const std::vector<std::string>& given, const Launched& started)
      : options_(run_options(arguments)), kept_(kept_tables(arguments)), common_(arguments.common()), started_(started), given_(given) {
    scenario_ = read_given_scenario(arguments);
    request_.out = out_of(arguments, scenario_);
    request_.scenario_name = scenario_.name;
    request_.scheme = scenario_.training.scheme.name;
    request_.scenario_file = scenario_.file;
    request_.force = arguments.flag("force");
    if (request_.out.empty()) throw UsageError("--out is empty; name a folder");
    refuse_to_replace_the_replayed();
    if (options_.replay) check_the_replayed();
    options_.checkpoint = checkpoint_request(arguments, request_.out);
    if (arguments.has("store")) open_store(arguments.file("store"));
    if (options_.checkpoint)
      options_.checkpoint->tell = [this](const CheckpointNote& note) {
        if (common_.quiet && note.what != CheckpointNote::What::failed) return;
        if (progress_) progress_->clear();
        print_text(stderr, "{}\n", checkpoint_text(note, options_.checkpoint->file));
      };
  }

  int execute() {
    catch_interrupts();
    ResultFolder folder(request_);
    const std::unique_ptr<MathRanks> ranks = other_ranks();
    Experiment experiment(scenario_, options_);
    if (ranks) experiment.compute_with(*ranks);
    Recorder recorder(folder, kept_.order, options_.trace, scenario_.recovers());
    Progress progress(common_, [&] { return interrupt_requested() || recorder.failed(); });
    progress_ = &progress;
    const auto start = std::chrono::steady_clock::now();
    const RunRecord record = [&] {
      LiveProgress live(progress, folder.temporary(LiveProgress::name));
      return experiment.run(&recorder, &live);
    }();
    const double wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    progress.clear();
    recorder.finish(folder, scenario_.name, &record);
    write_run_files(folder, scenario_, options_, experiment, record, kept_, wall_seconds);
    const std::string replaced = replaced_results(request_.out, scenario_, options_.timing_only);
    folder.commit();
    if (!common_.quiet && !replaced.empty()) print_text(stderr, "note: {}\n", replaced);
    results_are_in(folder.out());
    if (options_.checkpoint)
      if (const fs::path& file = options_.checkpoint->file;
          finish_checkpoint(file, record.outcome == Outcome::interrupted) && !common_.quiet)
        print_text(stderr, "{} is kept: --resume continues from it\n", file.string());
    if (!common_.quiet) print_warnings(record, recorder, wall_seconds);
    if (!common_.quiet && options_.choose_threads && !options_.timing_only) print_choice(experiment.computed());
    if (!common_.quiet && ranks) print_text(stderr, "{}\n", ranks->shared());
    print_screen("{}", run_report(scenario_, record, folder.out()));
    if (kept_.page) print_page(folder.out() / "report.html");
    if (ranks) ranks->close(exit_code(record.outcome));
    return exit_code(record.outcome);
  }

 private:
  /// Null: there are none, or there is no math to share. Sets the options that all have in common.
  std::unique_ptr<MathRanks> other_ranks() {
    if (started_.processes == 1 || options_.timing_only) return nullptr;
    MathRanks::Options options;
    options.file = rank_file(request_.out);
    options.ranks = started_.processes;
    options.this_machine = started_.this_machine;
    options.identity = identity_of(given_);
    options.kernels = options_.kernels;
    options.threads = options_.threads;
    options.interrupted = interrupt_requested;
    options.interrupt = request_interrupt;
    options.warn = warn;
    auto ranks = std::make_unique<MathRanks>(std::move(options));
    options_.kernels = ranks->kernels();
    options_.threads = ranks->threads();
    options_.choose_threads = false;
    return ranks;
  }

  void refuse_to_replace_the_replayed() const {
    std::error_code error;
    if (options_.replay && fs::equivalent(*options_.replay, request_.out, error))
      throw ResultsError(fmt::format("{}: the replay would replace the run that it replays; use --out {}", request_.out.string(),
                                     free_neighbour(request_.out)));
  }

  void check_the_replayed() const {
    const std::string other = other_program(*options_.replay);
    if (!common_.quiet && !other.empty()) print_text(stderr, "warning: {}\n", other);
  }

  void open_store(const fs::path& file) {
    if (options_.checkpoint) throw UsageError("--store and checkpoints both determine where a run continues; leave one of them out");
    if (options_.timing_only) throw UsageError("--store needs the math, which --timing-only leaves out; remove one of them");
    store_ = std::make_unique<EvaluationFile>(file, EvaluationFile::default_cap, [](const std::string& why) {
      print_text(stderr, "warning: {}; this run continues without it\n", why);
    });
    options_.store = store_.get();
    options_.data = &data_;
  }

  static void print_warnings(const RunRecord& record, const Recorder& recorder, double wall_seconds) {
    for (const std::string& warning : record.warnings) print_text(stderr, "warning: {}\n", warning);
    if (const std::string note = recorder.trace_note(); !note.empty()) print_text(stderr, "note: {}\n", note);
    print_text(stderr, "took {:.2f} s, {} events\n", wall_seconds, record.events);
  }

  static void print_choice(const ExecutorStatistics& computed) {
    const unsigned all = usable_cores();
    if (computed.threads_compared)
      print_text(stderr, "threads: {} of {} computed fastest\n", computed.threads, all);
    else
      print_text(stderr, "threads: all {}; the run was too short to compare\n", all);
  }

  std::unique_ptr<EvaluationFile> store_;
  DataCache data_;
  RunOptions options_;
  KeptTables kept_;
  Common common_;
  Scenario scenario_;
  ResultFolder::Request request_;
  Progress* progress_ = nullptr;  // during the run
  const Launched started_;
  const std::vector<std::string> given_;
};

/// A rank that computes for rank 0, which says everything.
int compute_for_rank_0(const std::vector<std::string>& given, unsigned rank) {
  if (!std::freopen("/dev/null", "w", stdout)) return Exit::cannot_go_on;
  try {
    Arguments arguments(run_command, run_options());
    if (!arguments.parse(given, 1, 1) || arguments.flag("timing-only")) return Exit::done;
    if (arguments.positional().front() == "-")
      throw UsageError("standard input reaches only rank 0, but every rank reads the scenario; name a file");
    const Scenario scenario = read_given_scenario(arguments);
    catch_interrupts();
    return straggler::compute_for_rank_0(scenario, {.file = rank_file(out_of(arguments, scenario)),
                                                    .rank = rank,
                                                    .identity = identity_of(given),
                                                    .interrupted = interrupt_requested,
                                                    .warn = warn});
  } catch (...) {
    // Rank 0 mostly says the same at once, and mpirun then ends this process.
    std::this_thread::sleep_for(std::chrono::seconds(2));
    throw;
  }
}

int execute_run(const std::vector<std::string>& given) {
  const bool alone = std::find(given.begin(), given.end(), "--alone") != given.end();
  const Launched started = alone ? Launched() : launched();
  if (started.rank > 0) return compute_for_rank_0(given, started.rank);
  Arguments arguments(run_command, run_options());
  if (!arguments.parse(given, 1, 1)) return Exit::done;
  return Run(arguments, given, started).execute();
}

}  // namespace

const Command run_command{"run", "SCENARIO.yaml", "runs a scenario and writes its results",
                          "  straggler run scenario.yaml\n"
                          "  straggler run scenario.yaml --out results/fast --set cluster.network.link.bandwidth=10Gbps --seed 2\n"
                          "  straggler run scenario.yaml --timing-only --trace\n"
                          "  straggler run scenario.yaml --timing-only --keep none\n"
                          "  straggler run scenario.yaml --replay results/first --out results/again\n"
                          "  straggler run scenario.yaml --checkpoint-every 10min\n"
                          "  straggler run scenario.yaml --resume\n"
                          "  straggler init | straggler run -           # - is standard input\n"
                          "  mpirun -n 8 straggler run scenario.yaml    # ranks share the math; likewise srun\n",
                          execute_run};

}  // namespace straggler::cli
