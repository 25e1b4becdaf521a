// Faults that happen again and again, in a scenario: how they are read, written and refused.
#include <doctest/doctest.h>

#include "scenarios/schema/writer.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/run.hpp"

namespace fault_processes_test {

using namespace straggler;
using namespace straggler::test;

namespace {

Scenario with(const std::string& faults, std::vector<std::string> sets = {}) {
  sets.insert(sets.begin(), "cluster.faults=[" + faults + "]");
  return read_scenario_text(cluster(4), "test.yaml", sets);
}

/// The message of reading it, or of making it runnable; empty: it is right.
std::string refusal(const std::string& faults, const std::vector<std::string>& sets = {}) {
  try {
    RunOptions options;
    options.timing_only = true;
    Experiment(with(faults, sets), options);
  } catch (const std::exception& wrong) {
    return wrong.what();
  }
  return {};
}

const std::string every = "every: {kind: exponential, mean: 40h}";

struct Wrong {
  std::string faults, says;
  std::vector<std::string> sets = {};
};

}  // namespace

TEST_CASE("fault processes: what is read is what is written, and reads the same again") {
  for (const std::string& fault :
       std::vector<std::string>{"{kind: random, of: worker, " + every + ", repair: {kind: weibull, mean: 5min, shape: 0.7}}",
                                "{kind: random, of: all, every: 40h, repair: 5min}", "{kind: random, of: link, " + every + "}",
                                "{kind: fail_slow, of: host, " + every + ", lasts: 5min, times_slower: 4}",
                                "{kind: fail_slow, of: link, " + every + ", lasts: 5min, bandwidth_factor: 0}",
                                "{kind: preempt, of: worker, " + every + ", notice: 2min, back_after: {kind: exponential, mean: 5min}}",
                                "{kind: preempt, of: host, " + every + "}"}) {
    CAPTURE(fault);
    const Scenario read = with(fault);
    const std::string written = write_scenario(read);
    CAPTURE(written);
    CHECK(read_scenario_text(written, "test.yaml", {}) == read);
  }
  const FaultSpec constant = with("{kind: random, of: worker, every: 40h, repair: never}").cluster.faults[0];
  CHECK(constant.every == Kind{"constant", {{"mean", 144'000.0}}});
  CHECK(constant.repair == Kind{"never", {}});
  CHECK(with("{kind: random, of: worker, every: 40h}").cluster.faults[0].repair == constant.repair);
  CHECK(with("{kind: preempt, of: worker, every: 40h}").cluster.faults[0].notice == 30);
}

TEST_CASE("servers.replicas is written where there are some") {
  CHECK(write_scenario(with("", {"cluster.servers={count: 2, replicas: 2}"})).find("replicas: 2") != std::string::npos);
  CHECK(write_scenario(with("", {"cluster.servers={count: 2, replicas: 1}"})).find("replicas") == std::string::npos);
}

TEST_CASE("fault processes: wrong ones, with the place and what would be right") {
  const TemporaryFolder folder;
  const auto file = [&](const std::string& name, const std::string& text) { return folder.write(name, text).string(); };
  const auto trace = [](const std::string& path) { return "{kind: trace, path: " + path + "}"; };
  const std::string asgd = "training.scheme=asgd";
  const std::vector<Wrong> wrong = {
      {"{kind: randon, of: worker, " + every + "}", "cluster.faults[0].kind: unknown fault 'randon'; did you mean 'random'?"},
      {"{kind: random, " + every + "}", "cluster.faults[0].of: is missing; write one of: worker, host, rack, server, link, all"},
      {"{kind: random, of: workers, " + every + "}", "cluster.faults[0].of: unknown choice 'workers'; did you mean 'worker'?"},
      {"{kind: preempt, of: rack, " + every + "}", "cluster.faults[0].of: unknown choice 'rack'; known: worker, host"},
      {"{kind: random, of: worker}", "cluster.faults[0].every: is missing; write a law such as {kind: exponential, mean: 40h}, or a time"},
      {"{kind: random, of: worker, every: 40}", "cluster.faults[0].every: 40 has no unit"},
      {"{kind: random, of: worker, every: often}",
       "cluster.faults[0].every: unknown law 'often'; known: constant, exponential, never, weibull"},
      {"{kind: random, of: worker, every: {kind: exponential}}", "cluster.faults[0].every.mean: is missing"},
      {"{kind: random, of: worker, every: {kind: exponential, mean: -1h}}",
       "cluster.faults[0].every.mean: '-1h' is negative; write a time of 0 or more"},
      {"{kind: random, of: worker, every: {kind: weibull, mean: 1h}}", "cluster.faults[0].every.shape: is missing"},
      {"{kind: random, of: worker, every: {kind: weibull, mean: 1h, shape: 0}}", "cluster.faults[0].every.shape: 0 is out of range"},
      {"{kind: random, of: worker, every: 0s}", "cluster.faults[0].every: has no time between two faults; write a mean above 0"},
      {"{kind: random, of: worker, " + every + ", lasts: 1h}", "cluster.faults[0].lasts: unknown key 'lasts'"},
      {"{kind: fail_slow, of: worker, " + every + ", times_slower: 2}", "cluster.faults[0].lasts: is missing"},
      {"{kind: fail_slow, of: worker, " + every + ", lasts: 1h}",
       "cluster.faults[0]: does not say how slow it is; write one of times_slower: 4"},
      {"{kind: fail_slow, of: worker, " + every + ", lasts: 1h, times_slower: 2, bandwidth_factor: 0.1}",
       "cluster.faults[0]: has times_slower and bandwidth_factor; write one of"},
      {"{kind: fail_slow, of: link, " + every + ", lasts: 1h, times_slower: 2}",
       "cluster.faults[0].times_slower: slows the computing of workers, and a link computes no batches; write bandwidth_factor: 0.1"},
      {"{kind: trace}", "cluster.faults[0].path: is missing"},
      {"{kind: random, of: rack, " + every + "}",
       "cluster.faults[0].of: topology star has no racks; write host, or a topology with racks: two_level, fat_tree or dragonfly"},
      {"{kind: random, of: server, " + every + "}", "cluster.faults[0].of: ssgd uses no server; write another unit, such as worker"},
      {"{kind: random, of: server, " + every + "}",
       "cluster.faults[0].of: a server that fails takes the only copy of its weights; write cluster.servers.replicas: 2",
       {asgd}},
      {"{kind: random, of: host, " + every + "}",
       "cluster.faults[0].of: servers live on these hosts, and one that fails takes the only copy of its weights; write "
       "cluster.servers.replicas: 2",
       {asgd, "cluster.servers={count: 1, host: {worker: 1}}"}},
      {"{kind: random, of: link, " + every + "}",
       "cluster.faults[0].of: it changes a bandwidth that network.jitter changes, too; remove one of the two",
       {"cluster.network.jitter={kind: lognormal, sigma: 0.2}"}},
      {"{kind: random, of: worker, " + every + "}",
       "cluster.faults[0].kind: workers come and go by their availability, which cannot be combined with workers that fail",
       {"training.scheme=fedavg", "cluster.workers=[{count: 4, device: node, availability: {kind: on_off, on: 1h, off: 1h}}]"}},
      {"{kind: random, of: worker, " + every + "}",
       "cluster.faults[0].kind: a crash takes the only copy of a shard",
       {"training.sharding={stage: 1}"}},
      {trace(folder.path().string() + "/none.csv"), "none.csv: no such file; give the path of a CSV with the columns unit,from_s,to_s"},
      {trace(file("empty.csv", "")), "empty.csv: it is empty; write the columns unit,from_s,to_s"},
      {trace(file("header.csv", "worker,from_s,to_s\n")), "header.csv:1: the first row is no header; write unit,from_s,to_s"},
      {trace(file("two.csv", "unit,from_s,to_s\n1,2\n")), "two.csv:2: there are 2 columns; write unit,from_s,to_s"},
      {trace(file("unit.csv", "unit,from_s,to_s\nworker/4,1,2\n")),
       "unit.csv:2: the cluster has no unit 'worker/4'; write one such as worker/3"},
      {trace(file("rack.csv", "unit,from_s,to_s\nrack/0,1,2\n")), "rack.csv:2: the cluster has no unit 'rack/0'"},
      {trace(file("from.csv", "unit,from_s,to_s\n\n1,x,2\n")), "from.csv:3: from_s is 'x'; write seconds from 0 on"},
      {trace(file("order.csv", "unit,from_s,to_s\n1,3,2\n")), "order.csv:2: the failure ends at 2 s and begins at 3 s; write a later to_s"},
      {trace(file("server.csv", "unit,from_s,to_s\nserver/0,1,2\n")),
       "cluster.faults[0].path: a server that fails takes the only copy",
       {asgd}},
  };
  for (const Wrong& each : wrong) {
    const std::string said = refusal(each.faults, each.sets);
    CAPTURE(each.faults);
    CAPTURE(said);
    CHECK(said.find(each.says) != std::string::npos);
    CHECK(said.find('\n') == std::string::npos);
  }
}

TEST_CASE("fault processes: right ones in odd places") {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("all.csv", "# recorded\nunit,from_s,to_s\n3,1,2\nworker/2:up,1,\nall,5,6\n\"host/1\",0,0.5\n").string();
  CHECK(refusal("{kind: trace, path: " + path + "}").empty());
  CHECK(refusal("{kind: trace, of: host, path: " + path + "}").empty());
  CHECK(refusal("{kind: random, of: rack, " + every + "}", {"cluster.network.topology={kind: two_level, racks: 1}"}).empty());
  CHECK(refusal("{kind: random, of: server, " + every + "}", {"training.scheme=asgd", "cluster.servers={count: 3, replicas: 2}"}).empty());
  CHECK(refusal("{kind: random, of: worker, every: never}").empty());
}

TEST_CASE("a time between failures that is no law hits all workers at once, which check tells") {
  const auto warned = [](const std::string& faults, int workers = 4) {
    const Scenario scenario = read_scenario_text(cluster(workers), "test.yaml", {"cluster.faults=[" + faults + "]"});
    std::string all;
    for (const std::string& warning : Experiment(scenario, {}).explain().warnings) all += warning + "\n";
    return all;
  };
  const std::string says =
      "cluster.faults[0].every is the same time for every worker, so all are hit at the same moment; write {kind: "
      "exponential, mean: 1200s} for failures at random moments\n";
  CHECK(warned("{kind: random, of: worker, every: 20min, repair: 2min}").find(says) != std::string::npos);
  CHECK(warned("{kind: random, of: worker, every: 20min, repair: 2min}", 1).find("same moment") == std::string::npos);
  CHECK(warned("{kind: random, of: worker, every: {kind: exponential, mean: 20min}, repair: 2min}").find("same moment") ==
        std::string::npos);
}

}  // namespace fault_processes_test
