// `sweep --dry-run` lists what would be run, and neither runs nor writes.
#include <doctest/doctest.h>

#include "tests/program/workplace.hpp"
#include "tests/support/text.hpp"

namespace dry_run_test {

using namespace straggler::test;

namespace {

const std::string scenario = on_small_cluster(16, 1200, 100, "  stop: {epochs: 2}\n");
const std::string axes =
    "sweep: 1\nname: try\nscenario: small.yaml\nrepeats: 2\naxes: {training.scheme: [ssgd, asgd], cluster.network.link.bandwidth: [1MB/s, "
    "2MB/s]}\n";

bool there(const Workplace& place, const char* name) { return std::filesystem::exists(place / name); }

}  // namespace

TEST_CASE("a dry run lists every point with its seed, and the total cost, and leaves nothing behind") {
  const Workplace place;
  place.write("small.yaml", scenario);
  place.write("try.yaml", axes);
  const auto done = place.shell("straggler sweep try.yaml --dry-run --no-store");
  REQUIRE_MESSAGE(done.code == 0, done.err);
  CHECK(count(done.out, "to run\n") == 8);
  CHECK(has(done.out, "training.scheme=asgd, cluster.network.link.bandwidth=2MB/s, repeat 1  seed 2"));
  CHECK(has(done.out, "\n8 points: 4 settings, 2 repeats each\n"));
  // 8 runs of 2 epochs of 1,200 samples. A sample of the plane with 16 hidden units and 4 classes: 2 (2 * 16 + 16 * 4) FLOPs forward, three
  // times that with backward: 8 * 2,400 * 576 = 1.106e7.
  CHECK_MESSAGE(has(done.out, "cost: at most 19200 samples to train on, 1.11e+07 FLOP"), done.out);
  CHECK(has(done.out, "time: unknown until a point is finished\n"));
  CHECK_FALSE(there(place, "results"));
}

TEST_CASE("a dry run of a sweep that has begun says which points are finished, estimates the rest, and changes no file") {
  const Workplace place;
  place.write("small.yaml", scenario);
  place.write("try.yaml", axes);
  REQUIRE(place.shell("straggler sweep try.yaml --shard 1/2 --quiet --no-store --timing-only").code == 0);
  const auto before = place.files("results/try");
  const auto done = place.shell("straggler sweep try.yaml --dry-run --no-store --timing-only --jobs 1");
  REQUIRE_MESSAGE(done.code == 0, done.err);
  CHECK(count(done.out, "  finished\n") == 4);
  CHECK(count(done.out, "  to run\n") == 4);
  CHECK(has(done.out, "\n4 finished in results/try, 4 to run\ncost: timing alone, no math\ntime: about "));
  CHECK((place.files("results/try") == before));
}

TEST_CASE("a dry run of a search says how many points it may take; wrong points and --merge are refused as ever") {
  const Workplace place;
  place.write("small.yaml", scenario);
  place.write("find.yaml",
              "sweep: 1\nname: f\nscenario: small.yaml\nfind: {metric: samples_per_second, maximize: true, budget: 7, repeats: 3, over: "
              "{training.batch.per_worker: {from: 1, to: 64, whole: true}}}\n");
  place.write("wrong.yaml", "sweep: 1\nname: w\nscenario: small.yaml\naxes: {training.scheme: [ssgd, nonsense]}\n");
  const auto found = place.shell("straggler sweep find.yaml --dry-run --no-store");
  REQUIRE_MESSAGE(found.code == 0, found.err);
  CHECK(has(found.out, "at most 21 points: 7 settings of 3 repeats\n"));
  CHECK_FALSE(there(place, "results"));
  const auto wrong = place.shell("straggler sweep wrong.yaml --dry-run --no-store");
  CHECK(wrong.code == 2);
  CHECK(has(wrong.err, "nonsense"));
  CHECK(place.shell("straggler sweep --merge a b --out c --dry-run").code == 2);
}

}  // namespace dry_run_test
