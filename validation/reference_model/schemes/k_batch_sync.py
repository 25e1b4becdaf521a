"""The server steps on the first k gradients at its version, from any workers; the new weights interrupt all. Dutta et al. 2018."""
from payloads import Gradient
from rounds import interrupted_by_weights, step_on_mean

FACTS = {"network": True, "compression": "gradients", "on_failure": ["drop", "drop", "drop", "abort"]}


def settings(draw, p):
    return {"k": draw.randint(1, 2 * p)}


def amend(case):
    """Workers that nobody holds up fill the mailbox of a server that handles messages slowly: each update takes longer than the last."""
    if case["protocol"] or case["coding"] or case["server"]["per_message"]:
        case["updates"] = min(case["updates"], 8)


def worker(me, _chosen):
    return interrupted_by_weights(me, compute_on=True)


def server(me, chosen):
    weights, parts = me.first_weights, []
    while True:
        arrived = yield me.receive(Gradient)
        if arrived.content.version != weights.version:
            me.cluster.drop(arrived.content.made)
            continue
        parts.append(arrived)
        if len(parts) == chosen["k"]:
            weights, parts = (yield from step_on_mean(me, weights, parts)), []
            me.broadcast(weights)
