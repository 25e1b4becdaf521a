// training.recovery: what is refused, and how; what is written is read again; the optimal interval.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/experiment/failure_forms.hpp"
#include "scenarios/schema/writer.hpp"
#include "sim/reliability/checkpoint_forms.hpp"
#include "tests/support/run.hpp"

namespace recovery_test {

using namespace straggler;
using namespace straggler::test;

namespace {

std::string error_of(const std::vector<std::string>& sets) {
  try {
    const Scenario scenario = read_scenario_text(cluster(4), "test.yaml", sets);
    const Blueprint blueprint(scenario, "generic");
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

const std::string failures =
    "cluster.faults=[{kind: random, of: worker, every: {kind: exponential, mean: 40h}, repair: {kind: constant, mean: 1h}}]";

}  // namespace

TEST_CASE("a recovery that makes no sense is refused in one line, with its place and a remedy") {
  const struct {
    std::string recovery, error;
    std::vector<std::string> more = {};
  } cases[] = {
      {"{checkpoint: {every: 1h}}", "training.recovery.kind: is missing; write kind: rollback, peer or none"},
      {"{kind: rolback}", "training.recovery.kind: unknown choice 'rolback'; did you mean 'rollback'?"},
      {"{kind: rollback, checkpoint: {save: 1s}}", "training.recovery.checkpoint.every: is missing; write a time such as 30min"},
      {"{kind: rollback, checkpoint: {every: often}}",
       "training.recovery.checkpoint.every: is 'often'; write a time such as 30min, {updates: 100} or optimal"},
      {"{kind: rollback, checkpoint: {every: [1]}}", "training.recovery.checkpoint.every: is a list; write a time such as 30min"},
      {"{kind: rollback, checkpoint: {every: {updates: 0}}}", "training.recovery.checkpoint.every.updates: 0 is out of range"},
      {"{kind: rollback, checkpoint: {every: 1h, save: fast}}",
       "training.recovery.checkpoint.save: is 'fast'; write a time such as 20s, or a rate such as 2GB/s"},
      {"{kind: rollback, checkpoint: {every: 1h, snapshot: 1s}}", "training.recovery.checkpoint.snapshot: is how long work stops where"},
      {"{kind: rollback, spares: -1}", "training.recovery.spares: -1 is out of range"},
      {"{kind: none, detect: 1s}", "training.recovery.detect: is of no use with kind: none"},
      {"{kind: peer, checkpoint: {every: 1h}}", "training.recovery.checkpoint: is of no use with kind: peer"},
      {"{kind: peer}",
       "training.recovery.kind: peer replaces a lost worker, and on_failure: abort ends the run",
       {"training.on_failure=abort"}},
      {"{kind: rollback, checkpoint: {every: optimal, save: 1s}}",
       "training.recovery.checkpoint.every: optimal needs the rate of the failures"},
      {"{kind: rollback, checkpoint: {every: optimal, save: 1s}}",
       "training.recovery.checkpoint.every: optimal is for failures at random times",
       {"cluster.faults=[{kind: random, of: worker, every: {kind: constant, mean: 40h}, repair: never}]"}},
      {"{kind: rollback, checkpoint: {every: optimal}}", "training.recovery.checkpoint.every: optimal is to save without end", {failures}},
      {"{kind: rollback}",
       "training.recovery.kind: says what a failure means, and on_failure: drop says something else",
       {"training.on_failure=drop"}},
      {"{kind: rollback, without: shrink}",
       "training.recovery.kind: says what a failure means, and on_failure: wait says something else",
       {"training.on_failure=wait"}},
      {"{kind: rollback}", "training.recovery.kind: dpsgd cannot start again from a checkpoint", {"training.scheme={kind: dpsgd}"}},
      {"{kind: rollback, spares: 1}",
       "training.recovery.spares: take over at once where all wait for a lost worker, and asgd does without it",
       {"training.scheme={kind: asgd}"}},
      {"{kind: rollback, without: shrink}", "training.recovery.without: is said by on_failure in asgd", {"training.scheme={kind: asgd}"}},
      {"{kind: rollback}",
       "training.batch.rebalance: batches that follow measured times cannot go back",
       {"training.batch={per_worker: 10, rebalance: {every: {updates: 5}}}", "workload.data.partition=shared"}},
  };
  for (const auto& each : cases) {
    std::vector<std::string> sets = each.more;
    sets.push_back("training.recovery=" + each.recovery);
    CAPTURE(each.recovery);
    const std::string error = error_of(sets);
    CAPTURE(error);
    CHECK(error.find(each.error) != std::string::npos);
    CHECK(error.find('\n') == std::string::npos);
  }
}

TEST_CASE("what is written of a recovery is read again as it was") {
  for (const char* recovery :
       {"{kind: none}", "{kind: rollback}", "{kind: peer, detect: 1s, restart: 2s, spares: 3}",
        "{kind: rollback, checkpoint: {every: 30min, save: 20s}, detect: 30s, restart: 3min, read: 5GB/s, spares: 2, without: shrink}",
        "{kind: rollback, checkpoint: {every: {updates: 100}, save: 2GB/s, blocking: false, snapshot: 2s}}",
        "{kind: rollback, checkpoint: {every: optimal, save: 2GB/s}}"}) {
    const Scenario scenario = read_scenario_text(cluster(4), "test.yaml", {failures, std::string("training.recovery=") + recovery});
    CAPTURE(recovery);
    CHECK(read_scenario_text(write_scenario(scenario), "again.yaml", {}) == scenario);
  }
}

TEST_CASE("rates are of the state's bytes, and the optimal interval of the units that stop the job") {
  // mlp 2-16-2: 82 parameters, of which Adam keeps two vectors.
  const Scenario scenario =
      read_scenario_text(cluster(4), "test.yaml",
                         {failures, "workload.cost={bytes: 4MB}", "training.optimizer={kind: adam, learning_rate: 0.1}",
                          "training.recovery={kind: rollback, checkpoint: {every: optimal, save: 1MB/s}, restart: 3s, "
                          "read: 2MB/s}"});
  const Blueprint blueprint(scenario, "generic");
  const RecoverySettings& recovery = blueprint.recovery();
  CHECK(recovery.snapshot == Time::from_seconds(12));  // 3 vectors of 4 MB
  CHECK(recovery.restart == Time::from_seconds(3 + 6));
  CHECK(recovery.every.seconds() == doctest::Approx(reliability::optimal_interval(4.0 / (40 * 3600), 12)));
}

TEST_CASE("closed forms count the repair where the job waits for it, and it takes longer than to notice the failure") {
  const auto recovery = [](const std::string& repair, const std::string& more = "") {
    const Scenario scenario =
        read_scenario_text(cluster(4), "test.yaml",
                           {"cluster.faults=[{kind: random, of: worker, every: {kind: exponential, mean: 40h}, repair: " + repair + "}]",
                            "training.recovery={kind: rollback, detect: 60s, restart: 100s" + more + "}"});
    return failure_forms(scenario, Blueprint(scenario, "generic")).value().job.recovery;
  };
  CHECK(recovery("never") == 160);
  CHECK(recovery("{kind: constant, mean: 10s}") == 160);
  CHECK(recovery("{kind: constant, mean: 1h}") == 3700);
  CHECK(recovery("{kind: constant, mean: 1h}", ", spares: 1") == 160);
  CHECK(recovery("{kind: constant, mean: 1h}", ", without: shrink") == 160);
  // The mean of the later of 60 s and an exponential time of mean 60 s: 60 + ∫ e^(-t/60) from 60 on.
  CHECK(recovery("{kind: exponential, mean: 60s}") == doctest::Approx(160 + 60 * std::exp(-1.0)));
}

}  // namespace recovery_test
