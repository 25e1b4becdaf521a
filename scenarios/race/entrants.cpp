#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "scenarios/race/flow_list.hpp"
#include "scenarios/race/race.hpp"
#include "scenarios/schema/flow_yaml.hpp"
#include "scenarios/schema/other_names.hpp"
#include "scenarios/schema/section.hpp"
#include "scenarios/schema/vocabulary.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {
namespace {

constexpr const char *scheme_path = "training.scheme", *compression_path = "training.compression";

bool is_label(const std::string& text) {
  const auto legal = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; };
  return !text.empty() && text.size() <= 100 && std::all_of(text.begin(), text.end(), legal);
}

void check_label(const std::string& label) {
  if (!is_label(label)) throw std::invalid_argument(in_quotes(label) + " is no name; write letters, digits, -, _ and ., at most 100");
}

bool is_compressor(const std::string& kind) {
  const Vocabulary& known = Vocabulary::from_registries();
  return known.find(KindGroup::compression, kind) != nullptr && known.find(KindGroup::scheme, kind) == nullptr;
}

/// A word that is no scheme, and is not like one either, may be meant for a compressor.
void check_kind(const std::string& kind) {
  const Vocabulary& known = Vocabulary::from_registries();
  const std::vector<std::string> schemes = known.names(KindGroup::scheme), compressors = known.names(KindGroup::compression);
  if (known.find(KindGroup::scheme, kind) || known.find(KindGroup::compression, kind) || !not_modelled(KindGroup::scheme, kind).empty() ||
      !meant_kind(KindGroup::scheme, kind, schemes).empty())
    return;  // reading the scenario reports the rest
  const std::string meant = meant_kind(KindGroup::compression, kind, compressors);
  throw std::invalid_argument("unknown scheme or compressor " + in_quotes(kind) +
                              (meant.empty() ? "; schemes " + known_kinds(KindGroup::scheme, kind, schemes) + "; compressors "
                                             : "; did you mean '" + meant + "'? compressors ") +
                              known_kinds(KindGroup::compression, kind, compressors));
}

/// A scheme, `compression` among its parameters or not; or a compressor alone, which changes just that.
std::vector<std::pair<std::string, std::string>> settings_of(const YamlNode& node, const std::string& kind) {
  if (is_compressor(kind)) return {{compression_path, flow_yaml(node)}};
  YamlNode scheme = node;
  std::vector<std::pair<std::string, std::string>> settings;
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    if (node.keys[i].name != "compression") continue;
    settings.emplace_back(compression_path, flow_yaml(node.items[i]));
    scheme.keys.erase(scheme.keys.begin() + static_cast<std::ptrdiff_t>(i));
    scheme.items.erase(scheme.items.begin() + static_cast<std::ptrdiff_t>(i));
  }
  settings.insert(settings.begin(), {scheme_path, flow_yaml(scheme)});
  return settings;
}

Entrant entrant_of_scheme(const std::string& part) {
  if (part.empty()) throw std::invalid_argument("names nothing between two commas or at an end; write as ssgd,asgd");
  const auto [label, value] = split_label(part);
  if (label) check_label(*label);
  if (value.empty()) throw std::invalid_argument(in_quotes(part) + " has no scheme after '='; write as a=asgd");
  const YamlNode node = parse_flow(value);
  const YamlNode* const kind = node.type == YamlNode::Type::map ? node.find("kind") : &node;
  if (kind == nullptr || kind->type != YamlNode::Type::scalar)
    throw std::invalid_argument(in_quotes(part) + " is no scheme; write a name such as asgd, or {kind: asgd, staleness: inverse}");
  check_kind(kind->text);
  check_label(label.value_or(kind->text));
  return {label.value_or(kind->text), "--schemes " + part, settings_of(node, kind->text)};
}

}  // namespace

std::vector<Entrant> entrants_of_schemes(const std::string& list) {
  std::vector<Entrant> entrants;
  for (const std::string& part : split_flow_list(list)) entrants.push_back(entrant_of_scheme(part));
  return entrants;
}

Entrant entrant_of_yaml(const std::string& text) {
  const char* const remedy = "write NAME: {PATH: VALUE, ...}, as 'slow: {training.scheme: asgd, cluster.servers.count: 2}'";
  const YamlNode node = parse_flow(text);
  if (node.type != YamlNode::Type::map || node.items.size() != 1) throw std::invalid_argument("is " + what_stands(node) + "; " + remedy);
  const YamlNode& changes = node.items[0];
  if (changes.type != YamlNode::Type::map)  // an empty one: the scenario as it is
    throw std::invalid_argument("has " + what_stands(changes) + " after its name; " + remedy);
  const std::string& label = node.keys[0].name;
  check_label(label);
  Entrant entrant{label, "--entrant " + label, {}};
  for (std::size_t i = 0; i < changes.items.size(); ++i) entrant.set.emplace_back(changes.keys[i].name, flow_yaml(changes.items[i]));
  return entrant;
}

}  // namespace straggler
