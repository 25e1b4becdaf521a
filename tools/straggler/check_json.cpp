#include "tools/straggler/check_json.hpp"

#include <cmath>

#include "scenarios/results/json.hpp"
#include "scenarios/schema/worker_names.hpp"
#include "scenarios/schema/writer.hpp"
#include "sim/cluster/availability.hpp"

namespace straggler::cli {

namespace {

Json memory_of(const Explanation::Group& group) {
  const DeviceMemory& held = group.held;
  return {{"samples", group.held_samples},
          {"weights_bytes", held.weights},
          {"gradients_bytes", held.gradients},
          {"optimizer_bytes", held.optimizer},
          {"activations_bytes", group.counts_activations ? Json(held.activations) : Json()},
          {"gathered_bytes", held.gathered},
          {"buckets_bytes", held.buckets}};
}

Json groups_of(const Scenario& scenario, const Explanation& explanation) {
  Json groups = Json::array();
  const WorkerNames names(scenario);
  for (std::size_t g = 0; g < explanation.groups.size(); ++g) {
    const Explanation::Group& group = explanation.groups[g];
    Json json{{"workers", group.count},
              {"device", group.device},
              {"difference", text_or_null(names.difference(g))},
              {"batch_s", group.batch_seconds},
              {"jitter", write_jitter(scenario.devices.at(group.device))},
              {"link_bytes_per_second", group.bytes_per_second},
              {"link_latency_s", group.latency},
              {"population_rows", group.rows}};
    const Kind& availability = scenario.cluster.workers[g].availability;
    const auto pattern = Registry<AvailabilityEntry>::instance().at(availability.name).make(availability.parameters);
    json["availability"] = availability.name;
    json["availability_share"] = pattern ? pattern->share() : 1.0;
    json["memory_bytes"] = count_or_null(group.memory);
    json["memory_used_bytes"] = count_or_null(group.held.total());
    json["memory_parts"] = memory_of(group);
    json["memory_used_has_activations"] = group.counts_activations;
    json["largest_batch"] = group.memory && group.counts_activations ? count_or_null(std::floor(group.largest_batch)) : Json();
    if (const std::optional<double>& bandwidth = scenario.cluster.workers[g].memory_bandwidth) {
      json["memory_traffic_bytes"] = group.traffic;
      json["memory_bytes_per_second"] = *bandwidth;
    }
    groups.push_back(std::move(json));
  }
  return groups;
}

Json segments_of(const Scenario& scenario) {
  Json segments = Json::array();
  const std::vector<SegmentSpec>& all = scenario.cluster.network.protocol.segments;
  for (std::size_t i = 0; i < all.size(); ++i)
    segments.push_back({{"up_to_bytes", i + 1 < all.size() ? count_or_null(all[i].up_to) : Json()},
                        {"latency_factor", all[i].latency_factor},
                        {"bandwidth_factor", all[i].bandwidth_factor}});
  return segments;
}

Json topology_of(const Explanation& explanation) {
  const TopologyFacts& facts = explanation.facts;
  return {{"kind", explanation.topology},
          {"hosts", explanation.hosts},
          {"switches", facts.switches},
          {"cables", facts.cables},
          {"diameter_links", facts.diameter_hops},
          {"diameter_s", facts.diameter_latency.seconds()},
          {"bisection_bytes_per_second", facts.bisection_bytes_per_second},
          {"bisection_is_bound", facts.bisection_is_bound},
          {"route", text_or_null(explanation.route_example)}};
}

Json partition_of(const Scenario& scenario, const PartitionFacts& facts) {
  Json json{{"kind", write_partition(scenario.workload)}, {"one_pool", facts.pool}};
  json["parts"] = facts.pool ? Json() : Json(facts.parts);
  json["smallest_samples"] = facts.smallest;
  json["largest_samples"] = facts.pool ? facts.smallest : facts.largest;
  json["label_skew"] = Json();
  if (facts.labels)
    json["label_skew"] = {{"classes_mean", facts.labels->mean_classes},       {"classes_fewest", facts.labels->fewest_classes},
                          {"classes_most", facts.labels->most_classes},       {"largest_share_mean", facts.labels->mean_largest},
                          {"largest_share_most", facts.labels->most_largest}, {"distance_mean", facts.labels->mean_distance},
                          {"distance_one_class", facts.labels->one_class}};
  return json;
}

Json data_of(const Scenario& scenario, const Explanation& explanation) {
  if (!explanation.learns) return {};
  Json json{{"train_samples", explanation.train_samples}, {"test_samples", explanation.test_samples}};
  json[explanation.context > 0 ? "vocabulary" : "classes"] = explanation.classes;
  if (explanation.context > 0) json["context"] = explanation.context;
  json["origin"] = text_or_null(explanation.data_origin);
  json["partition"] = partition_of(scenario, explanation.partition);
  return json;
}

Json layers_of(const Explanation& explanation) {
  Json layers = Json::array();
  for (const LayerCost& layer : explanation.layers)
    layers.push_back({{"name", layer.name},
                      {"parameters", layer.parameters},
                      {"forward_flops", count_or_null(layer.forward_flops)},
                      {"activation_bytes", count_or_null(layer.activation_bytes)}});
  return layers;
}

Json parts_of(const UpdateParts& parts) {
  if (!parts.why_not.empty()) return {};
  Json phases;
  for (const PhaseRow& row : phase_rows) phases[seconds_column(row.phase)] = parts.phases[row.phase];
  return {{"seconds", parts.seconds},
          {"first_update", parts.first + 1},
          {"last_update", parts.last},
          {"first_half_s", parts.first_half},
          {"second_half_s", parts.second_half},
          {"run_ends", parts.outcome == Outcome::completed ? Json() : Json(name_of(parts.outcome))},
          {"nobody_contributed", parts.empty},
          {"later_faults_or_absences", parts.changes},
          {"worker", parts.worker},
          {"of_own_contributions", parts.own_cycle},
          {"phases", phases},
          {"bound_by", parts.bound != Cause::nothing ? Json(name_of(parts.bound))
                       : parts.untold.empty()        ? Json("computing")
                                                     : Json()},
          {"seconds_without", parts.bound == Cause::nothing ? Json() : Json(parts.without)}};
}

Json events_of(const PacketEvents& events) {
  return {{"of_update", events.of_update}, {"of_run", json_or_null(events.of_run)}, {"extrapolated", events.extrapolated}};
}

Json failures_of(const FailureForms& forms, const UpdateParts& parts) {
  const std::optional<double> interval = forms.interval(parts.why_not.empty() ? parts.seconds : 0);
  const auto best = [&](double seconds) { return forms.optimal > 0 ? Json(seconds) : Json(); };
  Json json{{"mean_time_between_failures_s", 1 / forms.job.rate},
            {"failures_per_second", forms.job.rate},
            {"recovery_s", forms.job.recovery},
            {"save_s", forms.save},
            {"interval_s", interval ? Json(*interval) : Json()},
            {"optimal_interval_s", best(forms.optimal)},
            {"young_interval_s", best(forms.young)},
            {"daly_interval_s", best(forms.daly)}};
  json["goodput"] = interval ? Json(reliability::long_run_goodput(*interval, forms.save, forms.job)) : Json();
  json["first_order_goodput"] = interval ? Json(reliability::first_order_goodput(*interval, forms.save, forms.job)) : Json();
  return json;
}

Json sharding_of(const Explanation::Sharded& sharded, const UpdateParts& parts) {
  return {{"stage", sharded.stage},
          {"workers", sharded.workers},
          {"units", sharded.units > 0 ? Json(sharded.units) : Json()},
          {"largest_unit_bytes", sharded.largest_bytes},
          {"gathered_bytes", sharded.gathered},
          {"reduced_bytes", sharded.reduced},
          {"between_hosts_bytes", sharded.between_hosts},
          {"hidden_s", parts.why_not.empty() ? Json(parts.hidden) : Json()},
          {"exposed_s", parts.why_not.empty() ? Json(parts.phases[Phase::communication]) : Json()}};
}

Json collectives_of(const std::vector<CollectiveTime>& times) {
  Json all = Json::array();
  for (const CollectiveTime& each : times)
    all.push_back({{"name", each.name}, {"alone_s", each.seconds}, {"choice", text_or_null(each.choice)}});
  return all;
}

}  // namespace

std::string check_json(const Scenario& scenario, const Explanation& explanation, const std::vector<CollectiveTime>& collectives,
                       const std::optional<UpdateTimes>& times, const UpdateParts& parts, const std::optional<PacketEvents>& events,
                       const std::vector<std::string>& warnings) {
  Json json{{"name", scenario.name},
            {"seed", scenario.seed},
            {"scheme", explanation.scheme},
            {"scheme_summary", text_or_null(explanation.scheme_summary)},
            {"batch_per_worker", explanation.batch_per_worker}};
  std::int64_t workers = 0;
  for (const Explanation::Group& group : explanation.groups) workers += group.count;
  json["workers"] = workers;
  json["groups"] = groups_of(scenario, explanation);
  if (explanation.failures) json["failures"] = failures_of(*explanation.failures, parts);
  if (explanation.sharded.stage > 0) json["sharding"] = sharding_of(explanation.sharded, parts);
  json["segments"] = segments_of(scenario);
  json["topology"] = topology_of(explanation);
  json["all_reduce"] = text_or_null(explanation.collective);
  json["all_reduce_bytes"] = explanation.reduced_bytes;
  json["all_reduce_alone"] = collectives_of(collectives);
  json["aggregators"] = text_or_null(explanation.aggregators);
  json["data"] = data_of(scenario, explanation);
  json["epoch_samples"] = explanation.train_samples > 0 ? Json(explanation.train_samples) : Json();
  json["updates_per_epoch"] = json_or_null(explanation.updates_per_epoch);
  json["parameters"] = explanation.learns ? Json(explanation.parameters) : Json();
  json["engine"] = text_or_null(explanation.engine);
  json["precision"] = precision_choice.name_of(scenario.workload.precision);
  json["costs_of"] = text_or_null(explanation.cost_model);
  json["cost_parameters"] = explanation.cost_model.empty() ? Json() : Json(explanation.cost_parameters);
  json["bucket_bytes"] = explanation.bucket_bytes;
  json["message_bytes"] = explanation.message_bytes;
  json["compression"] = text_or_null(explanation.compression);
  json["compressed_bytes"] = explanation.compression.empty() ? Json() : Json(explanation.compressed_bytes);
  json["update_s"] = times ? Json(times->compressed) : parts.why_not.empty() ? Json(parts.seconds) : Json();
  json["update_uncompressed_s"] = times ? Json(times->whole) : Json();
  json["update_parts"] = parts_of(parts);
  json["update_not_timed"] = text_or_null(parts.why_not);
  json["packet_events"] = events ? events_of(*events) : Json();
  json["memory_bytes"] = explanation.learns ? Json(explanation.memory_bytes) : Json();
  json["timing_memory_bytes"] = explanation.timing_bytes;
  json["layers"] = layers_of(explanation);
  json["warnings"] = warnings;
  return json_document(json);
}

}  // namespace straggler::cli
