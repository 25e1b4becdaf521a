"""The server steps on the mean of the first k gradients of distinct workers, however old, and answers these. Dutta et al. 2018."""
from rounds import first_from_distinct, gradients_to_server, step_on_mean

FACTS = {"network": True, "compression": "gradients", "answers": True, "on_failure": ["drop", "drop", "wait", "wait", "abort"]}


def settings(draw, p):
    return {"k": draw.randint(1, p)}


worker = gradients_to_server


def server(me, chosen):
    weights = me.first_weights
    while True:
        parts = yield from first_from_distinct(me, chosen["k"])
        weights = yield from step_on_mean(me, weights, parts)
        answers = [me.send(part.sender, weights, life=part.life) for part in sorted(parts, key=lambda part: part.sender)]
        for each in answers:
            each.begin()
        if chosen["answers"] == "in_turn":
            for each in answers:
                yield each
