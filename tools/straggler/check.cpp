#include <fmt/format.h>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/experiment/update_times.hpp"
#include "scenarios/reasons/check_text.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/source_text.hpp"
#include "tools/straggler/check_json.hpp"
#include "tools/straggler/command.hpp"
#include "tools/straggler/screen.hpp"

namespace straggler::cli {

namespace po = boost::program_options;

namespace {

int execute_check(const std::vector<std::string>& given) {
  po::options_description own("Options", help_width);
  auto add = own.add_options();
  add("set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"),
      "changes the scenario first; repeatable. A path in VALUE is relative to the current folder (a path in the file: to the file's "
      "folder)");
  add("graph", po::value<std::string>()->value_name("FILE"),
      "writes hosts, switches and cables to FILE.dot or FILE.graphml, for topology: {kind: file}");
  add("timing-only", "timing alone, without the math: no data files needed");
  add("layers", "also lists the layers of the model: parameters, forward FLOPs, bytes of activations");
  add("json", "prints the lines and tables as one JSON object, times in seconds");
  Arguments arguments(check_command, own);
  if (!arguments.parse(given, 1, 1)) return Exit::done;
  const std::string graph = arguments.has("graph") ? arguments.file("graph").string() : std::string();
  std::vector<std::string> sets;
  if (arguments.has("set")) sets = arguments.get<std::vector<std::string>>("set");
  const Scenario scenario = read_scenario(input_file(arguments.positional().front()), sets);
  RunOptions options;
  options.threads = arguments.common().threads;
  options.timing_only = arguments.flag("timing-only") || scenario.workload.data.name == no_data;
  const Experiment experiment(scenario, options);
  const Explanation explanation = experiment.explain();
  const std::vector<std::string> warnings = check_warnings(explanation, options.timing_only);
  const std::optional<UpdateTimes> times = update_times(scenario);
  const UpdateParts parts = update_parts(scenario);
  const std::optional<PacketEvents> events = packet_events(scenario);
  const std::vector<CollectiveTime> collectives = experiment.collective_times();
  if (arguments.flag("json")) {
    print_text("{}", check_json(scenario, explanation, collectives, times, parts, events, warnings));
  } else {
    print_screen("{}", check_text(scenario, explanation, collectives, times, parts, events, {}, arguments.flag("layers")));
    std::fflush(stdout);  // on a terminal warnings come last
    for (const std::string& warning : warnings) print_text(stderr, "warning: {}\n", warning);
  }
  if (!graph.empty()) experiment.write_graph(graph);
  return Exit::done;
}

}  // namespace

const Command check_command{"check", "SCENARIO.yaml", "explains a scenario: the time of an update, its bottleneck, memory",
                            "  straggler check scenario.yaml\n"
                            "  straggler check scenario.yaml --set training.batch.per_worker=64\n"
                            "  straggler check scenario.yaml --graph cluster.dot\n"
                            "  straggler check scenario.yaml --json\n"
                            "  straggler init | straggler check -          # - is standard input\n",
                            execute_check};

}  // namespace straggler::cli
