"""Workers stop at a timeout; the micro-batches that they have done are averaged by samples. Giladi et al. 2023."""
from common import all_reduce, publish
from compression import gathered
from events import First
from payloads import Batch, Gradient, Made
from training import combination

FACTS = {"compression": "gradients", "update": True, "reduces": lambda _: True, "on_failure": ["wait", "wait", "drop", "drop", "abort"]}


def settings(draw, _p):
    return {"micro_batches": draw.randint(1, 6), "timeout": f"{round(draw.uniform(8, 60), 3)}ms"}


amend = gathered


def parts_of(batch, count):
    """Equal parts, in whole samples; they share the batch's jitter."""
    edges = [batch.size * m // count for m in range(count + 1)]
    return [Batch(end - begin, batch.position + begin, batch.factor) for begin, end in zip(edges, edges[1:]) if end > begin]


def worker(me, chosen):
    weights = me.first_weights
    while True:
        timer = me.process.own(me.timer(float(chosen["timeout"][:-2]) / 1000))
        batch, done = me.draw(), Made(me.rank, weights.version, 0, 0, 0)
        done.position = batch.position
        for part in parts_of(batch, chosen["micro_batches"]):
            which, _ = yield First(me.compute(part), timer)
            if which == 1:
                break
            done.steps, done.samples, done.spent = done.steps + 1, done.samples + part.size, done.spent + part.spent
        timer.cancel()
        share = combination((done.samples / me.spec["batch"], me.gradient(weights, batch).value))
        mine = Gradient(share, weights.version, [done])
        parts = yield all_reduce(me, mine)
        samples = sum(part.made[0].samples for part in parts)
        by_samples = me.spec["batch"] / samples if samples else 0
        yield me.update()
        value = me.step(weights, combination(*((by_samples, part.value) for part in parts)))
        weights = yield publish(me, weights, value, parts)
