#include "sim/base/suggest.hpp"

#include <doctest/doctest.h>

using namespace straggler;

TEST_CASE("edit distance counts inserts, deletions, replacements and swaps of neighbours") {
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("bandwith", "bandwidth") == 1);
  CHECK(edit_distance("latnecy", "latency") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("same", "same") == 0);
}

TEST_CASE("the nearest name is a slip of the pen away") {
  const std::vector<std::string> known = {"bandwidth", "latency", "kind"};
  CHECK(nearest_name("bandwith", known) == "bandwidth");
  CHECK(nearest_name("Latency", known) == "latency");
  CHECK(nearest_name("colour", known).empty());
  CHECK(nearest_name("", known).empty());
  CHECK(nearest_name(std::string(100'000, 'x'), known).empty());
  CHECK(nearest_name("seconds_per_update", {"blocked_seconds_per_update", "update_seconds"}) == "update_seconds");  // other order
  CHECK(nearest_name("updates_wanted", {"update_seconds"}).empty());
  CHECK(nearest_name("x", {"y"}).empty());  // every letter differs
}

TEST_CASE("an unknown name is reported with the probable one and the known ones") {
  CHECK(unknown_name("key", "bandwith", {"bandwidth", "latency"}) ==
        "unknown key 'bandwith'; did you mean 'bandwidth'? known: bandwidth, latency");
  CHECK(unknown_name("key", "colour", {"bandwidth"}) == "unknown key 'colour'; known: bandwidth");
}

TEST_CASE("of many known names the three nearest are named, those that begin with the word first, and where all are") {
  const std::vector<std::string> many = {"adpsgd", "asgd", "fedasync", "fedavg", "fedbuff", "sgp", "ssgd"};
  CHECK(nearest_names("fed", many, 3) == std::vector<std::string>{"fedasync", "fedavg", "fedbuff"});
  CHECK(nearest_names("asdg", many, 3) == std::vector<std::string>{"asgd", "ssgd", "adpsgd"});  // 1, 2 and 3 edits, as sgp
  CHECK(nearest_names("FEDAVG", many, 1) == std::vector<std::string>{"fedavg"});
  CHECK(nearest_names("", many, 2) == std::vector<std::string>{"adpsgd", "asgd"});  // all begin with nothing
  CHECK(nearest_names("x", {"y"}, 3) == std::vector<std::string>{"y"});
  CHECK(unknown_name("scheme", "asdg", many, "straggler list schemes") ==
        "unknown scheme 'asdg'; did you mean 'asgd'? known: asgd, ssgd, adpsgd; all 7: straggler list schemes");
  CHECK(unknown_name("scheme", "fed", many) == "unknown scheme 'fed'; known: fedasync, fedavg, fedbuff and 4 more");
  const std::vector<std::string> six(many.begin() + 1, many.end());
  CHECK(known_names("asdg", six, "straggler list schemes") == "known: asgd, fedasync, fedavg, fedbuff, sgp, ssgd");
  CHECK(known_names("a", {}) == "known: none");
}

TEST_CASE("quoted text stays short and printable") {
  CHECK(in_quotes("abc") == "'abc'");
  CHECK(in_quotes("a\nb\x1b") == "'a\\x0ab\\x1b'");
  CHECK(in_quotes(std::string(1000, 'x')).size() < 70);
  CHECK(in_quotes("50 \xC2\xB5s") == "'50 \xC2\xB5s'");
  CHECK(in_quotes("\xC2\xB5\xB5") == "'\xC2\xB5\\xb5'");      // the last byte is no UTF-8
  CHECK(in_quotes("5\xC2\xA0s") == "'5\\xc2\\xa0s'");         // U+00A0 looks like a blank
  CHECK(in_quotes("a\xE2\x80\x8B") == "'a\\xe2\\x80\\x8b'");  // U+200B looks like nothing
  CHECK(in_quotes("\xE2\x80\x93") == "'\xE2\x80\x93'");       // a dash
}
