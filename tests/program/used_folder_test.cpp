// Folders that hold something already, shards that are none, files of another kind: what is refused, and that nothing is lost by it.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "tests/program/workplace.hpp"
#include "tests/support/text.hpp"

namespace used_folder_test {

using straggler::test::has;
using straggler::test::Workplace;

namespace {

const std::string scenario = straggler::test::on_small_cluster(8, 1000, 100, "  stop: {epochs: 1}\n");
const char* const by_bandwidth = R"(sweep: 1
name: by-bandwidth
scenario: small.yaml
timing_only: true
axes: {cluster.network.link.bandwidth: [1MB/s, 2MB/s]}
)";
const char* const by_workers = R"(sweep: 1
name: by-workers
scenario: small.yaml
timing_only: true
axes: {"cluster.workers[0].count": [2, 4], training.scheme: [asgd, ssgd], cluster.network.link.latency: [1ms, 2ms]}
)";
const char* const search = R"(sweep: 1
name: best
scenario: small.yaml
find: {metric: simulated_seconds, over: {training.batch.per_worker: {from: 10, to: 40, whole: true}}, budget: 6}
)";

void prepare(const Workplace& place) {
  place.write("small.yaml", scenario);
  place.write("bandwidth.yaml", by_bandwidth);
  place.write("workers.yaml", by_workers);
  place.write("search.yaml", search);
}

/// One line on standard error, nothing on standard output, exit code 2.
void check_refused(const Workplace& place, const std::string& arguments, const std::string& line) {
  const Workplace::Done done = place.shell("straggler " + arguments);
  CAPTURE(arguments);
  CAPTURE(done.err);
  CHECK(done.code == 2);
  CHECK(done.out.empty());
  CHECK(has(done.err, line));
  CHECK(std::count(done.err.begin(), done.err.end(), '\n') == 1);
}

/// Without the files that SQLite keeps beside the state: they come and go.
std::map<std::string, std::string> tables(const Workplace& place, const std::string& folder) {
  std::map<std::string, std::string> files = place.files(folder);
  std::erase_if(files, [](const auto& file) { return has(file.first, ".sqlite"); });
  return files;
}

}  // namespace

TEST_CASE("a sweep without any valid point is refused, and leaves the folder as it was") {
  const Workplace place;
  prepare(place);
  REQUIRE(place.shell("straggler sweep bandwidth.yaml --out here --quiet").code == 0);
  const auto before = tables(place, "here");
  REQUIRE(before.contains("points.csv"));
  check_refused(place, "sweep workers.yaml --out here",
                "here: holds another sweep, whose 2 finished points would be lost ('sweep: by-workers' here, 'sweep: "
                "by-bandwidth' there); use --out here-2, or --force to replace them");
  check_refused(place, "sweep workers.yaml --out here --resume --quiet", "use --out here-2");
  check_refused(place, "sweep search.yaml --out here", "whose 2 finished points would be lost");
  check_refused(place, "sweep bandwidth.yaml --out here --set training.stop.epochs=2", "would be lost");
  CHECK(tables(place, "here") == before);
  const Workplace::Done again = place.shell("straggler sweep bandwidth.yaml --out here");
  CHECK(again.code == 0);
  CHECK(has(again.err, "2 points were already finished"));
  CHECK_FALSE(has(again.err, "changed"));
  CHECK(tables(place, "here") == before);
}

TEST_CASE("valid points are kept; --force starts again and leaves no old table") {
  const Workplace place;
  prepare(place);
  REQUIRE(place.shell("straggler sweep workers.yaml --out here --quiet").code == 0);
  REQUIRE(std::filesystem::exists(place / "here/map.svg"));
  place.write("here/mine.txt", "mine");
  std::string fewer = by_workers;
  fewer.replace(fewer.find("[1ms, 2ms]"), 10, "[1ms]");
  fewer.replace(fewer.find("[2, 4]"), 6, "[2, 3]");
  place.write("fewer.yaml", fewer);
  const Workplace::Done kept = place.shell("straggler sweep fewer.yaml --out here");
  CHECK(kept.code == 0);
  CHECK(has(kept.err, "changed, no longer: axis cluster.workers[0].count: 4"));
  CHECK(has(kept.err, "2 points were already finished"));
  const Workplace::Done anew = place.shell("straggler sweep search.yaml --out here --force");
  CHECK(anew.code == 0);
  CHECK_FALSE(has(anew.err, "changed"));
  const auto files = tables(place, "here");
  CHECK(files.size() == 3);
  CHECK(files.contains("find.csv"));
  CHECK(has(files.at("report.html"), "search"));
  CHECK(files.contains("mine.txt"));
}

TEST_CASE("--force with a wrong scenario loses nothing") {
  const Workplace place;
  prepare(place);
  REQUIRE(place.shell("straggler sweep bandwidth.yaml --out here --quiet").code == 0);
  REQUIRE(place.shell("straggler race small.yaml --timing-only --seeds 2 --quiet --schemes ssgd,asgd --out raced").code == 0);
  place.write("wrong.yaml", "sweep: 1\nname: wrong\nscenario: small.yaml\naxes: {training.batch.per_worker: [10, 0]}\n");
  check_refused(place, "sweep wrong.yaml --out here --force", "training.batch.per_worker: 0 is out of range");
  check_refused(place, "sweep --merge nowhere --out here --force", "nowhere/sweep.sqlite: is not there");
  check_refused(place,
                "race small.yaml --schemes ssgd,asgd --set training.stop.target_accuracy=0.5 "
                "--tune \"training.batch.per_worker=[10, 0]\" --out raced --force",
                "training.batch.per_worker: 0 is out of range");
  CHECK(has(place.shell("straggler sweep bandwidth.yaml --out here").err, "2 points were already finished"));
  CHECK(has(place.shell("straggler race small.yaml --timing-only --seeds 2 --schemes ssgd,asgd --out raced").err,
            "4 points were already finished"));
}

TEST_CASE("a search that begins with other points is refused, one that shares first points continues") {
  const Workplace place;
  prepare(place);
  REQUIRE(place.shell("straggler sweep search.yaml --out here --quiet").code == 0);
  check_refused(place, "sweep bandwidth.yaml --out here", "holds another sweep");
  check_refused(place, "sweep search.yaml --out here --set cluster.network.link.latency=3ms", "holds another sweep");
  std::string longer = search;
  longer.replace(longer.find("budget: 6"), 9, "budget: 8");
  place.write("longer.yaml", longer);
  const Workplace::Done done = place.shell("straggler sweep longer.yaml --out here");
  CHECK(done.code == 0);
  CHECK(has(done.err, "changed, now: find: simulated_seconds, 8 settings"));
  CHECK(has(done.err, " points were already finished"));
}

TEST_CASE("a race without any run in the folder is refused; a changed one keeps valid runs") {
  const Workplace place;
  prepare(place);
  const std::string race = "race small.yaml --timing-only --seeds 2 --no-store --out here --schemes ";
  REQUIRE(place.shell("straggler " + race + "ssgd,asgd").code == 0);
  const auto before = tables(place, "here");
  check_refused(place, race + "fedavg,nonblocking", "here: holds another race, whose 4 finished points would be lost");
  check_refused(place, race + "ssgd,asgd --set training.batch.per_worker=30", "use --out here-2, or --force");
  CHECK(tables(place, "here") == before);
  const Workplace::Done more = place.shell("straggler " + race + "ssgd,fedavg");
  CHECK(more.code == 0);
  CHECK(has(more.err, "2 points were already finished"));
  CHECK(place.shell("straggler " + race + "nonblocking,fedavg --force --quiet").err.empty());
}

TEST_CASE("shards: a folder named twice, of a search, of a race, of a run, or another sweep's to merge into") {
  const Workplace place;
  prepare(place);
  for (const std::string shard : {"1", "2"})
    REQUIRE(place.shell("straggler sweep bandwidth.yaml --quiet --shard " + shard + "/2 --out s" + shard).code == 0);
  REQUIRE(place.shell("straggler sweep search.yaml --quiet --out found").code == 0);
  REQUIRE(place.shell("straggler sweep workers.yaml --quiet --out other").code == 0);
  REQUIRE(place.shell("straggler race small.yaml --timing-only --seeds 2 --quiet --schemes ssgd,asgd --out raced").code == 0);
  REQUIRE(place.shell("straggler run small.yaml --timing-only --quiet --out ran").code == 0);
  check_refused(place, "sweep --merge s1 s1 --out all", "--merge: s1 is named twice; name each shard");
  check_refused(place, "sweep --merge s1 s2 ./s1/ --out all", "--merge: s1 and ./s1/ are one folder");
  check_refused(place, "sweep --merge s1 found --out all", "found/sweep.sqlite: holds a search; its answer is in find.csv");
  check_refused(place, "sweep --merge raced s1 --out all", "raced: holds a race, which has no shards");
  check_refused(place, "sweep --merge ran --out all", "ran: holds a run, which has no shards");
  check_refused(place, "sweep --merge s1 other --out all", "belongs to another sweep than");
  CHECK_FALSE(std::filesystem::exists(place / "all"));
  const auto before = tables(place, "other");
  check_refused(place, "sweep --merge s1 s2 --out other", "other/sweep.sqlite: belongs to another sweep than s1/sweep.sqlite");
  CHECK(tables(place, "other") == before);
  // What is there of the same sweep is kept, and one of the shards may be where they are put together.
  CHECK(place.shell("straggler sweep --merge s1 --out all").code == 3);
  CHECK(place.shell("straggler sweep --merge s2 --out all").code == 0);
  REQUIRE(place.shell("straggler sweep bandwidth.yaml --quiet --out whole").code == 0);
  CHECK(place.read("all/points.csv") == place.read("whole/points.csv"));
  CHECK(place.shell("straggler sweep --merge s1 s2 --out s1 --force").code == 0);
  CHECK(place.read("s1/points.csv") == place.read("whole/points.csv"));
  CHECK(place.shell("straggler sweep --merge all --out other --force").code == 0);
  CHECK(tables(place, "other") == tables(place, "whole"));
}

TEST_CASE("a file of another kind is said to be one, in one line") {
  const Workplace place;
  prepare(place);
  place.write("claim.yaml", "claim: 1\ntitle: t\nscenario: small.yaml\n");
  const std::string sweep = "bandwidth.yaml: is a sweep file, for `straggler sweep bandwidth.yaml`; a scenario begins with";
  check_refused(place, "run bandwidth.yaml", sweep);
  check_refused(place, "run bandwidth.yaml --set training.batch.per_worker=3", sweep);
  check_refused(place, "check bandwidth.yaml", sweep);
  check_refused(place, "race bandwidth.yaml --schemes ssgd,asgd", sweep);
  check_refused(place, "run claim.yaml", "claim.yaml: is a claim, for `straggler validate claim.yaml`");
  check_refused(place, "sweep small.yaml",
                "small.yaml: is a scenario, for `straggler run small.yaml`; a sweep file begins with 'sweep: 1'");
  check_refused(place, "sweep claim.yaml", "claim.yaml: is a claim");
  check_refused(place, "validate small.yaml", "small.yaml: is a scenario");
  place.write("nested.yaml", "sweep: 1\nname: n\nscenario: bandwidth.yaml\naxes: {seed: [1, 2]}\n");
  check_refused(place, "sweep nested.yaml", sweep);
}

TEST_CASE("a folder that an option names must be there") {
  const Workplace place;
  prepare(place);
  REQUIRE(place.shell("straggler sweep bandwidth.yaml --quiet --out there").code == 0);
  const std::string missing = ": there is no folder none; make it, or name another file";
  check_refused(place, "sweep bandwidth.yaml --store none/s.sqlite --out here", "--store none/s.sqlite" + missing);
  check_refused(place, "race small.yaml --schemes ssgd,asgd --timing-only --store none/s.sqlite --out here", missing);
  check_refused(place, "run small.yaml --store none/s.sqlite --out here", missing);
  check_refused(place, "store info --store none/s.sqlite", missing);
  check_refused(place, "sweep bandwidth.yaml --store . --out here", "--store .: is a folder; name a file");
  check_refused(place, "report there -o none/page.html", "--out none/page.html" + missing);
  CHECK_FALSE(std::filesystem::exists(place / "here"));
  CHECK_FALSE(std::filesystem::exists(place / "none"));
  // The usual place is made.
  const std::string caches = "XDG_CACHE_HOME=" + (place / "cache").string() + " " STRAGGLER_PROGRAM " ";
  CHECK(place.shell(caches + "sweep search.yaml --out here --quiet").code == 0);
  CHECK(std::filesystem::exists(place / "cache/straggler/store.sqlite"));
}

TEST_CASE("results of another command are named, and --force is not offered for them") {
  const Workplace place;
  prepare(place);
  place.write("results/small", "a file, so that the usual folder is taken");
  REQUIRE(place.shell("straggler sweep bandwidth.yaml --quiet --out swept").code == 0);
  REQUIRE(place.shell("straggler race small.yaml --timing-only --seeds 2 --quiet --schemes ssgd,asgd --out raced").code == 0);
  REQUIRE(place.shell("straggler run small.yaml --timing-only --quiet --out ran").code == 0);
  place.write("other/mine.txt", "mine");
  const std::string run = "run small.yaml --timing-only --out ", explain = "explain small.yaml --out ";
  check_refused(place, run + "swept", "straggler: swept: holds a sweep (straggler report shows it); use --out swept-2\n");
  check_refused(place, run + "raced", "straggler: raced: holds a race (straggler report shows it); use --out raced-2\n");
  check_refused(place, run + "other",
                "straggler: other: is not empty and holds no results of straggler; use --out other-2, or --force to write into it\n");
  check_refused(place, explain + "swept", "straggler: swept: holds a sweep (straggler report shows it); use --out swept-2\n");
  check_refused(place, explain + "ran", "straggler: ran: holds the results of a run; use --out ran-2\n");
  CHECK(place.shell("straggler " + run + "swept --force --quiet").code == 0);
}

TEST_CASE("errors in a range of counts, a share, an action") {
  const Workplace place;
  prepare(place);
  std::string counts = search;
  counts.replace(counts.find(", whole: true"), 13, "");
  place.write("counts.yaml", counts);
  check_refused(place, "sweep counts.yaml --out here", "write a whole number such as 8, or whole: true beside the ends of a range");
  place.write("steps.yaml", "sweep: 1\nname: n\nscenario: small.yaml\naxes: {training.batch.per_worker: {from: 1, to: 4, steps: 3}}\n");
  check_refused(place, "sweep steps.yaml --out here", "or whole: true beside the ends of a range");
  check_refused(
      place,
      "race small.yaml --schemes ssgd,asgd --set training.stop.target_accuracy=0.5 --tune \"training.batch.per_worker={from: 1, to: 9}\"",
      "or whole: true beside the ends of a range");
  check_refused(place, "sweep bandwidth.yaml --until-ci 0% --out here", "--until-ci is '0%'; write a share such as 2%");
  check_refused(place, "sweep bandwidth.yaml --out \"\"", "--out is empty; name a folder");
  check_refused(place, "store frob", "unknown action 'frob'; known: info, clear");
}

TEST_CASE("a run says whose results it replaces, if their settings were others") {
  const Workplace place;
  place.write("small.yaml", scenario);
  const auto told = [&](const std::string& arguments) {
    const Workplace::Done done = place.shell("straggler run small.yaml --out r " + arguments);
    CHECK(done.code == 0);
    const std::size_t at = done.err.find("note: r: replaces ");
    return at == std::string::npos ? std::string() : done.err.substr(at, done.err.find('\n', at) - at);
  };
  CHECK(told("").empty());
  CHECK(told("").empty());  // the same again
  const std::string other = told("--set seed=7");
  CHECK(has(other, "note: r: replaces the results of 'small' of 20"));  // a year
  CHECK(has(other, ", which had other settings: seed 1 (now 7)"));
  CHECK_FALSE(has(other, ", training"));
  CHECK(told("--set seed=8 --quiet").empty());
  CHECK(has(told("--set seed=8 --timing-only"), "which had other settings: trained (now timing alone)"));
  CHECK(told("--set seed=8 --timing-only").empty());
  CHECK(has(told("--set seed=8"), "which had other settings: timing alone (now trained)"));
  const std::string settings =
      "--set seed=9 --set training.optimizer.learning_rate=0.01 --set training.batch.per_worker=10 --set \"training.stop={updates: 3}\"";
  const std::string many = told(settings);
  CHECK(has(many, "cluster.") == false);
  CHECK(has(many, "seed 8 (now 9), training.batch.per_worker 20 (now 10), training.optimizer"));
  CHECK(has(many, " more"));
  // Results of another scheme are no earlier try of this one.
  const std::string before = place.read("r/summary.json");
  check_refused(place, "run small.yaml --out r --set training.scheme=ssgd",
                "straggler: r: holds the results of 'small' with scheme 'asgd', not 'ssgd'; use --out r-2, or --force to replace them\n");
  CHECK(place.read("r/summary.json") == before);
  CHECK(has(told(settings + " --set training.scheme=ssgd --force"), "training.scheme"));
  CHECK(told("--set training.scheme=asgd --force --quiet").empty());
  // Text of others stays one line.
  place.write("r/scenario.yaml", "straggler: 1\nname: small\nseed: \"1\\e[31m\\n\"\n");
  CHECK_FALSE(has(told("--set seed=9"), "\x1b"));
}

}  // namespace used_folder_test
