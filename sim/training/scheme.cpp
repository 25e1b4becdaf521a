#include "sim/training/scheme.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "sim/training/plan.hpp"

namespace straggler {

Process Scheme::server(Node&) const { return Process(); }
Process Scheme::aggregator(Node&) const { return Process(); }

Parameter on_failure(std::initializer_list<OnFailure> choices, const std::string& meaning) {
  return failure_choice.only(choices).parameter(*choices.begin(), "when a worker crashes: " + meaning);
}

std::string_view name_of(Exchange exchange) {
  static constexpr std::array<std::string_view, 4> names = {"none", "server", "all_reduce", "peers"};
  return names[static_cast<std::size_t>(exchange)];
}

Exchange exchange_via(const Parameters& parameters) { return via_choice.of(parameters); }

std::optional<double> UpdateContributions::of_all_workers(const Parameters&, const TrainingPlan& plan) { return plan.workers; }

StalenessBound unbounded_staleness() { return {.text = "none", .most = std::nullopt}; }

UpdateContributions one_contribution() { return {.text = "1", .count = 1}; }

UpdateContributions from_any_workers(const std::string& parameter) {
  return {.text = parameter, .count = [parameter](const Parameters& given) { return static_cast<double>(given.count(parameter)); }};
}

UpdateContributions from_different_workers(const std::string& parameter) {
  UpdateContributions contributions = from_any_workers(parameter);
  contributions.distinct = parameter;
  return contributions;
}

namespace usual {

UpdateContributions contributions(Family family) { return family == Family::asynchronous ? one_contribution() : UpdateContributions(); }

std::string waits(Family family, const UpdateContributions& contributions) {
  if (!contributions.distinct.empty()) return "the first " + contributions.text + " for the " + contributions.text + "-th";
  switch (family) {
    case Family::synchronous:
      return "all for the slowest";
    case Family::asynchronous:
      return "nobody";
    case Family::local:
    case Family::gossip:
      return {};
    case Family::federated:
      return "the server for all clients of the round";
  }
  throw std::logic_error("no such family");
}

std::string batch_is(Family family, const UpdateContributions& contributions) {
  if (family == Family::federated) return "one local step of a client";
  if (family == Family::local || !contributions.batches.empty()) return "one local step";
  if (contributions.text == "1") return "one gradient, one step";
  return contributions.text == "p" ? "one worker's part of one step" : "one gradient";
}

StalenessBound staleness(const Fact<bool>& asynchronous) {
  const bool* const always = asynchronous.constant();
  return always && *always ? unbounded_staleness() : StalenessBound();
}

UpdateTraffic traffic(const Fact<Exchange>& exchange, const UpdateContributions& contributions) {
  const std::string by_server = contributions.text == "1" ? "2 d" : "2 " + contributions.text + " d", by_ring = "2 (p - 1) d";
  UpdateTraffic traffic;
  if (const Exchange* const always = exchange.constant())
    traffic.text = *always == Exchange::server ? by_server : *always == Exchange::all_reduce ? by_ring : "";
  else
    traffic.text = by_ring + " in a ring, " + by_server + " by a server";
  traffic.bytes = [exchange, count = contributions.count](const Parameters& parameters, const TrainingPlan& plan) {
    std::optional<double> messages;
    if (exchange(parameters) == Exchange::server) messages = count(parameters, plan);
    if (exchange(parameters) == Exchange::all_reduce) messages = plan.workers - 1;
    return messages ? std::optional<UpdateBytes>({2 * *messages, 0}) : std::nullopt;
  };
  return traffic;
}

PlanFact<std::optional<double>> updates_per_epoch(const UpdateContributions& contributions) {
  return [count = contributions.count, batches = contributions.batches](const Parameters& parameters,
                                                                        const TrainingPlan& plan) -> std::optional<double> {
    const std::optional<double> some = count(parameters, plan);
    if (!some) return std::nullopt;
    const double updates = plan.batches_per_epoch() / *some;
    return batches.empty() ? updates : updates / static_cast<double>(parameters.count(batches));
  };
}

PlanFact<std::string> unfit(const UpdateContributions& contributions) {
  if (contributions.distinct.empty()) return std::string();
  return [parameter = contributions.distinct](const Parameters& parameters, const TrainingPlan& plan) -> std::string {
    if (parameters.count(parameter) <= plan.workers) return {};
    return parameter + " is " + std::to_string(parameters.count(parameter)) + ", but an update takes one gradient per worker; with " +
           std::to_string(plan.workers) + " workers " + parameter + " is at most " + std::to_string(plan.workers);
  };
}

Fact<bool> sends_gradients(Family family, const Fact<Exchange>& exchange) {
  const bool of_gradients = family == Family::synchronous || family == Family::asynchronous;
  return [of_gradients, exchange](const Parameters& parameters) { return of_gradients && exchange(parameters) != Exchange::none; };
}

WorkersHold workers_hold(Family family) {
  if (family == Family::synchronous) return WorkersHold::same_version;
  return family == Family::asynchronous ? WorkersHold::own_version : WorkersHold::own_weights;
}

}  // namespace usual

std::string SchemeVariant::text() const {
  std::vector<std::pair<std::string, std::string>> texts = {{"kind", entry->name}};
  texts.insert(texts.end(), given.begin(), given.end());
  return "{" + flow_text(texts) + "}";
}

SchemeVariant variant_of(const SchemeEntry& entry, ParameterTexts given) {
  Parameters parameters;
  for (const Parameter& parameter : entry.parameters) {
    if (parameter.required && !given.contains(parameter.name) && !entry.examples.empty()) {
      const auto example = entry.examples.front().find(parameter.name);
      if (example != entry.examples.front().end()) given.insert(*example);
    }
    const auto text = given.find(parameter.name);
    if (text != given.end()) parameters.set(parameter.name, parse_value(parameter, text->second));
  }
  for (const auto& [name, text] : given)
    if (!parameters.has(name)) throw std::invalid_argument(name + ": is no parameter of " + entry.name + "; remove it from its examples");
  return {&entry, std::move(given), complete(entry.parameters, parameters)};
}

std::vector<SchemeVariant> variants_of(const SchemeEntry& entry) {
  std::vector<SchemeVariant> all;
  const auto add = [&](const ParameterTexts& given) {
    SchemeVariant variant = variant_of(entry, given);
    const auto same = [&](const SchemeVariant& other) { return other.parameters == variant.parameters; };
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(std::move(variant));
  };
  add({});
  for (const Parameter& parameter : entry.parameters) {
    if (parameter.name == "on_failure") continue;
    for (const std::string& choice : parameter.choices) add({{parameter.name, choice}});
  }
  for (const ParameterTexts& example : entry.examples) add(example);
  return all;
}

std::vector<SchemeVariant> all_scheme_variants() {
  std::vector<SchemeVariant> all;
  for (const SchemeEntry& entry : Registry<SchemeEntry>::instance().entries())
    for (SchemeVariant& variant : variants_of(entry)) all.push_back(std::move(variant));
  return all;
}

const std::vector<std::string>& failure_choices(const SchemeEntry& entry) {
  static const std::vector<std::string> none;
  const auto at = std::find_if(entry.parameters.begin(), entry.parameters.end(), [](const Parameter& p) { return p.name == "on_failure"; });
  return at == entry.parameters.end() ? none : at->choices;
}

}  // namespace straggler
