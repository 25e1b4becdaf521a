"""Clients that train at any time; the server mixes in the weights of each as they come. Xie et al. 2019."""
from client_rounds import Concurrent, invitation
from clients import clients_of, draw_settings, facts, train
from payloads import SERVER, Weights
from training import combination

FACTS = facts("fedasync", on_failure=["drop", "drop", "abort"], answers=True, pace=1.5)


def settings(draw, p):
    chosen = {**draw_settings(draw, p, rounds=False), "alpha": draw.choice([0.6, 0.9]),
              "staleness": draw.choice(["constant", "polynomial", "hinge"])}
    if draw.random() < 0.4:
        chosen["a"] = draw.choice([0.3, 2])
    if draw.random() < 0.6:
        chosen["b"] = draw.choice([0, 1, 2])
    return chosen


def worker(me, chosen):
    begins = Concurrent.begins(me, chosen, clients_of(chosen, me.p))
    weights = yield from invitation(me, chosen, begins)
    while True:
        me.optimizer.reset()
        mine, _ = yield from train(me, chosen, weights)
        yield me.send(SERVER, mine)
        weights = (yield me.receive(Weights, SERVER)).content


def damping(chosen, tau):
    a, b = chosen.get("a", 10 if chosen["staleness"] == "hinge" else 0.5), chosen.get("b", 4)
    if chosen["staleness"] == "polynomial":
        return (tau + 1) ** -a
    return 1 / (a * (tau - b) + 1) if chosen["staleness"] == "hinge" and tau > b else 1


def server(me, chosen):
    weights, clients = me.first_weights, Concurrent(me, chosen, clients_of(chosen, me.p))
    while True:
        index, arrived = yield me.arrival(Weights)
        if index == 0:
            share = chosen["alpha"] * damping(chosen, weights.version - arrived.content.version)
            value = combination((1 - share, weights.value), (share, arrived.content.value))
            weights = yield me.cluster.publish(value, arrived.content.made)
            clients.busy.remove(arrived.sender)
        yield from clients.answer(weights)
