// How shared states are written, and what `check` says of settings without effect.
#include <algorithm>

#include "tests/sharding/shared_states.hpp"
#include "tests/support/text.hpp"

namespace sharding_written_test {

using namespace straggler;
using namespace straggler::test;

namespace {

std::optional<ShardingSpec> read_sharding(const Sets& sets) { return read_scenario_text(cluster(4), "test.yaml", sets).training.sharding; }

std::vector<std::string> warned(const std::string& sharding, const Sets& more = {}, int workers = 4) {
  RunOptions options;
  options.timing_only = true;
  const Sets sets = sharded(sharding, {800, 800}, more);
  std::vector<std::string> all = Experiment(read_scenario_text(cluster(workers), "test.yaml", sets), options).explain().warnings;
  std::erase_if(all, [](const std::string& each) { return !has(each, "training.sharding"); });
  return all;
}

void check_warned(const std::vector<std::string>& warnings, const std::string& text) {
  CAPTURE(text);
  REQUIRE(warnings.size() == 1);
  CHECK(has(warnings.front(), text));
}

}  // namespace

TEST_CASE("none: every worker keeps all states, in a file, as a --set, and below a key that another --set gives") {
  const std::string scheme = "training.scheme={kind: ssgd, via: all_reduce}";
  CHECK(!read_sharding({"training.sharding=none"}));
  CHECK(!read_sharding({"training.sharding={stage: 3}", "training.sharding=none"}));
  CHECK(!read_sharding({"training.sharding.stage=3", "training.sharding=\"none\""}));
  const std::optional<ShardingSpec> third = read_sharding({scheme, "training.sharding=none", "training.sharding.stage=3"});
  REQUIRE(third);
  CHECK(*third == *read_sharding({scheme, "training.sharding={stage: 3}"}));
  CHECK(!read_sharding({"training.scheme={kind: local_sgd, steps: 4}", "training.sharding=none"}));  // of a scheme that cannot share
  const Result without = run_timing(cluster(4), {scheme}), none = run_timing(cluster(4), {scheme, "training.sharding=none"});
  CHECK(none.record.end == without.record.end);
  CHECK(none.record.bytes_sent == without.record.bytes_sent);
}

TEST_CASE("another word in its place is refused with what would be right") {
  for (const char* word : {"3", "fsdp", "None", "[1]", "~"}) {
    const std::string text = error_of<ScenarioErrors>([&] { read_sharding({std::string("training.sharding=") + word}); });
    CAPTURE(text);
    CHECK(has(text, "training.sharding: is "));
    CHECK(has(text, "write a map such as {stage: 3}, or none"));
  }
}

TEST_CASE("keys of later stages, and of several micro-batches, are a warning") {
  CHECK(warned("stage: 1").empty());
  CHECK(warned("stage: 3, keep_gathered: true, prefetch: 2, units: layers").empty());
  check_warned(warned("stage: 1, keep_gathered: true"), "training.sharding.keep_gathered is not used");
  check_warned(warned("stage: 2, units: layers, prefetch: 3, keep_gathered: true"),
               "training.sharding.units, prefetch, keep_gathered are not used: in stage 2");
  check_warned(warned("stage: 1, reduce: last", {"training.batch.accumulate=4"}), "training.sharding.reduce is not used: stage 1");
  check_warned(warned("stage: 2, reduce: last"), "training.batch.accumulate");
  CHECK(warned("stage: 2, reduce: last", {"training.batch.accumulate=4"}).empty());
  // They change nothing.
  CHECK(run_timing(cluster(4), sharded("stage: 1, keep_gathered: true, reduce: last", {800, 800})).record.end ==
        run_timing(cluster(4), sharded("stage: 1", {800, 800})).record.end);
}

TEST_CASE("one worker, one host, and bytes without layers are a warning") {
  const Sets one_host = {"cluster.workers=[{count: 4, device: node, per_host: 4}]"};
  check_warned(warned("stage: 3", {}, 1), "one worker alone keeps all states");
  check_warned(warned("stage: 3, secondary: host", one_host), "training.sharding.secondary keeps a copy of no use");
  check_warned(warned("stage: 3, across: host", one_host), "training.sharding.across has no effect");
  CHECK(warned("stage: 3, secondary: host", on_hosts(), 8).empty());
  CHECK(warned("stage: 3, across: host", on_hosts(), 8).empty());
  check_warned(warned("stage: 3", {"workload.cost={bytes: 1MB}"}), "workload.cost.bytes has no layers");
  CHECK(warned("stage: 1", {"workload.cost={bytes: 1MB}"}).empty());
}

}  // namespace sharding_written_test
