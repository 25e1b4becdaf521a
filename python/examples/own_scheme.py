"""python/examples/own_scheme.ipynb as a script. Run it from the folder of the repository."""

# # Which scheme is first on eight workers of which two are slow?
#
# A run, a plot, and a scheme of our own, on `scenarios/quickstart.yaml` with small data. Run it from the folder of the repository.

import straggler

scenario = "scenarios/quickstart.yaml"
settings = {"workload.data": "coordinates", "workload.model": {"kind": "mlp", "hidden": [32]},
            "training.stop": {"epochs": 3}, "training.evaluate": {"every": {"epochs": 0.25}, "thresholds": [0.5]}}
runs = {kind: straggler.run(scenario, set={**settings, "name": kind, "training.scheme": kind}) for kind in ("ssgd", "asgd")}
comparison = straggler.compare(list(runs.values()))
print(comparison.verdict)

# The page of a run, or of a comparison, shows itself where it is a cell's last value. Tables are data frames.

comparison

runs["asgd"].curve[["time_s", "epoch", "test_accuracy"]].tail(3)

from matplotlib import pyplot

for kind, run in runs.items():
    pyplot.plot(run.curve["time_s"], run.curve["test_accuracy"], label=kind)
pyplot.xlabel("simulated seconds")
pyplot.ylabel("test accuracy")
pyplot.legend()
pyplot.show()

# ## A scheme of our own
#
# Asynchronous SGD in which the server drops gradients that are too old. Each `yield` hands an operation to the simulator.

@straggler.scheme("fresh", needs_server=True, parameters={"oldest": 4}, sends_gradients=True)
class Fresh:
    """Asynchronous SGD without gradients that are `oldest` or more updates old."""

    def worker(self, node):
        weights = node.initial_weights()
        while True:
            gradient = yield node.gradient(weights, node.next_batch(node.batch_size))
            yield node.send(node.server, gradient)
            weights = yield node.receive(straggler.Weights, node.server)

    def server(self, node):
        weights = node.initial_weights()
        while True:
            gradient = yield node.receive(straggler.Gradient)
            if node.staleness(weights, gradient) >= self.oldest:
                node.discard(gradient)
            else:
                weights = yield node.step(weights, gradient)
                weights = yield node.publish(weights)
            yield node.send(gradient.sender, weights)

fresh = straggler.run(scenario, set={**settings, "name": "fresh", "training.scheme": {"kind": "fresh", "oldest": 4}})
built_in = straggler.run(scenario, set={**settings, "training.scheme": {"kind": "asgd", "max_delay": 4}})
assert fresh.summary["weights_key"] == built_in.summary["weights_key"]  # Ringmaster ASGD, bit for bit
print(fresh, fresh.summary["dropped_contributions"], "gradients dropped")

# A race: paired seeds, intervals, and no winner where no test supports one.

race = straggler.race(scenario, ["fresh", "asgd"], seeds=3, set=settings)
print(race.text)
