#include "sim/base/flow_reader.hpp"

#include <algorithm>

#include "sim/base/suggest.hpp"
#include "sim/base/text_lines.hpp"

namespace straggler {
namespace {

/// One value on one line.
class FlowReader {
 public:
  explicit FlowReader(std::string_view text) : rest_(text) {}

  Nested read() && {
    Nested value = next(0);
    skip_blanks();
    if (!rest_.empty()) refuse("has text behind its value; remove it");
    return value;
  }

 private:
  [[noreturn]] static void refuse(const std::string& what) { throw std::invalid_argument(what); }

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  bool begins(char c) {
    skip_blanks();
    return !rest_.empty() && rest_.front() == c;
  }
  bool take(char c) {
    const bool there = begins(c);
    if (there) rest_.remove_prefix(1);
    return there;
  }

  Nested next(int depth) {
    constexpr int deepest = 100;
    if (depth > deepest) refuse("nests more than 100 deep; write fewer levels");
    if (take('[')) return items(']', depth);
    if (take('{')) return items('}', depth);
    Nested value = Nested::of_word("");
    value.quoted = begins('"');
    value.word = value.quoted ? quoted() : word();
    return !value.quoted && value.word == "~" ? Nested() : value;
  }

  Nested items(char end, int depth) {
    Nested value = end == '}' ? Nested{Nested::Form::map, {}, false, {}, {}} : Nested::of_list({});
    while (!take(end)) {
      if (!value.items.empty() && !take(',')) refuse(std::string("has an open bracket; close it by ") + end);
      if (end == '}') {
        value.keys.push_back(begins('"') ? quoted() : word());
        if (!take(':')) refuse("has the key " + in_quotes(value.keys.back()) + " without a value; write a colon and a value");
      }
      value.items.push_back(next(depth + 1));
    }
    return value;
  }

  std::string word() {
    skip_blanks();
    const std::string_view all = trimmed(rest_.substr(0, rest_.find_first_of(",:[]{}\"")));
    if (all.empty()) refuse("has a place without a value; write one");
    rest_.remove_prefix(all.size());
    return std::string(all);
  }

  std::string quoted() {
    std::string all;
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      char c = rest_[i];
      if (c == '"') {
        rest_.remove_prefix(i + 1);
        return all;
      }
      if (c == '\\' && ++i < rest_.size()) {
        c = rest_[i] == 'n' ? '\n' : rest_[i] == 't' ? '\t' : rest_[i];
        if (c == 'x' && i + 2 < rest_.size()) {
          c = static_cast<char>(std::stoi(std::string(rest_.substr(i + 1, 2)), nullptr, 16));
          i += 2;
        }
      }
      all += c;
    }
    refuse("has a quote that is not closed; close it");
  }

  std::string_view rest_;
};

}  // namespace

Nested read_flow(std::string_view text) {
  constexpr std::string_view item = "- ";
  std::vector<Nested> items;
  TextLines lines(text);
  for (std::string_view line; lines.next(line);) {
    line = trimmed(line);
    if (line.empty() || line.front() == '#') continue;
    try {
      if (!line.starts_with(item) && items.empty()) return FlowReader(trimmed(text)).read();
      if (!line.starts_with(item)) throw std::invalid_argument("is no item of the list; begin it with '- '");
      items.push_back(FlowReader(line.substr(item.size())).read());
    } catch (const std::invalid_argument& wrong) {
      throw std::invalid_argument("line " + std::to_string(lines.number()) + ": " + wrong.what());
    }
  }
  return Nested::of_list(std::move(items));
}

}  // namespace straggler
