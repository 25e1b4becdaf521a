#include "sim/base/nested.hpp"

#include <algorithm>

#include "sim/base/yaml_text.hpp"

namespace straggler {

namespace {

/// Needs no quotes inside brackets: no character that means something there, no blank at an end.
bool plain(std::string_view text) {
  return !text.empty() && text.find_first_of(",[]{}:#&*!|>'\"%@`\\\n\t? ") == std::string_view::npos && text.front() != '-';
}

bool bare(const std::string& word) {
  return plain(word) || (word.size() > 1 && word.front() == '-' && plain(std::string_view(word).substr(1)));
}

}  // namespace

const Nested* Nested::find(std::string_view key) const {
  const auto at = std::find(keys.begin(), keys.end(), key);
  return at == keys.end() ? nullptr : &items[static_cast<std::size_t>(at - keys.begin())];
}

void Nested::add(std::string key, Nested item) {
  form = Form::map;
  keys.push_back(std::move(key));
  items.push_back(std::move(item));
}

std::string flow_text(const Nested& value) {
  if (value.form == Nested::Form::null) return "~";
  if (value.form == Nested::Form::word) return value.quoted || !bare(value.word) ? yaml_quoted(value.word) : value.word;
  const bool map = value.form == Nested::Form::map;
  std::string out = map ? "{" : "[";
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    if (i > 0) out += ", ";
    if (map) out += (plain(value.keys[i]) ? value.keys[i] : yaml_quoted(value.keys[i])) + ": ";
    out += flow_text(value.items[i]);
  }
  return out + (map ? "}" : "]");
}

}  // namespace straggler
