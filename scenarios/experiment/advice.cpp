#include "scenarios/experiment/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "scenarios/experiment/cluster_facts.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/readable.hpp"

namespace straggler {

namespace {

using Sentences = std::vector<std::string>;

std::string plural(std::int64_t count, const char* what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); }

/// Where a group begins a host of its own although the last one has room.
void of_hosts(const ClusterSpec& cluster, Sentences& out) {
  const std::vector<std::int64_t> taken = cluster.seats_taken();
  for (std::size_t g = 1; g < cluster.workers.size(); ++g) {
    const WorkerGroup& before = cluster.workers[g - 1];
    const std::int64_t occupied = (taken[g - 1] + before.count) % before.per_host;
    if (occupied == 0 || cluster.workers[g].same_host) continue;
    out.push_back(
        fmt::format("cluster.workers[{}] begins on a new host, although the last host of the previous group has room for {} more; if they "
                    "share it, write same_host: true",
                    g, plural(before.per_host - occupied, "worker")));
  }
}

/// Keys of an all-reduce where nothing is reduced: of use in a sweep over schemes.
void of_unused_keys(const Scenario& scenario, const Blueprint& blueprint, Sentences& out) {
  if (blueprint.plan.workers == 1) return;
  const CollectiveSpec &given = scenario.cluster.network.collective, plain;
  std::vector<std::string> keys;
  const auto add = [&](const char* key, bool differs) {
    if (differs) keys.emplace_back(key);
  };
  if (blueprint.all_reduce && !blueprint.scheme_entry->sends_gradients(scenario.training.scheme.parameters)) {
    add("per_step", given.per_step > 0);
    add("per_tensor", given.per_tensor > 0);
    add("interference", given.interference > 0);
    if (!keys.empty())
      out.push_back(fmt::format("cluster.network.collective.{} {} not used: {} averages weights, and no gradients, by all-reduce",
                                fmt::join(keys, ", "), keys.size() == 1 ? "is" : "are", scenario.training.scheme.name));
  } else if (blueprint.all_reduce && given.interference > 0 && (!given.overlap || blueprint.buckets.size() < 2))
    out.push_back(fmt::format(
        "cluster.network.collective.interference is not used: {}",
        given.overlap ? "the gradient leaves in one bucket, after backward" : "without overlap no bucket is in flight during backward"));
  if (blueprint.all_reduce) return;
  add("per_step", given.per_step > 0);
  add("per_tensor", given.per_tensor > 0);
  add("interference", given.interference > 0);
  add("overlap", given.overlap);
  add("bucket", given.bucket && !given.overlap);
  add("algorithm", given.algorithm != plain.algorithm);
  add("fidelity", given.fidelity != plain.fidelity);
  add("reduce_rate", given.reduce_rate.has_value());
  add("launch", given.launch != plain.launch);
  if (keys.empty()) return;
  out.push_back(fmt::format("cluster.network.collective.{} {} not used: {} {}", fmt::join(keys, ", "), keys.size() == 1 ? "is" : "are",
                            scenario.training.scheme.name,
                            blueprint.servers > 0 ? "exchanges through a server, without an all-reduce" : "has no all-reduce"));
}

/// Compression settings without effect.
void of_messages(const Scenario& scenario, const Blueprint& blueprint, Sentences& out) {
  if (!blueprint.compression) return;
  const std::string& scheme = scenario.training.scheme.name;
  const Parameters& own = scenario.training.compression.parameters;
  const bool feedback = complete(blueprint.compressor->parameters, own).flag("error_feedback");
  const bool chosen = feedback != complete(blueprint.compressor->parameters, {}).flag("error_feedback");
  if (chosen && blueprint.compression->exchange.gossips)
    out.push_back(
        fmt::format("training.compression.error_feedback has no effect: {} sends the difference between its weights and their estimates, "
                    "which includes what earlier messages left out",
                    scheme));
  const std::uint64_t after = blueprint.message_bytes_compressed(), before = blueprint.model_bytes;
  if (blueprint.plan.workers == 1 && blueprint.scheme_entry->exchange(scenario.training.scheme.parameters) == Exchange::all_reduce)
    out.push_back("training.compression has no effect: one worker alone sends nothing");
  else if (after >= before)
    out.push_back(fmt::format("a message is not smaller with training.compression: {}: {} before, {} after", blueprint.compressor->name,
                              readable_bytes(static_cast<double>(before)), readable_bytes(static_cast<double>(after))));
}

/// Factors are of whole matrices.
void of_compression(const Scenario& scenario, const Blueprint& blueprint, Sentences& out) {
  const CollectiveSpec& given = scenario.cluster.network.collective;
  if (!blueprint.compression || !blueprint.compression->factors || (!given.overlap && !given.bucket)) return;
  out.push_back(fmt::format("cluster.network.collective.{} not used: a gradient compressed by {} goes in one piece when backward is done",
                            !given.bucket    ? "overlap is"
                            : !given.overlap ? "bucket is"
                                             : "bucket, overlap are",
                            blueprint.compressor->name));
}

/// Servers that could send faster than the workers that are answered together take their answers, and wait for these.
void of_answers(const Scenario& scenario, const Blueprint& blueprint, Sentences& out) {
  const ClusterSpec& cluster = scenario.cluster;
  const Parameters& scheme = scenario.training.scheme.parameters;
  if (blueprint.servers < 2 || blueprint.plan.workers < 2 || cluster.servers.host_of_worker || cluster.servers.on_worker_hosts ||
      cluster.network.topology.name == "file" || !scheme.has("answers") || scheme.text("answers") != "in_turn")
    return;
  double slowest = std::numeric_limits<double>::infinity();
  for (const WorkerGroup& group : cluster.workers) {
    slowest = std::min(slowest, (group.link ? *group.link : cluster.network.link).down);
    for (const DeviceRow& row : group.rows)
      if (row.link) slowest = std::min(slowest, row.link->down);
  }
  const LinkSpec& own = cluster.servers.link ? *cluster.servers.link : cluster.network.link;
  const std::int64_t together = blueprint.scheme_entry->answers_together(scheme, blueprint.plan);
  if (static_cast<double>(blueprint.servers) * own.up <= static_cast<double>(together) * slowest) return;
  out.push_back(
      fmt::format("the {} servers answer {} at a time, each at the speed of that worker's link, so more servers do not help; "
                  "training.scheme.answers: at_once lets answers leave at the same time",
                  blueprint.servers, together == 1 ? std::string("one worker") : std::to_string(together) + " workers"));
}

/// A server that handles fewer messages than its workers send, where these do not wait for answers.
void of_overload(const Scenario& scenario, const Blueprint& blueprint, Sentences& out) {
  if (!blueprint.scheme_entry->unanswered || blueprint.servers == 0) return;
  const ClusterSpec& cluster = scenario.cluster;
  const ProtocolSpec& protocol = cluster.network.protocol;
  const auto bytes = static_cast<double>(blueprint.compression ? blueprint.message_bytes_compressed() : blueprint.model_bytes);
  const double by_worker = protocol.per_message + bytes * inverse(protocol.copy_rate);
  const double by_server = by_worker + cluster.servers.per_message;
  double sent = 0;  // a second: each computes, handles its message and lets it leave
  for (std::size_t g = 0; g < cluster.workers.size(); ++g) {
    const WorkerGroup& group = cluster.workers[g];
    const std::int64_t rows = alike_after(group);
    for (std::int64_t i = 0; i < std::min(rows, group.count); ++i) {
      const Rank worker = blueprint.first_of_group[g] + static_cast<Rank>(i);
      const double computing = blueprint.batch_seconds(scenario, worker, blueprint.plan.batch_of(worker));
      const double leaving = cluster.network.topology.name == "file" ? 0 : bytes / link_of(cluster, group, i).up;
      const std::int64_t alike = (group.count - i + rows - 1) / rows;
      sent += static_cast<double>(alike) / (computing + by_worker + leaving);
    }
  }
  if (cluster.network.topology.name != "file" && !shares_hosts(cluster))  // not more than reach the servers
    sent = std::min(sent, static_cast<double>(blueprint.servers) * server_link(cluster).down / bytes);
  if (!(sent * by_server > 1)) return;
  out.push_back(fmt::format(
      "the server needs {} for a message, so it handles {} a second, and workers send about {}; {} does not let them wait for "
      "answers, so messages pile up and the run ends as overloaded; give a shorter cluster.servers.per_message, fewer workers "
      "or larger batches",
      format_quantity(by_server, Dimension::time), readable_number(1 / by_server), readable_number(sent), scenario.training.scheme.name));
}

/// A figure of workers that are equal in it.
struct Figure {
  double value = 0;
  std::int64_t workers = 0;  // that have it
  std::string who;
};

/// Names the figure that is furthest from the median over workers, if it is `factor` times above or below it.
void of_outliers(std::vector<Figure> figures, double factor, const char* what, Dimension dimension, Sentences& out) {
  if (figures.size() < 2) return;
  std::stable_sort(figures.begin(), figures.end(), [](const Figure& a, const Figure& b) { return a.value < b.value; });
  std::int64_t all = 0, below = 0;
  for (const Figure& figure : figures) all += figure.workers;
  const auto median =
      std::find_if(figures.begin(), figures.end(), [&](const Figure& figure) { return 2 * (below += figure.workers) >= all; });
  const auto ratio = [&](const Figure& figure) { return std::max(figure.value / median->value, median->value / figure.value); };
  const Figure& worst = ratio(figures.back()) > ratio(figures.front()) ? figures.back() : figures.front();
  if (!(ratio(worst) >= factor)) return;
  out.push_back(fmt::format("{} has {} of {}, {} times {} than the median worker's {}; is the unit right?", worst.who, what,
                            format_quantity(worst.value, dimension), format_number(std::round(ratio(worst))),
                            worst.value < median->value ? "less" : "more", format_quantity(median->value, dimension)));
}

void of_different_workers(const Scenario& scenario, const Blueprint& blueprint, Sentences& out) {
  const ClusterSpec& cluster = scenario.cluster;
  std::vector<Figure> bandwidth, latency, memory;
  for (std::size_t g = 0; g < cluster.workers.size(); ++g) {
    const WorkerGroup& group = cluster.workers[g];
    const auto rows = static_cast<std::int64_t>(std::max<std::size_t>(group.rows.size(), 1));
    for (std::int64_t i = 0; i < std::min(rows, group.count); ++i) {
      const LinkSpec& link = link_of(cluster, group, i);
      const std::int64_t alike = (group.count - i + rows - 1) / rows;
      const std::string who =
          rows == 1 && group.count > 1 ? fmt::format("cluster.workers[{}]", g) : fmt::format("worker {}", blueprint.first_of_group[g] + i);
      bandwidth.push_back({std::min(link.up, link.down), alike, who});
      if (link.latency > 0) latency.push_back({link.latency, alike, who});
      if (const auto& bytes = scenario.devices.at(group.device).memory; bytes && i == 0) memory.push_back({*bytes, group.count, who});
    }
  }
  constexpr double far = 10, very_far = 100;  // latencies differ more in honest networks
  if (cluster.network.topology.name != "file") {
    of_outliers(std::move(bandwidth), far, "a bandwidth", Dimension::rate, out);
    of_outliers(std::move(latency), very_far, "a latency", Dimension::time, out);
  }
  of_outliers(std::move(memory), far, "a memory", Dimension::bytes, out);
}

/// Where an update is a round of whole local epochs, a stop or an evaluation in epochs is one in rounds.
void of_rounds(const Scenario& scenario, const Blueprint& blueprint, Sentences& out) {
  const TrainingSpec& training = scenario.training;
  if (!training.scheme.parameters.has("local_epochs") || blueprint.plan.epoch_samples == 0) return;
  const auto rounds = blueprint.scheme_entry->updates_per_epoch(training.scheme.parameters, blueprint.plan);
  if (!rounds) return;
  const std::string epoch =
      fmt::format("a round of {} is {} epoch{} of all data", training.scheme.name, format_number(1 / *rounds), *rounds == 1 ? "" : "s");
  const bool clients_change = std::ranges::any_of(scenario.cluster.faults, changes_members);
  if (training.stop.epochs && clients_change)
    out.push_back(fmt::format("{} while no client is missing; stop.rounds counts rounds", epoch));
  else if (training.stop.epochs)
    out.push_back(fmt::format("{}: stop.epochs {} is the end of round {}; stop.rounds counts them", epoch,
                              format_number(*training.stop.epochs),
                              format_number(std::ceil(*training.stop.epochs * *rounds * (1 - 1e-12)))));
  if (training.evaluate.every_epochs && *training.evaluate.every_epochs * *rounds < 1 - 1e-12)
    out.push_back(fmt::format("{}, and evaluate.every asks for an evaluation each {}; there is one a round", epoch,
                              format_number(*training.evaluate.every_epochs)));
}

/// Without data the bytes of a batch's inputs are not known.
void of_inputs(const Scenario& scenario, const Blueprint& blueprint, Sentences& out) {
  if (blueprint.has_data() || blueprint.cost.input_bytes > 0) return;
  const bool copied = std::any_of(scenario.cluster.workers.begin(), scenario.cluster.workers.end(),
                                  [&](const WorkerGroup& group) { return scenario.devices.at(group.device).host_to_device.has_value(); });
  if (copied || blueprint.scheme_entry->one_process)
    out.emplace_back("the inputs of a batch have no bytes without data, so copying them takes no time; write workload.cost: {model: NAME}");
}

/// More micro-batches than samples.
void of_micro_batches(const Blueprint& blueprint, Sentences& out) {
  const Batches& batches = blueprint.plan.batches;
  const Rank least = batches.smallest(blueprint.plan.workers);
  if (blueprint.plan.accumulate > batches.of(least))
    out.push_back(fmt::format("training.batch.accumulate is {}, and worker {} has a batch of {}, which it computes sample by sample",
                              blueprint.plan.accumulate, least, batches.of(least)));
}

/// Groups inside a host that hold all of its workers: nothing leaves them.
void of_levels(const Scenario& scenario, Sentences& out) {
  const auto& intra = scenario.cluster.network.intra;
  if (!intra || !intra->machine.empty()) return;
  std::int64_t most = 0;  // workers of a host
  for (const WorkerGroup& group : scenario.cluster.workers)
    most = std::max(most, group.same_host ? group.per_host : std::min(group.per_host, group.count));
  for (const auto& [key, level] : {std::pair("switch", &intra->pcie_switch), std::pair("socket", &intra->socket)})
    if (*level && (*level)->workers >= most)
      out.push_back(fmt::format("cluster.network.intra.{} joins {} workers, and no host has more than {}, so no message leaves it", key,
                                (*level)->workers, most));
}

/// Weights that workers share in their host's memory.
void of_shared_memory(const Scenario& scenario, const Blueprint& blueprint, Sentences& out) {
  if (blueprint.plan.cell_chunks > 1 && blueprint.plan.workers > 1 && !scenario.cluster.network.intra)
    out.push_back(scenario.training.scheme.name +
                  " reads the memory of its host in no time without cluster.network.intra, so no read mixes versions; write intra: "
                  "{bandwidth: 10GB/s, latency: 1us}");
}

}  // namespace

std::vector<std::string> advice(const Scenario& scenario, const Blueprint& blueprint) {
  Sentences out;
  of_hosts(scenario.cluster, out);
  of_levels(scenario, out);
  of_unused_keys(scenario, blueprint, out);
  advise_on_sharding(scenario, blueprint, out);
  of_micro_batches(blueprint, out);
  of_messages(scenario, blueprint, out);
  of_compression(scenario, blueprint, out);
  of_answers(scenario, blueprint, out);
  of_overload(scenario, blueprint, out);
  of_different_workers(scenario, blueprint, out);
  of_rounds(scenario, blueprint, out);
  of_inputs(scenario, blueprint, out);
  of_shared_memory(scenario, blueprint, out);
  return out;
}

}  // namespace straggler
