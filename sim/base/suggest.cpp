#include "sim/base/suggest.hpp"

#include <algorithm>
#include <cctype>

#include "sim/base/shown_text.hpp"

namespace straggler {

namespace {
constexpr std::size_t longest_name = 64;  // longer words are not misspelt names

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Of a name with _ between its words, in order of the alphabet: without "per" and "of", and without an s at their ends.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  for (std::string rest = lower(name); !rest.empty();) {
    const std::size_t end = std::min(rest.find('_'), rest.size());
    std::string word = rest.substr(0, end);
    rest.erase(0, end + 1);
    if (word.size() > 1 && word.back() == 's') word.pop_back();
    if (!word.empty() && word != "per" && word != "of") words.push_back(std::move(word));
  }
  std::sort(words.begin(), words.end());
  return words;
}

/// A blank that is none in ASCII (U+00A0, U+2000 to U+200D, U+202F, U+3000), or a mark without width (U+00AD, U+FEFF).
bool looks_like_nothing(std::string_view character) {
  if (character.size() == 3 && character.starts_with("\xE2\x80"))
    return static_cast<unsigned char>(character[2]) <= 0x8D || character[2] == '\xAF';
  return character == "\xC2\xA0" || character == "\xC2\xAD" || character == "\xE3\x80\x80" || character == "\xEF\xBB\xBF";
}
}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
  if (name.empty() || name.size() > longest_name) return {};
  const std::string meant = lower(name);
  std::string best;
  std::size_t least = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    if (candidate.size() > longest_name) continue;
    const std::size_t distance = edit_distance(meant, lower(candidate));
    if (distance >= least || distance >= candidate.size()) continue;
    least = distance;
    best = candidate;
  }
  if (best.empty() && name.find('_') != std::string_view::npos)
    for (const std::string& candidate : known)
      if (candidate.size() <= longest_name && words_of(candidate) == words_of(name)) return candidate;
  return best;
}

std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& known, std::size_t most) {
  const std::string meant = lower(name.substr(0, longest_name));
  std::vector<std::pair<std::size_t, const std::string*>> order;
  for (const std::string& candidate : known) {
    const std::string other = lower(candidate.substr(0, longest_name));
    const bool within = meant.size() > 2 && other.find(meant) != std::string::npos;
    order.emplace_back(other.starts_with(meant) ? 0 : within ? 1 : 2 + edit_distance(meant, other), &candidate);
  }
  std::ranges::stable_sort(order, {}, [](const auto& each) { return each.first; });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i) names.push_back(*order[i].second);
  return names;
}

std::string known_names(std::string_view name, const std::vector<std::string>& known, std::string_view all) {
  constexpr std::size_t few = 6, shown = 3;
  if (known.size() <= few) return "known: " + (known.empty() ? "none" : joined(known));
  const std::string text = "known: " + joined(nearest_names(name, known, shown));
  if (all.empty()) return text + " and " + std::to_string(known.size() - shown) + " more";
  return text + "; all " + std::to_string(known.size()) + ": " + std::string(all);
}

std::string unknown_name(std::string_view what, std::string_view name, const std::vector<std::string>& known, std::string_view all) {
  std::string message = "unknown " + std::string(what) + " " + in_quotes(name);
  if (const std::string near = nearest_name(name, known); !near.empty())
    message += "; did you mean '" + near + "'?";
  else
    message += ";";
  return message + " " + known_names(name, known, all);
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 60;
  static constexpr char digits[] = "0123456789abcdef";
  const std::string shown = shortened(text, longest);
  std::string out = "'";
  for (std::size_t at = 0; at < shown.size();) {
    ShownCharacter one = character_at(shown, at);
    one.safe = one.safe && !looks_like_nothing(std::string_view(shown).substr(at, one.bytes));
    for (const std::size_t end = at + one.bytes; at < end; ++at) {
      const unsigned char byte = static_cast<unsigned char>(shown[at]);
      if (one.safe) {
        out += shown[at];
        continue;
      }
      out += "\\x";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
  return out + "'";
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

}  // namespace straggler
