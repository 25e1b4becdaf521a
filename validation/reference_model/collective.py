"""All-reduces: message by message, or as one flow; who takes part, and what a failure does. docs/model.md: All-reduce, Faults.

Scheme code sees the parts that all have brought, and takes their mean itself.
"""
from events import Event, Process, Timer
from network import Flow
from schedules import schedule_of
from as_they_come import AsTheyCome


class AllReduce(Event):
    """One worker's part in an all-reduce. Happens with the parts of all who took part, in the order of ranks."""

    def __init__(self, worker, part, size):
        super().__init__()
        self.worker, self.part, self.size, self.number = worker, part, size, None

    def _begin(self):
        self.worker.cluster.reductions.join(self)

    def _cancel(self):
        self.worker.cluster.reductions.forget(self)


class Transfer(Event):
    """A message of one round. It leaves when both ends have come to the round; it happens when it has arrived: `sent` for its sender."""

    def __init__(self, cluster, sender, receiver, size):
        super().__init__()
        self.cluster, self.sender, self.receiver, self.size = cluster, cluster.workers[sender], cluster.workers[receiver], size
        self.missing, self.flow, self.planned, self.sent = 2, None, None, Event()

    def meet(self):
        self.missing -= 1
        if self.missing == 0:
            self.flow = Flow(self.cluster.network, self.sender.up + self.receiver.down, self.size)
            self.flow.then(self._left)

    def _left(self, _):
        self.planned = self.cluster.clock.after(self.sender.latency + self.receiver.latency, self._arrived)

    def _arrived(self):
        self.sent.happen()
        self.happen()

    def stop(self):
        if self.flow:
            self.flow.cancel()
        self.cluster.clock.cancel(self.planned)


class Moving:
    """An all-reduce in progress: of these members, of so many bytes each."""

    def __init__(self, cluster, number, members, size, parts):
        self.cluster, self.number, self.members, self.parts = cluster, number, members, parts
        self.settings, self.unfinished, self.running, self.transfers = cluster.case["collective"], list(members), [], []
        rounds = schedule_of(cluster, size, len(members)) if len(members) > 1 else []
        self.sent = [sum(message[2] for messages in rounds for message in messages if message[0] == i) for i in range(len(members))]
        self.received = [sum(message[2] for messages in rounds for message in messages if message[1] == i) for i in range(len(members))]
        self.rounds = rounds

    def begin(self):
        clock = self.cluster.clock
        if len(self.members) == 1:
            self.running.append(Process(clock, self._alone()))
            return
        for i, rank in enumerate(self.members):
            self.cluster.workers[rank].bytes_sent += self.sent[i]
            self.cluster.bytes_sent += self.sent[i]
            self.cluster.workers[rank].fly(1)
        if self.settings["fidelity"] == "fluid":
            self.running.append(Process(clock, self._as_one_flow()))
            return
        messages = [{(a, b): Transfer(self.cluster, self.members[a], self.members[b], size) for a, b, size, _ in messages}
                    for messages in self.rounds]
        self.transfers = [transfer for each in messages for transfer in each.values()]
        self.running += [Process(clock, self._rank(i, messages)) for i in range(len(self.members))]

    def _alone(self):
        yield Timer(self.cluster.clock, 0)
        self._done(self.members[0])

    def _rank(self, place, messages):
        """One member's way through the rounds."""
        clock = self.cluster.clock
        yield Timer(clock, self.settings["launch"])
        for transfers, plan in zip(messages, self.rounds):
            sends = [transfer for (sender, _), transfer in transfers.items() if sender == place]
            receives = [transfer for (_, to), transfer in transfers.items() if to == place]
            for transfer in sends + receives:
                transfer.meet()
            for event in [transfer.sent for transfer in sends] + receives:
                yield event
            added = sum(size for _, to, size, adds in plan if to == place and adds)
            if added and self.settings["reduce_rate"]:
                yield Timer(clock, added / self.settings["reduce_rate"])
        self._done(self.members[place])

    def _as_one_flow(self):
        """On equal links: launch and latencies, then the bytes of each round's largest message on the links of all, then arithmetic."""
        clock, workers = self.cluster.clock, [self.cluster.workers[rank] for rank in self.members]
        yield Timer(clock, self.settings["launch"] + len(self.rounds) * 2 * workers[0].latency)
        size = sum(max(message[2] for message in messages) for messages in self.rounds)
        yield Flow(self.cluster.network, [link for worker in workers for link in worker.up + worker.down], size)
        added = sum(max(message[2] for message in messages) for messages in self.rounds if messages[0][3])
        if added and self.settings["reduce_rate"]:
            yield Timer(clock, added / self.settings["reduce_rate"])
        for rank in self.members:
            self._done(rank)

    def _done(self, rank):
        self._land(rank, len(self.members) > 1)
        self.unfinished.remove(rank)
        self.cluster.reductions.done(self, rank)

    def _land(self, rank, travelled=True):
        if travelled:
            self.cluster.workers[rank].fly(-1)
            received = self.received[self.members.index(rank)]
            self.cluster.workers[rank].bytes_received += received
            self.cluster.bytes_received += received

    def break_off(self):
        for process in self.running:
            process.kill()
        for transfer in self.transfers:
            transfer.stop()
        if len(self.members) > 1:
            for rank in self.unfinished:
                self.cluster.workers[rank].fly(-1)
        self.lose_bytes()

    def lose_bytes(self):
        self.cluster.bytes_lost += sum(self.received[self.members.index(rank)] for rank in self.unfinished)


class Reductions:
    """The n-th parts of all workers are one all-reduce; one moves after the other. The n-th version holds the results of the first n."""

    def __init__(self, cluster):
        self.cluster, self.next, self.waiting, self.begun = cluster, [0] * len(cluster.workers), {}, 0
        self.results, self.moving, self.over, self.when_done = {}, None, False, None

    def join(self, part):
        rank = part.worker.rank
        part.number, self.next[rank] = self.next[rank], self.next[rank] + 1
        if part.number in self.results:  # over: its own part is lost
            return part.happen(self.results[part.number])
        self.waiting.setdefault(part.number, {})[rank] = part
        self.try_to_begin()
        self.cluster.admit_if_possible()

    def _give(self, part, result):
        """A part that all others have queued behind it begins first."""
        self.cluster.clock.after(0, lambda: part.happen(result))

    def forget(self, part):
        self.waiting.get(part.number, {}).pop(part.worker.rank, None)

    def lacks(self, rank):
        """Whether the next all-reduce waits for it."""
        if rank in self.waiting.get(self.begun, {}):
            return False
        ahead = self.cluster.is_member(rank) and self.next[rank] > self.begun
        return self.cluster.awaits(rank) and not ahead

    def try_to_begin(self):
        parts = self.waiting.get(self.begun)
        if self.moving or self.over or not parts or any(self.lacks(worker.rank) for worker in self.cluster.workers):
            return
        members = sorted(parts)
        size = parts[members[0]].size
        self.moving = Moving(self.cluster, self.begun, members, size, [parts[rank].part for rank in members])
        self.begun += 1
        self.moving.begin()

    def done(self, moving, rank):
        part = self.waiting[moving.number].pop(rank, None)
        if part:
            self._give(part, moving.parts)
        if not moving.unfinished:
            self._complete(moving)
            self.try_to_begin()

    def _complete(self, moving):
        self.moving = None
        self.results[moving.number] = moving.parts
        for part in list(self.waiting.pop(moving.number, {}).values()):  # of those that came late
            self._give(part, moving.parts)
        if self.when_done:
            self.when_done()

    def members_changed(self, rank):
        moving = self.moving
        if moving and rank in moving.members:
            moving.break_off()
            self.moving = None
            if len(moving.unfinished) < len(moving.members):
                self._complete(moving)
            else:
                self.begun -= 1
        if not self.cluster.members():
            self.begun = self.cluster.latest.version
            self.results.clear()
            self.waiting.clear()
        self.try_to_begin()

    def admits(self):
        """Whether a worker may start from the latest version now: no later all-reduce has begun, or all members wait for it alone."""
        if self.begun == self.cluster.latest.version:
            return True
        parts = self.waiting.get(self.begun, {})
        return not self.moving and len(parts) > 0 and len(parts) == len(self.cluster.members())

    def start(self, rank):
        self.next[rank] = self.cluster.latest.version

    def finishing(self):
        """Some have the result of the latest version, others do not yet."""
        return self.moving is not None and self.moving.number + 1 == self.cluster.latest.version

    def end(self):
        if self.moving:
            self.moving.lose_bytes()


def reductions_of(cluster):
    return (AsTheyCome if cluster.case["collective"].get("start") == "as_they_come" else Reductions)(cluster)
