#include "scenarios/import/xml_tree.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "sim/base/text_lines.hpp"

namespace straggler {
namespace {

constexpr std::size_t deepest_element = 64, most_elements_of_xml = 100'000, most_attributes = 1000;

}  // namespace

std::vector<XmlElement> xml_elements(std::string_view text) {
  std::vector<XmlElement> all;
  std::vector<std::size_t> open;
  const auto wrong = [](std::size_t at, const std::string& what) { throw std::invalid_argument(fmt::format("at byte {}: {}", at, what)); };
  std::size_t at = 0;
  const auto word = [&] {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n=/>", at), text.size());
    const std::string_view found = text.substr(at, end - at);
    at = end;
    return found;
  };
  const auto blanks = [&] { at = std::min(text.find_first_not_of(" \t\r\n", at), text.size()); };
  while ((at = text.find('<', at)) != std::string_view::npos) {
    const std::size_t begin = at;
    const auto skip = [&](std::string_view opening, std::string_view closing) {
      if (!text.substr(at).starts_with(opening)) return false;
      const std::size_t end = text.find(closing, at + opening.size());
      if (end == std::string_view::npos) wrong(begin, "a comment or a declaration is not closed");
      at = end + closing.size();
      return true;
    };
    if (skip("<!--", "-->") || skip("<?", "?>") || skip("<!", ">")) continue;
    ++at;
    if (at < text.size() && text[at] == '/') {
      ++at;
      const std::string_view name = word();
      if (open.empty() || all[open.back()].name != name) wrong(begin, "an element ends that is not open");
      open.pop_back();
      continue;
    }
    if (open.size() == deepest_element) wrong(begin, "elements are nested deeper than 64 levels");
    if (all.size() == most_elements_of_xml) wrong(begin, "there are more than 100,000 elements");
    if (open.empty() && !all.empty()) wrong(begin, "a second root begins");
    XmlElement& made = all.emplace_back();
    made.name = word();
    made.parent = open.empty() ? 0 : open.back();
    if (made.name.empty()) wrong(begin, "an element has no name");
    for (;;) {
      blanks();
      if (at >= text.size()) wrong(begin, "an element is cut off");
      if (text[at] == '/' || text[at] == '>') break;
      const std::string_view name = word();
      blanks();
      if (name.empty() || at >= text.size() || text[at] != '=') wrong(at, "an attribute has no value");
      ++at;
      blanks();
      if (at >= text.size() || (text[at] != '"' && text[at] != '\'')) wrong(at, "the value of an attribute is not in quotes");
      const std::size_t end = text.find(text[at], at + 1);
      if (end == std::string_view::npos) wrong(at, "the value of an attribute is not closed");
      if (made.attributes.size() == most_attributes) wrong(at, "an element has more than 1000 attributes");
      made.attributes.emplace_back(name, text.substr(at + 1, end - at - 1));
      at = end + 1;
    }
    if (text[at] == '>')
      open.push_back(all.size() - 1);
    else if (at + 1 >= text.size() || text[at + 1] != '>')
      wrong(at, "an element is not closed");
  }
  if (all.empty()) throw std::invalid_argument("there is no element");
  if (!open.empty()) throw std::invalid_argument(fmt::format("the text ends within <{}>", all[open.back()].name.substr(0, 40)));
  return all;
}

}  // namespace straggler
