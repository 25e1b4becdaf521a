// straggler-mpi: the scenarios of `straggler run` on real MPI ranks, and sweeps whose points ranks share.
#include <fmt/format.h>

#include <cstdio>
#include <iterator>
#include <utility>

#include "scenarios/experiment/run_checkpoint.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"
#include "tools/straggler/launcher.hpp"
#include "tools/straggler/manual.hpp"
#include "tools/straggler/program.hpp"
#include "tools/straggler/scenario_options.hpp"
#include "tools/straggler_mpi/sweep.hpp"
#include "validation/mpi/real_run.hpp"

namespace straggler::cli {
namespace {

namespace po = boost::program_options;

constexpr std::pair<const char*, const char*> uses[] = {
    {"run SCENARIO.yaml", "runs a scenario on real MPI ranks: one per worker, and one for the server if the scheme has one"},
    {"sweep SWEEP.yaml", "what `mpirun -n N straggler sweep SWEEP.yaml` becomes; see straggler sweep --help"},
    {"race SCENARIO.yaml", "likewise; see straggler race --help"}};

int read_only(const std::vector<std::string>& arguments);

const Command real_run_command{
    .name = "run",
    .arguments = "SCENARIO.yaml",
    .summary = uses[0].second,
    .examples =
        "  mpirun -n 5 straggler-mpi run scenario.yaml            # asgd of 4 workers: rank 0 is the server\n"
        "  mpirun --oversubscribe --bind-to none -n 17 straggler-mpi run scenario.yaml --out results/real\n"
        "  straggler run scenario.yaml --replay results/real --out results/replay\n"
        "  mpirun -n 4 straggler-mpi run ssgd.yaml --checkpoint-every 100 --resume    # again after a kill\n",
    .run = read_only,
    .notes =
        "\nMore ranks than cores: --oversubscribe --bind-to none, after mpirun. As root: --allow-run-as-root.\n"
        "straggler-mpi sweep, straggler-mpi race: what `mpirun -n N straggler sweep` becomes; see straggler sweep "
        "--help.\n",
    .program = "straggler-mpi"};

/// None: help or version was printed. `words`: after the command.
std::optional<RealOptions> read_options(const std::vector<std::string>& words) {
  po::options_description own("Options", help_width);
  auto add = own.add_options();
  add("out", po::value<std::string>()->value_name("DIR"), "folder of the results (default: results/NAME)");
  add("compute", po::value<std::string>()->value_name("HOW")->default_value("emulated"),
      "emulated: a worker computes a gradient, then sleeps until its simulated duration has passed; real: gradients take their real time, "
      "and devices, slowdowns and jitter are ignored");
  add("checkpoint-every", po::value<std::string>()->value_name("INTERVAL"),
      "saves the state of ssgd in DIR.checkpoint, beside the results, for --resume: every INTERVAL of wall-clock time (10min) or every N "
      "updates (5000)");
  add("resume", "continues from that checkpoint, to the same weights; without one, starts from the beginning");
  add("force", "replaces the content of the folder, even results of another scenario");
  add_change_options(add);
  Arguments arguments(real_run_command, own);
  if (!arguments.parse(words, 1, 1)) return std::nullopt;
  RealOptions options;
  options.scenario = arguments.positional().front();
  if (options.scenario == "-") throw UsageError("standard input reaches only rank 0, but every rank reads the scenario; name a file");
  if (arguments.has("set")) options.sets = arguments.get<std::vector<std::string>>("set");
  if (arguments.has("seed")) options.seed = arguments.count("seed", 0);
  if (arguments.has("out")) options.out = arguments.get<std::string>("out");
  const std::string& compute = arguments.get<std::string>("compute");
  if (compute != "real" && compute != "emulated") throw UsageError(unknown_name("--compute", compute, {"real", "emulated"}));
  options.emulated = compute == "emulated";
  try {
    if (arguments.has("checkpoint-every")) options.checkpoint_every = checkpoint_interval(arguments.get<std::string>("checkpoint-every"));
  } catch (const std::invalid_argument& error) {
    throw UsageError(std::string("--checkpoint-every") + error.what());
  }
  options.resume = arguments.flag("resume");
  options.kernels = given_kernels(arguments);
  options.progress = arguments.common().progress != ProgressStyle::none;
  options.force = arguments.flag("force");
  options.quiet = arguments.common().quiet;
  return options;
}

int read_only(const std::vector<std::string>& arguments) {
  read_options(arguments);
  return Exit::done;
}

std::optional<RealOptions> parse(const std::vector<std::string>& words) {
  constexpr const char* more = " (see straggler-mpi --help)";
  if (words.empty()) throw UsageError(std::string("a command is missing; it would be run SCENARIO.yaml") + more);
  if (words[0].starts_with("-")) return read_options(words);
  if (words[0] != "run") throw UsageError(unknown_name("command", words[0], {"run", "sweep", "race"}) + more);
  return read_options({words.begin() + 1, words.end()});
}

std::string man_page() {
  const CommandHelp help = help_of(real_run_command);
  ManPage page{.name = "straggler-mpi",
               .summary = "distributed SGD on real MPI ranks, and sweeps that ranks share",
               .synopsis = {"mpirun -n N straggler-mpi COMMAND [OPTION]..."},
               .paragraphs = {std::string(trimmed(real_run_command.notes))}};
  page.commands.assign(std::begin(uses), std::end(uses));
  page.options = {&help.own, &help.shared};
  page.examples = real_run_command.examples;
  page.see_also = {"straggler", "straggler-sweep", "straggler-race"};
  return roff(page);
}

}  // namespace
}  // namespace straggler::cli

int main(int count, char** arguments) {
  using namespace straggler;
  cli::prepare_process();
  const std::vector<std::string> words(arguments + (count > 0 ? 1 : 0), arguments + count);
  if (words == std::vector<std::string>{"--man"}) {  // for packages: without MPI
    fmt::print("{}", cli::man_page());
    return Exit::done;
  }
  const Mpi mpi(count, arguments);
  if (!words.empty() && cli::is_shared_by_ranks(words.front())) return cli::sweep_on_ranks(mpi, words);
  if (!mpi.first() && !std::freopen("/dev/null", "w", stdout)) return Exit::cannot_go_on;  // what is printed, rank 0 prints
  std::optional<RealOptions> options;
  if (const int code = run_on_all_ranks(mpi, [&] { options = cli::parse(words); })) return code;
  return options ? real_run(mpi, *options) : Exit::done;
}
