"""After H local steps an outer optimizer steps along the mean change; in fragments, each in flight while workers compute on.

Douillard et al. 2023 and 2025 (streaming).
"""
import local
from common import all_reduce, publish
from compression import gathered
from payloads import Gradient
from training import Optimizer, change, mean
from weighing import shares

FACTS = {"compression": "weights", "update": True, "reduces": lambda _: True, "on_failure": ["wait", "wait", "drop", "drop", "abort"],
         "pace": 4}


def settings(draw, _p):
    steps = draw.randint(1, 6)
    chosen = {"steps": steps, "fragments": draw.choice([1, 1, 2, 3, 4]), "delay": draw.choice([0, 0, 1, 2, 3])}
    chosen["fragments"], chosen["delay"] = min(chosen["fragments"], steps), min(chosen["delay"], steps - 1)
    outer = {"learning_rate": draw.choice([0.5, 0.7, 1.0]), "momentum": draw.choice([0, 0.6, 0.9])}
    outer["nesterov"] = outer["momentum"] > 0 and draw.random() < 0.7
    return {**chosen, "mix": draw.choice([0, 0.3, 0.5, 1]), "outer": outer}


def amend(case):
    """Compressed, only whole changes are here."""
    gathered(case)
    if case["compression"]:
        case["scheme"]["fragments"] = 1


class Fragments:
    """Equal pieces of the weights and of their bytes."""

    def __init__(self, chosen, dimensions):
        self.chosen, self.count, self.dimensions = chosen, chosen["fragments"], dimensions

    def leaves_after(self, n):
        """The local step after which the n-th synchronization leaves: of fragment f, (f + 1) H / F steps into its round, rounded up."""
        rounds, f = divmod(n, self.count)
        return rounds * self.chosen["steps"] + -(-(f + 1) * self.chosen["steps"] // self.count)

    def first_step(self, n):
        """Of a worker that starts from version n: the others have mixed in as many, but the next one has not left."""
        return 1 + (min(self.leaves_after(n - 1) + self.chosen["delay"], self.leaves_after(n) - 1) if n else 0)

    def span(self, n, whole):
        f = n % self.count
        return whole * f // self.count, whole * (f + 1) // self.count

    def size(self, n):
        begin, end = self.span(n, 4 * self.dimensions)
        return end - begin

    def only(self, n, vector, elsewhere):
        begin, end = self.span(n, self.dimensions)
        return [v if begin <= j < end else e for j, (v, e) in enumerate(zip(vector, elsewhere))]


def worker(me, chosen):
    weights = me.first_weights
    fragments, zero = Fragments(chosen, len(weights.value)), [0.0] * len(weights.value)
    outer = [Optimizer({"kind": "sgd", **chosen["outer"]}) for _ in range(chosen["fragments"])]
    for f, velocity in weights.attached:
        outer[f].velocity = velocity
    mine, flying, n, step = weights.moved(weights.value), [], weights.version, fragments.first_step(weights.version)
    while True:
        mine = yield from local.steps(me, mine, 1)
        if step == fragments.leaves_after(n):
            part = Gradient(fragments.only(n, change(weights.value, mine.value), zero), weights.version, mine.made)
            flying.append((step + chosen["delay"], n, me.process.own(all_reduce(me, part, size=fragments.size(n)))))
            mine.made, n = [], n + 1
        while flying and flying[0][0] <= step:
            _, number, reduction = flying.pop(0)
            parts = yield reduction
            optimizer = outer[number % chosen["fragments"]]
            yield me.update(fragments.size(number))
            value = optimizer.step(weights.value, mean([part.value for part in parts], shares(me, parts)))
            attached = [(f, each.velocity) for f, each in enumerate(outer) if each.velocity]
            weights = yield publish(me, weights, value, parts, attached)
            share = chosen["mix"] if chosen["delay"] else 1
            mixed = [(1 - share) * w + share * g for w, g in zip(mine.value, value)]
            made, mine = mine.made, weights.moved(fragments.only(number, mixed, mine.value))
            mine.made = made
        step += 1
