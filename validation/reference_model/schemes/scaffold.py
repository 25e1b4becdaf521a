"""Rounds of clients that correct their steps by control variates. Karimireddy et al. 2020, option II."""
from client_rounds import Rounds, farewell, invitation, keep, kept  # noqa: F401, the cluster calls farewell
from clients import all_made, beside, draw_settings, facts, letter, shares_of, train
from payloads import SERVER, Weights
from training import combination, mean

FACTS = facts("scaffold", keeps_vectors=True)


def settings(draw, p):
    return {**draw_settings(draw, p), "server_rate": draw.choice([1, 0.7])}


def worker(me, chosen):
    weights = yield from invitation(me, chosen, Rounds.begins(me, chosen))
    while True:
        own = kept(me, weights)
        common = beside(weights, "control") or [0.0] * len(own)
        me.optimizer.reset()
        mine, gradients = yield from train(me, chosen, weights, lambda y, g: combination((1, g), (-1, own), (1, common)))
        if gradients:
            following = mean(gradients)
            keep(me, chosen, following, weights)
            yield me.send(SERVER, letter(mine, control=combination((1, following), (-1, own))))
        else:
            yield me.send(SERVER, mine)
        weights = (yield me.receive(Weights, SERVER)).content


def server(me, chosen):
    weights, rounds, control = me.first_weights, Rounds(me, chosen), None  # 0, and not sent
    while True:
        parts = yield from rounds.contributions(weights)
        control = rounds.mean_of_kept(control, [(part.made[0].worker, beside(part, "control")) for part in parts])
        value = weights.value
        if parts:
            average = mean([part.value for part in parts], shares_of(me, chosen, parts))
            value = combination((1 - chosen["server_rate"], value), (chosen["server_rate"], average))
        weights = letter((yield me.cluster.publish(value, all_made(parts))), control=control)
        me.cluster.latest = weights
        rounds.invite(weights)
