#include "scenarios/schema/vocabulary.hpp"

#include <stdexcept>

namespace straggler {

std::string_view name_of(KindGroup group) {
  switch (group) {
    case KindGroup::scheme:
      return "scheme";
    case KindGroup::collective:
      return "collective";
    case KindGroup::topology:
      return "topology";
    case KindGroup::sharing:
      return "sharing model";
    case KindGroup::jitter:
      return "jitter";
    case KindGroup::device:
      return "built-in device";
    case KindGroup::model:
    case KindGroup::cost_model:
      return "model";
    case KindGroup::data:
      return "data";
    case KindGroup::partition:
      return "partition";
    case KindGroup::optimizer:
      return "optimizer";
    case KindGroup::schedule:
      return "schedule";
    case KindGroup::compression:
      return "compression";
    case KindGroup::availability:
      return "availability";
    case KindGroup::machine:
      return "machine";
    case KindGroup::layer:
      return "layer";
    case KindGroup::law:
      return "law";
  }
  throw std::logic_error("no such group of kinds");
}

const Word* Vocabulary::find(KindGroup group, std::string_view name) const {
  const auto at = words.find(group);
  if (at == words.end()) return nullptr;
  for (const Word& word : at->second)
    if (word.name == name) return &word;
  return nullptr;
}

std::vector<std::string> Vocabulary::names(KindGroup group) const {
  std::vector<std::string> all;
  if (const auto at = words.find(group); at != words.end())
    for (const Word& word : at->second) all.push_back(word.name);
  return all;
}

}  // namespace straggler
