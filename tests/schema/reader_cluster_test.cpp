// The parts of a scenario that describe the machine: devices, hosts, links, collectives, background traffic and faults.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/schema/reader_fixture.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {
ComputeSpec roofline(double peak, double efficiency, double memory_bandwidth, double launch) {
  DeviceSpec device;
  fill(device, "", peak, efficiency, memory_bandwidth, launch);
  return device.compute;
}
const Kind no_jitter{"none", {}};
}  // namespace

TEST_CASE("devices: affine, roofline, loader, copy and memory") {
  const Scenario s = read(rich);
  const DeviceSpec &node = s.devices.at("node"), &gpu = s.devices.at("gpu");
  CHECK(node.compute.form == ComputeSpec::Form::affine);
  CHECK(node.compute.forward_fraction == 0.4);
  LoaderSpec loader;
  loader.per_sample = 100e-6;
  loader.workers = 4;
  loader.prefetch = 3;
  CHECK(node.loader == loader);
  CHECK(node.host_to_device == 12e9);
  CHECK(node.memory == 16e9);
  CHECK(node.profile.empty());
  CHECK(gpu.compute == roofline(14e12, 0.4, 900e9, 5e-3));
  CHECK(gpu.compute.forward_fraction == 1.0 / 3);
  CHECK_FALSE(gpu.loader);
  CHECK_FALSE(gpu.host_to_device);
  CHECK_FALSE(gpu.memory);
  // Defaults.
  const Scenario t =
      read(rich, {"devices.node.loader={per_sample: 1ms}", "devices.gpu.compute={roofline: {peak: 5GFLOPS, memory_bandwidth: 1GB/s}}"});
  CHECK(t.devices.at("node").loader->workers == 1);
  CHECK(t.devices.at("node").loader->prefetch == 2);
  CHECK(t.devices.at("gpu").compute == roofline(5e9, 1, 1e9, 0));
}

TEST_CASE("a built-in device gives every figure, and written ones override it") {
  const Scenario s = read(rich);
  const DeviceSpec& fast = s.devices.at("fast");
  CHECK(fast.profile == "h100");
  CHECK(fast.compute == roofline(60e12, 0.3, 3e12, 4e-6));
  CHECK(fast.memory == 80e9);
  CHECK(fast.host_to_device == 25e9);
  CHECK(fast.jitter == Kind{"lognormal", {{"sigma", 0.2}}});
  // Another form of time leaves nothing of the roofline; a fraction alone leaves all of it.
  const Scenario t = read(rich, {"devices.fast.compute={table: {32: 1ms}, launch: 1us}"});
  ComputeSpec table;
  table.form = ComputeSpec::Form::table;
  table.table = {{32, 1e-3}};
  table.launch = 1e-6;
  CHECK(t.devices.at("fast").compute == table);
  const Scenario u = read(rich, {"devices.fast.compute={forward_fraction: 0.25}"});
  ComputeSpec quarter = roofline(60e12, 0.4, 3e12, 4e-6);
  quarter.forward_fraction = 0.25;
  CHECK(u.devices.at("fast").compute == quarter);
}

TEST_CASE("a group may name a built-in device without an entry under devices") {
  const Scenario s = read(rich);
  REQUIRE(s.devices.contains("cpu_core"));
  const DeviceSpec& core = s.devices.at("cpu_core");
  CHECK(core.profile == "cpu_core");
  CHECK(core.compute == roofline(40e9, 0.5, 20e9, 0));
  CHECK(core.jitter == no_jitter);
  CHECK_FALSE(core.memory);
  CHECK_FALSE(core.host_to_device);
  CHECK_FALSE(s.devices.contains("h100"));  // only as a profile
  // An entry of that name is another device.
  CHECK(read(rich, {"devices.cpu_core={compute: {affine: {overhead: 1s}}}"}).devices.at("cpu_core").profile.empty());

  const std::string text = R"(straggler: 1
cluster: {workers: [{device: h100}], network: {link: {bandwidth: 1Gbps, latency: 0s}}}
workload: {model: mlp, data: fashion_mnist}
training: {scheme: ssgd, batch: {global: 64}, optimizer: {learning_rate: 0.1}, stop: {rounds: 7}}
)";
  const Scenario alone = read(text);  // no devices at all
  REQUIRE(alone.devices.size() == 1);
  CHECK(alone.devices.at("h100").memory == 80e9);
  CHECK(errors(text, {"cluster.workers[0].device=gpu"}) ==
        std::vector<std::string>{"--set cluster.workers[0].device=gpu: cluster.workers[0].device: unknown built-in device 'gpu'; known: "
                                 "cpu_core, h100; there is no section devices, which would describe it: add devices: {gpu: {compute: "
                                 "{affine: {overhead: 2ms, per_sample: 0.35ms}}}}"});
  CHECK(errors(text, {"cluster.workers[0].device=H100"}) ==
        std::vector<std::string>{"--set cluster.workers[0].device=H100: cluster.workers[0].device: unknown built-in device 'H100'; did "
                                 "you mean 'h100'? known: cpu_core, h100; there is no section devices, which would describe it: add "
                                 "devices: {H100: {compute: {affine: {overhead: 2ms, per_sample: 0.35ms}}}}"});
}

TEST_CASE("hosts: workers of one host, its cores and how workers wait") {
  const Scenario s = read(rich);
  const WorkerGroup& shared = s.cluster.workers[0];
  CHECK(shared.per_host == 4);
  CHECK(shared.cores_per_host == 2);
  CHECK(shared.busy_waiting);
  const WorkerGroup& own = s.cluster.workers[1];
  CHECK(own.per_host == 1);
  CHECK_FALSE(own.cores_per_host);
  CHECK_FALSE(own.busy_waiting);
  CHECK(s.cluster.servers.count == 3);
  CHECK_FALSE(s.cluster.servers.host_of_worker);
  CHECK(read(good, {"cluster.servers.host={worker: 7}"}).cluster.servers.host_of_worker == 7);
}

TEST_CASE("links: directions, buckets, and what a group's link inherits from the network's") {
  const Scenario s = read(rich);
  const LinkSpec& network = s.cluster.network.link;
  LinkSpec expected = link(1e9 / 8, 50e-6);
  expected.burst = 128 * 1024.0;
  expected.peak = 2e9 / 8;
  CHECK(network == expected);
  CHECK_FALSE(s.cluster.network.half_duplex);

  LinkSpec wan = expected;
  wan.up = 10e6 / 8;
  wan.down = 50e6 / 8;
  wan.latency = 20e-3;
  CHECK(s.cluster.workers[1].link == wan);  // bucket and peak come along
  LinkSpec burst = expected;
  burst.burst = 64 * 1024.0;
  burst.peak = 4e9 / 8;
  CHECK(s.cluster.workers[2].link == burst);
  CHECK(s.cluster.workers[3].link == link(1e9 / 8, 50e-6));  // burst: 0B takes the bucket away
  LinkSpec server = expected;
  server.up = server.down = 1.5e9 / 8;
  CHECK(s.cluster.servers.link == server);

  const auto of = [](const char* text) {
    return read(rich, {std::string("cluster.network.link=") + text, "cluster.workers[1].link={up: 1Mbps}",
                       "cluster.workers[2].link={burst: 1MiB}"});
  };
  const Scenario t = of("{up: 2Gbps, down: 4Gbps, latency: 0s}");
  CHECK(t.cluster.network.link.up == 2e9 / 8);
  CHECK(t.cluster.network.link.down == 4e9 / 8);
  CHECK(t.cluster.workers[1].link->up == 1e6 / 8);
  CHECK(t.cluster.workers[1].link->down == 4e9 / 8);
  CHECK(t.cluster.workers[2].link->burst == 1024.0 * 1024);
  CHECK_FALSE(t.cluster.workers[2].link->peak);  // a burst of its own has its own peak or none
  const Scenario u = of("{bandwidth: 1Gbps, down: 4Gbps, latency: 0s}");
  CHECK(u.cluster.network.link.up == 1e9 / 8);
  CHECK(u.cluster.network.link.down == 4e9 / 8);
  CHECK(read(good, {"cluster.network.link.duplex=half"}).cluster.network.half_duplex);
}

TEST_CASE("network: sharing, protocol, the inside of hosts, background flows") {
  const NetworkSpec network = read(rich).cluster.network;
  CHECK(network.sharing == Kind{"weighted", {{"bias", 2.0}}});
  CHECK(read(rich, {"cluster.network.sharing=lv08"}).cluster.network.sharing == Kind{"lv08", {}});
  CHECK(network.intra == link(12e9, 5e-6));
  CHECK(network.protocol.per_message == 5e-6);
  CHECK(network.protocol.copy_rate == 2e9);
  CHECK_FALSE(network.protocol.cores);
  CHECK(read(rich, {"cluster.network.protocol.cores=2"}).cluster.network.protocol.cores == 2);
  REQUIRE(network.protocol.segments.size() == 3);
  CHECK(network.protocol.segments[0] == SegmentSpec{64 * 1024.0, 1.2, 0.8});
  CHECK(network.protocol.segments[1] == SegmentSpec{1024 * 1024.0, 2, 1});
  CHECK(network.protocol.segments[2] == SegmentSpec{std::numeric_limits<double>::infinity(), 1, 0.95});
  CHECK(read(rich, {"cluster.network.protocol.segments=[{up_to: 1MiB}]"}).cluster.network.protocol.segments[0].up_to == 1024 * 1024.0);
  REQUIRE(network.background.size() == 2);
  BackgroundSpec flow;
  flow.from = "worker/0";
  flow.to = "server/2";
  flow.on = 2;
  flow.off = 3;
  flow.start = 1;
  flow.random = true;
  flow.rate = 10e6;
  CHECK(network.background[0] == flow);
  flow = BackgroundSpec{};
  flow.from = "server/0";
  flow.to = "worker/7";
  flow.on = 0.1;
  CHECK(network.background[1] == flow);

  const NetworkSpec plain = read(good).cluster.network;
  CHECK(plain.protocol == ProtocolSpec{});
  CHECK(plain.background.empty());
  CHECK_FALSE(plain.intra);
  CHECK(plain.sharing == Kind{"max_min", {}});
}

TEST_CASE("collectives: buckets; with overlap alone, those of DistributedDataParallel") {
  constexpr double mebi = 1024 * 1024;
  const auto of = [](const std::string& text) { return read(rich, {"cluster.network.collective=" + text}).cluster.network.collective; };
  const CollectiveSpec all = read(rich).cluster.network.collective;
  CHECK(all.algorithm == "ring");
  CHECK(all.bucket == 25 * mebi);
  CHECK(all.first_bucket == mebi);
  CHECK(all.overlap);
  CHECK(all.parameters.all().empty());
  const CollectiveSpec tree = of("{algorithm: {kind: tree, pieces: 9}}");
  CHECK(tree.algorithm == "tree");
  CHECK(tree.parameters.count("pieces") == 9);
  CHECK(of("{algorithm: {kind: ring}}").algorithm == "ring");
  const CollectiveSpec overlap = of("{overlap: true}");
  CHECK(overlap.bucket == 25 * mebi);
  CHECK(overlap.first_bucket == mebi);
  CHECK(of("{overlap: true, first_bucket: 2MiB}").first_bucket == 2 * mebi);
  const CollectiveSpec bucket = of("{overlap: true, bucket: 4MiB}");
  CHECK(bucket.bucket == 4 * mebi);
  CHECK_FALSE(bucket.first_bucket);
  const CollectiveSpec late = of("{bucket: 4MiB}");
  CHECK(late.bucket == 4 * mebi);
  CHECK_FALSE(late.overlap);
  CHECK(of("{}") == CollectiveSpec{});
  const CollectiveSpec skewed = of("{fidelity: stepwise, start: as_they_come, eager_up_to: 64KiB}");
  CHECK(skewed.start == CollectiveSpec::Start::as_they_come);
  CHECK(skewed.eager_up_to == 64 * 1024.0);
  CHECK(of("{fidelity: stepwise}").start == CollectiveSpec::Start::together);
}

TEST_CASE("faults") {
  const std::vector<FaultSpec> faults = read(rich).cluster.faults;
  REQUIRE(faults.size() == 9);
  FaultSpec crash;
  crash.kind = FaultSpec::Kind::crash;
  crash.worker = 3;
  crash.at = 10;
  crash.restart_after = 5;
  CHECK(faults[0] == crash);
  crash.at = 15;  // the moment of its restart is late enough
  crash.restart_after = std::nullopt;
  CHECK(faults[1] == crash);
  FaultSpec slow;
  slow.kind = FaultSpec::Kind::slow;
  slow.worker = 1;
  slow.from = 5;
  slow.to = 8;
  slow.times_slower = 4;
  CHECK(faults[2] == slow);
  CHECK(faults[3].from < faults[2].to);  // overlapping spells are allowed
  FaultSpec weak;
  weak.kind = FaultSpec::Kind::link;
  weak.worker = 2;
  weak.from = 5;
  weak.to = 6;
  weak.bandwidth_factor = 0.1;
  CHECK(faults[4] == weak);
  weak.worker = -1;
  weak.server = 1;
  weak.bandwidth_factor = 0;
  CHECK(faults[5] == weak);
  CHECK(faults[6].link == "rack/0-core");
  CHECK(faults[6].worker == -1);
  CHECK(faults[6].server == -1);
  CHECK(faults[7].kind == FaultSpec::Kind::join);
  CHECK(faults[7].at == 20);
  CHECK(faults[8].kind == FaultSpec::Kind::leave);
  CHECK(faults[8].at == 30);
}

TEST_CASE("workload: a model for cost only, and a serial part") {
  const Scenario s = read(rich);
  CHECK(*s.workload.cost.model == Kind{"vgg16", {{"classes", 10}}});
  CHECK(s.workload.serial_per_epoch == 1.5);
  CHECK(read(good).workload.serial_per_epoch == 0);
}

TEST_CASE("on_failure is in the scheme or beside it") {
  const auto of = [](const std::vector<std::string>& sets) { return read(good, sets).training.scheme.parameters.text("on_failure"); };
  CHECK(of({"training.scheme=asgd"}) == "wait");
  CHECK(of({"training.scheme=ssgd"}) == "abort");
  CHECK(of({"training.scheme=asgd", "training.on_failure=drop"}) == "drop");
  CHECK(of({"training.scheme={kind: asgd, on_failure: drop}"}) == "drop");
  CHECK(of({"training.scheme={kind: asgd, on_failure: drop}", "training.on_failure=drop"}) == "drop");
  const auto only = [](const std::vector<std::string>& sets) {
    const std::vector<std::string> lines = errors(good, sets);
    REQUIRE(lines.size() == 1);
    return lines[0];
  };
  CHECK(only({"training.scheme={kind: asgd, on_failure: wait}", "training.on_failure=drop"}) ==
        "--set training.on_failure=drop: training.on_failure: is 'drop' here and 'wait' in training.scheme; keep one");
  CHECK(only({"training.scheme=asgd", "training.on_failure=dropp"}) ==
        "--set training.on_failure=dropp: training.on_failure: unknown choice 'dropp'; did you mean 'drop'? known: wait, drop, abort");
  CHECK(only({"training.scheme=ssgd", "training.on_failure=wait"}) ==
        "--set training.on_failure=wait: training.on_failure: unknown choice 'wait'; known: drop, abort");
  CHECK(only({"training.on_failure=drop"}) ==
        "--set training.on_failure=drop: training.on_failure: nonblocking does not know it; remove it, or choose one of these schemes: "
        "asgd (wait, drop, abort), ssgd (drop, abort)");
  CHECK(only({"training.scheme={kind: asgd, on_failure: now}", "training.on_failure=drop"}).find("unknown choice 'now'") !=
        std::string::npos);
}
