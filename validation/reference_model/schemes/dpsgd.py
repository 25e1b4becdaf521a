"""Every worker averages its own weights with its neighbours' while it computes its gradient. Lian et al. 2017.

Compressed, workers send changes of estimates that their neighbours keep of them: Koloskova, Stich & Jaggi 2019.
"""
from graphs import neighbours
from own_versions import Lockstep, own_step
from payloads import Weights
from training import change, combination

FACTS = {"update": True, "network": True, "compression": "weights", "versions": Lockstep, "on_failure": ["drop", "drop", "wait", "wait",
         "abort"]}


def settings(draw, _p):
    return {"graph": draw.choice(["ring", "exponential", "full", "torus"])}


def amend(case):
    """Who comes knows no estimates, and gets them whole: that is not here."""
    if case["compression"]:
        case["scheme"]["gamma"] = 0.2 + 0.1 * (case["number"] % 8)
        case["compression"]["direction"] = "up"
        case["faults"] = [fault for fault in case["faults"] if fault["kind"] in ("slow", "link")]


def of_version(me, rank, number):
    """The weights of that number from a neighbour, or None if they will not come."""
    while me.cluster.own.awaits(rank, number):
        which, arrived = yield me.arrival_from(rank, Weights)
        if which == 0 and arrived.content.version == number:
            return arrived.content
    return None


def estimate(me, mine, before):
    """What neighbours take for this worker's weights, and the bytes of its change."""
    compressor = me.cluster.compression.compressor
    change_sent = compressor.of(change(mine.value, before.value), True)
    return mine.moved(combination((1, before.value), (1, change_sent))), compressor.bytes(len(mine.value), True)


def worker(me, chosen):
    mine, own, others = me.first_weights, me.cluster.own, neighbours(chosen["graph"], me.rank, me.p)
    share, shown, size = 1 / (1 + len(others)), me.first_weights, None
    while True:
        if me.cluster.compression and others:
            shown, size = estimate(me, mine, shown)
        else:
            shown = mine
        for rank in others:
            if own.takes_part(rank, mine.version):
                me.post(rank, shown, size=size)
        batch = me.draw()
        yield me.compute(batch)
        gradient, found = me.gradient(mine, batch), {}
        for rank in others:
            found[rank] = yield from of_version(me, rank, mine.version)
        parts = [each.value for rank, each in found.items() if each and own.takes_part(rank, mine.version)]
        pull = combination((-share * len(parts), shown.value), *((share, value) for value in parts))
        mixed = combination((1, mine.value), (chosen.get("gamma", 1), pull))
        yield me.update()
        mine = yield from own_step(me, mine, me.step(mine.moved(mixed), gradient.value), gradient)
