// straggler-mpi: the scenarios of `straggler run` on real MPI ranks, and sweeps whose points ranks share.
#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cstdio>
#include <iterator>
#include <sstream>
#include <utility>

#include "models/kernels/kernels.hpp"
#include "scenarios/results/run_info.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"
#include "tools/straggler/launcher.hpp"
#include "tools/straggler/manual.hpp"
#include "tools/straggler/program.hpp"
#include "tools/straggler_mpi/sweep.hpp"
#include "validation/mpi/real_run.hpp"

namespace straggler {
namespace {

namespace po = boost::program_options;

po::options_description visible_options() {
  po::options_description options("Options", 110);
  auto add = options.add_options();
  add("out", po::value<std::string>()->value_name("DIR"), "folder of the results (default: results/NAME)");
  add("set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"), "changes the scenario; repeatable");
  add("seed", po::value<std::string>()->value_name("N"), "seed, instead of the scenario's");
  add("compute", po::value<std::string>()->value_name("HOW")->default_value("emulated"),
      "emulated: a worker computes a gradient, then sleeps until its simulated duration has passed; real: gradients take their real time, "
      "and devices, slowdowns and jitter are ignored");
  add("kernels", po::value<std::string>()->value_name("NAME"), "instruction set of the math (default: auto, the fastest)");
  add("force", "replaces the content of the folder, even results of another scenario");
  add("progress", po::value<std::string>()->value_name("HOW")->default_value("auto"),
      "auto, bar, plain or none, on standard error of rank 0: a line every five seconds. A bar would not survive mpirun, so it is printed "
      "as lines too");
  add("quiet", "only errors on standard error");
  add("help,h", "this page");
  add("version", "version, commit, build and kernel set");
  return options;
}

constexpr std::pair<const char*, const char*> uses[] = {
    {"run SCENARIO.yaml", "runs a scenario on real MPI ranks: one per worker, and one for the server if the scheme has one"},
    {"sweep SWEEP.yaml", "what `mpirun -n N straggler sweep SWEEP.yaml` becomes; see straggler sweep --help"},
    {"race SCENARIO.yaml", "likewise; see straggler race --help"}};
constexpr const char* examples =
    "  mpirun -n 5 straggler-mpi run scenario.yaml            # asgd of 4 workers: rank 0 is the server\n"
    "  mpirun --oversubscribe --bind-to none -n 17 straggler-mpi run scenario.yaml --out results/real\n"
    "  straggler run scenario.yaml --replay results/real --out results/replay\n";
constexpr const char* more_ranks = "More ranks than cores: --oversubscribe --bind-to none, after mpirun. As root: --allow-run-as-root.";

void print_help(const po::options_description& options) {
  std::ostringstream text;
  text << options;
  for (const auto& [use, meaning] : uses) fmt::print("straggler-mpi {}: {}\n", use, meaning);
  fmt::print("\n{}\nExamples:\n{}\n{}\n", text.str(), examples, more_ranks);
}

std::string man_page() {
  const po::options_description options = visible_options();
  cli::ManPage page{.name = "straggler-mpi",
                    .summary = "distributed SGD on real MPI ranks, and sweeps that ranks share",
                    .synopsis = {"mpirun -n N straggler-mpi COMMAND [OPTION]..."},
                    .paragraphs = {more_ranks}};
  page.commands.assign(std::begin(uses), std::end(uses));
  page.options = {&options};
  page.examples = examples;
  page.see_also = {"straggler", "straggler-sweep", "straggler-race"};
  return cli::roff(page);
}

void check_kernels(const std::string& name) {
  std::vector<std::string> known{"auto"};
  for (const std::string_view each : available_kernels()) known.emplace_back(each);
  if (std::find(known.begin(), known.end(), name) == known.end()) throw BadUsage(unknown_name("--kernels", name, known));
}

std::uint64_t seed_of(const std::string& text) {
  try {
    return parse_unsigned(text);
  } catch (const std::invalid_argument&) {
    throw BadUsage(fmt::format("--seed is {}; it must be a whole number of at least 0", in_quotes(text)));
  }
}

RealOptions options_of(const po::variables_map& values, const std::vector<std::string>& words) {
  constexpr const char* more = " (see straggler-mpi --help)";
  if (words.empty()) throw BadUsage(std::string("a command is missing; it would be run SCENARIO.yaml") + more);
  if (words[0] != "run") throw BadUsage(unknown_name("command", words[0], {"run", "sweep", "race"}) + more);
  if (words.size() < 2) throw BadUsage(std::string("SCENARIO.yaml is missing") + more);
  if (words.size() > 2) throw BadUsage(fmt::format("unexpected argument {}; run takes SCENARIO.yaml", in_quotes(words[2])));
  if (words[1] == "-") throw BadUsage("standard input reaches only rank 0, but every rank reads the scenario; name a file");
  RealOptions options;
  options.scenario = words[1];
  if (values.count("set")) options.sets = values["set"].as<std::vector<std::string>>();
  if (values.count("seed")) options.seed = seed_of(values["seed"].as<std::string>());
  if (values.count("out")) options.out = values["out"].as<std::string>();
  const std::string compute = values["compute"].as<std::string>();
  if (compute != "real" && compute != "emulated") throw BadUsage(unknown_name("--compute", compute, {"real", "emulated"}));
  options.emulated = compute == "emulated";
  if (values.count("kernels")) options.kernels = values["kernels"].as<std::string>();
  check_kernels(options.kernels);
  const std::string progress = values["progress"].as<std::string>();
  const std::vector<std::string> styles{"auto", "bar", "plain", "none"};
  if (std::find(styles.begin(), styles.end(), progress) == styles.end()) throw BadUsage(unknown_name("--progress", progress, styles));
  options.progress = progress != "none";
  options.force = values.count("force") > 0;
  options.quiet = values.count("quiet") > 0;
  return options;
}

/// None: help or version was printed.
std::optional<RealOptions> parse(const std::vector<std::string>& arguments, bool prints) {
  const po::options_description visible = visible_options();
  po::options_description all;
  std::vector<std::string> words;
  all.add(visible).add_options()("word", po::value<std::vector<std::string>>(&words));
  po::positional_options_description positions;
  positions.add("word", -1);
  po::variables_map values;
  constexpr int exact = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
  try {
    po::store(po::command_line_parser(arguments).options(all).positional(positions).style(exact).run(), values);
    po::notify(values);
  } catch (const po::unknown_option& error) {
    std::vector<std::string> known;
    for (const auto& option : visible.options()) known.push_back("--" + option->long_name());
    throw BadUsage(unknown_name("option", error.get_option_name(), known));
  } catch (const po::error& error) {
    throw BadUsage(error.what());
  }
  if (values.count("help")) {
    if (prints) print_help(visible);
    return std::nullopt;
  }
  if (values.count("version")) {
    if (prints) fmt::print("{}", cli::version_text("straggler-mpi"));
    return std::nullopt;
  }
  return options_of(values, words);
}

}  // namespace
}  // namespace straggler

int main(int count, char** arguments) {
  using namespace straggler;
  cli::prepare_process();
  const std::vector<std::string> words(arguments + (count > 0 ? 1 : 0), arguments + count);
  if (words == std::vector<std::string>{"--man"}) {  // for packages: without MPI
    fmt::print("{}", man_page());
    return 0;
  }
  const Mpi mpi(count, arguments);
  if (!words.empty() && cli::is_shared_by_ranks(words.front())) return cli::sweep_on_ranks(mpi, words);
  std::optional<RealOptions> options;
  if (const int code = together(mpi, [&] { options = parse(words, mpi.first()); })) return code;
  return options ? real_run(mpi, *options) : 0;
}
