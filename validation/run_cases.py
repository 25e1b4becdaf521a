"""Scheme variants and run cases that byte_equality and replay_check share. Nothing here names a scheme: `straggler list` does."""
import json
import subprocess

# Heterogeneous and jittered, with a network that matters and a server that takes time, as in tests/support/variants.hpp.
UNEVEN = """straggler: 1
name: uneven
seed: 7
devices:
  node:
    compute: {affine: {overhead: 2ms, per_sample: 0.3ms}}
    jitter: {kind: gamma, shape: 2}
    update: 10MB/s
cluster:
  workers: [{count: 3, device: node}, {count: 2, device: node, slowdown: 3, link: {bandwidth: 10Mbps}}]
  servers: {count: 1, update: 5MB/s, per_message: 20us}
  network: {link: {bandwidth: 100Mbps, latency: 100us}}
workload:
  model: {kind: mlp, hidden: [16]}
  data: {kind: coordinates, samples: 2000, test_samples: 200}
training:
  scheme: SCHEME
  batch: {per_worker: 50}
  optimizer: {kind: sgd, learning_rate: 0.05, momentum: 0.9}
  stop: {epochs: 3}
  evaluate: {every: {epochs: 0.5}, thresholds: [0.3]}
"""
ALONE = "cluster.workers=[{count: 1, device: node}]"
# For workers that share a host's memory.
ONE_HOST = ["cluster.workers=[{count: 3, device: node, per_host: 5}, {count: 2, device: node, slowdown: 3, same_host: true}]",
            "cluster.network.intra={bandwidth: 100kB/s, latency: 50us}"]

# A message takes as long as a computation, so that a fault may strike in either, as in tests/simulated/faults_contract_test.cpp.
FAULTS = """straggler: 1
name: faults
seed: 5
devices:
  node:
    compute: {affine: {overhead: 1ms, per_sample: 0.3ms}}
    jitter: {kind: gamma, shape: 3}
    update: 100MB/s
cluster:
  workers: [{count: 3, device: node}, {count: 1, device: node, slowdown: 2}]
  servers: {count: 1, update: 50MB/s, per_message: 20us}
  network: {link: {bandwidth: 100Mbps, latency: 1ms}}
workload:
  model: {kind: mlp, hidden: [16]}
  data: {kind: coordinates, samples: 400, test_samples: 100}
  cost: {bytes: 100000B}
training:
  scheme: SCHEME
  batch: {per_worker: 40}
  optimizer: {kind: sgd, learning_rate: 0.05, momentum: 0.9}
  stop: {updates: 12, simulated_time: 5s}
"""

# Real runs: four workers, one of them slower.
REAL = """straggler: 1
name: replay
seed: 1
devices:
  node: {compute: {affine: {overhead: 1ms, per_sample: 0.02ms}}}
cluster:
  workers: [{count: 3, device: node}, {count: 1, device: node, slowdown: 1.7}]
  servers: {count: 1}
  network: {link: {bandwidth: 10Gbps, latency: 20us}}
workload:
  model: {kind: mlp, hidden: [40, 30]}
  data: {kind: coordinates, samples: 2000, test_samples: 500}
training:
  scheme: SCHEME
  batch: {per_worker: 50}
  optimizer: {kind: sgd, learning_rate: 0.05, momentum: 0.8}
  stop: {updates: 60}
  evaluate: {every: {updates: 15}}
"""

# Running statistics travel as messages of their own.
BATCH_NORM = ["workload.model=resnet8",
              "workload.data={kind: synthetic_images, samples: 96, test_samples: 16}",
              "workload.batch_norm.exchange=true", "training.batch.per_worker=4", "training.stop={updates: 16}",
              "training.evaluate={every: {updates: 8}}"]

# Messages of a tenth of all values.
TOP_K = "training.compression={kind: top_k, fraction: 0.1}"
TOP_K_BOTH = "training.compression={kind: top_k, fraction: 0.1, direction: both}"
SUMMED = ["fp16", "random_k", "powersgd"]  # whose all-reduces are sums
COMPRESSORS = ["fp16", "random_k", "powersgd", "signsgd"]  # beside top_k: sums in 16 bits and in 32, factors, votes

HOSTS = "cluster.workers=[{count: 6, device: node, per_host: 3, cores_per_host: %d, waiting: %s}]"
INTRA = "cluster.network.intra={bandwidth: 1GB/s, latency: 10us}"
COLLECTIVE = "cluster.network.collective="

# What the cluster may be like: name, settings of UNEVEN.
CONDITIONS = [
    ("servers-3", ["cluster.servers.count=3"]),
    ("server-on-a-worker", ["cluster.servers={count: 2, host: {worker: 0}, update: 5MB/s}"]),
    ("per-message", ["cluster.network.protocol={per_message: 300us, copy_rate: 20MB/s}"]),
    ("half-duplex", ["cluster.network.link.duplex=half"]),
    ("segments", ["cluster.network.protocol.segments=[{up_to: 500B, latency_factor: 1.5, bandwidth_factor: 0.7}, {bandwidth_factor: 0.9}]"]),
    ("protocol-cores", ["cluster.network.protocol={per_message: 500us, cores: 2}", COLLECTIVE + "{fidelity: stepwise}"]),
    ("protocol-cores-as-they-come", ["cluster.network.protocol={per_message: 500us, cores: 1}", "cluster.servers.count=3",
                                     COLLECTIVE + "{fidelity: stepwise, start: as_they_come}"]),
    ("background", ["cluster.network.background=[{from: worker/0, to: worker/3, on: 20ms, off: 30ms, random: true}, "
                    "{from: worker/1, to: worker/2, on: 5ms, rate: 5MB/s}]"]),
    ("bursts", ["cluster.network.link={bandwidth: 20Mbps, latency: 100us, burst: 2kB, peak: 100Mbps}"]),
    ("loader", ["devices.node.loader={per_sample: 0.4ms, workers: 2, prefetch: 1, start: 3ms, hand_over: 0.2ms}",
                "devices.node.host_to_device=50kB/s"]),
    ("loader-none", ["devices.node.loader={per_sample: 0.4ms, workers: 0}"]),
    ("shared-cores", [HOSTS % (2, "yield"), INTRA]),
    ("busy-cores", [HOSTS % (1, "busy"), INTRA]),
    ("serial-part", ["workload.serial_per_epoch=30ms"]),
    ("big-messages", ["workload.cost.bytes=100kB"]),
    ("shared-data", ["workload.data.partition=shared"]),
    ("shards", ["workload.data.partition={kind: shards, per_worker: 1}"]),
    ("sorted-runs", ["workload.data.partition=sorted_runs"]),
    ("no-reshuffle", ["workload.data.reshuffle=false"]),
    ("global-batch", ["training.batch={global: 123}"]),
    ("no-fusion", ["workload.fuse=off"]),
    ("scaled-rate", ["training.schedule={kind: cosine, warmup: {epochs: 1}, scale_with_workers: linear}"]),
    ("validation-split", ["training.evaluate.split=validation"]),
    ("by-time", ["training.evaluate.every={simulated_time: 50ms}"]),
    ("target", ["training.stop.target_accuracy=0.4", "training.evaluate.sustain=1"]),
    ("diverges", ["training.optimizer.learning_rate=1e30"]),
    ("pauses", ["devices.node.jitter.every={time: 20ms}"]),
    ("jitter-by-call", ["devices.node.jitter.every=call"]),
    ("spells", ["devices.node.jitter={kind: markov, p_slow: 0.1, every: {samples: 10}}"]),
    ("no-jitter", ["devices.node.jitter=none"]),  # many things happen at the same instant
    ("no-jitter-free-network", ["devices.node={compute: {affine: {per_sample: 1ms}}}", "cluster.servers={count: 1}",
                                "cluster.workers=[{count: 5, device: node}]", "cluster.network.link={bandwidth: 1000GB/s, latency: 0s}"]),
] + [("sharing-" + kind, ["cluster.network.sharing=" + kind]) for kind in ("none", "lv08")] + [
    ("topology-" + name, ["cluster.network.topology=" + kind]) for name, kind in (
        ("dragonfly", "{kind: dragonfly, groups: 3, routers: 2, hosts: 1}"), ("fat-tree", "{kind: fat_tree, k: 4}"), ("full", "full"),
        ("hosts", "hosts"), ("ring", "ring"), ("torus", "{kind: torus, dims: [2, 3]}"),
        ("racks", "{kind: two_level, racks: 2, oversubscription: 3}"), ("wan", "{kind: wan, backbone: 20Mbps}"))
]

# What is computed: name, settings of UNEVEN.
MATH = [("precision-" + each, ["workload.precision=" + each]) for each in ("fp16", "bf16", "mixed")] + [
    ("optimizer-" + name, ["training.optimizer=" + kind]) for name, kind in (
        ("adam", "{kind: adam, learning_rate: 0.01}"), ("adamw", "{kind: adamw, learning_rate: 0.01}"),
        ("adagrad", "{kind: adagrad, learning_rate: 0.05}"), ("lars", "{kind: lars, learning_rate: 0.5}"),
        ("nesterov", "{kind: sgd, learning_rate: 0.05, momentum: 0.9, nesterov: true, weight_decay: 1e-3}"))
] + [
    ("quadratic", ["workload.model=quadratic", "training.evaluate={every: {epochs: 0.5}}", "training.optimizer.learning_rate=0.001"]),
    ("batch-norm", BATCH_NORM),
    ("batch-norm-mixed", BATCH_NORM + ["workload.precision=mixed"]),
    ("batch-norm-stays", [each.replace("true", "false") for each in BATCH_NORM]),
    ("batch-norm-buckets", BATCH_NORM + [COLLECTIVE + "{bucket: 20kB, overlap: true}"]),
]

# How an all-reduce goes, beside its algorithm.
FIDELITIES = [("fluid", "fidelity: fluid"), ("stepwise", "fidelity: stepwise"), ("as-they-come", "fidelity: stepwise, start: as_they_come"),
              ("eager", "fidelity: stepwise, start: as_they_come, eager_up_to: 300B")]
BUCKETS = [("whole", ""), ("buckets", ", bucket: 200B"), ("overlap", ", bucket: 200B, first_bucket: 100B, overlap: true"),
           ("reduce-rate", ", reduce_rate: 2MB/s")]
GROUPS = [("5", []), ("2x3", [HOSTS % (3, "yield"), INTRA]), ("4", ["cluster.workers=[{count: 4, device: node}]", "devices.node.jitter=none",
                                                                   "cluster.servers.count=3"])]
# FAULTS with layers for buckets, on links on which a bucket takes as long as a layer.
LAYERS = ["workload.cost={model: {kind: mlp, hidden: [60, 60, 60]}}", "cluster.network.link={bandwidth: 10Mbps, latency: 100us}"]


def stories(workers, struck):
    """Faults from the moment `struck` (ms) on: name, faults. As in tests/simulated/faults_contract_test.cpp."""
    def crash(worker, at, restart=None):
        return "{kind: crash, worker: %d, at: %dms%s}" % (worker, at, "" if restart is None else ", restart_after: %dms" % restart)

    def at(kind, worker, when):
        return "{kind: %s, worker: %d, at: %dms}" % (kind, worker, when)

    def spell(kind, worker, start, end, how):
        return "{kind: %s, worker: %d, from: %dms, to: %dms, %s}" % (kind, worker, start, end, how)
    other, last = min(1, workers - 1), workers - 1
    found = [
        ("crash", [crash(0, struck, 30)]),
        ("crash-short", [crash(other, struck, 3)]),
        ("crash-again", [crash(0, struck, 10), crash(0, struck + 40, 20)]),
        ("crash-while-restarting", [crash(0, struck, 10), crash(0, struck + 11, 20)]),
        ("crash-long", [crash(last, struck, 300)]),
        ("crash-for-good", [crash(last, struck)]),
        ("crash-at-start", [crash(0, 0, 5)]),
        ("never-there", [crash(0, 0)]),
        ("slow", [spell("slow", 0, struck, struck + 100, "times_slower: 5"), spell("slow", 0, struck + 20, struck + 50, "times_slower: 2")]),
        ("link-down", [spell("link", other, struck, struck + 60, "bandwidth_factor: 0")]),
        ("link-slow-and-crash", [spell("link", 0, struck, struck + 60, "bandwidth_factor: 0.1"), crash(0, struck + 10, 15)]),
        ("leave", [at("leave", 0, struck)]),
    ]
    if workers == 1:
        return found
    everyone = range(workers)
    return found + [
        ("all-crash", [crash(worker, struck + worker, 20 + 5 * worker) for worker in everyone]),
        ("all-crash-for-good", [crash(worker, struck + 7 * worker) for worker in everyone]),
        ("all-leave", [at("leave", worker, struck + 9 * worker) for worker in everyone]),
        ("three-crash", [crash(0, struck, 20), crash(1, struck, 20), crash(2, struck, 40)]),
        ("join", [at("join", 1, struck)]),
        ("two-join", [at("join", 0, struck), at("join", 2, struck + 1)]),
        ("join-and-crash", [at("join", 1, struck), crash(1, struck + 9, 10)]),
        ("leave-crash-join", [at("leave", 2, struck), crash(3, struck, 25), at("join", 1, struck + 10)]),
        ("leave-while-down", [crash(1, struck, 50), at("leave", 1, struck + 20)]),
        ("server-link-down", ["{kind: link, server: 0, from: %dms, to: %dms, bandwidth_factor: 0}" % (struck, struck + 30)]),
    ]


def flow_items(parameters):
    """Items of a YAML flow map; those named map.key stand in a map of their own."""
    maps = {}
    for key, value in parameters.items():
        name, dot, inside = key.partition(".")
        maps.setdefault(name, []).append(f"{inside}: {value}" if dot else f"{key}: {value}")
    dotted = {key.partition(".")[0] for key in parameters if "." in key}
    return [f"{name}: {{{', '.join(items)}}}" if name in dotted else items[0] for name, items in maps.items()]


class Variant:
    """A scheme and parameters for it, with the facts that the registry states."""

    def __init__(self, kind, parameters, facts):
        self.kind, self.parameters, self.facts = kind, parameters, facts

    def scheme(self, **more):
        """As a scenario writes it."""
        return "{" + ", ".join(["kind: " + self.kind] + flow_items({**self.parameters, **more})) + "}"

    @property
    def name(self):
        return ",".join([self.kind] + [f"{key}={value}" for key, value in self.parameters.items()])

    @property
    def server(self):
        return self.facts["exchange"] == "server"

    @property
    def all_reduce(self):
        return self.facts["exchange"] == "all_reduce"

    @property
    def ranks(self):
        """Of a real run of REAL."""
        return self.workers or 4 + self.server + self.facts["aggregators_of_4_workers"]

    @property
    def workers(self):
        """None, or how many workers it runs on."""
        return self.facts["workers"]


def listing(program, group):
    return json.loads(subprocess.run([str(program), "list", group, "--json"], capture_output=True, text=True, check=True).stdout)


def known(entries, variant):
    """Whether a program that listed these schemes has this variant."""
    parameters = {each["name"]: each for entry in entries if entry["name"] == variant.kind for each in entry["parameters"]}
    return variant.kind in [entry["name"] for entry in entries] and all(
        key in parameters and (not parameters[key]["choices"] or value in parameters[key]["choices"]) for key, value in variant.parameters.items())


def variants(program):
    """What the registry says that tests of all schemes run: defaults, each choice of each parameter but on_failure, and its examples."""
    found = []
    for entry in listing(program, "schemes"):
        choices = next((each["choices"] for each in entry["parameters"] if each["name"] == "on_failure"), [])
        for variant in entry["variants"]:
            found.append(Variant(entry["name"], variant["parameters"], {**entry, **variant, "on_failure": choices}))
    return found
