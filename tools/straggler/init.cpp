#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "scenarios/results/out_file.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/recipes.hpp"

namespace straggler::cli {

namespace fs = std::filesystem;

namespace {

/// Valid as it is: `init | run -` (tests/program/standard_input_test.cpp).
constexpr const char* first_scenario = R"(# Which scheme reaches 85 % test accuracy first on your cluster? Change what stands here, then:
#   straggler check FILE                                    explains it: workers, routes, bytes, memory
#   straggler run FILE                                      runs it; results go to results/NAME
#   straggler run FILE --set training.scheme=ssgd --set name=ssgd
#   straggler compare results/first results/ssgd
# Every key, unit and default: docs/scenario.md. What can be named: straggler list.
straggler: 1                       # version of this format
name: first                        # letters, digits, - and _
seed: 1                            # the same seed gives the same results, bit for bit

devices:                           # names that the workers below use; straggler list devices shows the built-in ones
  node:
    compute: {affine: {overhead: 2ms, per_sample: 0.35ms}}     # seconds of a batch; or table: {32: 13ms, 256: 92ms}
    jitter: {kind: lognormal, sigma: 0.2}                      # how batches vary; straggler list jitter
    # memory: 16GB                                             # refuses what does not fit

cluster:
  workers:                         # groups, ranked in this order
    - {count: 6, device: node}
    - {count: 2, device: node, slowdown: 3}                    # stragglers: three times slower
    # - {count: 32, device: v100, per_host: 8}                 # eight workers a host, of a built-in device
  servers: {count: 1}              # parameter servers, for the schemes that need one
  network:
    topology: {kind: star}                                     # straggler list topologies
    link: {bandwidth: 1Gbps, latency: 50us}                    # of every host; units are required
    # intra: {bandwidth: 100GB/s, latency: 2us}                # between workers of one host
    # collective: {algorithm: ring}                            # the all-reduce; default: auto, the fastest
  # faults:
  #   - {kind: crash, worker: 3, at: 10s, restart_after: 5s}

workload:
  model: {kind: mlp, hidden: [64, 64]}                         # straggler list models
  data: {kind: coordinates}        # generated from the seed; real data: fashion_mnist, cifar10, csv, ... (straggler list data)
  cost: {bytes: 4MB}               # messages as large as a model of a million parameters; remove it to send the model above

training:
  scheme: {kind: asgd}             # ssgd, nonblocking, local_sgd, fedavg, ...: straggler list schemes
  batch: {per_worker: 128}         # or {global: 1024}
  optimizer: {kind: sgd, learning_rate: 0.2}
  stop: {epochs: 20, target_accuracy: 0.85}                    # whichever comes first
  evaluate: {every: {epochs: 0.5}, thresholds: [0.8]}          # times to these accuracies are told, too
)";

[[noreturn]] void cannot_write(const std::string& file, int error) {
  if (error == EEXIST) throw ResultsError(fmt::format("{}: is there already, and init never overwrites; name another file", file));
  if (error == ENOENT)
    throw ResultsError(
        fmt::format("{}: there is no folder {}; make it, or name another file", file, fs::path(file).parent_path().string()));
  const std::string what = fmt::format("{}: cannot be written ({}); name another file", file, std::strerror(error));
  if (error == ENOSPC) throw DiskError(what);
  throw ResultsError(what);
}

void write_new(const std::string& file, const std::string& text) {
  std::FILE* const out = std::fopen(file.c_str(), "wx");  // x: fails if the file exists
  if (out == nullptr) cannot_write(file, errno);
  errno = 0;
  const bool written = std::fputs(text.c_str(), out) >= 0 && std::fflush(out) == 0;
  const int error = errno;
  if (std::fclose(out) == 0 && written) return;
  std::error_code ignored;
  fs::remove(file, ignored);
  cannot_write(file, error);
}

int execute_init(const std::vector<std::string>& given) {
  namespace options = boost::program_options;
  options::options_description own("Options", help_width);
  own.add_options()("machine", options::value<std::string>()->value_name("NAME"),
                    "a recipe for hosts of this kind: straggler list machines (pcie)")(
      "framework", options::value<std::string>()->value_name("NAME"), "a recipe for this framework: straggler list frameworks (ddp)");
  Arguments arguments(init_command, own);
  if (!arguments.parse(given, 0, 1)) return Exit::done;
  const auto named = [&](const char* option) { return arguments.has(option) ? arguments.get<std::string>(option) : std::string(); };
  const bool of_recipe = arguments.has("machine") || arguments.has("framework");
  for (const char* const option : {"machine", "framework"})
    if (arguments.has(option) && named(option).empty())
      throw UsageError(fmt::format("--{} is empty; straggler list {}s has the names", option, option));
  const std::string text = of_recipe ? recipe(named("machine"), named("framework")) : first_scenario;
  if (arguments.positional().empty() || arguments.positional().front() == "-") {
    print_text("{}", text);
    return Exit::done;
  }
  const std::string& file = arguments.positional().front();
  write_new(file, text);
  print_text("{0} is a scenario to start from: straggler check {0}\n", file);
  return Exit::done;
}

}  // namespace

const Command init_command{"init",
                           "[FILE]",
                           "writes a commented scenario to start from",
                           "  straggler init my-cluster.yaml\n"
                           "  straggler init --machine dgx1 --framework ddp job.yaml\n"
                           "  straggler init | straggler run -\n",
                           execute_init,
                           "\nWithout FILE it prints the scenario. A file that exists is not replaced.\n"};

}  // namespace straggler::cli
