#include "sim/training/scheme.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "sim/training/momentum_mode.hpp"
#include "sim/training/plan.hpp"

namespace straggler {

Process Scheme::server(Node&) const { return Process(); }
Process Scheme::aggregator(Node&) const { return Process(); }

Parameter on_failure(std::initializer_list<OnFailure> choices, const std::string& meaning) {
  return failure_choice.only(choices).parameter(*choices.begin(), "when a worker crashes: " + meaning);
}

Parameter required_count(const std::string& name, const std::string& meaning, const Range& range) {
  return {.name = name, .type = ValueType::count, .required = true, .meaning = meaning, .range = range};
}

Parameter count_or(const std::string& name, const std::string& fallback, const std::string& meaning, const Range& range) {
  return {.name = name, .type = ValueType::count, .fallback = fallback, .meaning = meaning, .range = range};
}

Parameter optional_count(const std::string& name, const std::string& meaning, const Range& range) {
  return {.name = name, .type = ValueType::count, .meaning = meaning, .range = range};
}

std::string_view name_of(Exchange exchange) {
  static constexpr std::array<std::string_view, 4> names = {"none", "server", "all_reduce", "peers"};
  return names[static_cast<std::size_t>(exchange)];
}

Exchange exchange_via(const Parameters& parameters) { return via_choice.of(parameters); }

std::optional<double> UpdateContributions::of_all_workers(const Parameters&, const TrainingPlan& plan) { return plan.workers; }

StalenessBound unbounded_staleness() { return {.text = "none", .most = std::nullopt}; }

UpdateContributions one_contribution() { return {.text = "1", .count = 1}; }

UpdateContributions from_any_workers(const std::string& parameter, const std::string& symbol) {
  return {.text = symbol.empty() ? parameter : symbol,
          .count = [parameter](const Parameters& given) { return static_cast<double>(given.count(parameter)); },
          .any = parameter};
}

UpdateContributions from_different_workers(const std::string& parameter) {
  UpdateContributions contributions = from_any_workers(parameter);
  contributions.distinct = std::exchange(contributions.any, {});
  return contributions;
}

namespace usual {

namespace {

bool always(const Fact<bool>& fact) {
  const bool* const value = fact.constant();
  return value && *value;
}

}  // namespace

Exchange exchange(Family family) {
  if (family == Family::gossip) return Exchange::peers;
  return family == Family::local ? Exchange::all_reduce : Exchange::server;
}

UpdateContributions contributions(Family family) { return family == Family::asynchronous ? one_contribution() : UpdateContributions(); }

/// A worker may make two contributions of one version to an update from any workers.
Fact<bool> asynchronous(Family family, const UpdateContributions& contributions) {
  if (family == Family::asynchronous || (family != Family::synchronous && contributions.text == "1")) return true;
  if (contributions.any.empty()) return false;
  return [parameter = contributions.any](const Parameters& parameters) { return parameters.count(parameter) > 1; };
}

std::string waits(Family family, const Fact<Exchange>& exchange, const Fact<bool>& asynchronous, const UpdateContributions& contributions) {
  if (!contributions.distinct.empty()) return "the first " + contributions.text + " for the " + contributions.text + "-th";
  const Exchange* const by = exchange.constant();
  if (always(asynchronous) || !contributions.any.empty() || (by && *by == Exchange::none)) return "nobody";
  switch (family) {
    case Family::synchronous:
      return "all for the slowest";
    case Family::local:
      return "all for the slowest, every H steps";
    case Family::asynchronous:
      return "nobody";
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

StalenessBound staleness(const Fact<bool>& asynchronous) { return always(asynchronous) ? unbounded_staleness() : StalenessBound(); }

UpdateTraffic traffic(Family family, const Fact<Exchange>& exchange, const UpdateContributions& contributions) {
  std::string by_server = contributions.text == "1" ? "2 d" : "2 " + contributions.text + " d";
  const std::string by_ring = "2 (p - 1) d";
  const bool drops = family == Family::synchronous && contributions.text != "p";  // late ones are dropped and answered
  if (drops) by_server += ", and 2 d per dropped gradient";
  UpdateTraffic traffic;
  if (const Exchange* const by = exchange.constant())
    traffic.text = *by == Exchange::server ? by_server : *by == Exchange::all_reduce ? by_ring : *by == Exchange::none ? "0" : "";
  else
    traffic.text = by_ring + " in a ring, " + by_server + " by a server";
  traffic.bytes = [exchange, drops, count = contributions.count](const Parameters& parameters, const TrainingPlan& plan) {
    std::optional<double> messages;
    if (exchange(parameters) == Exchange::server) messages = count(parameters, plan);
    if (exchange(parameters) == Exchange::all_reduce) messages = plan.workers - 1;
    if (exchange(parameters) == Exchange::none) messages = 0;
    return messages ? std::optional<UpdateBytes>({2 * *messages * vectors_with_momentum(parameters), drops ? 2.0 : 0.0}) : std::nullopt;
  };
  return traffic;
}

Versions versions(Family family, const Fact<bool>& asynchronous) {
  if (family != Family::gossip) return Versions::shared;
  return always(asynchronous) ? Versions::free_running : Versions::lockstep;
}

/// Without the parameter: plain, in means over all workers.
Fact<std::optional<Average::By>> average(const Fact<Exchange>& exchange, const Fact<Versions>& versions) {
  const Exchange* const by = exchange.constant();
  const Versions* const of = versions.constant();
  const bool over_all = !by || *by == Exchange::all_reduce || (of && *of == Versions::lockstep);
  return [over_all](const Parameters& parameters) {
    const std::optional<Average::By> declared = Average::declared(parameters);
    return declared || !over_all ? declared : Average::By::plain;
  };
}

PlanFact<std::int64_t> answers_together(const UpdateContributions& contributions) {
  if (contributions.distinct.empty()) return 1;
  return [parameter = contributions.distinct](const Parameters& parameters) { return parameters.count(parameter); };
}

std::vector<ParameterTexts> plain_sgd_alone(Family family, const Fact<Exchange>& exchange, const UpdateContributions& contributions) {
  if (family == Family::local || family == Family::federated || !contributions.batches.empty()) return {};
  ParameterTexts one;
  for (const std::string& parameter : {contributions.distinct, contributions.any})
    if (!parameter.empty()) one[parameter] = "1";
  if (exchange.constant()) return {one};
  return {one, {{"via", "server"}}};
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

Fact<RollsBack> rolls_back(Family family, const Fact<Exchange>& exchange, const UpdateContributions& contributions, bool one_process) {
  if (family == Family::gossip || one_process) return RollsBack::never;
  const bool all =
      family != Family::asynchronous && family != Family::federated && contributions.any.empty() && contributions.distinct.empty();
  return [all, exchange](const Parameters& parameters) {
    if (exchange(parameters) == Exchange::peers) return RollsBack::never;
    return all || exchange(parameters) != Exchange::server ? RollsBack::together : RollsBack::server;
  };
}

std::string not_compressible(Family family, const ParameterTexts& with_compression) {
  if (family != Family::gossip || !with_compression.empty()) return {};
  return "sends weights to changing workers, which hold no common base for a difference; take none, or dpsgd with gamma (CHOCO-SGD)";
}

/// Of an asynchronous scheme the local steps of a round are computed when they are over, and the optimizer's state with them.
WorkersHold workers_hold(Family family, const Fact<bool>& asynchronous, const UpdateContributions& contributions) {
  if (family == Family::synchronous) return WorkersHold::same_version;
  if (family == Family::local || !contributions.batches.empty()) return WorkersHold::own_weights;
  return family == Family::asynchronous || always(asynchronous) ? WorkersHold::own_version : WorkersHold::own_weights;
}

std::size_t worker_bytes(const Fact<Versions>& versions) {
  const Versions* const of = versions.constant();
  if (!of || *of == Versions::shared) return 2'000;
  return *of == Versions::lockstep ? 3'600 : 2'300;
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

namespace {

/// A choice alone; where that is refused, in the first example that takes it.
ParameterTexts with_choice(const SchemeEntry& entry, const std::string& name, const std::string& choice) {
  std::vector<ParameterTexts> tries = {{}};
  tries.insert(tries.end(), entry.examples.begin(), entry.examples.end());
  for (ParameterTexts& given : tries) {
    given[name] = choice;
    try {
      entry.make(variant_of(entry, given).parameters);
      return given;
    } catch (const std::invalid_argument&) {  // it needs another parameter
    }
  }
  return {{name, choice}};
}

}  // namespace

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
    for (const std::string& choice : parameter.choices) add(with_choice(entry, parameter.name, choice));
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
