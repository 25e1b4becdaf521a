#include "scenarios/schema/overrides.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "scenarios/schema/source_text.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {

namespace {

/// A step down the tree: a key, or an index where `key` is empty.
struct Step {
  std::string key;
  std::size_t index = 0;
};

/// False if the path is not well formed.
bool split_path(std::string_view path, std::vector<Step>& steps) {
  bool need_key = true;
  for (std::size_t at = 0; at < path.size() || need_key;) {
    if (need_key) {
      const std::size_t end = std::min(path.find_first_of(".[]", at), path.size());
      if (end == at) return false;
      steps.push_back({std::string(path.substr(at, end - at)), 0});
      need_key = false;
      at = end;
    } else if (path[at] == '.') {
      need_key = true;
      ++at;
    } else if (path[at] == '[') {
      std::size_t index = 0;
      const auto [end, error] = std::from_chars(path.data() + at + 1, path.data() + path.size(), index);
      if (error != std::errc() || end == path.data() + path.size() || *end != ']') return false;
      steps.push_back({{}, index});
      at = static_cast<std::size_t>(end - path.data()) + 1;
    } else {
      return false;
    }
    if (steps.size() > YamlLimits::depth) return false;
  }
  return true;
}

/// A word there stands for an absent map, not for a kind.
bool is_absent_map(std::string_view path, const YamlNode& node) {
  return node.type == YamlNode::Type::scalar && node.text == "none" && path == "training.sharding";
}

/// `replaced`: the value there is about to be, so its key belongs to the --set too.
YamlNode* step_by_key(YamlNode& node, const std::string& key, Place place, bool replaced) {
  if (node.type == YamlNode::Type::scalar) {  // the short form of {kind: word}
    YamlNode kind = node;
    node = YamlNode{};
    node.type = YamlNode::Type::map;
    node.place = place;
    node.keys.push_back({"kind", kind.place});
    node.items.push_back(std::move(kind));
  }
  if (node.type == YamlNode::Type::null) {
    node.type = YamlNode::Type::map;
    node.place = place;
  }
  if (node.type != YamlNode::Type::map) return nullptr;
  for (std::size_t i = 0; i < node.keys.size(); ++i)
    if (node.keys[i].name == key) {
      if (replaced) node.keys[i].place = place;
      return &node.items[i];
    }
  node.keys.push_back({key, place});
  node.items.emplace_back();
  node.items.back().place = place;
  return &node.items.back();
}

/// Of "workload.data~partition,augment", which it cuts off after the path: keys of the value there that stay besides the new ones. So a
/// kind can be replaced with its parameters, and what stands beside them is kept. Only programs write this.
std::vector<std::string> cut_kept(std::string& path) {
  std::vector<std::string> kept;
  const std::size_t end = path.find('~');
  for (std::size_t at = end; at < path.size();) {
    const std::size_t next = std::min(path.find(',', at + 1), path.size());
    kept.push_back(path.substr(at + 1, next - at - 1));
    at = next;
  }
  path.resize(std::min(end, path.size()));
  return kept;
}

void keep_keys(YamlNode& from, const std::vector<std::string>& kept, YamlNode& to) {
  if (from.type != YamlNode::Type::map || to.type != YamlNode::Type::map) return;
  for (std::size_t i = 0; i < from.keys.size(); ++i)
    if (std::ranges::find(kept, from.keys[i].name) != kept.end() && to.find(from.keys[i].name) == nullptr) {
      to.keys.push_back(from.keys[i]);
      to.items.push_back(std::move(from.items[i]));
    }
}

}  // namespace

void apply_override(YamlNode& root, const std::string& text, int source, Problems& problems) {
  const Place place{source, 1, 1};
  const std::size_t equals = text.find('=');
  std::vector<Step> steps;
  std::string path = text.substr(0, equals);
  const std::vector<std::string> kept = cut_kept(path);
  if (equals == std::string::npos || !split_path(path, steps)) {
    problems.add(place, {}, "is not PATH=VALUE; write a path such as cluster.workers[0].count=16");
    return;
  }
  std::string written = text.substr(equals + 1);
  if (written.find_first_not_of(" \t\r\n") == std::string::npos) {
    problems.add(place, path, "has no value; write one after '='");
    return;
  }
  if (!check_text(written, source, problems)) return;
  std::optional<YamlNode> value = parse_yaml(written, source, problems);
  if (!value) return;
  YamlNode* node = &root;
  std::string passed;  // the path of `node`
  for (const Step& step : steps) {
    if (!step.key.empty()) {
      if (is_absent_map(passed, *node)) node->type = YamlNode::Type::null;
      passed += (passed.empty() ? "" : ".") + step.key;
      node = step_by_key(*node, step.key, place, &step == &steps.back());
      if (node == nullptr) {
        problems.add(place, path, "has the key " + in_quotes(step.key) + " where the scenario has a list; write an index such as [0]");
        return;
      }
      continue;
    }
    if (node->type == YamlNode::Type::null && step.index == 0) {
      node->type = YamlNode::Type::sequence;
      node->items.emplace_back();
    }
    if (node->type != YamlNode::Type::sequence) {
      problems.add(place, path, "has an index where the scenario has no list; write a key");
      return;
    }
    if (step.index >= node->items.size()) {
      problems.add(
          place, path,
          "has the index " + std::to_string(step.index) + " in a list of " + std::to_string(node->items.size()) + "; indices start at 0");
      return;
    }
    node = &node->items[step.index];
  }
  keep_keys(*node, kept, *value);
  *node = std::move(*value);
}

}  // namespace straggler
