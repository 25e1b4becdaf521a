"""The first worker through its batch stops all others, and the weights of all are averaged. docs/model.md: Non-blocking SGD."""
import local
from events import First
from payloads import Gradient, Made
from rounds import from_all
from signals import Signal
from training import combination

FACTS = {"compression": "weights", "update": True, "network": True, "on_failure": ["drop", "drop", "wait", "wait", "abort"]}


def settings(draw, p):
    chosen = {"minibatch": draw.choice([1, 1, 2, 3, 32]), "counters": draw.choice(["persist", "reset"]),
              "average": draw.choice(["plain", "by_samples"]), "interrupt": draw.choice(["immediate", "boundary"]),
              "exchange": draw.choice(["weights", "gradients"]), "via": "server", **local.draw_momentum(draw, p)}
    if chosen["exchange"] == "gradients" and chosen["momentum_at_sync"] == "average":
        chosen["momentum_at_sync"] = "keep"
    return chosen


class Work:
    """A worker's way through its batches, mini-batch by mini-batch. An interrupted one is done again."""

    def __init__(self, me, chosen):
        self.me, self.chosen, self.left, self.begins, self.last = me, chosen, me.spec["batch"], True, 0
        self.draw()

    def draw(self):
        self.minibatch, self.begins = self.me.draw(min(self.chosen["minibatch"], self.left), self.begins), False
        self.last = self.minibatch.position

    def done(self):
        self.left -= self.minibatch.size
        if self.left:
            self.draw()

    def synchronized(self):
        complete = self.left == 0
        if complete or self.chosen["counters"] == "reset":
            self.left, self.begins = self.me.spec["batch"], True
        if complete:
            self.draw()


def until_signal(me, chosen, weights, work):
    """Local steps until the batch is complete or another worker has signalled, and the sum of their gradients."""
    start, total = weights.version, [0.0] * len(weights.value)
    while work.left:
        signal = Signal(me, start)
        if chosen["interrupt"] == "boundary":
            if signal.has_come():
                break
            yield me.compute(work.minibatch)
        elif (yield First(me.compute(work.minibatch), signal))[0] == 1:
            break
        yield me.update()
        total = combination((1, total), (1, me.gradient(weights, work.minibatch).value))
        weights = local.step_on(me, weights, work.minibatch)
        work.done()
    return weights, total


def worker(me, chosen):
    weights, work = local.first_weights(me, chosen), Work(me, chosen)
    while True:
        weights, total = yield from until_signal(me, chosen, weights, work)
        if work.left == 0:
            me.cluster.signals.broadcast(me, weights.version)
        last = work.last
        work.synchronized()
        if not weights.made:
            weights = weights.moved(weights.value, Made(me.rank, weights.version, last, 0, 0))
        if chosen["exchange"] == "weights":
            weights = yield from local.average_by_server(me, chosen, weights)
        else:
            yield me.send("server", Gradient(total, weights.version, weights.made), vectors=1 if weights.made[0].steps else 0)
            weights = (yield me.receive(sender="server")).content
            local.after_sync(me, chosen, [])


def shares_of(chosen, parts):
    """None: equal ones. There are no samples where the one worker with a step crashes between its signal and its contribution."""
    samples = [part.made[0].samples for part in parts]
    return [each / sum(samples) for each in samples] if chosen["average"] == "by_samples" and any(samples) else None


def server(me, chosen):
    if chosen["exchange"] == "weights":
        yield from local.averaging_server(me, lambda parts: shares_of(chosen, parts))
    weights = me.first_weights
    while True:
        parts = [message.content for message in (yield from from_all(me, weights.version))]
        shares = shares_of(chosen, parts) or [1 / len(parts)] * len(parts)
        value = weights.value
        if any(part.made[0].steps for part in parts):
            value = me.step(weights, combination(*((share, part.value) for share, part in zip(shares, parts))))
            yield me.update()
        weights = yield me.cluster.publish(value, [made for part in parts for made in part.made])
        me.broadcast(weights)
