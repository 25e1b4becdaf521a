"""The server steps on the first B gradients at its version, from any workers, and interrupts none. Tyurin & Richtarik 2023."""
from rounds import answer_any, gradients_to_server

FACTS = {"network": True, "compression": "gradients", "answers": True, "on_failure": ["drop", "drop", "drop", "abort"]}


def settings(draw, p):
    return {"batch": draw.randint(1, 2 * p)}


worker = gradients_to_server


def server(me, chosen):
    return answer_any(me, chosen, chosen["batch"], only_current=True)
