#include "sim/base/csv.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace straggler;

namespace {

using Cells = std::vector<std::pair<std::string, std::size_t>>;

Cells cells_in(std::string_view line, char separator = ',') {
  CsvSplitter splitter(separator);
  REQUIRE(splitter.split("a line,\"be\"\"fore\",x"));  // leaves nothing behind
  REQUIRE(splitter.split(line));
  Cells cells;
  for (const CsvField& field : splitter.fields()) cells.emplace_back(field.text, field.column);
  return cells;
}

void check_fault(std::string_view line, CsvSplitter::Fault fault, std::size_t column) {
  CsvSplitter splitter;
  CHECK_FALSE(splitter.split(line));
  CHECK(splitter.fault() == fault);
  CHECK(splitter.fault_column() == column);
}

}  // namespace

TEST_CASE("fields lie between commas, with the place of their first character and without blanks around them") {
  CHECK(cells_in("") == Cells{{"", 1}});
  CHECK(cells_in("a,bc") == Cells{{"a", 1}, {"bc", 3}});
  CHECK(cells_in("  a b\t, ,c ") == Cells{{"a b", 3}, {"", 9}, {"c", 10}});
  CHECK(cells_in(",") == Cells{{"", 1}, {"", 2}});
}

TEST_CASE("quotes keep commas and blanks, two of them stand for one") {
  CHECK(cells_in("\" a,b \" ,c") == Cells{{" a,b ", 1}, {"c", 10}});
  CHECK(cells_in("\"say \"\"x\"\"\",\"\"\"\",\"\"") == Cells{{"say \"x\"", 1}, {"\"", 13}, {"", 18}});
  CHECK(cells_in("a\"b\",c") == Cells{{"a\"b\"", 1}, {"c", 6}});  // a quote inside of plain text is a character
}

TEST_CASE("other separators") {
  CHECK(cells_in("1;2,5", ';') == Cells{{"1", 1}, {"2,5", 3}});
  CHECK(cells_in("a \t\tb", '\t') == Cells{{"a", 1}, {"", 4}, {"b", 5}});
  CHECK(cells_in(" 1  2\t 3 ", ' ') == Cells{{"1", 2}, {"2", 5}, {"3", 8}});
  CHECK(cells_in("\"a b\" c", ' ') == Cells{{"a b", 1}, {"c", 7}});
}

TEST_CASE("a wrong quote has its place") {
  check_fault("a, \"b,c", CsvSplitter::Fault::open_quote, 4);
  check_fault("a,\"b\"\"", CsvSplitter::Fault::open_quote, 3);
  check_fault("\"a\"b,c", CsvSplitter::Fault::text_behind_quote, 1);
}

TEST_CASE("a written field is read as the same text") {
  for (const std::string text : {"plain", "a,b", "say \"x\"", "\"", "", "x,\"\",y"}) {
    CAPTURE(text);
    const Cells cells = cells_in(csv_text(text) + "," + csv_text(text));
    REQUIRE(cells.size() == 2);
    CHECK(cells[0].first == text);
    CHECK(cells[1].first == text);
  }
  CHECK(csv_text("plain name") == "plain name");
  CHECK(csv_text("a,b") == "\"a,b\"");
  CHECK(csv_text("say \"x\"") == "\"say \"\"x\"\"\"");
  CHECK(csv_text("two\nlines") == "\"two\nlines\"");
  CHECK(plain_csv("a b"));
  CHECK_FALSE(plain_csv("a\r"));
}

TEST_CASE("a field is a number as a whole, or none") {
  CHECK(as_number("+1.5e3") == 1500);
  CHECK(as_number("-0.25") == -0.25);
  CHECK_FALSE(as_number("1.5x"));
  CHECK_FALSE(as_number(""));
  CHECK_FALSE(as_number("+"));
  CHECK(as_integer("-12") == -12);
  CHECK_FALSE(as_integer("1.0"));
  CHECK_FALSE(as_integer("9223372036854775808"));  // 2^63
}
