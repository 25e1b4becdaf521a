#include "sim/cluster/graph_guard.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "sim/base/ascii.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {
namespace {

constexpr std::size_t most_levels = 64;

/// The position after the next `end` at or after `from`; the end of the text if there is none (the reader will say so).
std::size_t after(std::string_view text, std::size_t from, std::string_view end) {
  const std::size_t at = text.find(end, from);
  return at == std::string_view::npos ? text.size() : at + end.size();
}

void check_levels(std::size_t levels) {
  if (levels > most_levels)
    throw std::invalid_argument("is nested more than " + std::to_string(most_levels) +
                                " levels deep; a plain list of nodes and edges would do");
}

/// From a '<' that opens or closes an element to behind its '>'. `levels` counts the open ones.
std::size_t skip_tag(std::string_view text, std::size_t at, std::size_t& levels) {
  const bool closing = text.substr(at, 2) == "</";
  for (++at; at < text.size() && text[at] != '>';) {
    if (text[at] == '"' || text[at] == '\'')
      at = after(text, at + 1, text.substr(at, 1));
    else
      ++at;
  }
  const bool empty = at < text.size() && text[at - 1] == '/';
  if (closing && levels > 0) --levels;
  if (!closing && !empty) check_levels(++levels);
  return at + 1;
}

/// In DOT, from any character: behind it, or behind the string or comment that it begins.
std::size_t skip_dot(std::string_view text, std::size_t at) {
  if (text[at] == '#') return after(text, at, "\n");
  if (text.substr(at, 2) == "//") return after(text, at, "\n");
  if (text.substr(at, 2) == "/*") return after(text, at + 2, "*/");
  if (text[at] != '"') return at + 1;
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at + 1;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || static_cast<unsigned char>(c) >= 0x80; }
std::size_t word_end(std::string_view text, std::size_t at) {
  while (at < text.size() && is_word(text[at])) ++at;
  return at;
}
bool is_unit(std::string_view word) {
  if (has_unit_of("1 " + std::string(word), Dimension::time)) return true;
  const std::vector<std::string> rates = units_of(Dimension::rate);
  return std::any_of(rates.begin(), rates.end(), [&](const std::string& unit) { return word == unit.substr(0, unit.find('/')); });
}
/// A word that begins with a digit is a number, and Boost.Graph would end it before the first letter: 1e6 would be 1, and so would 1 Gbps.
void check_number(std::string_view word, bool after_number) {
  const bool runs_on = is_digit(word.front()) && !std::all_of(word.begin(), word.end(), is_digit);
  if (runs_on || (after_number && is_unit(word)))
    throw std::invalid_argument("has a number that runs on into letters, " + in_quotes(word) +
                                "; put number and unit together into double quotes");
}
/// Of a word that ends at `at`: it is the name of an attribute.
bool is_key(std::string_view text, std::size_t at) {
  at = text.find_first_not_of(" \t\r\n", at);
  return at != std::string_view::npos && text[at] == '=';
}
/// Keywords of DOT are in any case.
bool is_subgraph(std::string_view word) {
  constexpr std::string_view keyword = "subgraph";
  return word.size() == keyword.size() && std::equal(word.begin(), word.end(), keyword.begin(),
                                                     [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

bool is_blank(std::string_view text, std::size_t at) {
  return std::isspace(static_cast<unsigned char>(text[at])) != 0 || text[at] == '#' || text.substr(at, 2) == "//" ||
         text.substr(at, 2) == "/*";
}

}  // namespace

void guard_xml(std::string_view text) {
  std::size_t levels = 0;
  for (std::size_t at = text.find('<'); at < text.size(); at = text.find('<', at)) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("<!--"))
      at = after(text, at + 4, "-->");
    else if (rest.starts_with("<![CDATA["))
      at = after(text, at, "]]>");
    else if (rest.starts_with("<?"))
      at = after(text, at, "?>");
    else if (rest.starts_with("<!"))
      throw std::invalid_argument("declares a document type of its own; leave <!DOCTYPE …> out");
    else
      at = skip_tag(text, at, levels);
  }
}

void guard_dot(std::string_view text) {
  enum class Before { other, edge, group, subgraph };  // `subgraph NAME`, until its brace opens
  Before before = Before::other;
  std::size_t levels = 0;
  bool after_number = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const bool word = is_word(text[at]);
    at = word ? word_end(text, at) : skip_dot(text, at);
    if (is_blank(text, begin)) continue;
    if (word) check_number(text.substr(begin, at - begin), after_number && !is_key(text, at));
    after_number = word && is_digit(text[begin]);
    const bool edge = text.substr(begin, 2) == "--" || text.substr(begin, 2) == "->";
    const bool subgraph = word && is_subgraph(text.substr(begin, at - begin));
    if (edge) at = begin + 2;
    if ((edge && before != Before::other) || (before == Before::edge && (text[begin] == '{' || subgraph)))
      throw std::invalid_argument("has an edge between groups of nodes; write each edge by itself");
    if (text[begin] == '<') throw std::invalid_argument("has an HTML-like label <…>; write a plain one in double quotes");
    if (text[begin] == '{') check_levels(++levels);
    if (text[begin] == '}' && levels > 0) --levels;
    if (subgraph)
      before = Before::subgraph;
    else if (before != Before::subgraph || text[begin] == '{')
      before = edge ? Before::edge : text[begin] == '}' ? Before::group : Before::other;
  }
}

}  // namespace straggler
