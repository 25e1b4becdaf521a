// A value of a YAML text, and where it was written.
#pragma once
#include <compare>
#include <string>
#include <string_view>
#include <vector>

namespace straggler {

/// A spot in one of a scenario's sources: source 0 is the file, source k the k-th --set. Lines and columns start at 1.
struct Place {
  int source = 0, line = 1, column = 1;
  auto operator<=>(const Place&) const = default;
};
/// The file itself, where there is no text to point at.
inline constexpr Place whole_file{0, 0, 0};

/// Maps keep the order in which they were written; their keys are unique.
struct YamlNode {
  enum class Type { null, scalar, sequence, map } type = Type::null;
  struct Key {
    std::string name;
    Place place;
  };
  Place place;
  std::string text;             // scalar
  bool quoted = false;          // scalar: written in quotes, so never a number
  std::vector<Key> keys;        // map: one for each item
  std::vector<YamlNode> items;  // sequence, map

  const YamlNode* find(std::string_view key) const;
};

}  // namespace straggler
