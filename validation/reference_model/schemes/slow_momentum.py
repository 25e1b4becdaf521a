"""Local SGD after which all step along a momentum of the rounds' changes, u <- beta u + (w - mean) / lr. Wang et al. 2020."""
import local
from common import publish
from compression import gathered
from training import change, combination

FACTS = {"compression": "weights", "update": True, "reduces": lambda _: True, "on_failure": ["wait", "wait", "drop", "drop", "abort"],
         "pace": 4}


def settings(draw, p):
    return {"steps": draw.randint(1, 4), "beta": draw.choice([0, 0.4, 0.7]), "alpha": draw.choice([0.5, 1, 1.2]),
            **local.draw_momentum(draw, p)}


amend = gathered


def worker(me, chosen):
    weights = me.first_weights
    while True:
        rate = me.optimizer.rate(weights.counted / me.cluster.epoch_samples)
        slow, = weights.attached or [[0.0] * len(weights.value)]
        mine = yield from local.steps(me, weights, chosen["steps"])
        value, parts = yield from local.average_by_all_reduce(me, chosen, mine)
        slow = combination((chosen["beta"], slow), (1 / rate, change(weights.value, value)))
        value = combination((1, weights.value), (-chosen["alpha"] * rate, slow))
        yield me.update()
        weights = yield publish(me, weights, value, parts, [slow])
