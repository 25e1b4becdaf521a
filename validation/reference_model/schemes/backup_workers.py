"""The server steps on the first p - b gradients at its version, and drops those of the slowest b. Chen et al. 2016."""
from rounds import answer, first_from_distinct, gradients_to_server, step_on_mean

FACTS = {"network": True, "compression": "gradients", "answers": True, "on_failure": ["drop", "drop", "wait", "wait", "abort"]}


def settings(draw, p):
    return {"backups": draw.randint(0, p - 1)}


worker = gradients_to_server


def server(me, chosen):
    def late(message):
        me.cluster.drop(message.content.made)
        yield from answer(me, chosen, message, weights)

    weights = me.first_weights
    while True:
        parts = yield from first_from_distinct(me, me.p - chosen["backups"], weights.version, late)
        weights = yield from step_on_mean(me, weights, parts)
        for part in sorted(parts, key=lambda part: part.sender):
            me.post(part.sender, weights, life=part.life)
