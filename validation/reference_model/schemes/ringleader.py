"""Rounds of one update for each worker, on the mean of all workers' mean gradients. Maranjyan & Richtarik 2025."""
from payloads import Gradient, Made
from rounds import answer
from training import combination

FACTS = {"network": True, "compression": "gradients", "answers": True, "on_failure": ["drop", "drop", "wait", "wait", "abort"]}


class Word:
    """Compute on."""


def settings(_draw, _p):
    return {}


def worker(me, _chosen):
    weights = me.first_weights
    while True:
        batch = me.draw()
        yield me.compute(batch)
        yield me.send("server", me.gradient(weights, batch))
        answered = (yield me.receive(sender="server")).content
        if not isinstance(answered, Word):
            weights = answered


def mean_of_means(table):
    return combination(*((1 / len(table) / len(gradients), gradient.value) for gradients in table.values() for gradient in gradients))


def server(me, chosen):
    """`table`, `following`: the gradients of each worker in this round and in the next. `due`: who has not had its update; None: collecting."""
    weights, table, following, due = me.first_weights, {}, {}, None
    while True:
        which, arrived = yield me.arrival(Gradient)
        if which == 0:
            rank, made = arrived.sender, None
            if due is not None and rank not in due:
                following.setdefault(rank, []).append(arrived.content)
            else:
                table.setdefault(rank, []).append(arrived.content)
                if due is not None:
                    made = arrived.content.made
                elif all(other in table or not me.cluster.awaits(other) for other in range(me.p)):
                    due, made = {other for other in table if me.cluster.awaits(other)}, Made.joined(each for gradients in table.values() for g in gradients for each in g.made)
            if made is None:
                if chosen["answers"] == "in_turn":
                    yield me.send(rank, Word(), size=8, life=arrived.life)
                else:
                    me.post(rank, Word(), size=8, life=arrived.life)
                continue
            value = me.step(weights, mean_of_means(table))
            due.discard(rank)
            if not due:
                table, following, due = following, {}, None
            yield me.update()
            weights = yield me.cluster.publish(value, made)
            yield from answer(me, chosen, arrived, weights)
        elif due is not None:
            due = {rank for rank in due if me.cluster.awaits(rank)}
            if not due:
                table, following, due = following, {}, None
