"""What check_schemes runs: a small cluster, and schemes in C++ beside those in Python."""
UNEVEN = """straggler: 1
name: uneven
seed: 7
devices:
  node:
    compute: {affine: {overhead: 2ms, per_sample: 0.3ms}}
    jitter: {kind: gamma, shape: 2}
    update: 10MB/s
cluster:
  workers: [{count: 3, device: node}, {count: 1, device: node, slowdown: 3, link: {bandwidth: 10Mbps}}]
  servers: {count: 1, update: 5MB/s, per_message: 20us}
  network: {link: {bandwidth: 100Mbps, latency: 100us}}
workload:
  model: {kind: mlp, hidden: [16]}
  data: {kind: coordinates, samples: 2000, test_samples: 200}
training:
  scheme: {kind: asgd}
  batch: {per_worker: 50}
  optimizer: {kind: sgd, learning_rate: 0.05, momentum: 0.9}
  stop: {epochs: 3}
  evaluate: {every: {epochs: 0.5}, thresholds: [0.3]}
"""
# (in C++, in Python)
PAIRS = [
    ({"kind": "asgd"}, {"kind": "py_asgd"}),
    ({"kind": "ssp", "slack": 1}, {"kind": "py_ssp", "slack": 1}),
    ({"kind": "fedavg", "clients": 2, "local_epochs": 1}, {"kind": "py_fedavg", "clients": 2}),
    ({"kind": "dpsgd"}, {"kind": "py_dpsgd"}),
    ({"kind": "nonblocking", "minibatch": 10}, {"kind": "py_nonblocking", "minibatch": 10}),
    ({"kind": "local_sgd", "steps": 3, "momentum_at_sync": "average"}, {"kind": "py_local_sgd", "steps": 3}),
    ({"kind": "downpour", "push_every": 2, "fetch_every": 3}, {"kind": "py_downpour"}),
    ({"kind": "k_sync", "k": 3}, {"kind": "py_k_sync", "k": 3}),
    ({"kind": "adpsgd"}, {"kind": "py_adpsgd"}),
    ({"kind": "diloco", "steps": 4}, {"kind": "py_diloco"}),
    ({"kind": "ssgd", "via": "server"}, {"kind": "py_ssgd"}),
    ({"kind": "sgp"}, {"kind": "py_sgp"}),
    ({"kind": "hierarchical", "edge_rounds": 2, "aggregators": 2}, {"kind": "py_hierarchical"}),
    ({"kind": "scaffold", "clients": 2}, {"kind": "py_scaffold"}),
    ({"kind": "scaffold", "clients": 2, "average": "by_samples"}, {"kind": "py_scaffold", "average": "by_samples"}),
    ({"kind": "fedasync", "clients": 2}, {"kind": "py_fedasync"}),
]
# Rounds that may end without some of their clients.
ROUNDS = [({"kind": "fedavg", **each}, {"kind": "py_fedavg", **each})
          for each in ({"clients": 2, "over_select": 1.5}, {"clients": 3, "deadline": {"time": "100ms"}},
                       {"clients": 3, "local_epochs": 2, "deadline": {"time": "150ms", "late": "partial"}})]
COMING = {"cluster.workers[0].availability": {"kind": "on_off", "on": "200ms", "off": "100ms"}}
# On one host, and from one process, without crashes.
HOST = {"cluster.workers": [{"count": 4, "device": "node", "per_host": 4}], "cluster.servers.count": 0,
        "cluster.network.intra": {"bandwidth": "1Gbps", "latency": "5us"}}
ON_A_HOST = [
    ({"kind": "hogwild"}, {"kind": "py_hogwild"}),
    ({"kind": "data_parallel", "dispatch": "1ms", "overhead": "2ms"}, {"kind": "py_data_parallel"}),
    ({"kind": "data_parallel", "dispatch": "1ms", "overhead": "2ms", "launches": "ahead"}, {"kind": "py_data_parallel", "ahead": True}),
]
FAULTS = {"cluster.faults": [{"kind": "crash", "worker": 1, "at": "120ms", "restart_after": "90ms"},
                             {"kind": "join", "worker": 2, "at": "150ms"}, {"kind": "leave", "worker": 0, "at": "400ms"},
                             {"kind": "slow", "worker": 1, "from": "300ms", "to": "450ms", "times_slower": 3}]}
UNALIKE = {"run.json", "scenario.yaml", "report.html"}  # they name the scheme, or the wall clock
