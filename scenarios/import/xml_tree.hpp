// XML as NCCL writes it: elements and their attributes. Text, comments and declarations are passed over.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace straggler {

struct XmlElement {
  std::string_view name;
  std::vector<std::pair<std::string_view, std::string_view>> attributes;  // as they stand in the text
  std::size_t parent = 0;                                                 // the root is its own
  /// Empty: it has none of that name.
  std::string_view attribute(std::string_view key) const {
    for (const auto& [name, value] : attributes)
      if (name == key) return value;
    return {};
  }
};

/// In the order of the text, so that each stands behind its parent; the first is the root. They view the text. Throws std::invalid_argument
/// ("what is wrong"), and at 64 levels or 100,000 elements.
std::vector<XmlElement> xml_elements(std::string_view text);

}  // namespace straggler
