#include <fmt/format.h>

#include <algorithm>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/experiment/update_times.hpp"
#include "scenarios/results/run_info.hpp"
#include "scenarios/schema/part.hpp"
#include "scenarios/schema/reader.hpp"
#include "scenarios/schema/source_text.hpp"
#include "scenarios/schema/worker_names.hpp"
#include "scenarios/schema/writer.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"
#include "sim/cluster/availability.hpp"
#include "tools/straggler/check_json.hpp"
#include "tools/straggler/command.hpp"

namespace straggler::cli {

namespace po = boost::program_options;

namespace {

void line(const char* label, const std::string& value) {
  if (!value.empty()) fmt::print("{:<16}  {}\n", label, value);
}

/// What training takes of the device's memory, if that is known.
std::string device_memory(const Explanation::Group& group) {
  if (!group.memory) return {};
  if (!group.counts_activations)
    return fmt::format("; training takes {} of its {} and the activations, of which workload.cost.bytes does not tell",
                       readable_bytes(group.memory_used), readable_bytes(*group.memory));
  return fmt::format("; training takes {} of its {}, which a batch of {} would fill", readable_bytes(group.memory_used),
                     readable_bytes(*group.memory), readable_count(static_cast<std::uint64_t>(group.largest_batch)));
}

/// Empty: they are there all the time.
std::string availability_of(const WorkerGroup& group) {
  const Kind& kind = group.availability;
  const auto pattern = Registry<AvailabilityEntry>::instance().at(kind.name).make(kind.parameters);
  if (!pattern) return {};
  return fmt::format("; they come and go ({}), and are there {:.1f} % of the time",
                     flow_map(kind_texts(kind, KindGroup::availability, Vocabulary::from_registries())), 100 * pattern->share());
}

void print_groups(const Scenario& scenario, const Explanation& explanation) {
  std::int64_t workers = 0;
  for (const Explanation::Group& group : explanation.groups) workers += group.count;
  line("workers", fmt::format("{}, in {} group{}", readable_count(static_cast<std::uint64_t>(workers)), explanation.groups.size(),
                              explanation.groups.size() == 1 ? "" : "s"));
  for (std::size_t g = 0; g < explanation.groups.size(); ++g) {
    const Explanation::Group& group = explanation.groups[g];
    line("",
         fmt::format("{} x {}: a batch of {} takes {}, jitter {}; link {}, latency {}", group.count, group.device,
                     explanation.batch_per_worker, readable_seconds(group.batch_seconds), write_jitter(scenario.devices.at(group.device)),
                     format_quantity(group.bytes_per_second, Dimension::rate), readable_seconds(group.latency)) +
             device_memory(group) + availability_of(scenario.cluster.workers[g]) +
             (group.rows > 0 ? fmt::format("; but as the {} rows of its population say", group.rows) : "") +
             (explanation.groups.size() > 1 ? "; " + workers_of_group(scenario, g) : ""));
  }
}

/// What the protocol's segments make of links, and of the first group's for one message.
void print_segments(const Scenario& scenario, const Explanation& explanation) {
  const std::vector<SegmentSpec>& segments = scenario.cluster.network.protocol.segments;
  if (segments.empty()) return;
  constexpr std::size_t most = 4;
  const auto factors = [](const SegmentSpec& segment) {
    return fmt::format("latency x {}, bandwidth x {}", format_number(segment.latency_factor), format_number(segment.bandwidth_factor));
  };
  std::string text;
  for (std::size_t i = 0; i < std::min(segments.size(), most); ++i)
    text += (i + 1 < segments.size() ? fmt::format("up to {}: ", format_quantity(segments[i].up_to, Dimension::bytes))
             : segments.size() > 1   ? "larger: "
                                     : "") +
            factors(segments[i]) + "; ";
  if (segments.size() > most) text += fmt::format("{} more; ", segments.size() - most);
  const auto bytes = static_cast<double>(explanation.message_bytes);
  const auto at = std::find_if(segments.begin(), segments.end() - 1, [bytes](const SegmentSpec& each) { return bytes <= each.up_to; });
  const Explanation::Group& group = explanation.groups.front();
  line("segments", fmt::format("{}for a message of {} the link above is {}, latency {}", text, readable_bytes(bytes),
                               format_quantity(group.bytes_per_second * at->bandwidth_factor, Dimension::rate),
                               readable_seconds(group.latency * at->latency_factor)));
}

void print_topology(const Explanation& explanation) {
  const TopologyFacts& facts = explanation.facts;
  const auto many = [](std::size_t count, const char* what) {
    return fmt::format("{} {}{}", readable_count(count), what, count == 1 ? "" : std::string(what).ends_with("ch") ? "es" : "s");
  };
  line("topology", fmt::format("{}: {}, {}, {}", explanation.topology, many(explanation.hosts, "host"), many(facts.switches, "switch"),
                               many(facts.cables, "cable")));
  line("diameter", fmt::format("{}, {}", many(facts.diameter_hops, "link"), readable_seconds(facts.diameter_latency.seconds())));
  line("bisection",
       fmt::format("{}{}", facts.bisection_is_bound ? "at most " : "", readable_bytes(facts.bisection_bytes_per_second) + "/s"));
}

void print_layers(const Explanation& explanation) {
  if (explanation.layers.empty()) return;
  fmt::print("\n{:<24}  {:>12}  {:>18}  {:>18}\n", "layer", "parameters", "forward FLOPs", "activation bytes");
  for (const LayerCost& layer : explanation.layers)
    fmt::print("{:<24}  {:>12}  {:>18}  {:>18}\n", layer.name, layer.parameters, readable_number(layer.forward_flops),
               readable_number(layer.activation_bytes));
}

void print_partition(const Scenario& scenario, const PartitionFacts& facts) {
  const std::string kind = write_partition(scenario.workload);
  if (facts.pool) {
    line("partition", fmt::format("{}: all workers draw from one pool of {} samples", kind, readable_count(facts.smallest)));
    return;
  }
  line("partition", fmt::format("{}: {} part{} of {}{} samples", kind, readable_count(facts.parts), facts.parts == 1 ? "" : "s",
                                readable_count(facts.smallest),
                                facts.largest > facts.smallest ? fmt::format(" to {}", readable_count(facts.largest)) : ""));
  if (!facts.labels) return;
  const LabelSkew& skew = *facts.labels;
  line("label skew",
       fmt::format("a part has {:.1f} classes (mean; {} to {}); its most frequent one is {:.0f} % of it (mean; at most {:.0f} %); distance "
                   "from the whole's labels {:.2f} (0: alike, {:.2f}: one class each)",
                   skew.mean_classes, skew.fewest_classes, skew.most_classes, 100 * skew.mean_largest, 100 * skew.most_largest,
                   skew.mean_distance, skew.one_class));
}

void print_data(const Scenario& scenario, const Explanation& explanation) {
  if (!explanation.learns) {
    line("data",
         fmt::format("none, for timing alone (--timing-only): {}, and no batch is cut short",
                     explanation.train_samples > 0 ? fmt::format("an epoch has {} samples", readable_count(explanation.train_samples))
                                                   : "there are no epochs"));
    return;
  }
  line("data", fmt::format("{} for training, {} for testing, {} classes{}{}", readable_count(explanation.train_samples),
                           readable_count(explanation.test_samples), readable_count(explanation.classes),
                           explanation.data_origin.empty() ? "" : ": ", explanation.data_origin));
  print_partition(scenario, explanation.partition);
}

std::string described_precision(const Scenario& scenario) {
  const WorkloadSpec& workload = scenario.workload;
  const std::string format = workload.precision == NumberFormat::bf16 ? "bfloat16" : "FP16";
  std::string text =
      fmt::format("{}: computing and messages in {}, weights and updates in FP32", precision_choice.name_of(workload.precision), format);
  if (workload.growth_every > 0)
    text +=
        fmt::format("; loss scale {} at first, doubled after {} good updates", format_number(workload.loss_scale), workload.growth_every);
  else if (workload.loss_scale != 1)
    text += fmt::format("; loss scale {}", format_number(workload.loss_scale));
  const auto measured = [&](const WorkerGroup& group) {
    return scenario.devices.at(group.device).compute.form != ComputeSpec::Form::roofline;
  };
  if (std::any_of(scenario.cluster.workers.begin(), scenario.cluster.workers.end(), measured))
    text += "; affine times and tables are the same in every precision";
  return text;
}

/// The bytes of a message, and what they do to an update's time.
void print_compression(const Explanation& explanation, const std::optional<UpdateTimes>& times) {
  if (explanation.compression.empty()) return;
  const auto before = static_cast<double>(explanation.message_bytes), after = static_cast<double>(explanation.compressed_bytes);
  line("compressed", fmt::format("by {}: {} before, {} after{}", explanation.compression, readable_bytes(before), readable_bytes(after),
                                 explanation.compresses_answers ? "; a server's answers, too" : ""));
  if (times)
    line("an update", fmt::format("takes {} before, {} after, timed without the math", readable_seconds(times->whole),
                                  readable_seconds(times->compressed)));
}

/// A line an algorithm, under the one that the scenario takes.
void print_collective(const Explanation& explanation, const std::vector<CollectiveTime>& times) {
  line("all-reduce", explanation.collective);
  if (times.empty()) return;
  line("  of", fmt::format("{} alone, as one flow:", readable_bytes(static_cast<double>(explanation.reduced_bytes))));
  for (const CollectiveTime& each : times)
    fmt::print("    {:<20} {:>9}{}\n", each.name, readable_seconds(each.seconds), each.choice.empty() ? "" : "  " + each.choice);
}

void print(const Scenario& scenario, const Explanation& explanation, const std::vector<CollectiveTime>& collectives,
           const std::optional<UpdateTimes>& times, const std::vector<std::string>& warnings) {
  line("scenario", fmt::format("{}, seed {}", scenario.name, scenario.seed));
  line("scheme",
       explanation.scheme_summary.empty() ? explanation.scheme : fmt::format("{}: {}", explanation.scheme, explanation.scheme_summary));
  print_groups(scenario, explanation);
  print_segments(scenario, explanation);
  print_topology(explanation);
  line("a route", explanation.route_example);
  print_collective(explanation, collectives);
  if (!explanation.aggregators.empty()) line("aggregators", explanation.aggregators);
  print_data(scenario, explanation);
  if (explanation.learns) line("parameters", readable_count(explanation.parameters));
  if (scenario.workload.precision != NumberFormat::fp32) line("precision", described_precision(scenario));
  if (!explanation.cost_model.empty())
    line("costs of", fmt::format("{}, {} parameters", explanation.cost_model, readable_count(explanation.cost_parameters)));
  if (!explanation.bucket_bytes.empty()) {
    std::string sizes;
    for (std::size_t i = 0; i < std::min<std::size_t>(explanation.bucket_bytes.size(), 8); ++i)
      sizes += (i == 0 ? "" : ", ") + readable_bytes(static_cast<double>(explanation.bucket_bytes[i]));
    line("buckets", fmt::format("{}: {}{}", explanation.bucket_bytes.size(), sizes, explanation.bucket_bytes.size() > 8 ? ", ..." : ""));
  }
  line("a message", readable_bytes(static_cast<double>(explanation.message_bytes)));
  print_compression(explanation, times);
  if (explanation.updates_per_epoch) line("an epoch", fmt::format("{} updates", readable_number(*explanation.updates_per_epoch)));
  const std::string timing_alone = readable_bytes(static_cast<double>(explanation.timing_bytes)) + " for timing alone";
  line("memory", explanation.learns ? fmt::format("about {} with the math, {}",
                                                  readable_bytes(static_cast<double>(explanation.memory_bytes)), timing_alone)
                                    : "about " + timing_alone);
  print_layers(explanation);
  for (const std::string& warning : warnings) fmt::print("warning: {}\n", warning);
}

/// Those of the scenario, and of this machine's memory where the math is to run.
std::vector<std::string> warnings_of(const Explanation& explanation, bool timing_only) {
  std::vector<std::string> warnings = explanation.warnings;
  if (timing_only || !explanation.learns) return warnings;
  if (std::string warning = memory_warning(explanation.memory_bytes, this_machine().memory_bytes); !warning.empty())
    warnings.push_back(std::move(warning));
  return warnings;
}

int execute_check(const std::vector<std::string>& given) {
  po::options_description own("Options", 110);
  auto add = own.add_options();
  add("set", po::value<std::vector<std::string>>()->composing()->value_name("PATH=VALUE"),
      "changes the scenario first; repeatable. A relative path in VALUE starts from the current folder (one in the file: from the file's "
      "folder)");
  add("graph", po::value<std::string>()->value_name("FILE"),
      "writes hosts, switches and cables to FILE.dot or FILE.graphml, for topology: {kind: file}");
  add("timing-only", "timing alone, without the math: no data files needed");
  add("json", "prints the lines and tables as one JSON object, times in seconds");
  Arguments arguments(check_command, own);
  if (!arguments.parse(given, 1, 1)) return Exit::done;
  std::vector<std::string> sets;
  if (arguments.has("set")) sets = arguments.get<std::vector<std::string>>("set");
  const Scenario scenario = read_scenario(input_file(arguments.positional().front()), sets);
  RunOptions options;
  options.threads = arguments.common().threads;
  options.timing_only = arguments.flag("timing-only") || scenario.workload.data.name == no_data;
  const Experiment experiment(scenario, options);
  const Explanation explanation = experiment.explain();
  const std::vector<std::string> warnings = warnings_of(explanation, options.timing_only);
  const std::optional<UpdateTimes> times = update_times(scenario);
  const std::vector<CollectiveTime> collectives = experiment.collective_times();
  if (arguments.flag("json"))
    fmt::print("{}", check_json(scenario, explanation, collectives, times, warnings));
  else
    print(scenario, explanation, collectives, times, warnings);
  if (arguments.has("graph")) experiment.write_graph(arguments.get<std::string>("graph"));
  return Exit::done;
}

}  // namespace

const Command check_command{"check", "SCENARIO.yaml",
                            "reads and explains a scenario: workers, routes, bytes per step, memory; runs nothing",
                            "  straggler check scenario.yaml\n"
                            "  straggler check scenario.yaml --set training.batch.per_worker=64\n"
                            "  straggler check scenario.yaml --graph cluster.dot\n"
                            "  straggler check scenario.yaml --json\n"
                            "  straggler init | straggler check -          # - is standard input\n",
                            execute_check};

}  // namespace straggler::cli
