"""One worker steps on its own gradients. Robbins & Monro 1951."""

FACTS = {"workers": 1, "on_failure": ["wait", "wait", "wait", "abort"], "update": True}


def settings(_draw, _p):
    return {}


def worker(me, _chosen):
    weights = me.first_weights
    me.optimizer = me.memory.setdefault("optimizer", me.optimizer)  # saved: nobody else has it
    while True:
        batch = me.draw()
        yield me.compute(batch)
        gradient = me.gradient(weights, batch)
        yield me.update()
        weights = yield me.cluster.publish(me.step(weights, gradient.value), gradient.made)
