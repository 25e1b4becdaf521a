// Which line of a text is laid out otherwise than the lines around it.
#include <algorithm>
#include <cctype>

#include "scenarios/schema/other_names.hpp"
#include "scenarios/schema/yaml_layout.hpp"
#include "sim/base/suggest.hpp"

namespace straggler {
namespace {

using LayoutKind = LayoutLine::Kind;

/// Lines that begin in one column: a map, a list, or a value of its own.
struct LayoutLevel {
  std::size_t first = 0, last = 0;  // lines of the layout
  int indent = 0;
  LayoutKind kind = LayoutKind::key;
  bool open = false;  // the last line still has no value
};

class LayoutJudge {
 public:
  LayoutJudge(const std::vector<LayoutLine>& lines, int source) : lines_(lines), source_(source) {}

  std::optional<LayoutFault> judge(int last_line) {
    for (at_ = 0; at_ < lines_.size() && lines_[at_].line <= last_line; ++at_) {
      if (beyond_us(now())) return std::nullopt;
      if (auto fault = take()) return fault->what.empty() ? std::nullopt : fault;
    }
    return std::nullopt;
  }

 private:
  const LayoutLine& now() const { return lines_[at_]; }
  static bool beyond_us(const LayoutLine& line) {
    return line.text.starts_with("---") || line.text.starts_with("...") || line.text.starts_with("%") || line.text.starts_with("?");
  }
  LayoutFault fault_at(std::size_t line, std::string what) const {
    return {{source_, lines_[line].line, lines_[line].indent + 1}, std::move(what)};
  }

  /// A fault without words: it is none of those that can be named.
  std::optional<LayoutFault> take() {
    const LayoutLine& line = now();
    if (continues()) return std::nullopt;
    std::optional<LayoutLevel> left;
    while (!levels_.empty() && levels_.back().indent > line.indent) {
      left = levels_.back();
      levels_.pop_back();
    }
    if (!levels_.empty() && levels_.back().indent == line.indent) return beside(levels_.back());
    if (levels_.empty() ? !left && at_ == 0 : levels_.back().open) {
      if (!levels_.empty()) levels_.back().open = false;
      push();
      return std::nullopt;
    }
    if (left) return between(*left);
    return levels_.empty() ? LayoutFault{} : too_deep(levels_.back());
  }

  /// More of the text on the line before.
  bool continues() const {
    if (at_ == 0 || now().kind != LayoutKind::value || levels_.empty()) return false;
    const LayoutLine& before = lines_[at_ - 1];
    return before.plain && !before.open &&
           (before.kind == LayoutKind::value ? now().indent > parent_indent() : now().indent > before.indent);
  }
  int parent_indent() const { return levels_.size() < 2 ? -1 : levels_[levels_.size() - 2].indent; }

  void push() { levels_.push_back({at_, at_, now().indent, now().kind, now().open}); }

  std::optional<LayoutFault> beside(LayoutLevel& level) {
    if (level.kind != now().kind) {
      if (now().kind == LayoutKind::item && level.kind == LayoutKind::key && level.open) {  // a list may stand below its key
        level.open = false;
        push();
        return std::nullopt;
      }
      const bool below_key = levels_.size() > 1 && levels_[levels_.size() - 2].indent == now().indent;
      if (level.kind == LayoutKind::item && now().kind == LayoutKind::key && below_key) {
        levels_.pop_back();
        return beside(levels_.back());
      }
      return of_other_kind(level);
    }
    level.last = at_;
    level.open = now().open;
    return now().kind == LayoutKind::value ? LayoutFault{} : std::optional<LayoutFault>();
  }

  /// Lines of that kind and column from `first` on, as long as all are deeper than `above`.
  std::size_t count(std::size_t first, int above, int indent, LayoutKind kind) const {
    std::size_t found = 0;
    for (std::size_t i = first; i < lines_.size() && (lines_[i].indent > above || lines_[i].behind_dash); ++i)
      found += !lines_[i].behind_dash && lines_[i].indent == indent && lines_[i].kind == kind;
    return found;
  }
  int least_indent(std::size_t first, int above) const {
    int least = lines_[first].indent;
    for (std::size_t i = first; i < lines_.size() && (lines_[i].indent > above || lines_[i].behind_dash); ++i)
      if (!lines_[i].behind_dash) least = std::min(least, lines_[i].indent);
    return least;
  }
  /// That the first line of `level` is the wrong one, and not this.
  bool first_is_wrong(const LayoutLevel& level, int above) const {
    const LayoutLine& first = lines_[level.first];
    if (first.behind_dash) return false;
    const std::size_t like_it = count(level.first, above, first.indent, first.kind);
    const std::size_t like_this = count(level.first, above, now().indent, now().kind);
    return like_it < like_this || (like_it == like_this && first.indent > now().indent && (now().indent - std::max(above, 0)) % 2 == 0);
  }

  LayoutFault of_other_kind(const LayoutLevel& level) const {
    const std::size_t wrong = first_is_wrong(level, parent_indent()) ? level.first : at_;
    return other_kind(wrong, wrong == at_ ? level.first : at_);
  }

  /// `wrong` is not of the kind of `right`, which stands beside it.
  LayoutFault other_kind(std::size_t wrong, std::size_t right) const {
    const LayoutLine& line = lines_[wrong];
    if (lines_[right].kind == LayoutKind::item)
      return fault_at(
          wrong, "an item of the list begins without '- '; write it before, as line " + std::to_string(lines_[right].line) + " has it");
    if (line.kind == LayoutKind::value && !line.text.empty() && std::isalnum(static_cast<unsigned char>(line.text.front())))
      return without_colon(wrong);
    return {};
  }

  LayoutFault without_colon(std::size_t wrong) const {
    const std::string& text = lines_[wrong].text;
    if (const std::string spaced = with_blank_after_colon(text); !spaced.empty())
      return fault_at(wrong, "the line has no blank after its colon; write " + in_quotes(spaced));
    return fault_at(wrong, "the line has no colon; write KEY: VALUE");
  }

  LayoutFault indented(std::size_t wrong, int siblings) const {
    const std::string by = std::to_string(siblings);
    return fault_at(wrong, "the line is indented by " + std::to_string(lines_[wrong].indent) + ", where its siblings have " + by +
                               "; indent it by " + by);
  }

  /// Deeper than the last line of `above`, which has its value.
  LayoutFault too_deep(const LayoutLevel& above) const {
    if (above.kind == now().kind) return indented(at_, above.indent);
    return of_other_kind(above);
  }

  /// Less deep than the level that it leaves, and deeper than the one that holds that.
  LayoutFault between(const LayoutLevel& left) const {
    const int above = levels_.empty() ? -1 : levels_.back().indent;
    if (first_is_wrong(left, above))
      return left.kind == now().kind ? indented(left.first, least_indent(left.first, above)) : other_kind(left.first, at_);
    const bool fits_left = left.kind == now().kind;
    const bool fits_above = !levels_.empty() && levels_.back().kind == now().kind;
    if (fits_left && (!fits_above || !may_stand_at(above))) return indented(at_, left.indent);
    if (fits_above && (!fits_left || !may_stand_at(left.indent))) return indented(at_, above);
    if (fits_left && fits_above)
      return fault_at(at_, "the line is indented by " + std::to_string(now().indent) + ", which fits no line above; indent it by " +
                               sample(levels_.back()) + ", or by " + sample(left));
    return {};
  }

  /// What follows it fits, if it is indented so.
  bool may_stand_at(int indent) const {
    std::size_t next = at_ + 1;
    while (next < lines_.size() && lines_[next].behind_dash) ++next;
    if (next == lines_.size()) return true;
    return now().open ? lines_[next].indent > indent : lines_[next].indent <= indent;
  }

  /// "2, as 'servers' on line 16".
  std::string sample(const LayoutLevel& level) const {
    const LayoutLine& line = lines_[level.last];
    return std::to_string(level.indent) + ", as " + in_quotes(line.text) + " on line " + std::to_string(line.line);
  }

  const std::vector<LayoutLine>& lines_;
  int source_;
  std::vector<LayoutLevel> levels_;
  std::size_t at_ = 0;
};

/// The bytes of `text` before `place`.
std::string_view before(std::string_view text, Place place) {
  std::size_t at = 0;
  for (int line = 1; line < place.line && at < text.size(); ++line) at = std::min(text.find('\n', at), text.size() - 1) + 1;
  return text.substr(0, at + static_cast<std::size_t>(std::max(0, place.column - 1)));
}

std::string fault_of_quote(const LayoutQuote& quote) {
  const std::string mark(1, quote.mark);
  return "the quote " + mark + (quote.closed ? " is closed on line " + std::to_string(quote.last_line) + " only" : " is not closed") +
         "; write " + mark + " where its text ends";
}

std::optional<LayoutFault> fault_of_brackets(std::string_view text, const YamlLayout& layout, Place refused) {
  const auto closing = [](char mark) { return std::string(1, mark == '{' ? '}' : ']'); };
  if (layout.stray && layout.stray->place <= refused)
    return LayoutFault{layout.stray->place, "'" + std::string(1, layout.stray->mark) + "' stands where '" +
                                                std::string(1, layout.open_at_stray->mark) + "' of line " +
                                                std::to_string(layout.open_at_stray->place.line) + " is still open; write '" +
                                                closing(layout.open_at_stray->mark) + "' before it"};
  const std::vector<LayoutBracket> open = layout_of(before(text, refused), refused.source).open;
  if (open.empty() || open.back().place.line >= refused.line) return std::nullopt;
  return LayoutFault{open.back().place, "the bracket '" + std::string(1, open.back().mark) + "' is not closed; write '" +
                                            closing(open.back().mark) + "' where it ends"};
}

/// A path such as cluster.workers[0].count between braces: YAML takes its bracket for a list.
std::optional<LayoutFault> fault_of_path(std::string_view text, Place refused) {
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
  std::size_t begin = before(text, refused).size(), end = begin;
  while (begin > 0 && in_word(text[begin - 1])) --begin;
  if (begin == end || end >= text.size() || text[end] != '[') return std::nullopt;
  while (end < text.size() && (in_word(text[end]) || text[end] == '[' || text[end] == ']')) ++end;
  const std::string_view path = text.substr(begin, end - begin);
  if (path.find(']') == std::string_view::npos || path.size() > 100) return std::nullopt;
  return LayoutFault{refused, "a path with brackets stands without quotes; write \"" + std::string(path) + "\""};
}

}  // namespace

std::optional<LayoutFault> unclosed_quote(const YamlLayout& layout) {
  if (layout.quotes.empty() || layout.quotes.back().closed) return std::nullopt;
  return LayoutFault{layout.quotes.back().begin, fault_of_quote(layout.quotes.back())};
}

std::optional<LayoutFault> layout_fault(std::string_view text, Place refused) {
  const YamlLayout layout = layout_of(text, refused.source);
  for (const LayoutQuote& quote : layout.quotes)
    if (quote.begin <= refused && (!quote.closed || (quote.last_line > quote.begin.line && quote.last_line == refused.line)))
      return LayoutFault{quote.begin, fault_of_quote(quote)};
  if (auto fault = fault_of_path(text, refused)) return fault;
  if (auto fault = fault_of_brackets(text, layout, refused)) return fault;
  return LayoutJudge(layout.lines, refused.source).judge(refused.line);
}

}  // namespace straggler
