#include <fmt/format.h>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/results/run_info.hpp"
#include "scenarios/results/text.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/writer.hpp"
#include "sim/base/quantity.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {

namespace po = boost::program_options;

namespace {

void line(const char* label, const std::string& value) {
  if (!value.empty()) fmt::print("{:<16}  {}\n", label, value);
}

void print_groups(const Scenario& scenario, const Explanation& explanation) {
  std::int64_t workers = 0;
  for (const Explanation::Group& group : explanation.groups) workers += group.count;
  line("workers", fmt::format("{}, in {} group{}", readable_count(static_cast<std::uint64_t>(workers)), explanation.groups.size(),
                              explanation.groups.size() == 1 ? "" : "s"));
  for (const Explanation::Group& group : explanation.groups)
    line("",
         fmt::format("{} x {}: a batch of {} takes {}, jitter {}; link {}, latency {}", group.count, group.device,
                     explanation.batch_per_worker, readable_seconds(group.batch_seconds), write_jitter(scenario.devices.at(group.device)),
                     format_quantity(group.bytes_per_second, Dimension::rate), readable_seconds(group.latency)));
}

void print_layers(const Explanation& explanation) {
  if (explanation.layers.empty()) return;
  fmt::print("\n{:<24}  {:>12}  {:>18}  {:>18}\n", "layer", "parameters", "forward FLOPs", "activation bytes");
  for (const LayerCost& layer : explanation.layers)
    fmt::print("{:<24}  {:>12}  {:>18}  {:>18}\n", layer.name, layer.parameters, readable_number(layer.forward_flops),
               readable_number(layer.activation_bytes));
}

void print(const Scenario& scenario, const Explanation& explanation, bool timing_only) {
  line("scenario", fmt::format("{}, seed {}", scenario.name, scenario.seed));
  line("scheme",
       explanation.scheme_summary.empty() ? explanation.scheme : fmt::format("{}: {}", explanation.scheme, explanation.scheme_summary));
  print_groups(scenario, explanation);
  line("topology", explanation.topology);
  line("a route", explanation.route_example);
  line("all-reduce", explanation.collective);
  line("data", fmt::format("{} for training, {} for testing{}{}", readable_count(explanation.train_samples),
                           readable_count(explanation.test_samples), explanation.data_origin.empty() ? "" : ": ", explanation.data_origin));
  line("parameters", readable_count(explanation.parameters));
  line("a message", readable_bytes(static_cast<double>(explanation.message_bytes)));
  if (explanation.updates_per_epoch) line("an epoch", fmt::format("{} updates", readable_number(*explanation.updates_per_epoch)));
  line("memory", fmt::format("about {} with the math", readable_bytes(static_cast<double>(explanation.memory_bytes))));
  print_layers(explanation);
  for (const std::string& warning : explanation.warnings) fmt::print("warning: {}\n", warning);
  if (timing_only) return;
  if (const std::string warning = memory_warning(explanation.memory_bytes, this_machine().memory_bytes); !warning.empty())
    fmt::print("warning: {}\n", warning);
}

int execute(const std::vector<std::string>& given) {
  po::options_description own("Options", 110);
  auto add = own.add_options();
  add("set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"),
      "changes the scenario first; repeatable. A relative path in VALUE starts from the current folder (one in the file: from the file's "
      "folder)");
  add("timing-only", "as a run without the math: no data files needed");
  Arguments arguments(check_command, own);
  if (!arguments.parse(given, 1, 1)) return Exit::done;
  std::vector<std::string> sets;
  if (arguments.has("set")) sets = arguments.get<std::vector<std::string>>("set");
  const Scenario scenario = read_scenario(arguments.positional().front(), sets);
  RunOptions options;
  options.threads = arguments.common().threads;
  options.timing_only = arguments.flag("timing-only");
  print(scenario, Experiment(scenario, options).explain(), options.timing_only);
  return Exit::done;
}

}  // namespace

const Command check_command{"check", "SCENARIO.yaml",
                            "reads and explains a scenario: workers, routes, bytes per step, memory; runs nothing",
                            "  straggler check scenario.yaml\n"
                            "  straggler check scenario.yaml --set training.batch.per_worker=64\n",
                            execute};

}  // namespace straggler::cli
