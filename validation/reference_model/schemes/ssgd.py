"""The server steps on the mean of all workers' gradients. Chen et al. 2016. Signs may be voted on: Bernstein et al. 2018."""
from payloads import Gradient
from rounds import from_all, gradients_to_server, step_on_mean

FACTS = {"network": True, "rolls_back": True, "compression": "gradients", "on_failure": ["wait", "wait", "drop", "drop", "abort"], "update": True}


class Vote:
    """The majority's signs, in a bit each, for a step that leads to these weights."""
    coded = True

    def __init__(self, weights):
        self.weights = weights


def settings(_draw, _p):
    return {"via": "server"}


def votes(me):
    """Of signs without a scale. Who comes back would lack the optimizer's state: where workers go or come, answers are weights."""
    case = me.cluster.case
    signs = case["compression"] and case["compression"]["kind"] == "signsgd" and not case["compression"]["error_feedback"]
    return signs and all(fault["kind"] in ("slow", "link") for fault in case["faults"])


def worker(me, chosen):
    if not votes(me):
        yield from gradients_to_server(me, chosen)
    weights = me.first_weights
    while True:
        batch = me.draw()
        yield me.compute(batch)
        yield me.send("server", me.gradient(weights, batch))
        vote = (yield me.receive(Vote)).content
        yield me.update()
        weights = vote.weights


def majority(me, parts):
    """As one part's gradient; who made it is in all of them. Zeros abstain. A tie is decided by a bit that the program draws."""
    votes_of = list(zip(*(part.content.value for part in parts)))
    me.cluster.compression.compressor.close |= any(sum(values) == 0 and any(values) for values in votes_of)
    return [float((sum(values) > 0) - (sum(values) < 0)) for values in votes_of]


def server(me, _chosen):
    weights = me.first_weights
    while True:
        parts = yield from from_all(me, weights.version)
        if votes(me):
            direction = majority(me, parts)
            for part in parts:
                part.content = Gradient(direction, part.content.version, part.content.made)
        weights = yield from step_on_mean(me, weights, parts)
        if votes(me):
            me.broadcast(Vote(weights), size=-(-len(weights.value) // 8))
        else:
            me.broadcast(weights)
