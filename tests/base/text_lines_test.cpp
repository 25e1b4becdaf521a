#include "sim/base/text_lines.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/folder.hpp"

using namespace straggler;
using straggler::test::TemporaryFolder;

namespace {

std::vector<std::string> lines_in(std::string_view text) {
  std::vector<std::string> all;
  TextLines lines(text);
  for (std::string_view line; lines.next(line);) {
    all.emplace_back(line);
    CHECK(lines.number() == all.size());
  }
  return all;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("trimming drops blanks at the ends only") {
  CHECK(trimmed(" \ta b\r\n") == "a b");
  CHECK(trimmed("a\n", " \t") == "a\n");
  CHECK(trimmed(" \t ") == "");
  CHECK(trimmed("") == "");
}

TEST_CASE("lines end with line feeds, carriage returns before them, or the text") {
  CHECK(lines_in("") == Texts{});
  CHECK(lines_in("a") == Texts{"a"});
  CHECK(lines_in("a\n") == Texts{"a"});
  CHECK(lines_in("a\r\n\r\nb\rc\n\nd") == Texts{"a", "", "b\rc", "", "d"});
  CHECK(lines_in("\xEF\xBB\xBF"
                 "a\n\xEF\xBB\xBF"
                 "b") == Texts{"a",
                               "\xEF\xBB\xBF"
                               "b"});
}

TEST_CASE("a file has the lines of its text, however they lie in the blocks that are read") {
  const TemporaryFolder folder;
  for (const std::size_t length : {1u, 65'534u, 65'535u, 65'536u, 65'537u, 200'000u}) {
    CAPTURE(length);
    const std::string text = "\xEF\xBB\xBF" + std::string(length, 'x') + "\r\n\n" + std::string(length, 'y') + "\nlast";
    folder.write("lines.txt", text);
    FileLines lines(folder.path() / "lines.txt");
    REQUIRE(lines.opened());
    Texts all;
    for (std::string_view line; lines.next(line);) all.emplace_back(line);
    CHECK(all == lines_in(text));
    CHECK(lines.number() == 4);
    CHECK_FALSE(lines.too_long());
    CHECK_FALSE(lines.broken());
  }
}

TEST_CASE("a line may have the given number of bytes, and its end") {
  const TemporaryFolder folder;
  for (const char* end : {"\n", "\r\n", ""}) {
    folder.write("lines.txt", "1234567890" + std::string(end));
    FileLines fits(folder.path() / "lines.txt", 10), too_short(folder.path() / "lines.txt", 9);
    std::string_view line;
    CHECK(fits.next(line));
    CHECK(line == "1234567890");
    CHECK_FALSE(fits.next(line));
    CHECK_FALSE(fits.too_long());
    CHECK_FALSE(too_short.next(line));
    CHECK(too_short.too_long());
    CHECK(too_short.number() == 1);
    CHECK_FALSE(too_short.next(line));
  }
  folder.write("endless.txt", "a\n" + std::string(1 << 20, 'x'));
  FileLines endless(folder.path() / "endless.txt", 10);
  std::string_view line;
  CHECK(endless.next(line));
  CHECK_FALSE(endless.next(line));
  CHECK(endless.too_long());
  CHECK(endless.number() == 2);
}

TEST_CASE("a file that is missing has no lines, a folder cannot be read") {
  const TemporaryFolder folder;
  std::string_view line;
  FileLines missing(folder.path() / "missing");
  CHECK_FALSE(missing.opened());
  CHECK_FALSE(missing.next(line));
  FileLines of_folder(folder.path());
  CHECK_FALSE(of_folder.next(line));
  CHECK(of_folder.broken());
  CHECK(first_line(folder.path() / "missing") == "");
  folder.write("two.txt", "one\ntwo\n");
  CHECK(first_line(folder.path() / "two.txt") == "one");
}

TEST_CASE("a file is read whole, or up to a limit") {
  const TemporaryFolder folder;
  const std::string text = std::string(100'000, 'a') + std::string("\0\n\xff", 3);
  folder.write("data", text);
  CHECK(read_file(folder.path() / "data").text == text);
  CHECK(read_file(folder.path() / "data", text.size()).text == text);
  CHECK(read_file(folder.path() / "data", 70'000).text == text.substr(0, 70'000));
  folder.write("empty", "");
  CHECK(read_file(folder.path() / "empty").fault == FileFault::none);
  CHECK(read_file(folder.path() / "empty").text == "");
  CHECK(read_file(folder.path() / "missing").fault == FileFault::missing);
  CHECK(read_file(folder.path()).fault == FileFault::folder);
  CHECK_FALSE(read_file("/proc/self/status").text.empty());  // its size is 0 until it is read
}

TEST_CASE("a stream is read in growing steps") {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += std::to_string(i);
  for (const std::size_t most : {std::size_t{0}, std::size_t{1}, std::size_t{65'536}, text.size(), no_limit}) {
    std::istringstream in(text);
    CHECK(read_stream(in, most, 7) == text.substr(0, most));
  }
}
