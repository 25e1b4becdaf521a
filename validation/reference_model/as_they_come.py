"""All-reduces whose ranks begin as they come. docs/model.md: All-reduce, `start: as_they_come`."""
from events import Event, Process, Timer
from network import Flow
from schedules import schedule_of


class Message(Event):
    """Of one round. It happens when it has arrived; `left` when its last byte has left."""

    def __init__(self, reductions, sender, receiver, size):
        super().__init__()
        self.reductions, self.cluster, self.size, self.left = reductions, reductions.cluster, size, Event()
        self.sender, self.receiver = self.cluster.workers[sender], self.cluster.workers[receiver]
        self.posted = self.receiver_is_there = False
        self.rendezvous = size > reductions.settings.get("eager_up_to", size)

    def come(self, receiver=False):
        """One of its ends has come to the round. An eager message leaves whether or not its receiver has come."""
        self.posted, self.receiver_is_there = self.posted or not receiver, self.receiver_is_there or receiver
        if self.posted and (not receiver if not self.rendezvous else self.receiver_is_there):
            self._post()

    def _post(self):
        self.cluster.bytes_sent += self.size
        self.sender.bytes_sent += self.size
        for end in (self.sender, self.receiver):
            end.fly(1)
        self.reductions.under_way += self.size
        lane = self.reductions.lanes.setdefault((self.sender.rank, self.receiver.rank), [])
        lane.append(self)
        if lane == [self]:
            self._flow()

    def _flow(self):
        Flow(self.cluster.network, self.sender.up + self.receiver.down, self.size).then(self._has_left)

    def _has_left(self, _):
        lane = self.reductions.lanes[self.sender.rank, self.receiver.rank]
        lane.remove(self)
        if lane:
            lane[0]._flow()
        self.cluster.clock.after(self.sender.latency + self.receiver.latency, self._arrived)
        self.left.happen()

    def _arrived(self):
        self.reductions.under_way -= self.size
        self.cluster.bytes_received += self.size
        self.receiver.bytes_received += self.size
        for end in (self.sender, self.receiver):
            end.fly(-1)
        self.happen()


class AsTheyCome:
    """Each rank begins its parts when it comes, one after the other, and is done when it has what it needs. Nobody comes or goes."""

    def __init__(self, cluster):
        self.cluster, self.settings, self.p = cluster, cluster.case["collective"], len(cluster.workers)
        self.queues, self.next, self.parts = [[] for _ in cluster.workers], [0] * self.p, {}
        self.messages, self.lanes, self.under_way = {}, {}, 0
        self.done, self.over, self.when_done = {}, False, None

    def join(self, part):
        rank = part.worker.rank
        part.number, self.next[rank] = self.next[rank], self.next[rank] + 1
        self.parts.setdefault(part.number, {})[rank] = part
        self.queues[rank].append(part)
        if self.queues[rank] == [part]:
            self._begin(part)

    def forget(self, _part):
        pass

    def admits(self):
        return True

    def _begin(self, part):
        if not self.over:
            Process(self.cluster.clock, self._way(part), at_once=True)

    def _message(self, number, k, sender, to, size):
        return self.messages.setdefault((number, k, sender, to), Message(self, sender, to, size))

    def _way(self, part):
        rank, rounds = part.worker.rank, schedule_of(self.cluster, part.size, self.p) if self.p > 1 else []
        if rounds and self.settings["launch"]:
            yield Timer(self.cluster.clock, self.settings["launch"])
        for k, messages in enumerate(rounds):
            sends = [self._message(part.number, k, *each[:3]) for each in messages if each[0] == rank]
            receives = [self._message(part.number, k, *each[:3]) for each in messages if each[1] == rank]
            for message in sends:
                message.come()
            for message in receives:
                message.come(receiver=True)
            for event in [message.left for message in sends if message.rendezvous] + receives:
                yield event
            added = sum(size for _, to, size, adds in messages if to == rank and adds)
            if added and self.settings["reduce_rate"]:
                yield Timer(self.cluster.clock, added / self.settings["reduce_rate"])
        self._done(part)

    def _done(self, part):
        rank, number = part.worker.rank, part.number
        self.done[number] = self.done.get(number, 0) + 1
        result = [self.parts[number][each].part for each in range(self.p)]
        self.queues[rank].pop(0)
        if self.done[number] == self.p and self.when_done:
            self.when_done()
        if self.queues[rank]:
            self._begin(self.queues[rank][0])
        self.cluster.clock.after(0, lambda: part.happen(result))

    def finishing(self):
        return 0 < self.done.get(self.cluster.latest.version - 1, 0) < self.p

    def end(self):
        self.cluster.bytes_lost += self.under_way
