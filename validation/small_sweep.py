"""A small sweep with math, and the processes of a command: for sweep_kill_check and fault_check."""
import pathlib

SCENARIO = """straggler: 1
name: small
devices:
  node: {compute: {affine: {per_sample: 1ms}}, jitter: {kind: lognormal, sigma: 0.3}}
cluster:
  workers: [{count: 3, device: node}]
  servers: {count: 1}
  network: {topology: star, link: {bandwidth: 1MB/s, latency: 1ms}}
workload:
  model: {kind: mlp, hidden: [32]}
  data: {kind: coordinates, samples: 6000, test_samples: 500}
training:
  scheme: {kind: asgd}
  batch: {per_worker: 20}
  optimizer: {kind: sgd, learning_rate: 0.1}
  stop: {epochs: 4}
  evaluate: {every: {epochs: 0.5}}
"""
SWEEP = """sweep: 1
name: try
scenario: small.yaml
axes:
  training.scheme: [ssgd, asgd]
  cluster.network.link.bandwidth: [1MB/s, 2MB/s, 4MB/s]
repeats: 8
"""


def descendants(process):
    """Of a process, itself included: ranks of mpirun are in groups of their own."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                pass
    found = [process]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found
