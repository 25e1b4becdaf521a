"""Weights in the memory of one host, which its workers read and change without locks. docs/model.md: Hogwild."""
import training
from events import Event
from payloads import Weights


class Memory:
    """The weights in pieces, each with the optimizer's state for it. Accesses pass the pieces in order, at a steady pace."""

    def __init__(self, cluster, chunks):
        self.cluster, self.chunks, dimensions = cluster, chunks, len(cluster.initial)
        edges = [dimensions * k // chunks for k in range(chunks + 1)]
        self.pieces = [slice(begin, end) for begin, end in zip(edges, edges[1:])]
        self.value = list(cluster.initial)
        self.optimizers = [training.Optimizer(cluster.case["optimizer"], cluster.case["schedule"]) for _ in self.pieces]
        host = cluster.case["host"]["memory"]
        self.latency = host["latency"] if host else 0.0
        self.scan = 4 * dimensions / host["bandwidth"] if host else 0.0  # of a read; an addition moves twice as much
        self.begun = 0  # samples of the additions that have begun, and were not broken off


class Access(Event):
    """Passes every piece, and happens behind the last one. A worker that goes leaves what it has passed."""

    def __init__(self, me, memory, scan):
        super().__init__()
        self.me, self.memory, self.scan, self.planned = me, memory, scan, []

    def _begin(self):
        clock, latency = self.me.clock, self.memory.latency
        if latency + self.scan == 0:  # before anything else, as a free server handles one gradient after another
            for k, piece in enumerate(self.memory.pieces):
                self.passes(k, piece)
            self.happen(self.result())
            return
        self.me.fly(1)
        for k, piece in enumerate(self.memory.pieces):
            until = latency + self.scan * (k + 1) / self.memory.chunks
            self.planned.append(clock.after(until, lambda k=k, piece=piece: self.passes(k, piece)))
        self.planned.append(clock.after(latency + self.scan, self._over))

    def _over(self):
        self.me.fly(-1)
        self.happen(self.result())

    def _cancel(self):
        self.me.fly(-1)
        for planned in self.planned:
            self.me.clock.cancel(planned)


class Read(Access):
    def __init__(self, me, memory):
        super().__init__(me, memory, memory.scan)
        self.seen = [0.0] * len(memory.value)

    def passes(self, _, piece):
        self.seen[piece] = self.memory.value[piece]

    def result(self):
        latest = self.me.cluster.latest
        return Weights(self.seen, latest.version, latest.counted, (), latest.participants)


class Addition(Access):
    """A step along a gradient. What each piece is afterwards is in this addition's version, whatever changes it later."""

    def __init__(self, me, memory, gradient):
        super().__init__(me, memory, 2 * memory.scan)
        self.gradient = training.clipped(gradient.value, me.cluster.clip_at("server"))
        self.made = [0.0] * len(memory.value)
        self.samples = sum(made.samples for made in gradient.made)

    def _begin(self):
        self.epochs = self.memory.begun / self.me.cluster.epoch_samples
        self.memory.begun += self.samples
        super()._begin()

    def passes(self, k, piece):
        value = self.memory.value
        value[piece] = self.memory.optimizers[k].step(value[piece], self.gradient[piece], self.epochs) if value[piece] else []
        self.made[piece] = value[piece]

    def _cancel(self):
        self.memory.begun -= self.samples
        super()._cancel()

    def result(self):
        return self.made
