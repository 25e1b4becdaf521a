"""Rounds of clients whose changes count per step. Wang et al. 2020."""
from client_rounds import Rounds, steps_of_own
from clients import all_made, draw_settings, facts, plain_sgd, shares_of
from training import combination

FACTS = facts("fednova", optimizers=plain_sgd)


def settings(draw, p):
    return draw_settings(draw, p)


def worker(me, chosen):
    return steps_of_own(me, chosen)


def weight_of_steps(steps, momentum):
    """The sum of the weights with which the gradients of that many steps are in their change."""
    return sum(sum(momentum ** later for later in range(steps - j)) for j in range(steps))


def server(me, chosen):
    weights, rounds = me.first_weights, Rounds(me, chosen)
    momentum = me.cluster.case["optimizer"].get("momentum", 0)
    while True:
        parts = yield from rounds.contributions(weights)
        value = weights.value
        if parts:
            shares, norms = shares_of(me, chosen, parts), [weight_of_steps(part.made[0].steps, momentum) for part in parts]
            effective = sum(share * norm for share, norm in zip(shares, norms))
            each = [combination((share / norm, value), (-share / norm, part.value)) for share, norm, part in zip(shares, norms, parts)]
            value = combination((1, value), *((-effective, term) for term in each))
        weights = yield me.cluster.publish(value, all_made(parts))
        rounds.invite(weights)
