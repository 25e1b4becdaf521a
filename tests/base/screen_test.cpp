#include <doctest/doctest.h>

#include <string>

#include "sim/base/screen.hpp"
#include "sim/base/text_lines.hpp"

using namespace straggler;

namespace screen_test {

namespace {

std::string without_blanks(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' && c != '\n') out += c;
  return out;
}

}  // namespace

TEST_CASE("a long line continues below its last column, a sentence two columns in") {
  CHECK(wrapped("workers' time     computing 1.1 %, communicating 19.9 %, idle 79.0 %\n", 40) ==
        "workers' time     computing 1.1 %,\n"
        "                  communicating 19.9 %,\n"
        "                  idle 79.0 %\n");
  CHECK(wrapped("one two three four", 10) == "one two\n  three\n  four");
  CHECK(wrapped("  a  b  c d e f g h i", 12) == "  a  b  c d\n        e f\n        g h\n        i");
}

TEST_CASE("what fits, rows of tables, words that are longer than a line, and pipes stay as they are") {
  const std::string table = "name    time   share   rate   verdict and words\n";
  CHECK(wrapped(table, 20) == table);
  CHECK(wrapped("short\n\nlines\n", 20) == "short\n\nlines\n");
  CHECK(wrapped("results in /a/very/long/path/of/one/word", 20) == "results in\n  /a/very/long/path/of/one/word");
  CHECK(wrapped("a long line that would be wrapped", 0) == "a long line that would be wrapped");
  CHECK(wrapped("", 20).empty());
}

TEST_CASE("no line of words is wider than the terminal, and no word is lost") {
  const std::string text =
      "scheme            asgd: asynchronous SGD: the server steps on each gradient as it arrives, τ updates old\n"
      "    answers  a word  in_turn: the server takes the next message when its answer has left; at_once: it continues\n"
      "The bottleneck is bandwidth: with unlimited bandwidth the same work takes 1.03 s instead of 91.4 s, 99 % less.\n";
  for (std::size_t width = 36; width < 130; ++width) {
    CAPTURE(width);
    const std::string screen = wrapped(text, width);
    CHECK(without_blanks(screen) == without_blanks(text));
    TextLines lines(screen);
    for (std::string_view line; lines.next(line);) CHECK(line.size() <= width + 1);  // τ has two bytes
  }
}

}  // namespace screen_test
