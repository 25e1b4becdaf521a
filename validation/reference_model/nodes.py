"""Workers, servers and aggregators, and what each of their operations takes. docs/model.md: Compute, Servers, Compression, Accounts."""
import compression
import training
from events import Event, First, Timer
from network import Link
from payloads import INFINITE, SERVER, Batch, Gradient, Made, Message, Notice, Weights
from weighing import samples_of_all


class Send(Event):
    """Happens when the last byte has left, and at once if the receiver is not there."""

    def __init__(self, cluster, message):
        super().__init__()
        self.cluster, self.message = cluster, message

    def _begin(self):
        self.message.sent = self
        self.cluster.dispatch(self.message)

    def _cancel(self):
        pass  # the message goes its way


class Receive(Event):
    """Of the next message in this node's mailbox that `fits`. A server first spends `per_message` on it."""

    def __init__(self, node, fits):
        super().__init__()
        self.node, self.fits, self.planned = node, fits, None

    def _begin(self):
        for message in self.node.mail:
            if self.fits(message):
                self.node.mail.remove(message)
                return self._take(message)
        self.node.receivers.append(self)

    def offer(self, message):
        if not self.fits(message):
            return False
        self.node.receivers.remove(self)
        self._take(message)
        return True

    def _take(self, message):
        clock = self.node.clock
        if self.node.cluster.compression:
            self.node.cluster.compression.taken(self.node, message)
        if isinstance(message.content, Notice) or not self.node.handles(message):
            return self.happen(message)
        self.taken = message
        self.planned = clock.at(self.node.handle(message), lambda: self.happen(message))
        self.settle()

    def _cancel(self):
        if self in self.node.receivers:
            self.node.receivers.remove(self)
        self.node.clock.cancel(self.planned)


class Compute(Event):
    """`work` seconds at full speed. Given up, its time is wasted."""

    def __init__(self, worker, work, batch=None):
        super().__init__()
        self.worker, self.work, self.batch, self.planned, self.since = worker, work, batch, None, None

    def _begin(self):
        self.since = self.worker.clock.now
        self.worker.begin_computing()
        self.planned = self.worker.clock.at(self.worker.end_of(self.since, self.work), self._done)

    def _done(self):
        self.worker.end_computing(self.since, wasted=False)
        if self.batch:
            self.batch.spent += self.worker.clock.now - self.since
        self.happen()

    def _cancel(self):
        self.worker.clock.cancel(self.planned)
        self.worker.end_computing(self.since, wasted=True)


class Update(Compute):
    """A step of a worker's own: nothing makes it slower."""

    def _begin(self):
        self.since = self.worker.clock.now
        self.worker.begin_computing()
        self.planned = self.worker.clock.after(self.work, self._done)


class Done(Event):
    """Has happened."""

    def __init__(self, value=None):
        super().__init__()
        self.value = value

    def _begin(self):
        self.happen(self.value)


class Node:
    """What all nodes can do. Each call returns an Event to yield, but `post`, which goes on at once."""

    def __init__(self, cluster, rank, link):
        self.cluster, self.rank, self.clock = cluster, rank, cluster.clock
        self.mail, self.receivers, self.busy_until, self.life = [], [], 0.0, 0
        self.latency, protocol = link["latency"], cluster.case["protocol"] or {"per_message": 0, "copy_rate": INFINITE}
        self.up, self.down = ([Link(link["bandwidth"]) for _ in range(link.get("count", 1))] for _ in range(2))  # a server has several
        self.per_message, self.copy_rate = protocol["per_message"] + link.get("per_message", 0), protocol["copy_rate"]
        self.optimizer, self.coding_s = cluster.new_optimizer(), cluster.coding_seconds(rank)
        self.process, self.first_weights = None, Weights(cluster.initial, participants=len(cluster.case["workers"]))

    def handles(self, message):
        """A message takes its processor's time, or waits for it."""
        busy = self.coding_s > 0 and self.busy_until > self.clock.now
        return busy or self.per_message > 0 or self.copy_rate < INFINITE or (self.coding_s > 0 and message.coded)

    def handle(self, message):
        """The node's processor handles a message, and codes it, after what it does already. When it is done."""
        handling, coding = round(self.per_message + message.size / self.copy_rate, 12), round(self.coding_s, 12) if message.coded else 0.0
        self.busy_until = round(max(self.busy_until, self.clock.now) + handling + coding, 12)
        if coding and self.rank != SERVER:
            self.codes(self.busy_until - coding, self.busy_until)
        return self.busy_until

    @property
    def p(self):
        return len(self.cluster.workers)

    def timer(self, seconds):
        return Timer(self.clock, seconds)

    def send(self, to, content, vectors=None, size=None, life=None):
        """Until the last byte has left. Has `vectors` as long as the weights, or `size` bytes; to that life of a worker, or to any."""
        vectors = getattr(content, "vectors", 1) if vectors is None else vectors
        size = 4 * vectors * len(self.cluster.initial) if size is None else size
        message = Message(self.rank, self.life, to, life, content, size)
        if self.cluster.compression:
            self.cluster.compression.outgoing(self, message)
        return Send(self.cluster, message)

    def post(self, to, content, **how):
        self.send(to, content, **how).begin()

    def broadcast(self, content, **how):
        """To all members, at once."""
        for rank in self.cluster.members():
            self.post(rank, content, **how)

    def receive(self, kind=object, sender=None):
        """A Message whose content is of that kind, from anyone or from that rank."""
        return Receive(self, lambda m: isinstance(m.content, kind) and (kind is Notice or not isinstance(m.content, Notice))
                       and (sender is None or m.sender == sender))

    def arrival(self, kind=object):
        """A Message, or a Notice that members have changed, which goes first: First gives (0, message) or (1, notice)."""
        return First(self.receive(kind), self.receive(Notice), last_begins=True)

    def arrival_from(self, rank, kind=object):
        """The same from that rank."""
        return First(self.receive(kind, rank), self.receive(Notice))

    def step(self, weights, direction, optimizer=None, epochs=None):
        """The value after a step of this node's optimizer along `direction`, at the schedule's time."""
        local = sum(made.samples for made in weights.made)
        if self.rank != SERVER:
            local = samples_of_all(self, local, weights.participants)
        if epochs is None:
            epochs = (weights.counted + local) / self.cluster.epoch_samples
        return (optimizer or self.optimizer).step(weights.value, direction, epochs)


class Server(Node):
    def __init__(self, cluster, case):
        super().__init__(cluster, SERVER, case["server"])
        self.update_rate = case["server"]["update"] * case["server"]["count"]  # each of them has its part of the weights

    def update(self):
        """The time of a step of the server."""
        if not self.update_rate:
            return Timer(self.clock, 0)
        self.busy_until = max(self.busy_until, self.clock.now) + 4 * len(self.cluster.initial) / self.update_rate
        return Timer(self.clock, self.busy_until - self.clock.now)


class Aggregator(Server):
    """Collects from a group of consecutive workers."""

    def __init__(self, cluster, case, number):
        super().__init__(cluster, case)
        self.rank, self.number = f"aggregator {number}", number
        link = case["aggregator"]
        self.up, self.down, self.latency = [Link(link["bandwidth"])], [Link(link["bandwidth"])], link["latency"]

    @property
    def group(self):
        return [rank for rank in range(self.p) if self.cluster.aggregator_of(rank) is self]


class Worker(Node):
    def __init__(self, cluster, rank, spec, link=None):
        super().__init__(cluster, rank, link or spec)
        if link:
            self.latency /= 2  # of the whole path
        self.spec, self.state, self.spells = spec, "member", []  # member, down, coming, absent, gone
        self.drawn, self.batches, self.computing, self.in_flight, self.accounted = 0, 0, [], 0, 0.0
        self.compute_s = self.wasted_s = self.down_s = self.communication_s = self.idle_s = 0.0
        self.checkpointing_s = self.recovering_s = self.booked = 0.0
        self.saving = self.recovering = False
        self.bytes_sent = self.bytes_received = 0
        self.enrolled, self.coding = True, 0
        self.memory = {}  # what a scheme keeps on the worker beyond a life

    def account(self):
        """The time since the last change goes to what the worker did in it."""
        span, self.accounted = self.clock.now - self.accounted, self.clock.now
        if self.state in ("down", "absent", "gone", "away"):
            self.down_s += span
        elif self.recovering:
            self.recovering_s += span
        elif not self.computing:
            if self.coding:
                self.compute_s += span
            elif self.saving:
                self.checkpointing_s += span
            elif self.in_flight:
                self.communication_s += span
            else:
                self.idle_s += span

    def begin_computing(self):
        self.account()
        if not self.computing:
            self.booked = self.clock.now
        self.computing.append(self.clock.now)

    def end_computing(self, since, wasted):
        self.account()
        self.computing.remove(since)
        span, self.booked = self.clock.now - self.booked, self.clock.now  # a step beside a gradient: both together are one span
        if wasted:
            self.wasted_s += span
        else:
            self.compute_s += span

    def fly(self, more):
        self.account()
        self.in_flight += more

    def codes(self, begin, end):
        """Coding counts as computing."""
        def change(by, life=self.life):
            if self.life == life and self.state == "member":
                self.account()
                self.coding += by

        self.clock.at(begin, lambda: change(1))
        self.clock.at(end, lambda: change(-1))

    def end_of(self, start, work):
        """When that work is done, at the speed that slow spells leave."""
        time, edges = start, sorted({edge for begin, end, _ in self.spells for edge in (begin, end)})
        while True:
            slower = 1.0
            for begin, end, factor in self.spells:
                if begin <= time < end:
                    slower *= factor
            following = min((edge for edge in edges if edge > time), default=float("inf"))
            if time + work * slower <= following:
                return time + work * slower
            work -= (following - time) / slower
            time = following

    def draw(self, most=None, new=True):
        """The next batch of this worker's sequence; epochs do not share one. `new`: with its own jitter, else a part of the last one."""
        part, size = self.spec["samples"], self.cluster.batches[self.rank] if most is None else most
        if self.cluster.case.get("rebalance"):
            part *= self.p  # of the pool, where it comes to no end
        size = min(size, part - self.drawn % part)
        position, self.drawn = self.drawn, self.drawn + size
        self.batches += new
        factors = self.spec["jitter"]
        return Batch(size, position, factors[(self.batches - 1) % len(factors)])

    def seconds(self, batch):
        return (self.spec["overhead"] + batch.size * self.spec["per_sample"]) * self.spec["slowdown"] * batch.factor

    def compute(self, batch):
        """The time of the batch's gradient."""
        return Compute(self, self.seconds(batch), batch)

    def update(self, size=None):
        """The time of a step of this worker, on all weights or on so many bytes."""
        rate = self.cluster.case["update"]
        return Update(self, (4 * len(self.cluster.initial) if size is None else size) / rate) if rate else Done()

    def gradient(self, weights, batch):
        """Its value, without the time."""
        value = training.gradient(weights.value, self.spec["point"], self.cluster.curvature)
        value = training.clipped(value, self.cluster.clip_at("worker"))
        return Gradient(value, weights.version, [Made(self.rank, weights.version, batch.position, 1, batch.size, batch.spent)], weights)
