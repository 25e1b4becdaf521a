#include "scenarios/reasons/check_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/reasons/failure_text.hpp"
#include "scenarios/results/run_info.hpp"
#include "scenarios/schema/part.hpp"
#include "scenarios/schema/worker_names.hpp"
#include "scenarios/schema/writer.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "sim/cluster/availability.hpp"
#include "sim/training/scheme.hpp"

namespace straggler {

namespace {

void line(std::string& out, const char* label, const std::string& value) {
  if (!value.empty()) out += fmt::format("{:<16}  {}\n", label, value);
}

/// Memory that training needs on the device, if known.
std::string device_memory(const Explanation::Group& group) {
  if (!group.memory) return {};
  if (!group.counts_activations)
    return fmt::format("; training takes {} of its {} and the activations, which workload.cost does not give",
                       readable_bytes(group.held.total()), readable_bytes(*group.memory));
  return fmt::format("; training takes {} of its {}, which a batch of {} would fill", readable_bytes(group.held.total()),
                     readable_bytes(*group.memory), readable_count(static_cast<std::uint64_t>(group.largest_batch)));
}

/// Demand of a computing worker and the bandwidth of its host's memory, if that is limited.
std::string memory_traffic(const Explanation::Group& group, const std::optional<double>& bandwidth) {
  if (!bandwidth) return {};
  return fmt::format("; a batch moves {}, alone {}/s of {} in the host's memory", readable_bytes(group.traffic),
                     readable_bytes(group.traffic / group.batch_seconds), format_quantity(*bandwidth, Dimension::rate));
}

/// A line for each number of samples that workers hold at a time.
void add_held(std::string& out, const Explanation& explanation) {
  std::vector<std::int64_t> shown;
  for (const Explanation::Group& group : explanation.groups) {
    if (std::ranges::count(shown, group.held_samples) > 0) continue;
    shown.push_back(group.held_samples);
    line(out, shown.size() == 1 ? "on a device" : "",
         fmt::format("{} of {}{}: {}{}", readable_bytes(group.held.total()), readable_count(static_cast<std::uint64_t>(group.held_samples)),
                     group.held_samples == 1 ? " sample" : " samples", parts_of(group.held),
                     group.counts_activations ? "" : "; activations are not known"));
    if (shown.size() == 4) break;  // --json has all
  }
}

/// Empty: they are there all the time.
std::string availability_of(const WorkerGroup& group) {
  const Kind& kind = group.availability;
  const auto pattern = Registry<AvailabilityEntry>::instance().at(kind.name).make(kind.parameters);
  if (!pattern) return {};
  return fmt::format("; they come and go ({}), and are present {:.1f} % of the time",
                     flow_map(kind_texts(kind, KindGroup::availability, Vocabulary::from_registries())), 100 * pattern->share());
}

/// What it counts in means, b_i / Σ b_i. Empty: batches are not stated, and all count the same.
std::string weight_of(const Explanation::Group& group, const Explanation& explanation) {
  if (!explanation.stated_batches) return {};
  return fmt::format(" ({:.3g} % of {})", 100 * static_cast<double>(group.batch) / static_cast<double>(explanation.batch_of_all),
                     readable_count(static_cast<std::uint64_t>(explanation.batch_of_all)));
}

void add_groups(std::string& out, const Scenario& scenario, const Explanation& explanation) {
  constexpr double shown_mean = 0.005;  // a mean of factors that differs from 1 by less is not mentioned
  std::int64_t workers = 0;
  for (const Explanation::Group& group : explanation.groups) workers += group.count;
  line(out, "workers",
       fmt::format("{}, in {} group{}", readable_count(static_cast<std::uint64_t>(workers)), explanation.groups.size(),
                   explanation.groups.size() == 1 ? "" : "s"));
  const WorkerNames names(scenario);
  constexpr std::size_t most = 50;
  for (std::size_t g = 0; g < std::min(explanation.groups.size(), most); ++g) {
    const Explanation::Group& group = explanation.groups[g];
    line(out, "",
         fmt::format("{} x {}: a batch of {}{}{} takes {}, jitter {}{}; link {}, latency {}", group.count, group.device, group.batch,
                     weight_of(group, explanation),
                     explanation.accumulate > 1 ? fmt::format(" in {} micro-batches", explanation.accumulate) : std::string(),
                     readable_seconds(group.batch_seconds), write_jitter(scenario.devices.at(group.device)),
                     std::abs(group.jitter_mean - 1) < shown_mean ? "" : " of mean " + readable_number(group.jitter_mean),
                     format_quantity(group.bytes_per_second, Dimension::rate), readable_seconds(group.latency)) +
             memory_traffic(group, scenario.cluster.workers[g].memory_bandwidth) + device_memory(group) +
             availability_of(scenario.cluster.workers[g]) +
             (group.rows > 0 ? fmt::format("; or as in the {} rows of its population", group.rows) : "") +
             (explanation.groups.size() > 1 ? "; " + names.group(g) : ""));
  }
  if (explanation.groups.size() > most)
    line(out, "", fmt::format("and {} more groups; --json has all", readable_count(explanation.groups.size() - most)));
  add_held(out, explanation);
}

/// The effect of the protocol's segments on links, and on one message over the first group's.
void add_segments(std::string& out, const Scenario& scenario, const Explanation& explanation) {
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
  line(out, "segments",
       fmt::format("{}for a message of {} the link above is {}, latency {}", text, readable_bytes(bytes),
                   format_quantity(group.bytes_per_second * at->bandwidth_factor, Dimension::rate),
                   readable_seconds(group.latency * at->latency_factor)));
}

void add_topology(std::string& out, const Explanation& explanation) {
  const TopologyFacts& facts = explanation.facts;
  const auto many = [](std::size_t count, const char* what) {
    return fmt::format("{} {}{}", readable_count(count), what, count == 1 ? "" : std::string(what).ends_with("ch") ? "es" : "s");
  };
  line(out, "topology",
       fmt::format("{}: {}, {}, {}", explanation.topology, many(explanation.hosts, "host"), many(facts.switches, "switch"),
                   many(facts.cables, "cable")));
  line(out, "diameter", fmt::format("{}, {}", many(facts.diameter_hops, "link"), readable_seconds(facts.diameter_latency.seconds())));
  line(out, "bisection",
       fmt::format("{}{}", facts.bisection_is_bound ? "at most " : "", readable_bytes(facts.bisection_bytes_per_second) + "/s"));
}

void add_layers(std::string& out, const Explanation& explanation) {
  if (explanation.layers.empty()) return;
  out += fmt::format("\n{:<24}  {:>12}  {:>18}  {:>18}\n", "layer", "parameters", "forward FLOPs", "activation bytes");
  for (const LayerCost& layer : explanation.layers)
    out += fmt::format("{:<24}  {:>12}  {:>18}  {:>18}\n", layer.name, layer.parameters, readable_number(layer.forward_flops),
                       readable_number(layer.activation_bytes));
}

void add_partition(std::string& out, const Scenario& scenario, const PartitionFacts& facts) {
  const std::string kind = write_partition(scenario.workload);
  if (facts.pool) {
    line(out, "partition", fmt::format("{}: all workers draw from one pool of {} samples", kind, readable_count(facts.smallest)));
    return;
  }
  line(out, "partition",
       fmt::format("{}: {} part{} of {}{} samples", kind, readable_count(facts.parts), facts.parts == 1 ? "" : "s",
                   readable_count(facts.smallest),
                   facts.largest > facts.smallest ? fmt::format(" to {}", readable_count(facts.largest)) : ""));
  if (!facts.labels) return;
  const LabelSkew& skew = *facts.labels;
  line(out, "label skew",
       fmt::format("a part has {:.1f} classes (mean; {} to {}); its most frequent one is {:.0f} % of it (mean; at most {:.0f} %); distance "
                   "from the whole's labels {:.2f} (0: alike, {:.2f}: one class each)",
                   skew.mean_classes, skew.fewest_classes, skew.most_classes, 100 * skew.mean_largest, 100 * skew.most_largest,
                   skew.mean_distance, skew.one_class));
}

void add_data(std::string& out, const Scenario& scenario, const Explanation& explanation) {
  if (!explanation.learns) {
    line(out, "data",
         fmt::format("none, for timing alone (--timing-only): {}, and no batch is cut short",
                     explanation.train_samples > 0 ? fmt::format("an epoch has {} samples", readable_count(explanation.train_samples))
                                                   : "there are no epochs"));
    return;
  }
  line(out, "data",
       fmt::format("{} for training, {} for testing, {}{}{}", readable_count(explanation.train_samples),
                   readable_count(explanation.test_samples),
                   explanation.context == 0 ? readable_count(explanation.classes) + " classes"
                                            : fmt::format("each {} symbols of a vocabulary of {}", readable_count(explanation.context),
                                                          readable_count(explanation.classes)),
                   explanation.data_origin.empty() ? "" : ": ", explanation.data_origin));
  add_partition(out, scenario, explanation.partition);
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

/// The bytes of a message, and their effect on an update's time.
void add_compression(std::string& out, const Explanation& explanation, const std::optional<UpdateTimes>& times) {
  if (explanation.compression.empty()) return;
  const auto before = static_cast<double>(explanation.message_bytes), after = static_cast<double>(explanation.compressed_bytes);
  line(out, "compressed",
       fmt::format("by {}: {} before, {} after{}", explanation.compression, readable_bytes(before), readable_bytes(after),
                   explanation.compresses_answers ? "; a server's answers, too" : ""));
  if (times)
    line(out, "", fmt::format("an update takes {} before, {} after", readable_seconds(times->whole), readable_seconds(times->compressed)));
}

/// "3,320,000": three digits, since it is an estimate.
std::string rounded_count(double count) {
  double unit = 1;
  while (count >= 1000 * unit) unit *= 10;
  return readable_count(static_cast<std::uint64_t>(std::llround(count / unit) * static_cast<long long>(unit)));
}

/// Of being distributed, where gradients are reduced.
void add_price(std::string& out, const Scenario& scenario) {
  const CollectiveSpec& collective = scenario.cluster.network.collective;
  const SchemeEntry& scheme = Registry<SchemeEntry>::instance().at(scenario.training.scheme.name);
  if (scenario.workers() == 1 || !scheme.sends_gradients(complete(scheme.parameters, scenario.training.scheme.parameters))) return;
  std::vector<std::string> parts;
  if (collective.per_step > 0 || collective.per_tensor > 0)
    parts.push_back(fmt::format("{} an update and {} a tensor, of each worker's time", readable_seconds(collective.per_step),
                                readable_seconds(collective.per_tensor)));
  if (collective.overlap && collective.interference > 0)
    parts.push_back(fmt::format("backward is {:.3g} % slower while a bucket is in flight", 100 * collective.interference));
  if (!parts.empty())
    line(out, "", fmt::format("price of being distributed: {}", fmt::join(parts, "; ")));
  else
    line(out, "",
         fmt::format("the price of being distributed is left out: {} are not given",
                     collective.overlap ? "per_step, per_tensor and interference" : "per_step and per_tensor"));
}

/// A line an algorithm, under the one that the scenario takes.
void add_collective(std::string& out, const Scenario& scenario, const Explanation& explanation, const std::vector<CollectiveTime>& times) {
  line(out, "all-reduce", explanation.collective);
  if (!explanation.collective.empty()) add_price(out, scenario);
  if (times.empty()) return;
  line(out, "  of", fmt::format("{} alone, as one flow:", readable_bytes(static_cast<double>(explanation.reduced_bytes))));
  for (const CollectiveTime& each : times)
    out += fmt::format("    {:<20} {:>9}{}\n", each.name, std::isinf(each.seconds) ? "> 100 d" : readable_seconds(each.seconds),
                       each.choice.empty() ? "" : "  " + each.choice);
}

/// What a worker moves of states that it shares, and how much of that computing hides.
void add_sharding(std::string& out, const Scenario& scenario, const Explanation::Sharded& sharded, const UpdateParts& parts) {
  if (sharded.stage == 0) return;
  line(out, "sharding",
       fmt::format("stage {} over {} workers{}; a worker sends {} to gather weights and {} to reduce gradients an update{}", sharded.stage,
                   sharded.workers,
                   sharded.units > 0 ? fmt::format(", in {} unit{} of at most {}", sharded.units, sharded.units == 1 ? "" : "s",
                                                   readable_bytes(sharded.largest_bytes))
                                     : std::string(),
                   readable_bytes(sharded.gathered), readable_bytes(sharded.reduced),
                   sharded.between_hosts > 0 ? fmt::format(", and {} between hosts", readable_bytes(sharded.between_hosts)) : ""));
  if (sharded.units > 1 && !scenario.cluster.network.collective.overlap)
    line(out, "", "units move while others are computed, also without collective.overlap; prefetch: 0 exposes each gather");
  if (parts.why_not.empty())
    line(out, "",
         fmt::format("of the time in which its bytes move, {} is hidden behind computing and {} exposed", readable_seconds(parts.hidden),
                     readable_seconds(parts.phases[Phase::communication])));
}

/// What closed forms say of failures and checkpoints.
void add_failures(std::string& out, const Explanation& explanation, const UpdateParts& parts) {
  if (!explanation.failures) return;
  const FailureText text = failure_text(*explanation.failures, parts.why_not.empty() ? parts.seconds : 0);
  line(out, "failures", text.failures);
  line(out, "checkpoints", text.checkpoints);
  line(out, "", text.best);
}

}  // namespace

std::string check_text(const Scenario& scenario, const Explanation& explanation, const std::vector<CollectiveTime>& collectives,
                       const std::optional<UpdateTimes>& times, const UpdateParts& parts, const std::optional<PacketEvents>& events,
                       const std::vector<std::string>& warnings, bool layers) {
  std::string out;
  line(out, "scenario", fmt::format("{}, seed {}", scenario.name, scenario.seed));
  line(out, "scheme",
       explanation.scheme_summary.empty() ? explanation.scheme : fmt::format("{}: {}", explanation.scheme, explanation.scheme_summary));
  add_groups(out, scenario, explanation);
  add_segments(out, scenario, explanation);
  add_topology(out, explanation);
  line(out, "a route", explanation.route_example);
  add_collective(out, scenario, explanation, collectives);
  if (!explanation.aggregators.empty()) line(out, "aggregators", explanation.aggregators);
  add_data(out, scenario, explanation);
  if (explanation.learns) line(out, "parameters", readable_count(explanation.parameters));
  line(out, "engine", explanation.engine);
  if (scenario.workload.precision != NumberFormat::fp32) line(out, "precision", described_precision(scenario));
  if (!explanation.cost_model.empty())
    line(out, "costs of",
         fmt::format("{}, {} parameters{}", explanation.cost_model, readable_count(explanation.cost_parameters),
                     explanation.cost_input.empty() ? "" : ", on images of " + explanation.cost_input));
  if (!explanation.bucket_bytes.empty()) {
    std::string sizes;
    for (std::size_t i = 0; i < std::min<std::size_t>(explanation.bucket_bytes.size(), 8); ++i)
      sizes += (i == 0 ? "" : ", ") + readable_bytes(static_cast<double>(explanation.bucket_bytes[i]));
    line(out, "buckets",
         fmt::format("{}: {}{}", explanation.bucket_bytes.size(), sizes, explanation.bucket_bytes.size() > 8 ? ", ..." : ""));
  }
  add_sharding(out, scenario, explanation.sharded, parts);
  line(out, "a message", readable_bytes(static_cast<double>(explanation.message_bytes)));
  add_compression(out, explanation, times);
  line(out, "an update", parts_text(scenario, parts));
  if (parts.why_not.empty()) line(out, "bound by", bound_text(scenario, parts));
  add_failures(out, explanation, parts);
  if (explanation.updates_per_epoch) line(out, "an epoch", fmt::format("{} updates", readable_number(*explanation.updates_per_epoch)));
  if (events)
    line(out, "events",
         fmt::format("about {} an update{}{}", rounded_count(events->of_update),
                     events->of_run ? fmt::format(", {} in the run", rounded_count(*events->of_run)) : "",
                     events->extrapolated ? "; extrapolated from larger packets" : ""));
  const std::string timing_alone = readable_bytes(static_cast<double>(explanation.timing_bytes)) + " for timing alone";
  line(out, "memory",
       explanation.learns
           ? fmt::format("about {} with the math, {}", readable_bytes(static_cast<double>(explanation.memory_bytes)), timing_alone)
           : "about " + timing_alone);
  if (layers)
    add_layers(out, explanation);
  else if (!explanation.layers.empty())
    line(out, "layers", fmt::format("{} (--layers lists them)", readable_count(explanation.layers.size())));
  for (const std::string& warning : warnings) out += fmt::format("warning: {}\n", warning);
  return out;
}

std::vector<std::string> check_warnings(const Explanation& explanation, bool timing_only) {
  std::vector<std::string> warnings = explanation.warnings;
  if (timing_only || !explanation.learns) return warnings;
  warnings.insert(warnings.end(), explanation.training_warnings.begin(), explanation.training_warnings.end());
  if (std::string warning = memory_warning(explanation.memory_bytes, this_machine().memory_bytes); !warning.empty())
    warnings.push_back(std::move(warning));
  return warnings;
}

}  // namespace straggler
