"""The server steps on the mean of k gradients from any workers, however old. Dutta et al. 2018."""
from rounds import answer, gradients_to_server, step_on_mean

FACTS = {"network": True, "compression": "gradients", "answers": True, "on_failure": ["drop", "drop", "drop", "abort"]}


def settings(draw, p):
    return {"k": draw.randint(1, 2 * p)}


worker = gradients_to_server


def server(me, chosen):
    weights, gradients = me.first_weights, []
    while True:
        arrived = yield me.receive()
        gradients.append(arrived)
        if len(gradients) == chosen["k"]:
            weights = yield from step_on_mean(me, weights, gradients)
            gradients = []
        yield from answer(me, chosen, arrived, weights)
