"""Steps on the mean gradient until `start`, then local SGD. Lin et al. 2020."""
import local
from common import publish
from compression import gathered
from schemes import ssgd_all_reduce

FACTS = {"compression": "weights", "update": True, "reduces": lambda _: True, "on_failure": ["wait", "wait", "drop", "drop", "abort"],
         "pace": 3}


def settings(draw, p):
    return {"steps": draw.randint(1, 4), "start": {"epochs": draw.choice([0, 0.7, 1.5, 3])}, **local.draw_momentum(draw, p)}


amend = gathered


def worker(me, chosen):
    weights = me.first_weights
    while weights.counted / me.cluster.epoch_samples < chosen["start"]["epochs"]:
        weights = yield from ssgd_all_reduce.update(me, weights)
    while True:
        mine = yield from local.steps(me, weights, chosen["steps"])
        value, parts = yield from local.average_by_all_reduce(me, chosen, mine)
        weights = yield publish(me, weights, value, parts)
