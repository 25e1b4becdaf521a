// Result folders of others, whose names hold control characters: neither the terminal nor a page gets them.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/program/small_scenario.hpp"
#include "tests/program/workplace.hpp"
#include "tests/support/text.hpp"

namespace hostile_names_test {

using straggler::test::has;
using straggler::test::Workplace;

TEST_CASE("names of other people's results are shown without their control characters") {
  const Workplace place;
  place.write("small.yaml", straggler::test::small);
  REQUIRE(place.shell("straggler run small.yaml --timing-only --out a --quiet").code == 0);
  std::filesystem::copy(place.folder() / "a", place.folder() / "b");
  std::string summary = place.read("b/summary.json");
  const std::size_t at = summary.find("\"small\"");
  REQUIRE(at != std::string::npos);
  summary.replace(at, 7, "\"red\\u001b[31m\\u202e\"");
  place.write("b/summary.json", summary);
  std::filesystem::rename(place.folder() / "b", place.folder() / "red\x1b[31m\xE2\x80\xAE");  // the label of a run is its folder's name
  const auto compared = place.shell("straggler compare a red* --out c");
  CHECK(compared.code == 0);
  const std::string page = place.read("c/report.html");
  CHECK(has(compared.out, "red\\x1b[31m\\xe2\\x80\\xae"));
  for (const std::string& text : {compared.out, compared.err, page}) {
    CHECK_FALSE(has(text, "\x1b"));
    CHECK_FALSE(has(text, "\xE2\x80\xAE"));
  }
  CHECK(has(page, "red\xEF\xBF\xBD[31m\xEF\xBF\xBD"));
  // An argument, too.
  const auto refused = place.shell("straggler check \"$(printf \"no\\\\033[31m.yaml\")\"");
  CHECK(refused.code == 2);
  CHECK_FALSE(has(refused.err, "\x1b"));
  CHECK(has(refused.err, "no\\x1b[31m.yaml"));
}

TEST_CASE("a message is short, whatever it quotes") {
  const Workplace place;
  place.write("small.yaml", straggler::test::small);
  const auto refused = place.shell("straggler check small.yaml --set $(printf \"%020000d\" 0)=3");
  CHECK(refused.code == 2);
  CHECK(refused.err.size() < 4200);
  CHECK(has(refused.err, "000...000"));
}

}  // namespace hostile_names_test
