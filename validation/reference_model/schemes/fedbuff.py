"""Clients that train at any time; the server steps along the mean of K of their changes. Nguyen et al. 2022."""
from client_rounds import Concurrent, invitation
from clients import clients_of, draw_settings, facts, shares_of, train
from payloads import SERVER, Weights
from training import combination

FACTS = facts("fedbuff", on_failure=["drop", "drop", "abort"], answers=True, pace=3)


def settings(draw, p):
    chosen = {**draw_settings(draw, p, rounds=False), "buffer": draw.randint(1, 4), "server_rate": draw.choice([1, 0.5])}
    if draw.random() < 0.4:
        chosen["concurrency"] = draw.randint(1, p + 1)
    return chosen


def concurrency(me, chosen):
    return min(chosen.get("concurrency", clients_of(chosen, me.p)), me.p)


def worker(me, chosen):
    weights = yield from invitation(me, chosen, Concurrent.begins(me, chosen, concurrency(me, chosen)))
    while True:
        me.optimizer.reset()
        mine, _ = yield from train(me, chosen, weights)
        yield me.send(SERVER, mine.moved(combination((1, weights.value), (-1, mine.value))))
        weights = (yield me.receive(Weights, SERVER)).content


def server(me, chosen):
    weights, clients, buffer = me.first_weights, Concurrent(me, chosen, concurrency(me, chosen)), []
    while True:
        index, arrived = yield me.arrival(Weights)
        if index == 0:
            buffer.append(arrived.content)
        if len(buffer) == chosen["buffer"]:
            shares = shares_of(me, chosen, buffer)
            terms = [(-chosen["server_rate"] * share * (1 + weights.version - change.version) ** -0.5, change.value)
                     for share, change in zip(shares, buffer)]
            value, made = combination((1, weights.value), *terms), [made for change in buffer for made in change.made]
            buffer = []
            yield me.update()
            weights = yield me.cluster.publish(value, made)
        if index == 0:
            clients.busy.remove(arrived.sender)
        yield from clients.answer(weights)
