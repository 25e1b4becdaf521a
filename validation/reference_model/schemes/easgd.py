"""Workers' own weights and the server's centre move towards each other. With momentum EAMSGD. Zhang, Choromanska & LeCun 2015."""
from payloads import Weights
from rounds import answer
from training import combination

FACTS = {"network": True, "compression": "weights", "answers": True, "on_failure": ["drop", "drop", "drop", "abort"],
         "update": True, "pace": 3}


def settings(draw, _p):
    chosen = {"period": draw.randint(1, 4)}
    if draw.random() < 0.7:
        chosen["alpha"] = round(draw.uniform(0, 1), 2)
    return chosen


def worker(me, chosen):
    weights, steps = me.first_weights, 0
    while True:
        before = weights
        if steps and steps % chosen["period"] == 0:
            yield me.send("server", weights)
            weights = (yield me.receive(sender="server")).content
        batch = me.draw()
        yield me.compute(batch)
        gradient = me.gradient(before, batch)
        yield me.update()
        weights, steps = weights.moved(me.step(weights, gradient.value), *gradient.made), steps + 1


def server(me, chosen):
    centre, share = me.first_weights, chosen.get("alpha", 0.9 / me.p)
    while True:
        arrived = yield me.receive(Weights)
        x, c = arrived.content.value, centre.value
        centre = yield me.cluster.publish(combination((share, x), (1 - share, c)), arrived.content.made)
        yield from answer(me, chosen, arrived, centre.moved(combination((1 - share, x), (share, c))))
