"""Workers of one host step on weights in its memory, without locks. Niu, Recht, Ré & Wright 2011."""
from memory import Addition, Memory, Read

# Links carry nothing, and a host's link is no worker's.
FACTS = {"on_failure": ["drop", "drop", "drop", "abort"], "faults": ["crash", "crash", "slow", "leave", "join"], "update": True,
         "host": "memory", "pace": 0.5}


def settings(draw, _p):
    return {"chunks": draw.choice([1, 2, 3, 16])}


def amend(case):
    """Adam counts its steps in one number, behind the last piece. The reference has one for each piece: the same, unless somebody goes."""
    if case["optimizer"]["kind"].startswith("adam"):
        case["faults"] = [fault for fault in case["faults"] if fault["kind"] in ("slow", "join")]


def worker(me, chosen):
    if not hasattr(me.cluster, "memory"):
        me.cluster.memory = Memory(me.cluster, chosen["chunks"])
    memory = me.cluster.memory
    while True:
        weights = yield Read(me, memory)
        batch = me.draw()
        yield me.compute(batch)
        gradient = me.gradient(weights, batch)
        yield me.update()
        value = yield Addition(me, memory, gradient)
        yield me.cluster.publish(value, gradient.made)
