// A value that nests: words, lists and maps, without places.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace straggler {

struct Nested {
  enum class Form { null, word, list, map } form = Form::null;
  std::string word;
  bool quoted = false;            // the word was in quotes
  std::vector<std::string> keys;  // map: one for each item, in order
  std::vector<Nested> items;      // list, map

  static Nested of_word(std::string word) { return {Form::word, std::move(word), false, {}, {}}; }
  static Nested of_list(std::vector<Nested> items) { return {Form::list, {}, false, {}, std::move(items)}; }
  /// Null: it has no such key.
  const Nested* find(std::string_view key) const;
  void add(std::string key, Nested item);  // to a map
  bool operator==(const Nested&) const = default;
};

/// As YAML on one line, which reads back as the same value.
std::string flow_text(const Nested& value);

/// About a part of a nested parameter. `path` leads there and begins with the parameter's name: "layers[3].skip".
struct NestedError : std::invalid_argument {
  NestedError(std::string to, const std::string& what) : std::invalid_argument(what), path(std::move(to)) {}
  std::string path;
};

}  // namespace straggler
