"""Rounds of clients, along whose mean change the server's optimizer steps. Reddi et al. 2021, algorithm 2."""
import math

from client_rounds import Rounds, steps_of_own
from clients import all_made, averaged, draw_settings, facts
from training import combination

FACTS = facts("fedopt")


def settings(draw, p):
    server_ = draw.choice(["sgd", "momentum", "adagrad", "adam", "yogi"])
    chosen = {**draw_settings(draw, p), "server": server_, "server_rate": draw.choice([1, 0.5] if server_ == "sgd" else [0.3, 0.1])}
    if server_ not in ("sgd", "momentum"):
        chosen["tau"] = draw.choice([0.1, 0.3])  # a smaller one makes more of rounding
    if draw.random() < 0.5:
        chosen.update({"beta1": draw.choice([0, 0.5, 0.9]), "beta2": draw.choice([0.8, 0.99])})
    return chosen


def worker(me, chosen):
    return steps_of_own(me, chosen)


class Outer:
    """The server's optimizer. `change` is the mean of clients' weights less those of the round."""

    def __init__(self, chosen, dimensions):
        self.kind, self.rate, self.tau = chosen["server"], chosen["server_rate"], chosen.get("tau", 1e-3)
        self.beta1, self.beta2 = chosen.get("beta1", 0.9), chosen.get("beta2", 0.99)
        self.m, self.v = [0.0] * dimensions, [self.tau ** 2] * dimensions

    def step(self, weights, change):
        if self.kind == "sgd":
            return combination((1, weights), (self.rate, change))
        if self.kind == "momentum":
            self.m = combination((self.beta1, self.m), (1, change))
            return combination((1, weights), (self.rate, self.m))
        self.m = combination((self.beta1, self.m), (1 - self.beta1, change))
        self.v = [self.second(v, d * d) for v, d in zip(self.v, change)]
        return [w + self.rate * m / (math.sqrt(v) + self.tau) for w, m, v in zip(weights, self.m, self.v)]

    def second(self, v, square):
        if self.kind == "adagrad":
            return v + square
        if self.kind == "adam":
            return self.beta2 * v + (1 - self.beta2) * square
        return v - (1 - self.beta2) * square * ((v > square) - (v < square))


def server(me, chosen):
    weights, rounds = me.first_weights, Rounds(me, chosen)
    outer = Outer(chosen, len(weights.value))
    while True:
        parts = yield from rounds.contributions(weights)
        value = weights.value
        if parts:
            value = outer.step(value, combination((1, averaged(me, chosen, parts)[0]), (-1, value)))
            yield me.update()
        weights = yield me.cluster.publish(value, all_made(parts))
        rounds.invite(weights)
