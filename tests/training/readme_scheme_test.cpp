// The scheme that README.md shows: what stands there is built here, and is `asgd`.
#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "tests/training/fake_cluster.hpp"

using namespace straggler;
using namespace straggler::test;

namespace readme_scheme_test {
namespace {

class ReadmeScheme final : public Scheme {
 private:
  Process worker(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const Gradient gradient = co_await node.gradient(weights, node.batch_size());
      co_await node.send(node.server(), gradient);
      weights = co_await node.receive<Weights>(node.server());
    }
  }
  Process server(Node& node) const override {
    Weights weights = node.initial_weights();
    for (;;) {
      const From<Gradient> arrived = co_await node.receive<Gradient>();
      weights = co_await node.step(weights, arrived);
      weights = co_await node.publish(weights);
      co_await node.send(arrived.sender, weights);
    }
  }
};

/// A file of the source tree without indentation and empty lines.
std::string lines_of(const std::string& path) {
  std::ifstream file(std::string(STRAGGLER_SOURCE_DIR) + "/" + path);
  REQUIRE(file);
  std::string all;
  for (std::string line; std::getline(file, line);)
    if (const std::size_t begin = line.find_first_not_of(' '); begin != std::string::npos) all += line.substr(begin) + "\n";
  return all;
}

}  // namespace

TEST_CASE("the worker that README.md shows is this one, and that of asgd.cpp") {
  const std::string readme = lines_of("README.md"), opening = "```cpp\n";
  const std::size_t begin = readme.find(opening) + opening.size();
  const std::string shown = readme.substr(begin, readme.find("```", begin) - begin);
  REQUIRE(shown.starts_with("Process worker("));
  CHECK(lines_of("tests/training/readme_scheme_test.cpp").find("private:\n" + shown) != std::string::npos);
  CHECK(lines_of("sim/schemes/asgd.cpp").find(shown) != std::string::npos);
}

TEST_CASE("README.md's scheme makes the same versions as asgd, of the same contributions") {
  const ReadmeScheme shown;
  const auto asgd = scheme_of("asgd", {});
  FakeCluster ours(shown, 3, true), theirs(*asgd, 3, true);
  for (const Rank worker : {2, 0, 0, 1, 2, 1, 0}) {
    ours.finish(worker);
    theirs.finish(worker);
  }
  REQUIRE(ours.versions().size() == 7);
  REQUIRE(theirs.versions().size() == 7);
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(ours.versions()[i]->value.key() == theirs.versions()[i]->value.key());
    CHECK(workers_of(ours.made()[i]) == workers_of(theirs.made()[i]));
    if (i > 0) CHECK(ours.versions()[i]->value.key() != ours.versions()[i - 1]->value.key());
  }
}

}  // namespace readme_scheme_test
