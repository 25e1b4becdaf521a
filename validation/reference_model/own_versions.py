"""Versions of weights that are each worker's own. docs/model.md: Versions of own weights; decisions 27 and 34."""
from events import Event
from training import mean


class Lockstep:
    """Version n is the mean of all workers' n-th weights; it is there when no member has yet to publish its n-th."""

    def __init__(self, cluster):
        self.cluster, self.current = cluster, [worker.first_weights for worker in cluster.workers]
        self.first, self.reached = [0] * len(cluster.workers), [0] * len(cluster.workers)  # numbers: of a life's beginning, of the latest
        self.number, self.waiting = 0, {}
        self.sent, self.instants = {}, [None]  # by instant: bytes sent before and after it; the instants of versions
        self.last_sent = None, {}  # an instant, and what each worker sent at it

    def sending(self, rank, size):
        now = self.cluster.clock.ticks
        before, after = self.sent.get(now, [self.cluster.bytes_sent] * 2)
        self.sent[now] = before, after + size
        if self.last_sent[0] != now:
            self.last_sent = now, {}
        self.last_sent[1][rank] = self.last_sent[1].get(rank, 0) + size

    def sent_at_end(self):
        """By worker, and the most that one may have sent at the end: whoever has its last weights first sends on before the run is over."""
        instant, sent = self.last_sent
        sent = sent if instant == self.cluster.clock.ticks else {}
        return sent, max(sent.values(), default=0) * (len(self.cluster.workers) - 1)

    def may_have_sent(self, update, sent):
        """Two workers that send each other equal messages have them at one instant: either may publish, and send, before the other."""
        before, after = self.sent.get(self.instants[update], (sent, sent))
        return range(before, after + 1)

    def takes_part(self, rank, number):
        """It is a member, and its life began with that number at the latest."""
        return self.cluster.is_member(rank) and self.first[rank] <= number

    def awaits(self, rank, number):
        """Its weights of that number may still come."""
        return self.takes_part(rank, number) if self.cluster.is_member(rank) else self.cluster.awaits(rank)

    def publish(self, worker, weights, made):
        self.current[worker.rank], self.reached[worker.rank] = weights, weights.version
        self.waiting.setdefault(weights.version, {})[worker.rank] = (weights, made)
        self.cluster.optimizer = worker.optimizer.copy()
        self.members_changed()

    def members_changed(self, _rank=None):
        while self.number < max(self.reached) and all(self.reached[rank] > self.number for rank in self.cluster.members()):
            if self.cluster.ended:
                return
            self.number += 1
            parts = self.waiting.pop(self.number, {})
            if parts:
                values = [parts[rank][0].value for rank in sorted(parts)]
                made = [each for _, several in parts.values() for each in several]
                for each in made:
                    each.read_version = self.cluster.latest.version
                self.instants.append(self.cluster.clock.ticks)
                self.cluster.publish(mean(values), made)

    def comes(self, worker, source):
        """Its first weights: those of the first member, or of the latest version, under the first number that nobody has reached."""
        weights = self.cluster.latest if source is None else self.current[source]
        weights = weights.moved(weights.value)
        weights.version = self.first[worker.rank] = self.reached[worker.rank] = max(self.reached) + 1
        self.current[worker.rank] = weights
        return weights


def own_step(me, weights, value, gradient):
    """Publishes the next weights of this worker, which assumes that all others have made as much progress."""
    after = weights.moved(value)
    after.version, after.counted = weights.version + 1, weights.counted + me.p * sum(each.samples for each in gradient.made)
    me.cluster.own.publish(me, after, gradient.made)
    if me.cluster.ended:
        yield Event()
    return after


class Share:
    """Half of a worker's sum and of its push-sum weight."""

    def __init__(self, value, weight, version):
        self.value, self.weight, self.version = value, weight, version


class PushSum(Lockstep):
    """Push-sum weights add up to p; what nobody has, and no message, is lost. All agree on who is in at a step. Decision 147."""

    def __init__(self, cluster):
        super().__init__(cluster)
        self.held, self.early = [0.0] * len(cluster.workers), [[] for _ in cluster.workers]
        self.outs = [[] for _ in cluster.workers]  # [first step, first one after them or None]
        for fault in cluster.case["faults"]:
            if fault["kind"] == "join":
                self.outs[fault["worker"]].append([0, None])

    def is_in(self, rank, step):
        return not any(first <= step and (end is None or step < end) for first, end in self.outs[rank])

    def is_out(self, rank):
        return bool(self.outs[rank]) and self.outs[rank][-1][1] is None

    def lost(self):
        members = [self.cluster.workers[rank] for rank in self.cluster.members()]
        kept = [message for worker in members for message in worker.mail + self.early[worker.rank]]
        shares = [message.content for message in self.cluster.flying + kept if isinstance(message.content, Share)]
        return len(self.held) - sum(self.held[worker.rank] for worker in members) - sum(share.weight for share in shares)

    def members_changed(self, rank=None):
        if rank is not None:
            self.held[rank], self.early[rank] = 0.0, []
            if not self.cluster.awaits(rank) and not self.is_out(rank):
                self.outs[rank].append([max(self.reached) + 1, None])
        super().members_changed()

    def comes(self, worker, source):
        weights = super().comes(worker, source)
        if self.is_out(worker.rank):
            self.outs[worker.rank][-1][1] = weights.version
        return weights


class FreeRunning(Lockstep):
    """Each update of any worker makes a version, the mean of all members' weights as far as averages count. Decision 34."""

    def __init__(self, cluster):
        super().__init__(cluster)
        self.counted, self.last = list(self.current), [0] * len(cluster.workers)  # in the latest version; which one it last made
        self.averages = [[] for _ in cluster.workers]  # that it has made with those who asked and that count in no version yet

    def averaged(self, at, with_, brought, mixed):
        """A worker has averaged with another, which brought these weights."""
        self.current[at] = mixed
        self.averages[at].append([with_, brought, mixed])

    def _count(self, rank, until):
        """Those averages of a worker count, for both at once."""
        for other, brought, mixed in self.averages[rank][:until]:
            self.counted[rank] = mixed
            if other is not None and self.counted[other] is brought:
                self.counted[other] = brought.moved(mixed.value)
        del self.averages[rank][:until]

    def publish(self, worker, weights, made):
        rank = worker.rank
        self._count(rank, len(self.averages[rank]))
        for at, several in enumerate(self.averages):
            until = max((k + 1 for k, each in enumerate(several) if each[0] == rank), default=0)
            self._count(at, until)
        self.current[rank] = self.counted[rank] = weights
        self.cluster.optimizer = worker.optimizer.copy()
        for each in made:
            each.read_version = self.last[rank]
        self.instants.append(self.cluster.clock.ticks)
        self.last[rank] = self.cluster.latest.version + 1
        self.cluster.publish(mean([self.counted[member].value for member in self.cluster.members()]), made)

    def members_changed(self, rank=None):
        if rank is None:
            return
        self.averages[rank] = []
        for several in self.averages:
            for each in several:
                each[0] = None if each[0] == rank else each[0]

    def comes(self, worker, source):
        weights = self.cluster.latest if source is None else self.current[source]
        self.current[worker.rank] = self.counted[worker.rank] = weights = weights.moved(weights.value)
        self.last[worker.rank] = self.cluster.latest.version
        return weights
