// How a YAML text is laid out: the lines of its blocks, its quotes and its brackets, read without a grammar, to say where a text went
// wrong that the parser refused.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/schema/yaml_node.hpp"

namespace straggler {

/// A line of a block, or what stands behind the dash that begins a line.
struct LayoutLine {
  enum class Kind { item, key, value } kind = Kind::value;  // begins with a dash, or with a key and its colon, or with neither
  int line = 1, indent = 0;
  bool behind_dash = false;
  bool open = false;   // item or key: what belongs to it stands below, or behind the dash
  bool plain = false;  // ends in a text without quotes, which may continue below
  std::string text;    // the key, or the first word
};

struct LayoutQuote {
  Place begin;
  char mark = '"';
  int last_line = 1;
  bool closed = false;
};

struct LayoutBracket {
  Place place;
  char mark = '{';
};

struct YamlLayout {
  std::vector<LayoutLine> lines;
  std::vector<LayoutQuote> quotes;
  std::vector<LayoutBracket> open;     // at the end of the text
  std::optional<LayoutBracket> stray;  // the first that closes another kind than is open
  std::optional<LayoutBracket> open_at_stray;
};

/// Of `text`, which may end anywhere.
YamlLayout layout_of(std::string_view text, int source);

/// Where and how the layout of a text is wrong that the parser refused at `refused`.
struct LayoutFault {
  Place place;
  std::string what;
};
std::optional<LayoutFault> layout_fault(std::string_view text, Place refused);

/// About a quote that the text ends in.
std::optional<LayoutFault> unclosed_quote(const YamlLayout& layout);

}  // namespace straggler
