"""DiLoCo by a server that waits for a quorum and a window; workers compute on. After Douillard et al. 2026."""
import local
from events import First
from payloads import Gradient, Weights
from training import Optimizer, change, combination, mean
from weighing import shares
from windows import Gathering

FACTS = {"kind": "diloco", "network": True, "compression": "weights", "update": True, "pace": 4, "smooth": True,
         "on_failure": ["wait", "wait", "drop", "drop", "abort"]}


def settings(draw, p):
    return {"steps": draw.randint(1, 6), "quorum": draw.randint(1, p), "grace": f"{draw.choice([0, round(draw.uniform(1, 40), 3)])}ms",
            "late": draw.choice(["next", "drop"]), "average": draw.choice(["plain", "by_samples", "by_samples_times_rate"]),
            "mix": draw.choice([0, 0.3, 0.5, 1]),
            "outer": {"learning_rate": draw.choice([0.3, 0.7]), "momentum": draw.choice([0, 0.4]), "nesterov": False}}


def worker(me, chosen):
    weights, mine, waits, since = me.first_weights, me.first_weights, False, 0
    while True:
        mine, since = (yield from local.steps(me, mine, 1)), since + 1
        if waits and any(isinstance(message.content, Weights) for message in me.mail):
            weights, waits = (yield me.receive(Weights, "server")).content, False
            value = combination((1 - chosen["mix"], mine.value), (chosen["mix"], weights.value))
            mine = Weights(value, weights.version, weights.counted, mine.made, weights.participants)
        if not waits and since >= chosen["steps"]:
            me.post("server", Gradient(change(weights.value, mine.value), weights.version, mine.made))
            mine = Weights(mine.value, mine.version, mine.counted, [], mine.participants)
            waits, since = True, 0


def counts(me, chosen, parts):
    """Shares of the changes in these messages."""
    if chosen["average"] == "plain":
        return shares(me, [part.content for part in parts])
    samples = [sum(made.samples for made in part.content.made) for part in parts]
    if chosen["average"] == "by_samples_times_rate":
        samples = [n * n / sum(made.steps for made in part.content.made) for n, part in zip(samples, parts)]
    return [n / sum(samples) for n in samples]


def server(me, chosen):
    def late(message):
        me.cluster.drop(message.content.made)
        me.post(message.sender, weights, life=message.life)
        return iter(())

    weights, outer = me.first_weights, Optimizer({"kind": "sgd", **chosen["outer"]})
    while True:
        round_ = Gathering(me, weights.version if chosen["late"] == "drop" else None, late)
        yield from round_.first(chosen["quorum"])
        yield from round_.within(float(chosen["grace"][:-2]) / 1000)
        parts = round_.parts()
        value = outer.step(weights.value, mean([part.content.value for part in parts], counts(me, chosen, parts)))
        yield me.update()
        weights = yield me.cluster.publish(value, [made for part in parts for made in part.content.made])
        for part in parts:
            me.post(part.sender, weights, life=part.life)
