"""Rounds of clients with a linear term each that moves their optima to the common one. Acar et al. 2021."""
from client_rounds import Rounds, farewell, invitation, keep, kept  # noqa: F401, the cluster calls farewell
from clients import all_made, draw_settings, facts, shares_of, train
from payloads import SERVER, Weights
from training import combination, mean

FACTS = facts("feddyn", keeps_vectors=True)


def settings(draw, p):
    return {**draw_settings(draw, p), "alpha": draw.choice([0.01, 0.5])}


def worker(me, chosen):
    alpha = chosen["alpha"]
    weights = yield from invitation(me, chosen, Rounds.begins(me, chosen))
    while True:
        own, x = kept(me, weights), weights.value
        me.optimizer.reset()
        mine, _ = yield from train(me, chosen, weights, lambda y, g: combination((1, g), (-1, own), (alpha, y), (-alpha, x)))
        keep(me, chosen, combination((1, own), (-alpha, mine.value), (alpha, x)), weights)
        yield me.send(SERVER, mine)
        weights = (yield me.receive(Weights, SERVER)).content


def server(me, chosen):
    alpha, weights, rounds = chosen["alpha"], me.first_weights, Rounds(me, chosen)
    h = [0.0] * len(weights.value)
    while True:
        parts = yield from rounds.contributions(weights)
        h = rounds.mean_of_kept(h, [(part.made[0].worker, combination((-alpha, part.value), (alpha, weights.value))) for part in parts])
        value = weights.value
        if parts:
            value = combination((1, mean([part.value for part in parts], shares_of(me, chosen, parts))), (-1 / alpha, h))
        weights = yield me.cluster.publish(value, all_made(parts))
        rounds.invite(weights)
