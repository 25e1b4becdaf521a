// Wrong devices, hosts, links, collectives, background traffic and faults: the exact place and what would be right.
#include <doctest/doctest.h>

#include "tests/schema/bad_input_slip.hpp"
#include "tests/schema/reader_fixture.hpp"

using namespace straggler;
using namespace straggler::test;

namespace {

const std::vector<Slip> devices = {
    {"forward_fraction: 40%",
     "forward_fraction: `1",
     {"devices.node.compute.forward_fraction: 1 is out of range; it must be above 0, below 1"}},
    {"peak: 14TFLOPS", "peak: `14", {"devices.gpu.compute.roofline.peak: 14 has no unit; write 14GFLOPS or 14TFLOPS"}},
    {"peak: 14TFLOPS", "peak: `14TFLOP", {"unknown unit 'TFLOP'; did you mean 'TFLOPS'? units of a compute rate: GFLOPS, TFLOPS"}},
    {"peak: 14TFLOPS", "peak: `[14TFLOPS]", {"is a list; write a compute rate such as 14TFLOPS"}},
    {"{roofline: {peak: 14TFLOPS, ",
     "{`roofline: {",
     {"devices.gpu.compute.roofline.peak: is missing; write a compute rate such as 14TFLOPS"}},
    {"roofline: {peak: 14TFLOPS, efficiency: 0.4, memory_bandwidth: 900GB/s,",
     "`roofline: {peak: 14TFLOPS, efficiency: 0.4,",
     {"devices.gpu.compute.roofline.memory_bandwidth: is missing; write a rate such as 900GB/s"}},
    {"efficiency: 0.4", "efficiency: `40", {"40 is out of range; it must be above 0, at most 1"}},
    {"efficiency: 0.4",
     "`eficiency: 0.4",
     {"did you mean 'efficiency'? known: efficiency, dense_efficiency, launch; all 9: straggler list keys devices.compute.roofline"}},
    {"launch: 5ms}",
     "launch: 5ms}, `launch: 5ms",
     {"devices.gpu.compute.launch: goes only with a table; with affine write it as overhead"}},
    {"    compute: {roofline: {peak",
     "    `compute: {affine: {overhead: 1ms}, roofline: {peak",
     {"devices.gpu.compute: has both affine and roofline; keep one"}},
    {"profile: h100",
     "profile: `hh100",
     {"devices.fast.profile: unknown built-in device 'hh100'; did you mean 'h100'? known: cpu_core, h100"}},
    {"profile: h100", "profile: `[h100]", {"devices.fast.profile: is a list; write a text"}},
    {"profile: h100", "`profil: h100", {"devices.fast.profil: unknown key 'profil'; did you mean 'profile'?"}},
    {"per_sample: 100us", "per_sample: `0s", {"devices.node.loader.per_sample: 0s is out of range"}},
    {"loader: {per_sample: 100us, ", "`loader: {", {"devices.node.loader.per_sample: is missing; write a time such as 100us"}},
    {"workers: 4", "workers: `2000000", {"devices.node.loader.workers: 2000000 is out of range; it must be at least 0"}},
    {"prefetch: 3", "prefetch: `half", {"devices.node.loader.prefetch: 'half' is not a number"}},
    {"host_to_device: 12GB/s", "host_to_device: `12GB", {"devices.node.host_to_device: '12GB' has an unknown unit 'GB'"}},
    {"memory: 16GB\n", "memory: `16Gbps\n", {"devices.node.memory: '16Gbps' has an unknown unit 'Gbps'; units of a size"}},
    {"memory: 16GB\n", "memory: `0.5B\n", {"not a whole number of bytes"}},
};

const std::vector<Slip> workers = {
    {"device: gpu", "device: `gpus", {"unknown device 'gpus'; did you mean 'gpu'? known: fast, gpu, node, cpu_core, h100"}},
    {"per_host: 4", "per_host: `0", {"cluster.workers[0].per_host: 0 is out of range; it must be at least 1"}},
    {"cores_per_host: 2", "cores_per_host: `1.5", {"not a whole number"}},
    {"waiting: busy", "waiting: `bussy", {"cluster.workers[0].waiting: unknown choice 'bussy'; did you mean 'busy'? known: busy, yield"}},
    {"{count: 3, link: {bandwidth: 1.5Gbps}}",
     "{count: 3, `host: {}}",
     {"cluster.servers.host.worker: is missing; write the rank of a worker"}},
    {"{count: 3, link: {bandwidth: 1.5Gbps}}",
     "{count: 3, host: {worker: `8}}",
     {"cluster.servers.host.worker: 8 is no worker of the cluster; write a rank from 0 to 7"}},
    {"{count: 3, link: {bandwidth: 1.5Gbps}}", "{count: 3, host: {worker: `-1}}", {"-1 is out of range"}},
    {"servers: {count: 3, link",
     "servers: {count: 3, host: {worker: 0}, `link",
     {"cluster.servers.link: has no effect, since host puts the servers behind a worker's own link"}},
    {"servers: {count: 3, link",
     "aggregators: {host: first_worker, `link: {bandwidth: 1Gbps}}\n  servers: {count: 3, link",
     {"cluster.aggregators.link: has no effect, since host puts the aggregators behind workers' own links"}},
    {"servers: {count: 3, link",
     "aggregators: {host: `mine}\n  servers: {count: 3, link",
     {"cluster.aggregators.host: unknown choice 'mine'; known: auto, own, first_worker"}},
};

const std::vector<Slip> links = {
    {"    link: {bandwidth: 1Gbps, latency: 50us",
     "    `link: {up: 1Gbps, latency: 50us",
     {"cluster.network.link.down: is missing; write a rate such as 1Gbps, or bandwidth for both directions"}},
    {"    link: {bandwidth: 1Gbps, latency: 50us",
     "    `link: {latency: 50us",
     {"cluster.network.link.bandwidth: is missing; write a rate such as 1Gbps"}},
    {"{bandwidth: 1Gbps, latency: 50us", "{up: 1Gbps, `donw: 1Gbps, latency: 50us", {"unknown key 'donw'; did you mean 'down'?"}},
    {"{up: 10Mbps, down: 50Mbps, latency: 20ms}", "{up: `10, down: 50Mbps}", {"cluster.workers[1].link.up: 10 has no unit"}},
    {"link: {up: 10Mbps, down: 50Mbps,",
     "`link: {bandwidth: 10Mbps, up: 10Mbps, down: 50Mbps,",
     {"cluster.workers[1].link: has bandwidth beside up and down, which already give both directions; keep bandwidth, or up and down"}},
    {"peak: 4Gbps",
     "`peak: 500Mbps",
     {"cluster.workers[2].link.peak: 500Mbps is not above the bandwidth of the link; write a peak above 1Gbps"}},
    {"{burst: 0B}",
     "{burst: 0B, `peak: 4Gbps}",
     {"cluster.workers[3].link.peak: is the rate of a burst, and there is none; add burst: 128KiB"}},
    {"{burst: 0B}", "{burst: `-1B}", {"cluster.workers[3].link.burst: '-1B' is negative"}},
    {"burst: 128KiB, peak: 2Gbps", "`peak: 2Gbps", {"cluster.network.link.peak: is the rate of a burst, and there is none; add burst"}},
    {"burst: 128KiB, peak: 2Gbps",
     "burst: 128KiB, `peak: 1Gbps",
     {"1Gbps is not above the bandwidth of the link; write a peak above 1Gbps"}},
    {"link: {bandwidth: 1.5Gbps}",
     "`link: {bandwidth: 10Gbps}",
     {"cluster.servers.link.peak: 2Gbps is not above the bandwidth of the link; write a peak above 10Gbps"}},
    {"duplex: full", "duplex: `duplex", {"cluster.network.link.duplex: unknown choice 'duplex'; known: full, half"}},
    {"{burst: 0B}", "{`duplex: half}", {"cluster.workers[3].link.duplex: holds for the whole network; write it in cluster.network.link"}},
    {"bandwidth: 12GB/s, latency: 5us",
     "bandwidth: 12GB/s, `up: 1Gbps, latency: 5us",
     {"cluster.network.intra.up: unknown key 'up'", "known: card, switch, socket; all 8: straggler list keys cluster.network.intra"}},
    {"intra: {bandwidth: 12GB/s, latency: 5us}", "intra: {machine: `dgx2}", {"cluster.network.intra.machine: unknown machine 'dgx2'"}},
    {"intra: {bandwidth: 12GB/s, latency: 5us}",
     "intra: {bandwidth: 12GB/s, latency: 5us, `switch: {workers: 2}}",
     {"cluster.network.intra.switch.bandwidth: is missing; write a rate such as 10GB/s"}},
    {"intra: {bandwidth: 12GB/s, latency: 5us}",
     "intra: {bandwidth: 12GB/s, latency: 5us, switch: {workers: 3, bandwidth: 2GB/s}, `socket: {workers: 4, bandwidth: 1GB/s}}",
     {"cluster.network.intra.socket: joins 4 workers, which is not a multiple of the switches' 3"}},
    {"intra: {bandwidth: 12GB/s, latency: 5us}",
     "intra: {bandwidth: 12GB/s, latency: 5us, `card: {at: bus}}",
     {"cluster.network.intra.card.workers: is missing; write how many neighbouring workers have a card, such as 2"}},
    {"intra: {bandwidth: 12GB/s, latency: 5us}",
     "intra: {bandwidth: 12GB/s, latency: 5us, card: {workers: 2, at: `root}}",
     {"cluster.network.intra.card.at: unknown choice 'root'; known: beside, switch, bus"}},
    {"intra: {bandwidth: 12GB/s, latency: 5us}",
     "intra: {bandwidth: 12GB/s, latency: 5us, `card: {workers: 2, at: switch}}",
     {"cluster.network.intra.card: sits on a switch, and there is none; add switch: {workers: 4, bandwidth: 10GB/s}, or write at: bus"}},
    {"intra: {bandwidth: 12GB/s, latency: 5us}",
     "intra: {bandwidth: 12GB/s, latency: 5us, switch: {workers: 4, bandwidth: 2GB/s}, `card: {workers: 3, at: switch}}",
     {"cluster.network.intra.card: is one for 3 workers, which are no whole part of a switch of 4; write a divisor of it"}},
    {"intra: {bandwidth: 12GB/s, latency: 5us}",
     "intra: {bandwidth: 12GB/s, latency: 5us, while_computing: `0}",
     {"cluster.network.intra.while_computing: 0 is out of range"}},
    {"intra: {bandwidth: 12GB/s, latency: 5us}",
     "`intra: {bandwidth: 12GB/s}",
     {"cluster.network.intra.latency: is missing; write a time such as 5us"}},
};

const std::vector<Slip> network = {
    {"kind: weighted, bias",
     "kind: `wighted, bias",
     {"cluster.network.sharing.kind: unknown sharing model 'wighted'; did you mean 'weighted'? known: lv08, max_min, weighted"}},
    {"bias: 2", "bias: `0", {"cluster.network.sharing.bias: 0 is out of range; it must be above 0"}},
    {"per_message: 5us", "per_message: `5", {"cluster.network.protocol.per_message: 5 has no unit"}},
    {"{up_to: 64KiB, latency_factor",
     "`{latency_factor",
     {"cluster.network.protocol.segments[0].up_to: is missing; write a size such as 64KiB; only the last segment is for any size"}},
    {"{up_to: 1MiB,",
     "{up_to: `64KiB,",
     {"cluster.network.protocol.segments[1].up_to: 64KiB is not above that of the previous segment, 64KiB; write the segments in ascending "
      "order"}},
    {"bandwidth_factor: 0.8}", "bandwidth_factor: `0}", {"cluster.network.protocol.segments[0].bandwidth_factor: 0 is out of range"}},
    {"latency_factor: 1.2", "latency_factor: `-1", {"latency_factor: -1 is out of range; it must be at least 0"}},
    {"latency_factor: 1.2", "`latency_faktor: 1.2", {"did you mean 'latency_factor'? known: up_to, latency_factor, bandwidth_factor"}},
    {"to: server/2",
     "to: `server/3",
     {"cluster.network.background[0].to: 'server/3' is no end point of the cluster; there are worker/0 to worker/7, server/0 to server/2"}},
    {"to: server/2", "to: `host/2", {"'host/2' is no end point of the cluster"}},
    {"to: server/2", "to: `worker/01", {"'worker/01' is no end point of the cluster"}},
    {"to: server/2", "to: `worker/99999999999999999999", {"is no end point of the cluster"}},
    {"to: worker/7", "to: `server/0", {"cluster.network.background[1].to: is 'server/0' as from is; write another end point"}},
    {"- {from: server/0, ",
     "- `{",
     {"cluster.network.background[1].from: is missing; write the name of an end point such as worker/0 or server/0"}},
    {"- {from: server/0, to: worker/7, on: 100ms}",
     "- `{from: server/0, to: worker/7}",
     {"cluster.network.background[1].on: is missing; write the duration of the flow, a time such as 2s"}},
    {"on: 100ms", "on: `0s", {"cluster.network.background[1].on: 0s is out of range"}},
    {"random: true", "random: `yes", {"cluster.network.background[0].random: 'yes' is neither true nor false"}},
    {"rate: 10MB/s", "rate: `10MB", {"cluster.network.background[0].rate: '10MB' has an unknown unit"}},
    {"overlap: true", "overlap: `maybe", {"cluster.network.collective.overlap: 'maybe' is neither true nor false"}},
    {"first_bucket: 1MiB", "first_bucket: `1", {"cluster.network.collective.first_bucket: 1 has no unit"}},
    {"bucket: 25MiB, first_bucket: 1MiB, overlap: true",
     "`first_bucket: 1MiB",
     {"cluster.network.collective.first_bucket: is the first of several buckets, and there is one; add bucket: 25MiB"}},
    {"bucket: 25MiB,", "bucket: `0B,", {"cluster.network.collective.bucket: 0B is out of range; it must be at least 1B"}},
    {"serial_per_epoch: 1.5s", "serial_per_epoch: `1.5", {"workload.serial_per_epoch: 1.5 has no unit"}},
    {"kind: vgg16", "kind: `vgg", {"workload.cost.model.kind: unknown model 'vgg'", "known: mlp, resnet50, vgg16"}},
    {"  model: {kind: mlp, hidden: [200, 100]}",
     "  model: `vgg16",
     {"workload.model: 'vgg16' cannot be trained here; use it as workload.cost.model", "beside a trainable model: mlp, resnet50"}},
};

const std::vector<Slip> faults = {
    {"kind: crash, worker: 3, at: 10s",
     "kind: `crush, worker: 3, at: 10s",
     {"cluster.faults[0].kind: unknown fault 'crush'; did you mean 'crash'? known: crash, trace, slow and 6 more"}},
    {"kind: crash, worker: 3, at: 10s",
     "kind: crash, worker: `8, at: 10s",
     {"cluster.faults[0].worker: 8 is no worker of the cluster; write a rank from 0 to 7"}},
    {"kind: crash, worker: 3, at: 10s", "kind: crash, worker: `-1, at: 10s", {"cluster.faults[0].worker: -1 is out of range"}},
    {"- {kind: crash, worker: 3, at: 10s",
     "- `{kind: crash, at: 10s",
     {"cluster.faults[0].worker: is missing; write the rank of a worker such as 3"}},
    {"- {kind: crash, worker: 3, at: 10s", "- `{kind: crash, worker: 3", {"cluster.faults[0].at: is missing; write a time such as 10s"}},
    {"restart_after: 5s", "restart_after: `0s", {"cluster.faults[0].restart_after: 0s is out of range"}},
    {"restart_after: 5s", "`restart: 5s", {"cluster.faults[0].restart: unknown key 'restart'", "known: kind, worker, at, restart_after"}},
    {"at: 15s", "at: `14.9s", {"cluster.faults[1].at: worker 3 is still down from its crash at 10s; write a time after its restart"}},
    {"10s, restart_after: 5s}\n    - {kind: crash, worker: 3, at: 15s}",
     "10s}\n    - {kind: crash, worker: 3, at: `15s}",
     {"cluster.faults[1].at: worker 3 crashed at 10s for good; give that crash restart_after, or remove one of the two"}},
    {"from: 5s, to: 8s", "from: 5s, to: `5s", {"cluster.faults[2].to: 5s is not after from, 5s; write a later time"}},
    {"from: 5s, to: 8s", "from: 0s, to: `0s", {"cluster.faults[2].to: 0s is not after from, 0s; write a later time"}},
    {"times_slower: 4", "times_slower: `0.5", {"cluster.faults[2].times_slower: 0.5 is out of range; it must be at least 1"}},
    {"- {kind: slow, worker: 1, from: 5s, to: 8s, times_slower: 4}",
     "- `{kind: slow, worker: 1, from: 5s, to: 8s}",
     {"cluster.faults[2].times_slower: is missing; write a number such as 4"}},
    {"bandwidth_factor: 10%",
     "bandwidth_factor: `1.5",
     {"cluster.faults[4].bandwidth_factor: 1.5 is out of range; it must be at least 0, at most 1"}},
    {"- {kind: link, worker: 2, from: 5s, to: 6s, bandwidth_factor: 10%}",
     "- `{kind: link, worker: 2, from: 5s, to: 6s}",
     {"cluster.faults[4].bandwidth_factor: is missing; write a share such as 0.1"}},
    {"- {kind: link, worker: 2,", "- `{kind: link,", {"cluster.faults[4]: names no link; write one of worker: 2, server: 0"}},
    {"- {kind: link, server: 1,", "- `{kind: link, server: 1, worker: 1,", {"cluster.faults[5]: names several links; write one of"}},
    {"kind: link, server: 1",
     "kind: link, server: `3",
     {"cluster.faults[5].server: 3 is no server of the cluster; write a number from 0 to 2"}},
    {"link: rack/0-core", "`link: ''", {"cluster.faults[6].link: is empty; write the name of a link as in links.csv"}},
    {"link: rack/0-core", "link: `[a]", {"cluster.faults[6].link: is a list; write a text"}},
    {"kind: leave, worker: 7, at: 30s",
     "kind: leave, worker: 7, at: `20s",
     {"cluster.faults[8].at: 20s is not after worker 7 joins, at 20s; write a later time"}},
    {"kind: leave, worker: 7, at: 30s",
     "kind: join, worker: `7, at: 30s",
     {"cluster.faults[8].worker: worker 7 joins already in cluster.faults[7]; keep one"}},
    {"kind: leave, worker: 7, at: 30s",
     "kind: crash, worker: 7, at: `5s",
     {"cluster.faults[8].at: 5s is not after worker 7 joins, at 20s; write a later time"}},
    {"kind: join, worker: 7, at: 20s",
     "kind: crash, worker: 7, at: `30s",
     {"cluster.faults[7].at: worker 7 has left by then, at 30s; write an earlier time"}},
    {"kind: join, worker: 7, at: 20s}\n    - {kind: leave, worker: 7, at: 30s",
     "kind: leave, worker: 7, at: 20s}\n    - {kind: leave, worker: `7, at: 30s",
     {"cluster.faults[8].worker: worker 7 leaves already in cluster.faults[7]; keep one"}},
};

void check_all(const std::vector<Slip>& slips) {
  for (const Slip& slip : slips) {
    CAPTURE(std::string(slip.instead));
    CHECK(check_slip(rich, slip) == 1);
  }
}

}  // namespace

TEST_CASE("wrong devices are refused, one line a mistake") { check_all(devices); }
TEST_CASE("wrong hosts and servers are refused, one line a mistake") { check_all(workers); }
TEST_CASE("wrong links are refused, one line a mistake") { check_all(links); }
TEST_CASE("wrong networks are refused, one line a mistake") { check_all(network); }
TEST_CASE("wrong faults are refused, one line a mistake") { check_all(faults); }

TEST_CASE("lists that are none, and parts that are no maps") {
  const auto only = [](const std::string& set) {
    const std::vector<std::string> lines = errors(rich, {set});
    REQUIRE_FALSE(lines.empty());
    return lines[0].substr(std::string("--set " + set + ": ").size());
  };
  CHECK(only("cluster.faults=none") == "cluster.faults: is 'none'; write a list such as [{kind: crash, worker: 3, at: 10s}]");
  CHECK(only("cluster.faults={}") == "cluster.faults: is a map; write a list such as [{kind: crash, worker: 3, at: 10s}]");
  CHECK(only("cluster.faults=[3]") == "cluster.faults[0]: is '3'; write a map such as {kind: crash, worker: 3, at: 10s}");
  CHECK(only("cluster.network.background=yes") ==
        "cluster.network.background: is 'yes'; write a list such as [{from: worker/0, to: worker/1, on: 2s, off: 3s}]");
  CHECK(only("cluster.network.protocol.segments=1") ==
        "cluster.network.protocol.segments: is '1'; write a list such as [{up_to: 64KiB, bandwidth_factor: 0.8}]");
  CHECK(only("cluster.network.protocol=1") == "cluster.network.protocol: is '1'; write a map such as {per_message: 10us}");
  CHECK(only("cluster.network.link=1Gbps") == "cluster.network.link: is '1Gbps'; write a map such as {bandwidth: 1Gbps, latency: 50us}");
  CHECK(only("devices.node.loader=fast") == "devices.node.loader: is 'fast'; write a map such as {per_sample: 1ms}");
  CHECK(only("training=1") == "training: is '1'; write a map (keys with values)");
  CHECK(only("cluster.servers=1") == "cluster.servers: is '1'; write a map such as {count: 1}");
  CHECK(only("training.evaluate.every=0.25") ==
        "training.evaluate.every: is '0.25'; write a map such as {epochs: 0.25}, {updates: 100} or {simulated_time: 10s}");
  CHECK(errors(rich, {"training.evaluate.every=0.25"}).size() == 1);
  CHECK(only("cluster.workers[0].link={}") == "cluster.workers[0].link: overrides nothing; write bandwidth, latency or both");
  CHECK(errors(rich, {"cluster.faults=[]", "cluster.network.background=[]", "cluster.network.protocol={segments: []}"}).empty());
}

TEST_CASE("a map that a message gives as an example is right where it stands") {
  for (const char* path : {"devices.node.compute", "devices.node.compute.affine", "devices.node.loader", "cluster.network",
                           "cluster.network.link", "cluster.network.intra", "cluster.network.protocol", "cluster.servers",
                           "cluster.faults[0]", "workload", "workload.cost", "training.batch", "training.stop", "training.evaluate"}) {
    CAPTURE(std::string(path));
    const std::string message = errors(rich, {path + std::string("=wrong")}).front(), such_as = "write a map such as ";
    const std::size_t at = message.find(such_as);
    REQUIRE(at != std::string::npos);
    const std::string example = path + ("=" + message.substr(at + such_as.size()));
    for (const std::string& line : errors(rich, {example})) CHECK_MESSAGE(line.find("--set " + example) == std::string::npos, line);
  }
}

TEST_CASE("half duplex has one bandwidth for both directions") {
  const std::string half = "cluster.network.link={bandwidth: 1Gbps, latency: 0s, duplex: half}";
  CHECK(errors(good, {half}).empty());
  CHECK(errors(good, {"cluster.network.link={up: 1Gbps, down: 2Gbps, latency: 0s, duplex: half}"}) ==
        std::vector<std::string>{
            "--set cluster.network.link={up: 1Gbps, down: 2Gbps, latency: 0s, duplex: half}: cluster.network.link: has up 1Gbps and down "
            "2Gbps, and with duplex: half both directions share one bandwidth; write bandwidth alone"});
  CHECK(errors(good, {half, "cluster.servers.link={up: 10Mbps}"}) ==
        std::vector<std::string>{"--set cluster.servers.link={up: 10Mbps}: cluster.servers.link: has up 10Mbps and down 1Gbps, and with "
                                 "duplex: half both directions share one bandwidth; write bandwidth alone"});
}

TEST_CASE("buckets are no error where workers exchange through a server") {
  CHECK(errors(rich, {"training.scheme=asgd"}).empty());
  CHECK(errors(rich, {"training.scheme={kind: ssgd, via: server}", "cluster.network.collective={bucket: 1MiB}"}).empty());
}

TEST_CASE("ranks that need a server are reported when there is none") {
  const auto lines = errors(rich, {"cluster.servers.count=0"});
  const auto has = [&](std::string_view phrase) {
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.find(phrase) != std::string::npos; });
  };
  CHECK(lines.size() == 3);
  CHECK(has("cluster.faults[5].server: 1 is no server, since the cluster has none; add cluster.servers: {count: 1}"));
  CHECK(has("cluster.network.background[0].to: 'server/2' is no end point of the cluster; there are worker/0 to worker/7"));
  CHECK(has("cluster.network.background[1].from: 'server/0' is no end point of the cluster"));
}
