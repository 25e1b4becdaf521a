#include <algorithm>
#include <set>
#include <stdexcept>

#include "scenarios/race/flow_list.hpp"
#include "scenarios/race/race.hpp"
#include "scenarios/schema/flow_yaml.hpp"
#include "scenarios/schema/other_names.hpp"
#include "scenarios/schema/section.hpp"
#include "scenarios/search/space.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {
namespace {

/// Settings that can be tuned by a short name, with usual ranges.
struct Usual {
  const char* name;
  const char* path;
  SettingRange range;
};
const std::vector<Usual>& usual_candidates() {
  static const std::vector<Usual> all{{"learning_rate", "training.optimizer.learning_rate", {"1e-3", "1", true, false}},
                                      {"momentum", "training.optimizer.momentum", {"0", "0.99", false, false}},
                                      {"weight_decay", "training.optimizer.weight_decay", {"1e-6", "1e-1", true, false}}};
  return all;
}

const Usual* find_usual(const std::string& name) {
  for (const Usual& each : usual_candidates())
    if (name == each.name || name == each.path) return &each;
  return nullptr;
}

constexpr const char* range_remedy = "write {from: 1e-3, to: 1, scale: log} or a list of choices";

SettingRange range_of(const YamlNode& node) {
  SettingRange range;
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const std::string& key = node.keys[i].name;
    const YamlNode& value = node.items[i];
    if (value.type != YamlNode::Type::scalar) throw std::invalid_argument(key + " is " + what_stands(value) + "; " + range_remedy);
    if (key == "from")
      range.from = value.text;
    else if (key == "to")
      range.to = value.text;
    else if (key == "scale" && (value.text == "log" || value.text == "linear"))
      range.logarithmic = value.text == "log";
    else if (key == "whole" && (value.text == "true" || value.text == "false"))
      range.whole = value.text == "true";
    else if (key == "scale" || key == "whole")
      throw std::invalid_argument(key + " is " + in_quotes(value.text) + "; write " + (key == "scale" ? "log or linear" : "true or false"));
    else
      throw std::invalid_argument(unknown_name("key", key, {"from", "to", "scale", "whole"}));
  }
  for (const auto& [key, text] : {std::pair("from", range.from), std::pair("to", range.to)})
    if (text.empty()) throw std::invalid_argument(std::string(key) + " is missing; " + range_remedy);
  return range;
}

Setting choices_of(const std::string& path, const YamlNode& node) {
  std::vector<AxisValue> values;
  for (const YamlNode& item : node.items) values.push_back({flow_yaml(item), flow_yaml(item), whole_file});
  if (values.size() < 2) throw std::invalid_argument("has fewer than two choices; write at least two");
  return Setting::choices(path, std::move(values));
}

Setting setting_of(const std::string& item) {
  const auto [label, value] = split_label(item);
  const Usual* const known = find_usual(label.value_or(value));
  if (!label) {
    if (known != nullptr) return Setting::range(known->path, known->range);
    if (value.find('.') != std::string::npos) throw std::invalid_argument("has no range; " + std::string(range_remedy) + " after '='");
    std::vector<std::string> names;
    for (const Usual& each : usual_candidates()) names.emplace_back(each.name);
    const std::string meant = meant_key(value, names);
    const std::string unknown =
        meant.empty() ? unknown_name("setting", value, names)
                      : "unknown setting " + in_quotes(value) + "; did you mean " + in_quotes(meant) + "? " + known_names(value, names);
    throw std::invalid_argument(unknown + ", or PATH={from: A, to: B}");
  }
  const std::string path = known != nullptr ? known->path : *label;
  const YamlNode node = parse_flow(value);
  if (node.type == YamlNode::Type::sequence) return choices_of(path, node);
  if (node.type != YamlNode::Type::map) throw std::invalid_argument("is " + what_stands(node) + "; " + range_remedy);
  try {
    return Setting::range(path, range_of(node));
  } catch (const SettingError& wrong) {
    throw std::invalid_argument(wrong.key + " " + wrong.what());
  }
}

/// Draws until there are enough, or nothing new comes.
void draw_candidates(const std::vector<Setting>& settings, std::size_t budget, Tuning& tuning) {
  EvenDraw draw(settings.size(), 1);
  std::set<std::vector<std::string>> drawn;
  for (std::size_t draws = 0; drawn.size() < budget && draws < 100 * budget; ++draws) {
    std::vector<double> shares = draw.next();
    std::vector<std::string> values;
    for (std::size_t i = 0; i < settings.size(); ++i) {
      values.push_back(settings[i].value(shares[i]).yaml);
      shares[i] = settings[i].ordered() ? settings[i].share(values[i]) : -1;
    }
    if (!drawn.insert(values).second) continue;
    tuning.candidates.push_back(std::move(values));
    tuning.shares.push_back(std::move(shares));
  }
}

}  // namespace

Tuning tuning_of(const std::vector<std::string>& what, std::size_t budget) {
  Tuning tuning;
  std::vector<Setting> settings;
  for (const std::string& list : what)
    for (const std::string& item : split_flow_list(list)) {
      const std::string given = "--tune " + item;
      try {
        if (item.empty()) throw std::invalid_argument("names nothing; write as learning_rate,momentum");
        settings.push_back(setting_of(item));
      } catch (const std::invalid_argument& wrong) {
        throw std::invalid_argument(given + ": " + wrong.what());
      }
      const std::string& path = settings.back().path();
      if (std::find(tuning.paths.begin(), tuning.paths.end(), path) != tuning.paths.end())
        throw std::invalid_argument(given + ": is tuned twice; name it once");
      tuning.paths.push_back(path);
      tuning.given.push_back(item);
    }
  draw_candidates(settings, budget, tuning);
  return tuning;
}

void check_entrants(const Race& race) {
  if (race.entrants.size() < 2)
    throw std::invalid_argument("a race needs at least two entrants; name them with --schemes ssgd,asgd or --entrant");
  std::set<std::string> labels;
  for (const Entrant& entrant : race.entrants)
    if (!labels.insert(entrant.label).second)
      throw std::invalid_argument(entrant.given + ": " + in_quotes(entrant.label) +
                                  " is there twice; give each a name of its own, as a={kind: asgd},b={kind: asgd, staleness: inverse}");
  if (!race.tuning) return;
  const std::vector<std::string>& tuned = race.tuning->paths;
  for (const Entrant& entrant : race.entrants)
    for (const auto& [path, yaml] : entrant.set)
      if (std::find(tuned.begin(), tuned.end(), path) != tuned.end())
        throw std::invalid_argument(entrant.given + ": sets " + path + ", which is tuned for everyone; remove one of them");
  for (const std::string& set : race.more)
    if (std::find(tuned.begin(), tuned.end(), set.substr(0, set.find('='))) != tuned.end())
      throw std::invalid_argument("--set " + set + ": is tuned; remove one of them");
}

}  // namespace straggler
