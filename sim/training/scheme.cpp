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

StalenessBound unbounded_staleness() {
  return {.text = "none", .most = [](const Parameters&, const TrainingPlan&) { return std::optional<std::uint64_t>(); }};
}

UpdateTraffic traffic_via() {
  return {.text = "2 (p - 1) d in a ring, 2 p d by a server", .bytes = [](const Parameters& parameters, const TrainingPlan& plan) {
            return std::optional<UpdateBytes>({2.0 * (plan.workers - (exchange_via(parameters) == Exchange::all_reduce ? 1 : 0)), 0});
          }};
}

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
