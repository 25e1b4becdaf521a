// Hostile inputs that are too large for the corpora: each target accepts or refuses them, too. Those of JSON once overflowed the stack, and
// the others took hundreds of megabytes before they were refused.
#include <doctest/doctest.h>

#include <cstdint>

#include "scenarios/schema/yaml_tree.hpp"
#include "sim/base/json_depth.hpp"
#include "tests/fuzz/target.hpp"

using namespace straggler;

namespace {

std::string repeated(std::size_t times, std::string_view text) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

std::string safetensors(const std::string& header) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header;
}

}  // namespace

TEST_CASE("large hostile inputs are refused") {
  const auto run = [](const char* target, const std::string& input) {
    CAPTURE(target);
    CHECK_NOTHROW(fuzz::run_target(fuzz::targets().at(target), input));
  };
  const std::string brackets = repeated(500'000, "[");
  run("scenario", "straggler: 1\nname: " + brackets);
  run("scenario", repeated(200'000, "{a: "));
  run("set", "name=" + brackets);
  run("results", "{\"updates\": " + brackets);
  run("replay", "process,choice\n--- run.json\n{\"kernels\": " + brackets);
  run("sketch", "{\"evaluations\": " + brackets);
  run("safetensors", safetensors("{\"w\": {\"dtype\": " + brackets + repeated(500'000, "]") + "}}"));
  run("csv", repeated(3'000'000, "1,") + "1\n");
  run("text", std::string(5'000'000, 'a'));
  run("graphml", "<graphml>" + repeated(100'000, "<graph>"));
  run("dot", "graph " + repeated(500'000, "{"));
}

TEST_CASE("JSON nests as deep as its open brackets outside of texts") {
  CHECK_FALSE(nests_deeper("[[]]", 2));
  CHECK(nests_deeper("[[[]]]", 2));
  CHECK_FALSE(nests_deeper("[[],[],{}]", 2));
  CHECK(nests_deeper("{\"a\":[{", 2));
  CHECK_FALSE(nests_deeper("{\"[[[\\\"[[[\": \"{{{\"}", 1));
  CHECK_FALSE(nests_deeper("]]]", 0));
}

TEST_CASE("too many open brackets of YAML are refused where the parser would only begin to keep them") {
  Places places({"scenario.yaml"});
  Problems problems(places);
  CHECK_FALSE(parse_yaml("a: 1\nb: " + repeated(2'000, "["), 0, problems));
  REQUIRE(problems.found().size() == 1);
  CHECK(problems.found()[0].line() ==
        "scenario.yaml:2:1004: syntax: values are nested more than 100 deep; a scenario needs fewer than ten levels");
  Problems none(places);
  CHECK(parse_yaml("a: '" + repeated(900, "[") + "'", 0, none));
  CHECK_FALSE(none.any());
}
