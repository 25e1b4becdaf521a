"""A quorum without a server: late workers bring zero to the all-reduce, and compute on. Li et al. 2020."""
from common import all_reduce, publish
from compression import gathered
from events import First
from payloads import Gradient, Made
from training import combination

FACTS = {"compression": "gradients", "update": True, "reduces": lambda _: True, "on_failure": ["abort"], "faults": ["slow", "link"]}


def settings(draw, p):
    return {"k": draw.randint(1, p), "grace": f"{draw.choice([0, round(draw.uniform(1, 30), 3)])}ms", "late": draw.choice(["drop", "next"])}


amend = gathered


class Word:
    """Its sender has a gradient for this round."""

    def __init__(self, number):
        self.number = number


def worker(me, chosen):
    weights, words, computing, grace = me.first_weights, {}, None, float(chosen["grace"][:-2]) / 1000
    zero = [0.0] * len(weights.value)
    while True:
        mine, window = None, None
        while True:
            if not mine and not computing:
                at, batch = weights, me.draw()
                computing = me.process.own(me.compute(batch))
            ready = words.get(weights.version, 0)
            if ready == me.p or (ready >= chosen["k"] and not grace):
                break
            if ready >= chosen["k"] and not window:
                window = me.process.own(me.timer(grace))
            waits = ([computing] if computing else []) + [me.receive(Word)] + ([window] if window else [])
            which, value = yield First(*waits)
            if waits[which] is window:
                break
            if waits[which] is not computing:
                words[value.content.number] = words.get(value.content.number, 0) + 1
                continue
            computing, made = None, me.gradient(at, batch)
            if chosen["late"] == "drop" and at.version != weights.version:
                me.cluster.drop(made.made)
                continue
            mine = made
            words[weights.version] = words.get(weights.version, 0) + 1
            for rank in range(me.p):
                if rank != me.rank:
                    me.post(rank, Word(weights.version), size=8)
        if window:
            window.cancel()
        done = mine.made[0] if mine else Made(me.rank, weights.version, batch.position, 0, 0)
        part = Gradient(combination((done.samples / me.spec["batch"], mine.value)) if mine else zero, weights.version, [done])
        parts = yield all_reduce(me, part)
        samples = sum(each.made[0].samples for each in parts)
        yield me.update()
        by_samples = me.spec["batch"] / samples if samples else 0
        weights = yield publish(me, weights, me.step(weights, combination(*((by_samples, each.value) for each in parts))), parts)
