"""The process of worker 0 drives all devices, as PyTorch's DataParallel does. Li et al. 2020, section 2.2."""
from payloads import Batch, Gradient, Weights
from training import mean

FACTS = {"network": True, "on_failure": ["abort"], "faults": ["slow", "slow", "link", "crash"], "update": True,
         "host": "messages", "pace": 2, "compression": "gradients"}


def settings(draw, _p):
    return {"dispatch": draw.choice(["0s", "2ms"]), "overhead": draw.choice(["0s", "7ms"]), "launches": draw.choice(["in_turn", "ahead"])}


def amend(case):
    """A host's link is no worker's. In every third case each worker has a host of its own."""
    if case["number"] % 3 == 0:
        case["host"] = None
    else:
        case["faults"] = [fault for fault in case["faults"] if fault["kind"] != "link"]


def bytes_of(batch, numbers):
    return 4 * numbers * batch.size


def worker(me, chosen):
    return host(me, chosen) if me.rank == 0 else device(me)


def host(me, chosen):
    others, weights, free = range(1, me.p), me.first_weights, 0.0
    launches = (float(chosen["overhead"].rstrip("ms")) + me.p * float(chosen["dispatch"].rstrip("ms"))) / 1000
    while True:
        batches = [worker.draw() for worker in me.cluster.workers]
        begun = free if chosen["launches"] == "ahead" else me.clock.now  # ahead: from the beginning of the iteration before
        yield me.timer(begun + launches - me.clock.now)
        free = me.clock.now
        for contents in [[(batch, bytes_of(batch, len(weights.value))) for batch in batches], [(weights, None)] * me.p]:
            for leaving in [me.send(rank, contents[rank][0], size=contents[rank][1]).begin() for rank in others]:
                yield leaving
        yield me.compute(batches[0])
        gradients = [me.gradient(weights, batches[0])]
        for rank in others:
            yield me.receive(str, sender=rank)
        for rank in others:
            gradients.append((yield me.receive(Gradient, sender=rank)).content)
        sizes = [batch.size for batch in batches]
        yield me.update()
        value = me.step(weights, mean([gradient.value for gradient in gradients], [size / sum(sizes) for size in sizes]))
        weights = yield me.cluster.publish(value, [made for gradient in gradients for made in gradient.made])


def device(me):
    while True:
        batch = (yield me.receive(Batch, sender=0)).content
        weights = (yield me.receive(Weights, sender=0)).content
        yield me.compute(batch)
        yield me.send(0, "outputs", size=bytes_of(batch, 2))  # of two classes
        yield me.send(0, me.gradient(weights, batch))
