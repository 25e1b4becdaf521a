"""Workers step on weights of their own, push sums of gradients and fetch the server's weights. Dean et al. 2012."""
from events import First
from payloads import Gradient, Made
from rounds import answer
from training import combination

FACTS = {"network": True, "compression": "gradients", "answers": True, "on_failure": ["drop", "drop", "drop", "abort"], "update": True}


class Request:
    """For the server's weights."""


def settings(draw, _p):
    return {"push_every": draw.randint(1, 3), "fetch_every": draw.randint(1, 4)}


def added(total, gradient):
    if total is None:
        return gradient
    return Gradient(combination((1, total.value), (1, gradient.value)), total.version, Made.joined(total.made + gradient.made))


def worker(me, chosen):
    weights, total, pushing, steps = me.first_weights, None, None, 0
    while True:
        batch = me.draw()
        yield me.compute(batch)
        gradient = me.gradient(weights, batch)
        total, steps = added(total, gradient), steps + 1
        if steps % chosen["push_every"] == 0:
            if pushing:
                yield pushing
            pushing, total = me.send("server", total).begin(), None
        if chosen["fetch_every"] > 1:
            yield me.update()
            weights = weights.moved(me.step(weights, gradient.value), *gradient.made)
        if steps % chosen["fetch_every"] == 0:
            if pushing:
                yield pushing
            me.post("server", Request(), size=8)
            weights = (yield me.receive(sender="server")).content


def server(me, chosen):
    weights = me.first_weights
    while True:
        which, arrived = yield First(me.receive(Gradient), me.receive(Request))
        if which == 0:
            value = me.step(weights, arrived.content.value)
            yield me.update()
            weights = yield me.cluster.publish(value, arrived.content.made)
        else:
            yield from answer(me, chosen, arrived, weights)
