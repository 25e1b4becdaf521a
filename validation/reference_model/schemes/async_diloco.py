"""The server steps on each worker's change as it comes; its momentum is of n changes together. Liu et al. 2024."""
import local
from payloads import Gradient
from rounds import answer
from training import change, combination

FACTS = {"network": True, "compression": "weights", "answers": True, "on_failure": ["drop", "drop", "abort"], "update": True, "pace": 4,
         "smooth": True}


def settings(draw, p):
    chosen = {"steps": draw.randint(1, 6), "dynamic_steps": draw.random() < 0.6,
              "outer": {"learning_rate": draw.choice([0.3, 0.7, 1.0]), "momentum": draw.choice([0, 0.4, 0.7])}}
    if draw.random() < 0.5:
        chosen["buffer"] = draw.randint(1, 2 * p)
    return chosen


def steps_of(me, chosen):
    """In proportion to its speed, rounded down; the fastest takes all."""
    if not chosen["dynamic_steps"]:
        return chosen["steps"]
    seconds = [(spec["overhead"] + spec["batch"] * spec["per_sample"]) * spec["slowdown"] for spec in me.cluster.case["workers"]]
    return max(1, int(chosen["steps"] * min(seconds) / seconds[me.rank] + 1e-9))


def worker(me, chosen):
    weights, count = me.first_weights, steps_of(me, chosen)
    while True:
        mine = yield from local.steps(me, weights, count)
        yield me.send("server", Gradient(change(weights.value, mine.value), weights.version, mine.made))
        weights = (yield me.receive(sender="server")).content


def server(me, chosen):
    weights, n, changes = me.first_weights, chosen.get("buffer", me.p), []
    momentum = [0.0] * len(weights.value)
    while True:
        arrived = yield me.receive(Gradient)
        delta = arrived.content.value
        changes.append(delta)
        along = combination((1 / n, delta))
        if len(changes) == n:
            momentum = combination((chosen["outer"]["momentum"], momentum), *((1 / n, each) for each in changes))
            along, changes = combination((1, along), (chosen["outer"]["momentum"], momentum)), []
        yield me.update()
        value = combination((1, weights.value), (-chosen["outer"]["learning_rate"], along))
        weights = yield me.cluster.publish(value, arrived.content.made)
        yield from answer(me, chosen, arrived, weights)
