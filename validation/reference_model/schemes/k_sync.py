"""The server steps on the first k gradients at its version; the new weights interrupt all. Dutta et al. 2018."""
from rounds import first_from_distinct, interrupted_by_weights, step_on_mean

FACTS = {"network": True, "compression": "gradients", "on_failure": ["drop", "drop", "wait", "wait", "abort"]}


def settings(draw, p):
    return {"k": draw.randint(1, p)}


def worker(me, _chosen):
    return interrupted_by_weights(me, compute_on=False)


def server(me, chosen):
    def late(message):
        me.cluster.drop(message.content.made)
        return iter(())

    weights = me.first_weights
    while True:
        parts = yield from first_from_distinct(me, chosen["k"], weights.version, late)
        weights = yield from step_on_mean(me, weights, parts)
        me.broadcast(weights)
