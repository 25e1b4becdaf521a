// Control characters of labels and names reached the terminal, changes of direction reached pages, formulas reached spreadsheets, and
// fields of 20 kB were quoted whole.
#include <doctest/doctest.h>

#include "models/safetensors/typed.hpp"
#include "scenarios/report/chart_json.hpp"
#include "sim/base/csv.hpp"
#include "sim/base/shown_text.hpp"
#include "sim/base/suggest.hpp"
#include "sim/base/xml_text.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/text.hpp"

using namespace straggler;
using namespace straggler::test;

TEST_CASE("no control character, change of direction or broken byte is shown in a terminal") {
  CHECK(shown_text("a\x1b[31mred\x07") == "a\\x1b[31mred\\x07");
  CHECK(shown_text("x\ty\n") == "x\ty\n");
  CHECK(shown_text("over\rwritten") == "over\\x0dwritten");
  CHECK(shown_text("\x9b"
                   "31m") == "\\x9b31m");  // the 8-bit start of a sequence
  CHECK(shown_text("\xC2\x9b"
                   "31m") == "\\xc2\\x9b31m");  // the same in UTF-8
  CHECK(shown_text("\xE2\x80\xAE"
                   "fdp") == "\\xe2\\x80\\xaefdp");  // U+202E
  CHECK(shown_text("\xE2\x81\xA6"
                   "a") ==
        "\\xe2\\x81\\xa6"
        "a");                                                       // U+2066
  CHECK(shown_text("\xC0\xAF") == "\\xc0\\xaf");                    // overlong
  CHECK(shown_text("\xED\xA0\x80") == "\\xed\\xa0\\x80");           // half of a surrogate pair
  CHECK(shown_text("\xF4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  CHECK(shown_text("cut \xE2\x82") == "cut \\xe2\\x82");
  const std::string fine =
      "Gr\xC3\xB6\xC3\x9F"
      "e \xE2\x82\xAC \xF0\x9F\x98\x80 \xD7\xA9";  // letters of any script stay
  CHECK(shown_text(fine) == fine);
}

TEST_CASE("pages show the replacement character instead") {
  CHECK(xml_text("a\xE2\x80\xAE"
                 "b\xC2\x85"
                 "c\x80"
                 "d") ==
        "a\xEF\xBF\xBD"
        "b\xEF\xBF\xBD"
        "c\xEF\xBF\xBD"
        "d");
  CHECK(xml_text("\xC3\xB6\r\n") == "\xC3\xB6\r\n");
  CHECK(chart_text({{"label", "<\xE2\x80\xAEx\x7F\n"}}) == "{\"label\":\"\\u003c\xEF\xBF\xBDx\xEF\xBF\xBD\\n\"}");
}

TEST_CASE("a table's text is no formula of a spreadsheet; numbers and quantities stay as they are") {
  CHECK(csv_text("=1+1") == "\"'=1+1\"");
  CHECK(csv_text("=HYPERLINK(\"http://x\",\"y\")") == "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"");
  CHECK(csv_text("@SUM(A1)") == "\"'@SUM(A1)\"");
  CHECK(csv_text("+A1") == "\"'+A1\"");
  CHECK(csv_text("-1+cmd|' /C calc'!A0") == "\"'-1+cmd|' /C calc'!A0\"");
  CHECK(csv_text("-1+HYPERLINK(A1)") == "\"'-1+HYPERLINK(A1)\"");
  CHECK(csv_text("\t=1") == "\"'\t=1\"");
  for (const std::string plain : {"-5", "+1e3", "-0.25", "-inf", "-20ms", "-.5", "+1.5MB/s", "-", "+", "a=b", "asgd", "1-2", ""}) {
    CAPTURE(plain);
    CHECK(csv_text(plain) == plain);
  }
}

TEST_CASE("a quoted text of any length stays short, and shows both ends") {
  const std::string text = "first" + std::string(20'000, 'x') + "last";
  CHECK(in_quotes(text).size() == 62);
  CHECK(in_quotes(text).starts_with("'first"));
  CHECK(in_quotes(text).ends_with("last'"));
  CHECK(has(in_quotes(text), "x...x"));
  CHECK(in_quotes(std::string(60, 'y')) == "'" + std::string(60, 'y') + "'");
  // No character is cut in two: 30 of two bytes become 13 and 6, with room for one more byte at each end.
  std::string wide;
  for (int i = 0; i < 30; ++i) wide += "\xC3\xB6";
  const std::string cut = shortened(wide, 40);
  CHECK(cut.size() <= 40);
  CHECK(shown_text(cut) == cut);
  CHECK(shortened("short", 5) == "short");
}

TEST_CASE("errors about a file's text quote it shortened") {
  const TemporaryFolder folder;
  const std::string name(20'000, 'n');
  const std::string header = "{\"" + name + "\":{\"dtype\":\"F32\"}}";
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i) bytes[static_cast<std::size_t>(i)] = static_cast<char>(header.size() >> (8 * i) & 0xFF);
  folder.write("a.safetensors", bytes + header);
  const std::string what = error_of<std::exception>([&] { read_typed_safetensors(folder / "a.safetensors"); });
  CHECK(has(what, "nnn...nnn"));
  CHECK(what.size() < 400);
}
