"""Rounds of clients, whose weights are averaged. McMahan et al. 2017."""
from client_rounds import Rounds, steps_of_own
from clients import all_made, averaged, beside, draw_settings, facts, letter

FACTS = facts("fedavg", optimizers=lambda _: True)


def momentum_at_sync(draw):
    return {"momentum_at_sync": draw.choice(["keep", "reset", "average"])}


def settings(draw, p):
    return {**draw_settings(draw, p), **momentum_at_sync(draw)}


def worker(me, chosen):
    return steps_of_own(me, chosen)


def server(me, chosen):
    weights, rounds = me.first_weights, Rounds(me, chosen)
    while True:
        parts = yield from rounds.contributions(weights)
        value, state = averaged(me, chosen, parts) if parts else (weights.value, beside(weights, "state"))
        weights = letter((yield me.cluster.publish(value, all_made(parts))), state=state)
        me.cluster.latest = weights
        rounds.invite(weights)
