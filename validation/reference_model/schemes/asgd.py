"""The server steps on each gradient as it comes. Zhang et al. 2016 (staleness), Zheng et al. 2017 (compensation), Maranjyan et al. 2025."""
import math

from rounds import answer, gradients_to_server
from training import combination


FACTS = {"network": True, "compression": "gradients", "answers": True, "on_failure": ["drop", "drop", "drop", "abort"]}


def settings(draw, _p):
    chosen = {"staleness": draw.choice(["none", "none", "inverse", "inverse_sqrt", "adaptive", "delay_compensated"])}
    if draw.random() < 0.3:
        chosen["max_delay"] = draw.randint(1, 4)
    if chosen["staleness"] == "delay_compensated":
        chosen["lambda"] = draw.choice([0.04, 0.2])
    return chosen


worker = gradients_to_server


def server(me, chosen):
    weights = me.first_weights
    while True:
        arrived = yield me.receive()
        gradient = arrived.content
        tau = weights.version - gradient.version
        if tau >= chosen.get("max_delay", math.inf):
            me.cluster.drop(gradient.made)
        else:
            direction = gradient.value
            if chosen["staleness"] == "delay_compensated":
                drift = combination((1, weights.value), (-1, gradient.at.value))
                direction = [g + chosen["lambda"] * g * g * d for g, d in zip(direction, drift)]
            elif tau > 1:
                damp = {"none": 1, "inverse": 1 / tau, "inverse_sqrt": tau ** -0.5, "adaptive": min(1, me.p / tau)}[chosen["staleness"]]
                direction = [damp * g for g in direction]
            value = me.step(weights, direction)
            yield me.update()
            weights = yield me.cluster.publish(value, gradient.made)
        yield from answer(me, chosen, arrived, weights)
