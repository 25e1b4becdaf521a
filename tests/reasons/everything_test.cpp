// `explain` works on every scheme, topology and device.
#include <doctest/doctest.h>

#include "scenarios/experiment/blueprint.hpp"
#include "scenarios/reasons/explain_said.hpp"
#include "scenarios/schema/vocabulary.hpp"
#include "sim/cluster/device_profile.hpp"
#include "tests/support/variants.hpp"

namespace explain_everything_test {

using namespace straggler;
using namespace straggler::test;

namespace {

/// Every row has figures of the same work or says why it has none, and the first row is the run.
void check_all(const std::string& yaml, const std::vector<std::string>& sets) {
  const Scenario scenario = read_scenario_text(yaml, "test.yaml", sets);
  ExplainOptions options;
  options.run.timing_only = true;
  options.run.threads = 2;
  const Explained all = explain(scenario, options);
  const RunRecord record = Experiment(scenario, options.run).run(nullptr, nullptr);
  const CauseRow& own = all.row(Cause::nothing);
  REQUIRE(own.figures.has_value());
  CHECK(own.figures->simulated_seconds == record.end.seconds());
  for (const CauseRow& row : all.rows) {
    CAPTURE(std::string(name_of(row.cause)));
    CAPTURE(row.note);
    CHECK(row.figures.has_value() == row.seconds_saved.has_value());
    if (row.cause != Cause::staleness) CHECK(row.figures.has_value());
    if (!row.figures) CHECK_FALSE(row.note.empty());
    if (row.figures) CHECK(row.figures->updates == record.updates);
  }
  for (const ChangeRow& row : all.changes) {
    CAPTURE(row.change);
    CHECK(row.figures.has_value() == row.note.empty());
  }
  CHECK_FALSE(plain(explain_said(all)).empty());
  // With all that is uneven left as it is, groups that are cut in parts run as before.
  const std::vector<WorkKind> every(all_work_kinds.begin(), all_work_kinds.end());
  std::vector<Rank> some{0};
  if (scenario.workers() > 2) some.push_back(2);
  const Scenario cut = evened(scenario, Blueprint(scenario, "auto"), 1, {every, some});
  CHECK(Experiment(cut, options.run).run(nullptr, nullptr).end == record.end);
}

}  // namespace

TEST_CASE("of every scheme") {
  for (const Variant& variant : variants()) {
    CAPTURE(variant.scheme);
    check_all(uneven(variant), {"training.stop={updates: 6}"});
  }
}

TEST_CASE("of every topology, sharing model and fidelity, with hosts of several workers, background traffic and measured protocols") {
  const std::vector<std::string> networks = {
      "cluster.network.topology=full",
      "cluster.network.topology=ring",
      "cluster.network.topology={kind: two_level, racks: 2, oversubscription: 2}",
      "cluster.network.topology={kind: fat_tree, k: 4}",
      "cluster.network.topology={kind: torus, dims: [3, 3]}",
      "cluster.network.topology={kind: dragonfly, groups: 2, routers: 2, hosts: 3}",
      "cluster.network.topology=rails",
      "cluster.network.jitter={kind: lognormal, sigma: 0.5, every: 10ms}",
      "cluster.network.protocol={connection: 10Mbps}",
      "cluster.network.sharing=lv08",
      "cluster.network.sharing=none",
      "cluster.network.collective={fidelity: stepwise, start: as_they_come}",
      "cluster.network.collective={algorithm: ring, reduce_rate: 1GB/s}",
      "cluster.network.background=[{from: worker/0, to: worker/1, on: 10ms, off: 10ms}]",
      "cluster.network.protocol={per_message: 1ms, copy_rate: 10MB/s, segments: [{up_to: 64KiB, latency_factor: 2, bandwidth_factor: "
      "0.5}]}",
      "cluster.network.link={bandwidth: 1Gbps, latency: 50us, duplex: half}",
  };
  for (const std::string& network : networks) {
    CAPTURE(network);
    for (const char* const scheme : {"ssgd", "{kind: ssgd, via: server}"}) {
      CAPTURE(scheme);
      const bool lockstep = std::string(scheme) == "ssgd";
      if (!lockstep && (network.find("torus") != std::string::npos || network.find("as_they_come") != std::string::npos)) continue;
      check_all(cluster(lockstep ? 8 : 7), {"cluster.network.link={bandwidth: 1Gbps, latency: 50us}", "workload.cost={bytes: 1MB}", network,
                                            std::string("training.scheme=") + scheme});
    }
  }
}

TEST_CASE("of every device that is known by its figures") {
  for (const DeviceProfile& device : Registry<DeviceProfile>::instance().entries()) {
    CAPTURE(device.name);
    check_all(cluster(2), {"devices.other={profile: " + device.name + "}", "workload.cost={model: resnet50_imagenet}",
                           "cluster.workers=[{count: 1, device: node}, {count: 2, device: other, per_host: 2}]",
                           "cluster.network.intra={bandwidth: 10GB/s, latency: 1us}"});
  }
}

TEST_CASE("a burst has no answer without contention, and none is needed where bandwidth is unlimited") {
  ExplainOptions options;
  options.run.timing_only = true;
  const Explained all =
      explain(read_scenario_text(cluster(2), "test.yaml",
                                 {"cluster.network.link={bandwidth: 1Gbps, latency: 0s, burst: 1MB}", "workload.cost={bytes: 10MB}"}),
              options);
  CHECK_FALSE(all.row(Cause::contention).figures.has_value());
  CHECK(all.row(Cause::contention).note.find("burst") != std::string::npos);
  CHECK(*all.row(Cause::bandwidth).seconds_saved > 0);
}

TEST_CASE("packets have no answer without contention, since their windows would go with it") {
  ExplainOptions options;
  options.run.timing_only = true;
  const Explained all = explain(read_scenario_text(cluster(2), "test.yaml",
                                                   {"cluster.network.link={bandwidth: 1Gbps, latency: 1ms}", "workload.cost={bytes: 10MB}",
                                                    "training.scheme={kind: ssgd, via: server}", "cluster.network.sharing=packets"}),
                                options);
  CHECK_FALSE(all.row(Cause::contention).figures.has_value());
  CHECK(all.row(Cause::contention).note.find("windows") != std::string::npos);
  CHECK(*all.row(Cause::latency).seconds_saved > 0);
}

}  // namespace explain_everything_test
