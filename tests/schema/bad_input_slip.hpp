// One slip in a scenario that is good otherwise, and where it must be refused.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/schema/reader_fixture.hpp"

namespace straggler::test {

/// `instead` stands for `text`, and '`' in it marks the exact place of the error.
struct Slip {
  const char *text, *instead;
  std::vector<const char*> phrases;
};

struct Made {
  std::string text, place;
};

inline Made make(const std::string& whole, const Slip& slip) {
  Made made{whole, {}};
  const std::size_t at = made.text.find(slip.text);
  REQUIRE_MESSAGE(at != std::string::npos, slip.text);
  made.text.replace(at, std::string_view(slip.text).size(), slip.instead);
  const std::size_t mark = made.text.find('`');
  REQUIRE(mark != std::string::npos);
  made.text.erase(mark, 1);
  const auto line = 1 + std::count(made.text.begin(), made.text.begin() + static_cast<std::ptrdiff_t>(mark), '\n');
  const std::size_t start = mark == 0 ? 0 : made.text.rfind('\n', mark - 1) + 1;
  made.place = "dir/good.yaml:" + std::to_string(line) + ":" + std::to_string(mark - start + 1) + ": ";
  return made;
}

/// Refused at its place, with all of its phrases; every line says what would be right. Returns the number of lines.
inline std::size_t check_slip(const std::string& whole, const Slip& slip) {
  const Made made = make(whole, slip);
  const std::vector<std::string> lines = errors(made.text);
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  CAPTURE(std::string(slip.instead));
  CAPTURE(all);
  REQUIRE_FALSE(lines.empty());
  const auto at = std::find_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.starts_with(made.place) && std::all_of(slip.phrases.begin(), slip.phrases.end(),
                                                       [&](const char* phrase) { return line.find(phrase) != std::string::npos; });
  });
  CHECK_MESSAGE(at != lines.end(), "expected at " << made.place << std::string(slip.phrases[0]));
  for (const std::string& line : lines) CHECK(line.find("; ") != std::string::npos);
  return lines.size();
}

}  // namespace straggler::test
