// Slips of indentation, quotes and brackets: the line that was written wrongly is named, once, with what would be right.
#include "sim/base/suggest.hpp"
#include "tests/schema/bad_input_slip.hpp"

using namespace straggler;
using namespace straggler::test;

namespace bad_layout_test {

namespace {

/// One line, at the place of the mark, and nothing but `sentence`.
void check_only(const char* text, const char* instead, const std::string& sentence) {
  const Made made = make(good, {text, instead, {}});
  CAPTURE(std::string(instead));
  CHECK(joined(errors(made.text)) == made.place + "syntax: " + sentence);
}

const char* const second_item = "    - {count: 2, device: v100, slowdown: 3, link: {bandwidth: 100Mbps}}\n";
const char* const no_dash = "an item of the list begins without '- '; write it before, as line ";

}  // namespace

TEST_CASE("a line that is indented otherwise than its siblings is named itself") {
  check_only("  servers: {", "   `servers: {", "the line is indented by 3, where its siblings have 2; indent it by 2");
  check_only("  servers: {", " `servers: {", "the line is indented by 1, where its siblings have 2; indent it by 2");
  check_only("  batch: {", "    `batch: {", "the line is indented by 4, where its siblings have 2; indent it by 2");
  check_only("    update: 200GB/s", "      `update: 200GB/s", "the line is indented by 6, where its siblings have 4; indent it by 4");
  check_only("    update: 200GB/s", "   `update: 200GB/s",
             "the line is indented by 3, which fits no line above; indent it by 2, as 'v100' on line 9, or by 4, as 'jitter' on line 11");
  check_only("workload:", " `workload:", "the line is indented by 1, where its siblings have 0; indent it by 0");
  check_only("    - {count: 2", "     `- {count: 2", "the line is indented by 5, where its siblings have 4; indent it by 4");
  check_only("    - {count: 2", "   `- {count: 2", "the line is indented by 3, where its siblings have 4; indent it by 4");
  check_only("    - {count: 2, device: v100, ", "    - count: 2\n       `device: v100\n      link: {",
             "the line is indented by 7, where its siblings have 6; indent it by 6");
}

TEST_CASE("the first line of a block is named where the others fit each other") {
  check_only("  scheme: {", "    `scheme: {", "the line is indented by 4, where its siblings have 2; indent it by 2");
  check_only("  model: {", "   `model: {", "the line is indented by 3, where its siblings have 2; indent it by 2");
  check_only("  node:\n", "     `node:\n", "the line is indented by 5, where its siblings have 2; indent it by 2");
}

TEST_CASE("an item without its dash is named") {
  check_only("    - {count: 2", "      `{count: 2", no_dash + std::string("16 has it"));
  check_only("    - {count: 2", "    `{count: 2", no_dash + std::string("16 has it"));
  check_only(second_item, "    `count: 2\n", no_dash + std::string("16 has it"));
  const std::string third = std::string("      `{count: 6, device: node}\n") + second_item + "    - {count: 1, device: node}\n";
  check_only((std::string("    - {count: 6, device: node}\n") + second_item).c_str(), third.c_str(), no_dash + std::string("17 has it"));
}

TEST_CASE("a line without its colon, or without the blank after it, is named") {
  check_only("  batch: {per_worker: 256}\n", "  `batch 256\n", "the line has no colon; write KEY: VALUE");
  check_only("  scheme: {kind: nonblocking, minibatch: 32}\n", "  `scheme ssgd\n", "the line has no colon; write KEY: VALUE");
  check_only("workload:\n", "`workload\n", "the line has no colon; write KEY: VALUE");
  check_only("  sharing: max_min\n", "  `sharing:max_min\n", "the line has no blank after its colon; write 'sharing: max_min'");
}

TEST_CASE("a quote that is not closed is named, and nothing else") {
  check_only("name: two-slow-workers", "name: `'two-slow-workers", "the quote ' is not closed; write ' where its text ends");
  check_only("name: two-slow-workers", "name: `\"two-slow-workers", "the quote \" is not closed; write \" where its text ends");
  check_only("device: v100", "device: `'v100", "the quote ' is not closed; write ' where its text ends");
  check_only("name: two-slow-workers\nseed: 1\n", "name: `'two-slow-workers\nseed: '1'\n",
             "the quote ' is closed on line 3 only; write ' where its text ends");
  // A text may go over several lines.
  CHECK(errors(make(good, {"name: two-slow-workers", "name: `\"two-\\\n  slow\"", {}}).text).empty());
  CHECK(errors(make(good, {"name: two-slow-workers", "name: `two-slow-workers # don't", {}}).text).empty());
}

TEST_CASE("a bracket that is not closed is named, and one that closes another") {
  check_only("  batch: {per_worker: 256}", "  batch: `{per_worker: 256", "the bracket '{' is not closed; write '}' where it ends");
  check_only("    - {count: 6, device: node}", "    - `{count: 6, device: node", "the bracket '{' is not closed; write '}' where it ends");
  check_only("{every: {epochs: 0.25}, thresholds: [0.85, 0.80, 88%]}", "`{every: {epochs: 0.25}, thresholds: [0.85, 0.80, 88%]",
             "the bracket '{' is not closed; write '}' where it ends");
  check_only("thresholds: [0.85, 0.80, 88%]}", "thresholds: [0.85, 0.80, 88%`}",
             "'}' stands where '[' of line 39 is still open; write ']' before it");
}

}  // namespace bad_layout_test
