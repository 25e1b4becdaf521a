// What `check` tells of a scenario that is allowed and may not do what was meant.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/run.hpp"

namespace straggler::test {
namespace {

using Sets = std::vector<std::string>;

Explanation explained(const Sets& sets, int workers = 4, bool timing_only = true) {
  RunOptions options;
  options.timing_only = timing_only;
  return Experiment(read_scenario_text(cluster(workers), "/scenario.yaml", sets), options).explain();
}

std::size_t warnings_with(const Explanation& explanation, const std::string& text) {
  return static_cast<std::size_t>(std::count_if(explanation.warnings.begin(), explanation.warnings.end(),
                                                [&](const std::string& warning) { return warning.find(text) != std::string::npos; }));
}

}  // namespace

TEST_CASE("keys of an all-reduce are a warning with a scheme that has none, so that a sweep over schemes runs") {
  const std::string overlap = "cluster.network.collective={overlap: true}";
  const Sets servers{overlap, "training.scheme=asgd"};
  CHECK(warnings_with(explained(servers), "cluster.network.collective.overlap is not used: asgd exchanges through a server") == 1);
  CHECK(warnings_with(explained({overlap}), "collective.overlap") == 0);
  CHECK(warnings_with(explained({"cluster.network.collective={bucket: 1kB, algorithm: ring}", "training.scheme={kind: ssgd, via: server}"}),
                      "cluster.network.collective.bucket, algorithm are not used: ssgd exchanges through a server") == 1);
  CHECK(warnings_with(explained({"training.scheme=asgd"}), "is not used") == 0);
  // They change nothing: the same run, tick by tick.
  const Result with = run_timing(cluster(4), servers), without = run_timing(cluster(4), {"training.scheme=asgd"});
  CHECK(with.record.end == without.record.end);
  CHECK(with.sink.order == without.sink.order);
}

TEST_CASE("check says that a server nobody uses keeps its host in the network") {
  // It may carry background traffic, and its links are in links.csv.
  const std::string unused = "cluster.servers is not used: ssgd exchanges without a server";
  const auto warned = [&](const Sets& sets) {
    const Explanation explanation = explained(sets, 2);
    const auto found = std::find_if(explanation.warnings.begin(), explanation.warnings.end(),
                                    [&](const std::string& warning) { return warning.starts_with(unused); });
    return std::pair(explanation.hosts, found == explanation.warnings.end() ? std::string() : found->substr(unused.size()));
  };
  const std::string remedy = " in the network, idle; set cluster.servers.count to 0 to be without them";
  CHECK(warned({}) == std::pair(std::size_t{2 + 1}, "; its host and its link stay" + remedy));
  CHECK(warned({"cluster.servers.count=2"}) == std::pair(std::size_t{2 + 2}, "; their hosts and links stay" + remedy));
  CHECK(warned({"cluster.servers={count: 1, host: {worker: 0}}"}) == std::pair(std::size_t{2}, std::string()));
  CHECK(warned({"cluster.network.collective={algorithm: byteps}"}).second.empty());  // its servers add up
  CHECK(warned({"cluster.servers.count=0"}) == std::pair(std::size_t{2}, std::string()));
  CHECK(run_timing(cluster(2)).record.end == run_timing(cluster(2), {"cluster.servers.count=0"}).record.end);
}

TEST_CASE("check says of which images costs are, and how others are had where these are small and not the data's") {
  const auto input = [](const std::string& model, const Sets& more = {}) {
    Sets sets{"workload={data: none, cost: {model: " + model + "}}"};
    sets.insert(sets.end(), more.begin(), more.end());
    return explained(sets).cost_input;
  };
  CHECK(input("resnet50") == "3 x 32 x 32, not those of resnet50_imagenet");
  CHECK(input("resnet50_imagenet") == "3 x 224 x 224");
  CHECK(input("resnet18").starts_with("3 x 32 x 32; of others by {kind: layers, input: [3, 224, 224], layers: FILE}, or by "));
  CHECK(input("resnet18", {"workload.data={kind: synthetic_images}", "workload.model=resnet8"}) == "3 x 32 x 32");  // as the data
  CHECK(input("{kind: layers, input: [3, 64, 64], layers: [flatten, {linear: classes}]}") == "3 x 64 x 64");
  CHECK(input("bert_base").empty());
  CHECK(input("{kind: even, parameters: 1M, layers: 2}").empty());
}

TEST_CASE("check warns of a group that begins on a new host beside one that has room") {
  const auto told = [](const std::string& workers) { return warnings_with(explained({"cluster.workers=" + workers}), "same_host: true"); };
  CHECK(told("[{count: 63, device: node, per_host: 8}, {count: 1, device: node, per_host: 8, slowdown: 2}]") == 1);
  CHECK(told("[{count: 63, device: node, per_host: 8}, {count: 1, device: node, slowdown: 2}]") == 1);
  CHECK(told("[{count: 64, device: node, per_host: 8}, {count: 1, device: node, slowdown: 2}]") == 0);
  CHECK(told("[{count: 63, device: node, per_host: 8}, {count: 1, device: node, same_host: true, slowdown: 2}]") == 0);
  CHECK(told("[{count: 63, device: node}, {count: 1, device: node, slowdown: 2}]") == 0);
}

TEST_CASE("check warns of asgd behind several servers whose answers wait for each other") {
  const Sets four{"training.scheme=asgd", "cluster.servers.count=4"};
  const auto told = [&](const std::string& more) {
    Sets sets = four;
    sets.push_back(more);
    return warnings_with(explained(sets), "at_once");
  };
  CHECK(told("seed=1") == 1);
  CHECK(told("training.scheme={kind: asgd, answers: at_once}") == 0);
  CHECK(told("training.scheme={kind: ssgd, via: server}") == 0);
  CHECK(told("cluster.servers.count=1") == 0);
  // Four servers of a quarter of a worker's bandwidth are as fast as its link.
  CHECK(told("cluster.servers.link={bandwidth: 250GB/s}") == 0);
  CHECK(told("cluster.servers.link={bandwidth: 251GB/s}") == 1);
}

TEST_CASE("check warns of a link or a memory that is far off the others'") {
  const auto told = [](const std::string& other, const char* what) {
    return warnings_with(explained({"cluster.workers=[{count: 3, device: node}, {count: 1, device: node, link: {" + other + "}}]"}), what);
  };
  CHECK(told("bandwidth: 1GB/s",
             "worker 3 has a bandwidth of 1GB/s, 1000 times less than the median worker's 1000GB/s; is the unit right?") == 1);
  CHECK(told("bandwidth: 101GB/s", "a bandwidth of") == 0);  // less than ten times
  CHECK(told("latency: 1ms", "a latency of") == 0);          // the others have none
  const Sets memories{
      "devices={big: {compute: {affine: {per_sample: 1ms}}, memory: 16GB}, small: {compute: {affine: {per_sample: 1ms}}, memory: "
      "16MB}}",
      "cluster.workers=[{count: 3, device: big}, {count: 2, device: small}]"};
  CHECK(warnings_with(explained(memories), "cluster.workers[1] has a memory of 16MB, 1000 times less than the median worker's 16GB") == 1);
}

TEST_CASE("check warns where FedAvg's epochs are rounds") {
  // Half of four clients, five local epochs each: a round is 2.5 epochs of all data, and 10 epochs are 4 rounds.
  const std::string scheme = "training.scheme={kind: fedavg, fraction: 0.5, local_epochs: 5}";
  CHECK(warnings_with(explained({scheme, "training.stop={epochs: 10}"}),
                      "a round of fedavg is 2.5 epochs of all data: stop.epochs 10 is the end of round 4") == 1);
  CHECK(warnings_with(explained({scheme, "training.stop={rounds: 10}"}), "a round of") == 0);
  // A client that is gone has no samples in later rounds, so that there are more of them.
  for (const char* fault : {"{kind: crash, worker: 1, at: 1s}", "{kind: leave, worker: 1, at: 1s}", "{kind: join, worker: 1, at: 1s}"}) {
    const Explanation gone = explained({scheme, "training.stop={epochs: 10}", std::string("cluster.faults=[") + fault + "]"});
    CHECK(warnings_with(gone, "a round of fedavg is 2.5 epochs of all data while no client is missing; stop.rounds counts rounds") == 1);
    CHECK(warnings_with(gone, "the end of round") == 0);
  }
  CHECK(warnings_with(explained({scheme, "training.evaluate={every: {epochs: 1}}"}), "there is one a round") == 1);
  CHECK(warnings_with(explained({"training.stop={epochs: 10}"}), "a round of") == 0);
  // A fraction of the clients is a whole number of them: 0.4 of 4 are 2.
  CHECK(*explained({"training.scheme={kind: fedavg, fraction: 0.4}"}).updates_per_epoch == 2);
  CHECK(run_timing(cluster(4), {"training.scheme={kind: fedavg, fraction: 0.4}", "training.stop={epochs: 1}"}).record.updates == 2);
}

TEST_CASE("check tells how much the labels of workers' parts differ") {
  // Four classes of 10,000 samples each, sorted by class and dealt out in shards.
  const auto skew = [](const std::string& partition) {
    return *explained({"workload.data={kind: gaussian, classes: 4, partition: " + partition + "}"}, 4, false).partition.labels;
  };
  const LabelSkew one = skew("{kind: shards, per_worker: 1}");
  CHECK(one.fewest_classes == 1);
  CHECK(one.most_classes == 1);
  CHECK(one.mean_largest == doctest::Approx(1));
  CHECK(one.one_class == doctest::Approx(0.75));  // Σ p (1 - p) = 4 · 1/4 · 3/4
  CHECK(one.mean_distance == doctest::Approx(0.75));
  const LabelSkew even = skew("{kind: dirichlet, alpha: 10000}");
  CHECK(even.fewest_classes == 4);
  CHECK(even.mean_distance < 0.02);
  CHECK(skew("{kind: dirichlet, alpha: 0.1}").mean_distance > 0.3);
  // Nobody looks at labels where they do not matter, or without the math.
  CHECK_FALSE(explained({}, 4, false).partition.labels);
  CHECK_FALSE(explained({"workload.data.partition=shards"}).partition.labels);
  const PartitionFacts parts = explained({}, 3).partition;
  CHECK(parts.parts == 3);
  CHECK(parts.smallest == 13333);
  CHECK(parts.largest == 13334);
}

TEST_CASE("a diverged run reports where it was still finite, and a remedy") {
  const Sets sets{"workload.model={kind: quadratic}", "workload.data={kind: coordinates, samples: 200, test_samples: 50}",
                  "training.batch.per_worker=200",    "training.optimizer.learning_rate=1e9",
                  "training.stop={updates: 100}",     "training.evaluate={every: {updates: 10}}"};
  const Result result = run(cluster(1), sets);
  REQUIRE(result.record.outcome == Outcome::diverged);
  const auto& warnings = result.record.warnings;
  const auto told = std::find_if(warnings.begin(), warnings.end(), [](const std::string& warning) {
    return warning.starts_with("the loss is no longer finite at update ") && warning.find("(it was ") != std::string::npos;
  });
  REQUIRE(told != warnings.end());
  CHECK(told->find("try a smaller training.optimizer.learning_rate, or a training.schedule.warmup") != std::string::npos);
}

}  // namespace straggler::test
