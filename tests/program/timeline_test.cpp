// `straggler timeline`: the beginning of a run as a picture.
#include <doctest/doctest.h>

#include "tests/program/workplace.hpp"

namespace straggler::test {
namespace {

TEST_CASE("timeline draws the first workers, names the slower ones, and is the same each time") {
  const Workplace place;
  place.write("small.yaml", small_cluster + R"(workload: {model: softmax, data: coordinates}
training:
  scheme: ssgd
  batch: {per_worker: 10}
  optimizer: {kind: sgd, learning_rate: 0.1}
  stop: {updates: 1000}
)");
  const auto done = place.shell("straggler timeline small.yaml --until 200ms --set cluster.workers[0].slowdown=2");
  CHECK(done.code == 0);
  CHECK(done.out.starts_with("timeline.svg: "));
  const std::string picture = place.read("timeline.svg");
  CHECK(picture.find(">worker 2, 2 x slower<") != std::string::npos);
  CHECK(place.shell("straggler timeline small.yaml --until 200ms --set cluster.workers[0].slowdown=2 --out again.svg").code == 0);
  CHECK(place.read("again.svg") == picture);
  CHECK(place.shell("straggler timeline small.yaml --until 200ms --set cluster.workers[0].slowdown=2 -o short.svg").code == 0);
  CHECK(place.read("short.svg") == picture);
  CHECK(place.shell("straggler timeline small.yaml --workers 2 --out two.svg --quiet").out.empty());
  CHECK(place.read("two.svg").find("worker 2") == std::string::npos);
  for (const char* wrong : {"--until 0s", "--until soon", "--until 9000d", "--workers 0", "--out no/such/folder.svg"}) {
    CAPTURE(wrong);
    CHECK(place.shell(std::string("straggler timeline small.yaml ") + wrong).code == 2);
  }
}

}  // namespace
}  // namespace straggler::test
