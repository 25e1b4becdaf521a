"""Rounds of clients whose steps are pulled back to the weights of the round. Li et al. 2020."""
from client_rounds import steps_of_own
from clients import draw_settings, facts, pulled
from schemes.fedavg import momentum_at_sync, server  # noqa: F401, as it is there

FACTS = facts("fedprox", optimizers=lambda _: True)


def settings(draw, p):
    return {**draw_settings(draw, p), **momentum_at_sync(draw), "mu": draw.choice([0, 0.01, 0.5])}


def worker(me, chosen):
    return steps_of_own(me, chosen, lambda x, y, gradient: pulled(chosen["mu"], y, x, gradient))
