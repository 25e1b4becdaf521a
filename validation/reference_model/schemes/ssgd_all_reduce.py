"""All gradients of an update are taken at the same weights, and every worker steps on their mean. Chen et al. 2016; Goyal et al. 2017."""
from common import all_reduce, publish
from compression import gathered
from training import mean
from weighing import shares

FACTS = {"rolls_back": True, "compression": "gradients", "kind": "ssgd", "update": True, "reduces": lambda chosen: True, "on_failure": ["wait", "drop",
         "abort"]}


def settings(_draw, _p):
    return {}


amend = gathered


def update(me, weights):
    """The next version."""
    batch = me.draw()
    yield me.compute(batch)
    gradients = yield all_reduce(me, me.gradient(weights, batch))
    yield me.update()
    value = me.step(weights, mean([gradient.value for gradient in gradients], shares(me, gradients)))
    return (yield publish(me, weights, value, gradients))


def worker(me, _chosen):
    weights = me.first_weights
    while True:
        weights = yield from update(me, weights)
