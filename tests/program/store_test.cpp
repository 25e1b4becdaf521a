// What becomes of a sweep, and of what it finished, when its files cannot be used.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/program/workplace.hpp"
#include "tests/support/text.hpp"

namespace store_test {

using straggler::test::count;
using straggler::test::has;
using straggler::test::Workplace;

namespace {

const std::string scenario = straggler::test::small_cluster + R"(workload:
  model: {kind: mlp, hidden: [64]}
  data: {kind: coordinates, samples: 1000, test_samples: 100}
training:
  scheme: {kind: asgd}
  batch: {per_worker: 20}
  optimizer: {kind: sgd, learning_rate: 0.1, momentum: 0.9}
  stop: {epochs: 2}
  evaluate: {every: {epochs: 0.5}}
)";
const char* const sweep = R"(sweep: 1
name: try
scenario: small.yaml
axes:
  cluster.network.link.bandwidth: [1MB/s, 2MB/s, 4MB/s]
repeats: 4
)";

void prepare(const Workplace& place) {
  place.write("small.yaml", scenario);
  place.write("sweep.yaml", sweep);
  REQUIRE(place.shell("straggler sweep sweep.yaml --out whole --no-store --quiet").code == 0);
}

/// The user_version of a database that nobody has open: bytes 60 to 63 of the file, the last one lowest (sqlite.org/fileformat2.html).
void set_version(const Workplace& place, const std::string& file, char version) {
  std::string bytes = place.read(file);
  REQUIRE(bytes.size() > 100);
  bytes[63] = version;
  place.write(file, bytes);
}

}  // namespace

TEST_CASE("a store that cannot be used is reported in one line, and the sweep is as without it") {
  const Workplace place;
  prepare(place);
  place.write("damaged.sqlite", std::string(5000, 'y'));
  const auto run = [&](const std::string& store, const std::string& why) {
    CAPTURE(store);
    const Workplace::Done done = place.shell("straggler sweep sweep.yaml --out x --force --quiet --store " + store);
    CHECK(done.code == 0);
    CHECK(count(done.err, "\n") == 1);
    CHECK(has(done.err, "warning: " + why));
    CHECK(has(done.err, "; continuing without it\n"));
    CHECK(place.read("x/points.csv") == place.read("whole/points.csv"));
  };
  run("damaged.sqlite",
      "damaged.sqlite: the store cannot be used (file is not a database); it is damaged, or not a file of Straggler; move it away");
  run("whole/sweep.sqlite", "whole/sweep.sqlite: is a database, but not a store; name another file with --store");
  run("/proc/store.sqlite", "/proc/store.sqlite: the store cannot be used");
  CHECK(place.shell("straggler store info --store damaged.sqlite").code == 2);
  REQUIRE(place.shell("straggler sweep sweep.yaml --out y --quiet --store mine.sqlite").code == 0);
  const std::string counted = place.shell("straggler store info --store mine.sqlite").out;
  CHECK(has(counted, " evaluations, "));
  set_version(place, "mine.sqlite", 1);
  for (int times = 0; times < 2; ++times)
    CHECK(has(place.shell("straggler store info --store mine.sqlite").out,
              "mine.sqlite\nan older format, version 1; it will be emptied when a run writes to it\n"));
  set_version(place, "mine.sqlite", 2);
  CHECK(place.shell("straggler store info --store mine.sqlite").out == counted);  // nothing was lost
}

TEST_CASE("a state that cannot be used ends the sweep in one line") {
  const Workplace place;
  prepare(place);
  const auto refused = [&](const std::string& command, const std::string& line) {
    CAPTURE(command);
    const Workplace::Done done = place.shell(command);
    CHECK(done.code == 2);
    CHECK(count(done.err, "\n") == 1);
    CHECK(has(done.err, line));
  };
  place.shell("mkdir damaged && head -c 9000 /dev/urandom >damaged/sweep.sqlite");
  refused("straggler sweep sweep.yaml --out damaged --no-store --quiet",
          "damaged/sweep.sqlite: the state of the sweep cannot be used (file is not a database); it is damaged, or not a file of "
          "Straggler; move it");
  place.shell("mkdir raced && cp whole/sweep.sqlite raced/race.sqlite");
  set_version(place, "whole/sweep.sqlite", 2);
  set_version(place, "raced/race.sqlite", 2);
  const std::string later =
      ": the state of the sweep has version 2 of the format; this program reads version 1; use the straggler that wrote it";
  refused("straggler sweep sweep.yaml --out whole --no-store --quiet",
          "whole/sweep.sqlite" + later + ", or name another folder with --out");
  refused("straggler report whole", "whole/sweep.sqlite" + later);
  refused("straggler race small.yaml --schemes ssgd,asgd --timing-only --out raced --no-store --quiet", "raced/race.sqlite" + later);
  refused("straggler report raced", "raced/race.sqlite" + later);
  refused("straggler sweep sweep.yaml --out /proc/none --no-store --quiet", "/proc/none: cannot be made");
}

TEST_CASE("a full disk loses nothing that was finished") {
  const Workplace place;
  prepare(place);
  // Files of at most 88 kB: the sweep ends in the middle, and goes on once there is room.
  const Workplace::Done full = place.shell("ulimit -f 88; straggler sweep sweep.yaml --out here --no-store --quiet --jobs 1");
  CHECK(full.code == 3);
  CHECK(count(full.err, "\n") == 1);
  CHECK(
      has(full.err,
          "here/sweep.sqlite: the disk is full or fails, or a file may not grow that large (disk I/O error); what was finished is kept: "));
  const Workplace::Done resumed = place.shell("straggler sweep sweep.yaml --out here --no-store --resume");
  CHECK(resumed.code == 0);
  CHECK(has(resumed.err, " points were already finished"));
  CHECK(place.read("here/points.csv") == place.read("whole/points.csv"));
}

TEST_CASE("on a full disk the sweep ends with exit code 3, and continues once there is room") {
  const Workplace place;
  prepare(place);
  place.write("full.sh", R"(mkdir disk && mount -t tmpfs -o size=120k none disk || exit 77
sweep=")" STRAGGLER_PROGRAM R"( sweep sweep.yaml --out disk/here --no-store --jobs 1"
$sweep --quiet >said.txt
code=$?
mount -o remount,size=4m disk || exit 77
$sweep >said.txt || exit 4
cp disk/here/points.csv full.csv
exit $code
)");
  const Workplace::Done full = place.shell("unshare -rm bash full.sh");
  if (full.code == 77 || full.code == 1) {
    WARN_MESSAGE(full.code == 3, "no file system of its own can be made here: ", full.err);
    return;
  }
  CHECK(full.code == 3);
  CHECK(has(full.err, "disk/here/sweep.sqlite: the disk is full (No space left on device); what was finished is kept: free some space"));
  CHECK(has(full.err, " points were already finished"));
  CHECK(place.read("full.csv") == place.read("whole/points.csv"));
}

TEST_CASE("the store tells weights and evaluations apart, and serves a longer run of the same scenario") {
  const Workplace place;
  prepare(place);
  REQUIRE(place.shell("straggler sweep sweep.yaml --store s.sqlite --out a --quiet").code == 0);
  const std::string info = place.shell("straggler store info --store s.sqlite").out;
  CHECK(has(info, " evaluations, "));
  CHECK(has(info, " weights and momenta, "));
  CHECK(has(info, "of at most"));
  const std::string more = "straggler sweep sweep.yaml --set training.stop.epochs=3 --quiet ";
  REQUIRE(place.shell(more + "--store s.sqlite --out b").code == 0);
  REQUIRE(place.shell(more + "--no-store --out c").code == 0);
  CHECK(place.read("b/points.csv") == place.read("c/points.csv"));
  CHECK(has(place.shell("straggler store clear --store s.sqlite").out, "\n0 evaluations, 0 of"));
}

TEST_CASE("a run reuses a sweep's computations, and writes the same files") {
  const Workplace place;
  prepare(place);
  REQUIRE(place.shell("straggler sweep sweep.yaml --store s.sqlite --out a --quiet").code == 0);
  const std::string run = "straggler run small.yaml --quiet --set cluster.network.link.bandwidth=2MB/s --set training.stop.epochs=2.5 ";
  REQUIRE(place.shell(run + "--store s.sqlite --out b").code == 0);
  REQUIRE(place.shell(run + "--store s.sqlite --out b2").code == 0);
  REQUIRE(place.shell(run + "--out c").code == 0);
  for (const char* file : {"model.safetensors", "curve.csv", "summary.json", "order.csv", "choices.csv", "workers.csv"}) {
    CAPTURE(file);
    CHECK(place.read(std::string("b/") + file) == place.read(std::string("c/") + file));
    CHECK(place.read(std::string("b2/") + file) == place.read(std::string("c/") + file));
    CHECK_FALSE(place.read(std::string("c/") + file).empty());
  }
  CHECK(place.shell(run + "--store s.sqlite --timing-only --out d").code == 2);
  CHECK(place.shell(run + "--store s.sqlite --resume --out d").code == 2);
}

TEST_CASE("processes that use one store at the same time do not disturb each other") {
  const Workplace place;
  prepare(place);
  std::string all = "pids=; ";
  for (const char* process : {"1", "2", "3", "4"})
    all +=
        std::string("straggler sweep sweep.yaml --store s.sqlite --jobs 1 --quiet --out p") + process + " >/dev/null & pids=\"$pids $!\"; ";
  const Workplace::Done done = place.shell(all + "failed=0; for pid in $pids; do wait $pid || failed=1; done; exit $failed");
  CHECK(done.code == 0);
  CHECK(done.err.empty());
  for (const char* process : {"1", "2", "3", "4"})
    CHECK(place.read(std::string("p") + process + "/points.csv") == place.read("whole/points.csv"));
  CHECK(has(place.shell("straggler sweep sweep.yaml --store s.sqlite --out warm").err, "144 of 144 evaluations came from the store"));
}

}  // namespace store_test
