"""What workers do that reduce together, and that publish the same versions. docs/model.md: All-reduce; decision 7."""
from collective import AllReduce
from events import Event
from nodes import Done
from payloads import Weights
from weighing import rebalance


def all_reduce(me, part, vectors=1, size=None):
    """The parts of all, in the order of ranks; `vectors` as long as the weights, or `size` bytes."""
    size = 4 * vectors * len(me.cluster.initial) if size is None else size
    if me.cluster.compression and me.p > 1:
        part, size = me.cluster.compression.brought(me, part, size)
    return AllReduce(me, part, size)


def publish(me, before, value, parts, attached=()):
    """The version after `before`, which all workers publish: with faults the first one counts, else that of worker 0."""
    cluster, made = me.cluster, [each for part in parts for each in part.made]
    if cluster.ended:
        return Event()
    rebalance(cluster, before.version + 1, made)
    cluster.took[me.rank] = cluster.clock.now
    if before.version == cluster.latest.version if cluster.members_change else me.rank == 0:
        cluster.publish(value, made)
        cluster.latest.attached, cluster.optimizer = list(attached), me.optimizer.copy()
        if cluster.ended:
            return Event()
        cluster.admit()
    if cluster.compression:
        cluster.compression.sender(me).base = value
    weights = Weights(value, before.version + 1, before.counted + sum(each.samples for each in made), participants=me.p)
    weights.attached = list(attached)
    return cluster.rollback.hold(weights) if cluster.rollback else Done(weights)
