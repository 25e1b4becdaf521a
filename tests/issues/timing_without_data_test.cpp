// Timing alone without a data set.
#include <doctest/doctest.h>

#include "scenarios/schema/writer.hpp"
#include "tests/support/run.hpp"

namespace straggler::test {
namespace {

using Sets = std::vector<std::string>;

/// 64 workers with batches of 256 that take 256 ms each, for 50 updates.
Sets fifty_updates(const std::string& workload) {
  return {"workload=" + workload, "training.batch.per_worker=256", "training.stop={updates: 50}"};
}

std::string error_without_data(const std::string& workload, const Sets& more = {}, bool timing_only = true) {
  Sets sets{"workload=" + workload};
  sets.insert(sets.end(), more.begin(), more.end());
  RunOptions options;
  options.timing_only = timing_only;
  try {
    run(cluster(4), sets, options);
  } catch (const std::exception& wrong) {
    return wrong.what();
  }
  return "none";
}

bool refused(const std::string& workload, const Sets& more, const std::string& why) {
  const std::string said = error_without_data(workload, more);
  CAPTURE(said);
  CHECK(said.find(why) != std::string::npos);
  return said.find(why) != std::string::npos;
}

}  // namespace

TEST_CASE("timing alone needs only the cost of a step, and cuts no batch") {
  for (const char* workload : {"{cost: {model: resnet50_imagenet}}", "{cost: {bytes: 1MB}}", "{cost: {bytes: 1MB}, data: none}",
                               "{cost: {bytes: 1MB}, data: {kind: none, samples: 60000}}"}) {
    CAPTURE(workload);
    const Result result = run_timing(cluster(64), fifty_updates(workload));
    CHECK(result.record.samples == 50 * 64 * 256);  // 819,200
    CHECK(result.record.end.seconds() > 50 * 0.256);
  }
  // A data set of 60,000 samples gives each worker 937 or 938: after three whole batches one of 169 or 170.
  const Result with_data = run_timing(
      cluster(64), fifty_updates("{model: {kind: mlp, hidden: [16]}, data: {kind: coordinates, samples: 60000}, cost: {bytes: 1MB}}"));
  CHECK(with_data.record.samples < 50 * 64 * 256);
}

TEST_CASE("without data an epoch has the samples that it is given") {
  // Four workers with batches of 100: 1,000 samples are 2.5 updates.
  const Result result =
      run_timing(cluster(4), {"workload={cost: {bytes: 1kB}, data: {kind: none, samples: 1000}}", "training.stop={epochs: 2}"});
  CHECK(result.record.updates == 5);
  CHECK(result.record.samples == 2000);
  CHECK(result.record.epochs == 2);
  // Nobody knows what an epoch is.
  CHECK(std::isnan(run_timing(cluster(4), {"workload={cost: {bytes: 1kB}}"}).record.epochs));
}

TEST_CASE("fedavg passes over whole batches where there are no data") {
  // A part of 250 samples is 3 batches of 100 when it is rounded: 4 workers, 2 local epochs, 2,400 samples a round.
  const Result result = run_timing(cluster(4), {"workload={cost: {bytes: 1kB}, data: {kind: none, samples: 1000}}",
                                                "training.scheme={kind: fedavg, local_epochs: 2}", "training.stop={updates: 3}"});
  CHECK(result.record.samples == 3 * 2400);
}

TEST_CASE("every scheme runs without data") {
  for (const char* scheme : {"ssgd", "{kind: ssgd, via: server}", "asgd", "{kind: nonblocking, minibatch: 30}",
                             "{kind: local_sgd, steps: 3}", "data_parallel", "fedavg"}) {
    CAPTURE(scheme);
    const Result result = run_timing(cluster(4), {"workload={cost: {bytes: 1kB}, data: {kind: none, samples: 1000}}",
                                                  "training.scheme=" + std::string(scheme), "cluster.workers[0].per_host=4"});
    CHECK(result.record.updates == 10);
    CHECK(result.record.samples > 0);
  }
}

TEST_CASE("a scenario without data is read back from scenario.yaml as the same") {
  for (const char* workload : {"{cost: {model: resnet50_imagenet}}", "{cost: {bytes: 1MB}, data: {kind: none, samples: 60000}}",
                               "{cost: {bytes: 1MB}, model: softmax}"}) {
    CAPTURE(workload);
    const Scenario scenario = read_scenario_text(cluster(2), "/scenario.yaml", {"workload=" + std::string(workload)});
    CHECK(scenario.workload.data.name == "none");
    CHECK(read_scenario_text(write_scenario(scenario), "/scenario.yaml") == scenario);
  }
}

TEST_CASE("settings that need data are refused with that reason") {
  CHECK(error_without_data("{cost: {bytes: 1MB}}", {}, false).find("workload.data: there is no data to learn from; add --timing-only") !=
        std::string::npos);
  CHECK(refused("{data: none}", {}, "workload.data: without data the cost of a step is not known; add workload.cost"));
  CHECK(refused("{model: softmax}", {}, "workload.data: is missing"));
  CHECK(refused("{model: softmax, data: {kind: none, samples: 0}, cost: {bytes: 1MB}}", {}, "out of range"));
  CHECK(refused("{data: {kind: none, partition: shards}, cost: {bytes: 1MB}}", {}, "unknown key 'partition'"));
  CHECK(refused("{cost: {model: softmax}}", {}, "workload.cost.model: the cost of softmax follows from"));
  CHECK(refused("{data: fashion_mnist, cost: {bytes: 1MB}}", {}, "workload.model: is missing"));
  const std::string none = "{cost: {bytes: 1MB}}";
  CHECK(refused(none, {"training.stop={epochs: 1}"}, "training.stop.epochs: counts in epochs"));
  CHECK(refused(none, {"training.evaluate={every: {epochs: 1}}"}, "training.evaluate.every.epochs: counts in epochs"));
  CHECK(refused(none, {"training.schedule={kind: step, every: 3}"}, "training.schedule: counts in epochs"));
  CHECK(refused(none, {"workload.serial_per_epoch=1s"}, "workload.serial_per_epoch: counts in epochs"));
  CHECK(refused(none, {"training.scheme=fedavg"}, "training.scheme: counts in epochs"));
}

}  // namespace straggler::test
