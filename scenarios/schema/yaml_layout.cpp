#include "scenarios/schema/yaml_layout.hpp"

namespace straggler {
namespace {

char closing(char bracket) { return bracket == '{' ? '}' : ']'; }

class LayoutScan {
 public:
  LayoutScan(std::string_view text, int source) : text_(text), source_(source) {}

  YamlLayout scan() {
    while (!done()) {
      const std::size_t start = at_;
      skip_blanks();
      if (!ends_line()) block_line(static_cast<int>(at_ - start));
      skip_line();
    }
    return std::move(out_);
  }

 private:
  bool done() const { return at_ >= text_.size(); }
  char here() const { return at_ < text_.size() ? text_[at_] : '\n'; }
  char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\n'; }
  static bool is_blank(char c) { return c == ' ' || c == '\t'; }
  static bool ends_word(char c) { return is_blank(c) || c == '\n'; }
  Place place() const { return {source_, line_, static_cast<int>(at_ - line_start_) + 1}; }

  void step() {
    if (text_[at_] == '\n') {
      ++line_;
      line_start_ = at_ + 1;
    }
    ++at_;
  }
  void skip_blanks() {
    while (!done() && is_blank(here())) step();
  }
  /// Nothing but a comment is left.
  bool ends_line() const { return here() == '\n' || (here() == '#' && (at_ == line_start_ || is_blank(text_[at_ - 1]))); }
  void skip_line() {
    while (!done() && here() != '\n') step();
    if (!done()) step();
  }
  /// Anchors and tags.
  void skip_properties() {
    while (!done() && (here() == '&' || here() == '!')) {
      while (!done() && !ends_word(here())) step();
      skip_blanks();
    }
  }

  void block_line(int indent) {
    LayoutLine line;
    line.line = line_;
    line.indent = indent;
    while (here() == '-' && ends_word(next())) {
      line.kind = LayoutLine::Kind::item;
      line.text = "-";
      step();
      skip_blanks();
      skip_properties();
      const bool holds = !ends_line();
      line.open = true;
      out_.lines.push_back(line);
      if (!holds) return;
      line = {LayoutLine::Kind::value, line_, static_cast<int>(at_ - line_start_), true, false, false, {}};
    }
    skip_properties();
    node(line);
  }

  /// A key with its value, or a value.
  void node(LayoutLine line) {
    const std::size_t start = at_;
    const char first = here();
    if (first == '"' || first == '\'')
      quote();
    else if (first == '{' || first == '[')
      brackets();
    else
      plain();
    line.text = std::string(text_.substr(start, at_ - start));
    const bool on_this_line = line.line == line_;
    while (!line.text.empty() && is_blank(line.text.back())) line.text.pop_back();
    if (on_this_line) skip_blanks();
    if (on_this_line && here() == ':' && ends_word(next())) {
      line.kind = LayoutLine::Kind::key;
      step();
      skip_blanks();
      skip_properties();
      line.open = ends_line();
      if (!line.open) line.plain = value(line.indent);
    } else {
      line.plain = first != '"' && first != '\'' && first != '{' && first != '[';
      if (first == '|' || first == '>') block_text(out_.lines.empty() ? 0 : out_.lines.back().indent);
      if (line.behind_dash) {  // the item has its value
        out_.lines.back().open = false;
        out_.lines.back().plain = line.plain;
        return;
      }
    }
    out_.lines.push_back(std::move(line));
  }

  /// Of a key. True if it is plain text.
  bool value(int indent) {
    const char first = here();
    if (first == '"' || first == '\'') {
      quote();
    } else if (first == '{' || first == '[') {
      brackets();
    } else if (first == '|' || first == '>') {
      block_text(indent);
    } else {
      while (!done() && !ends_line()) step();
      return true;
    }
    return false;
  }

  /// Up to a colon that ends a key.
  void plain() {
    while (!done() && !ends_line() && !(here() == ':' && ends_word(next()))) step();
  }

  void quote() {
    LayoutQuote found{place(), here(), line_, false};
    step();
    while (!done() && !found.closed) {
      if (found.mark == '"' && here() == '\\') {
        step();
        if (!done()) step();
      } else if (here() != found.mark) {
        step();
      } else if (found.mark == '\'' && next() == '\'') {
        step();
        step();
      } else {
        found.closed = true;
        found.last_line = line_;
        step();
      }
    }
    out_.quotes.push_back(found);
  }

  void brackets() {
    bool token = true;  // one may begin here
    do {
      const char c = here();
      if (c == '{' || c == '[') {
        out_.open.push_back({place(), c});
      } else if (c == '}' || c == ']') {
        if (closing(out_.open.back().mark) != c && !out_.stray) {
          out_.stray = LayoutBracket{place(), c};
          out_.open_at_stray = out_.open.back();
        }
        out_.open.pop_back();
      } else if ((c == '"' || c == '\'') && token) {
        quote();
        token = false;
        continue;
      } else if (ends_line()) {
        while (!done() && here() != '\n') step();
      }
      if (done()) return;
      token = here() == '{' || here() == '[' || here() == ',' || here() == ':' || (token && ends_word(here()));
      step();
    } while (!done() && !out_.open.empty());
  }

  /// `indent`: of the line that it belongs to.
  void block_text(int indent) {
    skip_line();
    while (!done()) {
      std::size_t end = at_;
      while (end < text_.size() && text_[end] == ' ') ++end;
      if (end < text_.size() && text_[end] != '\n' && static_cast<int>(end - at_) <= indent) break;
      skip_line();
    }
    // The line end before is the one that ends the line of `indent`.
    if (at_ > 0 && text_[at_ - 1] == '\n') {
      --at_;
      --line_;
      line_start_ = text_.rfind('\n', at_ == 0 ? 0 : at_ - 1) + 1;
    }
  }

  std::string_view text_;
  int source_;
  YamlLayout out_;
  std::size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
};

}  // namespace

YamlLayout layout_of(std::string_view text, int source) { return LayoutScan(text, source).scan(); }

}  // namespace straggler
