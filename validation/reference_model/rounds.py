"""What schemes share: workers that send gradients to a server, answers of a server, and rounds that wait for members."""
from events import First
from payloads import Gradient, Weights
from training import mean
from weighing import shares


def gradients_to_server(me, _chosen):
    """A worker that sends each gradient, and goes on with the weights that it is answered."""
    weights = me.first_weights
    while True:
        batch = me.draw()
        yield me.compute(batch)
        yield me.send("server", me.gradient(weights, batch))
        weights = (yield me.receive(sender="server")).content


def interrupted_by_weights(me, compute_on):
    """A worker whose batch new weights interrupt. It sends each gradient, and then computes on, or waits for new weights."""
    weights = me.first_weights
    while True:
        batch = me.draw()
        which, arrived = yield First(me.receive(Weights), me.compute(batch))
        if which == 1:
            yield me.send("server", me.gradient(weights, batch))
            if compute_on:
                continue
            arrived = yield me.receive(Weights)
        weights = arrived.content


def answer(me, chosen, to, content):
    """Answers the sender of a message: in turn, until it has left, or at once."""
    sending = me.send(to.sender, content, life=to.life)
    if chosen["answers"] == "in_turn":
        yield sending
    else:
        sending.begin()


def step_on_mean(me, weights, arrived, factors=None):
    """Steps on the mean of the gradients in these messages, in the order of ranks, and publishes. The new weights."""
    parts = sorted(zip(arrived, factors or [1] * len(arrived)), key=lambda part: part[0].sender)
    counts = [share * factor for share, (_, factor) in zip(shares(me, [part.content for part, _ in parts]), parts)]
    value = me.step(weights, mean([part.content.value for part, _ in parts], counts))
    yield me.update()
    return (yield me.cluster.publish(value, [made for part, _ in parts for made in part.content.made]))


def first_from_distinct(me, count, version=None, late=None):
    """The first `count` gradients of distinct workers, as messages. If no more can come, those that there are, but one at least.

    With a version only gradients taken at it count; late(message), a generator, deals with the others."""
    has = {}
    while len(has) < count and not (has and not any(me.cluster.awaits(rank) for rank in range(me.p) if rank not in has)):
        which, arrived = yield me.arrival(Gradient)
        if which == 1:
            continue
        if version is not None and arrived.content.version != version:
            yield from late(arrived)
        elif arrived.sender in has:  # in another life, which is answered
            me.cluster.drop(arrived.content.made)
            has[arrived.sender].life = arrived.life
        else:
            has[arrived.sender] = arrived
    return list(has.values())


def from_all(me, version, kind=Gradient):
    """A contribution to that version of each worker, but of those that fail. At least one; as messages in the order of ranks.

    Later ones, and second ones of another life, are dropped."""
    has = {}
    while len(has) < me.p and not (has and not any(me.cluster.awaits(rank) for rank in range(me.p) if rank not in has)):
        which, arrived = yield me.arrival(kind)
        if which == 0 and (arrived.content.version != version or arrived.sender in has):
            me.cluster.drop(arrived.content.made)
        elif which == 0:
            has[arrived.sender] = arrived
    return [has[rank] for rank in sorted(has)]


def answer_any(me, chosen, count, factor=lambda _tau: 1, only_current=False):
    """A server that steps on the mean of each `count` gradients from any workers, and answers each as it comes."""
    weights, parts = me.first_weights, []
    while True:
        arrived = yield me.receive(Gradient)
        if only_current and arrived.content.version != weights.version:
            me.cluster.drop(arrived.content.made)
        else:
            parts.append(arrived)
        if len(parts) == count:
            factors = [factor(weights.version - part.content.version) for part in parts]
            weights = yield from step_on_mean(me, weights, parts, factors)
            parts = []
        yield from answer(me, chosen, arrived, weights)
