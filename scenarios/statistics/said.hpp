// A sentence of an answer, in parts. Each writer puts them in its own words: a terminal names settings as the scenario does, a page by
// titles.
#pragma once
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "scenarios/statistics/statistics.hpp"

namespace straggler {

/// A path of the scenario.
struct SaidPath {
  std::string path;
};
/// A path of the scenario with its value.
struct SaidSetting {
  std::string path, value;
};
/// A scalar of summary.json.
struct SaidMetric {
  std::string name;
};
/// The name of one that is compared; it keeps its case where a sentence begins with it.
struct SaidName {
  std::string name;
};
/// How a sentence of a search puts the mean of a metric: with the count of runs.
inline constexpr MeanStyle said_mean{.count_all = true};
/// The mean of a metric over runs, with its interval.
struct SaidValue {
  RepeatStatistics statistics;
  std::size_t runs = 0;
  std::string (*text)(double) = nullptr;
  MeanStyle style = said_mean;  // each writer has its own sign
};
using SaidPart = std::variant<std::string, SaidPath, SaidSetting, SaidMetric, SaidName, SaidValue>;

class Said {
 public:
  Said() = default;
  explicit Said(std::string text) : parts_{std::move(text)} {}
  Said(std::initializer_list<SaidPart> parts) : parts_(parts) {}

  Said& add(SaidPart part) {
    parts_.push_back(std::move(part));
    return *this;
  }
  Said& add(const Said& more) {
    parts_.insert(parts_.end(), more.parts_.begin(), more.parts_.end());
    return *this;
  }
  bool empty() const { return parts_.empty(); }
  const std::vector<SaidPart>& parts() const { return parts_; }
  /// `writer(part)`: the words of a part, for each of its types.
  template <class Writer>
  std::string written(const Writer& writer) const {
    std::string text;
    for (const SaidPart& part : parts_) text += std::visit(writer, part);
    return text;
  }

 private:
  std::vector<SaidPart> parts_;
};

/// Words with "{}" for each part, as many as there are parts.
template <class... Parts>
struct SaidForm {
  template <std::size_t size>
  consteval SaidForm(const char (&words)[size]) : text(words) {  // NOLINT(google-explicit-constructor): a literal is a form
    std::size_t places = 0;
    for (std::size_t at = text.find("{}"); at != text.npos; at = text.find("{}", at + 2)) ++places;
    if (places != sizeof...(Parts)) throw "as many {} as parts are needed";
  }
  std::string_view text;
};
/// worded("{} wins", SaidName{"a"}). Parts are sentences, their parts, and text.
template <class... Parts>
Said worded(SaidForm<std::type_identity_t<Parts>...> form, const Parts&... parts) {
  Said said;
  std::string_view rest = form.text;
  const auto words_before = [&](std::size_t place) {
    if (place > 0) said.add(std::string(rest.substr(0, place)));
    rest.remove_prefix(std::min(rest.size(), place + 2));
  };
  ((words_before(rest.find("{}")), said.add(parts)), ...);
  words_before(rest.size());
  return said;
}

/// As terminals and files have it: "PATH=VALUE", "10 s +- 1 s (2 of 2)".
std::string plain(const Said& said);
std::vector<std::string> plain(const std::vector<Said>& all);

/// With a capital in front.
std::string capital(std::string text);

/// "a, b, c", with `last` before the last one, and `between` before others.
Said joined(const std::vector<Said>& all, const std::string& last = ", ", const std::string& between = ", ");

}  // namespace straggler
