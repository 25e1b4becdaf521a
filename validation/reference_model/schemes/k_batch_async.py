"""The server steps on the mean of k gradients from any workers, however old. Dutta et al. 2018."""
from rounds import answer_any, gradients_to_server

FACTS = {"network": True, "compression": "gradients", "answers": True, "on_failure": ["drop", "drop", "drop", "abort"]}


def settings(draw, p):
    return {"k": draw.randint(1, 2 * p)}


worker = gradients_to_server


def server(me, chosen):
    return answer_any(me, chosen, chosen["k"])
