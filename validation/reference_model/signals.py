"""Control signals between workers: numbered words without bytes, which take the latency of the way."""
from events import Event


class Signals:
    """Each worker keeps the highest number that has reached it."""

    def __init__(self, cluster):
        self.cluster, self.highest, self.waiting = cluster, [-1] * len(cluster.workers), []

    def broadcast(self, sender, number):
        """To all other workers."""
        for worker in self.cluster.workers:
            if worker is not sender:
                self.cluster.clock.after(sender.latency + worker.latency, lambda rank=worker.rank: self.come(rank, number))

    def come(self, rank, number):
        self.highest[rank] = max(self.highest[rank], number)
        for signal in list(self.waiting):
            signal.check()


class Signal(Event):
    """Happens when a signal of that number, or a higher one, has come."""

    def __init__(self, worker, number):
        super().__init__()
        self.signals, self.rank, self.number = worker.cluster.signals, worker.rank, number

    def has_come(self):
        return self.signals.highest[self.rank] >= self.number

    def check(self):
        if self.has_come():
            self._cancel()
            self.happen()

    def _begin(self):
        self.signals.waiting.append(self)
        self.check()

    def _cancel(self):
        if self in self.signals.waiting:
            self.signals.waiting.remove(self)
