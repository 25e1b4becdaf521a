"""Starts `straggler serve` for a test and ends it as Ctrl-C does."""
import contextlib
import pathlib
import re
import signal
import subprocess

# Without jitter: rates are the same wherever a preview is cut.
SMALL = """straggler: 1
name: small
devices:
  node: {compute: {affine: {per_sample: 1ms}}}
cluster:
  workers: [{count: 3, device: node}, {count: 1, device: node, slowdown: 3}]
  servers: {count: 1}
  network: {topology: star, link: {bandwidth: 1MB/s, latency: 1ms}}
workload: {model: softmax, data: {kind: coordinates, samples: 2000, test_samples: 200}, cost: {bytes: 10kB}}
training:
  scheme: ssgd
  batch: {per_worker: 10}
  optimizer: {kind: sgd, learning_rate: 0.1}
  stop: {updates: 300, target_accuracy: 0.6, on_target: continue}
  evaluate: {every: {updates: 10}}
"""


class Server:
    """What the first line of the output says, and the process."""

    def __init__(self, process):
        self.process = process
        line = process.stdout.readline()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{32})\n", line)
        if not found:
            raise AssertionError(f"the first line is {line!r}")
        self.address, self.port, self.token = line.strip(), int(found[1]), found[2]

    def interrupt(self):
        """The exit code after SIGINT, and what was still printed."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@contextlib.contextmanager
def serving(program, folder, *more):
    process = subprocess.Popen([str(program), "serve", str(folder), *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield Server(process)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()


def made_results(program, place):
    """A folder with a run whose math was done, one of the timing alone with a name that could be HTML, and a file beside it."""
    root = pathlib.Path(place) / "results"
    root.mkdir()
    (pathlib.Path(place) / "secret.csv").write_text("secret\n")
    (root / "small.yaml").write_text(SMALL)
    for out, more in (("trained", []), ("<script>alert(1)</script>", ["--timing-only"])):
        subprocess.run([str(program), "run", str(root / "small.yaml"), "--out", str(root / out), "--quiet", *more], check=True,
                       stdout=subprocess.DEVNULL)
    (root / "out.csv").symlink_to("../secret.csv")
    return root
