"""The server steps on the mean of p / n gradients from any workers, damped by their age. Zhang, Gupta, Lian & Liu 2016."""
from rounds import answer_any, gradients_to_server

FACTS = {"network": True, "compression": "gradients", "answers": True, "on_failure": ["drop", "drop", "drop", "abort"]}


def settings(draw, p):
    return {"n": draw.randint(1, p), "staleness": draw.choice(["none", "inverse"])}


worker = gradients_to_server


def server(me, chosen):
    damped = chosen["staleness"] == "inverse"
    return answer_any(me, chosen, me.p // chosen["n"], factor=lambda tau: 1 / max(tau, 1) if damped else 1)
