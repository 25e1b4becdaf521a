#include "scenarios/results/busiest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "scenarios/experiment/cluster_facts.hpp"
#include "scenarios/results/figures.hpp"
#include "scenarios/results/summary.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/registry.hpp"
#include "sim/training/scheme.hpp"

namespace straggler {

std::optional<BusyLink> busiest_link(const RunRecord& record) {
  const LinkTable& links = record.links;
  double most = 0;
  std::size_t busiest = 0;
  for (std::size_t link = 0; link < links.size && record.end > Time(); ++link) {
    double bytes = 0, rate = 0;
    if (links.load) {
      std::tie(bytes, rate) = links.load(link);
    } else {
      const LinkRecord row = links.row(link);
      bytes = row.bytes;
      rate = row.bytes_per_second;
    }
    const double use = rate > 0 ? bytes / (rate * record.end.seconds()) : 0;
    if (use > most) {
      most = use;
      busiest = link;
    }
  }
  return most > 0 ? std::optional(BusyLink{links.row(busiest).name, std::min(most, 1.0)}) : std::nullopt;
}

std::string link_words(const BusyLink& link) { return fmt::format("{}, {} of its capacity", link.name, readable_share(link.use)); }

double answering_share(const Scenario& scenario, const RunRecord& record) {
  const ClusterSpec& cluster = scenario.cluster;
  const SchemeEntry* const scheme = Registry<SchemeEntry>::instance().find(scenario.training.scheme.name);
  const auto is_answers = [](const Parameter& parameter) { return parameter.name == "answers"; };
  if (!scheme || std::ranges::none_of(scheme->parameters, is_answers) || record.end <= Time()) return 0;
  if (complete(scheme->parameters, scenario.training.scheme.parameters).text("answers") != "in_turn") return 0;
  if (cluster.servers.host_of_worker || cluster.servers.on_worker_hosts || cluster.servers.count < 1 ||
      cluster.network.topology.name == "file")
    return 0;
  const double most = static_cast<double>(cluster.servers.count) * server_link(cluster).up;
  double seconds = 0;
  std::size_t worker = 0;
  for (const WorkerGroup& group : cluster.workers)
    for (std::int64_t i = 0; i < group.count && worker < record.workers.size(); ++i, ++worker)
      if (const double own = link_of(cluster, group, i).down; own < most)
        seconds += static_cast<double>(record.workers[worker].bytes_received) / own;
  return std::min(seconds / record.end.seconds(), 1.0);
}

Holdup holdup(const Scenario& scenario, const RunRecord& record) {
  // Rounds use both ways of a link in turn, so each is busy for half of the time at most.
  constexpr double worth_telling = 0.1, busy = 0.25, often = 0.5, full = 0.9;
  Holdup out;
  const auto share = [&](Phase phase) { return mean_share(record.workers, phase).value_or(0); };
  if (share(Phase::idle) + share(Phase::communication) < worth_telling) return out;
  const std::optional<BusyLink> link = busiest_link(record);
  if (link && link->use >= busy) out.link = link_words(*link);
  if (link && link->use >= full) return out;
  if (const double answering = answering_share(scenario, record); answering >= often)
    out.answers =
        fmt::format("the server sends one answer at a time, for {} of the time; training.scheme.answers: at_once sends them side by side",
                    readable_share(answering));
  return out;
}

}  // namespace straggler
