"""A star of workers and one server, its faults, and what a node of it can do. docs/model.md: Compute, Network, Faults, Accounts.

A case (cases.py) describes it; a scheme (schemes/) says what its nodes do.
"""
import compression
import training
from availability import Attendance
from collective import reductions_of
from events import Clock, Event, First, Process, Timer
from network import Flow, Flows, Link, Network
from signals import Signals

SERVER, INFINITE = "server", float("inf")


def is_worker(rank):
    return isinstance(rank, int)


class Notice:
    """In the mailbox of the server, or of all members where there is none: who is a member has changed."""


class Message:
    def __init__(self, sender, life, to, to_life, content, size):
        self.sender, self.life, self.to, self.to_life, self.content, self.size = sender, life, to, to_life, content, size
        self.flow = self.planned = self.sent = self.form = None
        self.begun, self.is_state, self.waits = False, False, False
        self.coded = getattr(content, "coded", False)


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


class Weights:
    """Weights as they travel: which version they derive from, the samples counted in it, and the steps made since.

    `vectors`: as long as the weights, in a message with them."""
    vectors, travels_as = 1, "weights"

    def __init__(self, value, version=0, counted=0, made=(), participants=1):
        self.value, self.version, self.counted, self.made, self.participants = list(value), version, counted, list(made), participants
        self.attached = []  # vectors that travel with them

    def moved(self, value, *made):
        """With another value, and these contributions besides."""
        return Weights(value, self.version, self.counted, Made.joined(self.made + list(made)), self.participants)


class Made:
    """A worker's contribution to a version: the version that it began from, its first batch, steps, samples, and seconds of computing."""

    def __init__(self, worker, read_version, position, steps, samples, spent=0.0):
        self.worker, self.read_version, self.position, self.steps, self.samples = worker, read_version, position, steps, samples
        self.spent = spent

    def continued(self, by):
        return Made(self.worker, self.read_version, self.position, self.steps + by.steps, self.samples + by.samples, self.spent + by.spent)

    @staticmethod
    def joined(several):
        """Those of one worker are one contribution, which began with the first."""
        by_worker = {}
        for each in several:
            first = by_worker.get(each.worker)
            by_worker[each.worker] = each if first is None else first.continued(each)
        return list(by_worker.values())

    def row(self):
        return self.worker, self.read_version, self.position, self.steps, self.samples


class Gradient:
    """Of a batch, taken at weights of a version."""
    travels_as = "gradient"

    def __init__(self, value, version, made, at=None):
        self.value, self.version, self.made, self.at = value, version, list(made), at


class Batch:
    def __init__(self, size, position, factor):
        self.size, self.position, self.factor, self.spent = size, position, factor, 0.0


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
        local = sum(made.samples for made in weights.made) * (weights.participants if self.rank != SERVER else 1)
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
        self.bytes_sent = self.bytes_received = 0
        self.enrolled, self.coding = True, 0
        self.memory = {}  # what a scheme keeps on the worker beyond a life

    def account(self):
        """The time since the last change goes to what the worker did in it."""
        span, self.accounted = self.clock.now - self.accounted, self.clock.now
        if self.state in ("down", "absent", "gone", "away"):
            self.down_s += span
        elif not self.computing:
            if self.coding:
                self.compute_s += span
            elif self.in_flight:
                self.communication_s += span
            else:
                self.idle_s += span

    def begin_computing(self):
        self.account()
        self.computing.append(self.clock.now)

    def end_computing(self, since, wasted):
        self.account()
        self.computing.remove(since)
        if wasted:
            self.wasted_s += self.clock.now - since
        else:
            self.compute_s += self.clock.now - since

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
        part, size = self.spec["samples"], self.spec["batch"] if most is None else most
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
        return Gradient(value, weights.version, [Made(self.rank, weights.version, batch.position, 1, batch.size, batch.spent)], weights)


class Cluster:
    """Runs a scheme: a module with worker(node, settings) and, with a server, server(node, settings), both generators of events."""

    def __init__(self, case, scheme):
        self.case, self.scheme, self.clock = case, scheme, Clock()
        self.network = Network(self.clock, case["sharing"] == "max_min")
        self.initial = [case["start"]] * len(case["workers"][0]["point"])
        self.curvature = training.curvature(len(self.initial), case["condition"])
        self.epoch_samples = sum(spec["samples"] for spec in case["workers"])
        bus = {} if not case["host"] else {"link": case["host"].get("messages") or {"bandwidth": 1e30, "latency": 0}}
        self.workers = [Worker(self, rank, spec, **bus) for rank, spec in enumerate(case["workers"])]
        self.server = Server(self, case) if case["server"] else None
        self.waits = case["on_failure"] == "wait"
        self.latest, self.versions, self.rows = self.workers[0].first_weights, [], []
        self.bytes_sent = self.bytes_received = self.bytes_lost = self.dropped = 0
        self.flying, self.to_come, self.outcome = [], set(), "completed"
        self.aggregators = [Aggregator(self, case, k) for k in range(case["scheme"].get("aggregators", 0))]
        self.attendance = Attendance(self, case["availability"]) if case.get("availability") else None
        self.members_change = bool(self.attendance) or any(fault["kind"] in ("crash", "leave", "join") for fault in case["faults"])
        self.keeps_vectors = getattr(scheme, "FACTS", {}).get("keeps_vectors", False)
        self.known = {}
        self.compression = compression.Compression(self) if case["compression"] else None
        self.signals = Signals(self)
        self.reductions = reductions_of(self) if case.get("collective") else None
        versions = getattr(scheme, "FACTS", {}).get("versions")
        self.own = versions(self) if versions else None  # of workers that have weights of their own
        self.ended, self.optimizer, self.to_admit = False, self.new_optimizer(), []

    # Running

    def coding_seconds(self, rank):
        """Of a message, that a node encodes or decodes; a server of several does it for its part."""
        rates = self.case["coding"] or {"worker": 0, "server": 0}
        rate = rates["server"] * self.case["server"]["count"] if rank == SERVER else rates["worker"]
        return 4 * len(self.initial) / rate if rate else 0.0

    def new_optimizer(self):
        return training.Optimizer(self.case["optimizer"], self.case["schedule"])

    def run(self):
        for fault in self.case["faults"]:
            self._plan(fault)
        for worker in self.workers:
            if worker.state == "member":
                self._spawn(worker)
        for aggregator in self.aggregators:
            aggregator.process = Process(self.clock, self.scheme.aggregator(aggregator, self.case["scheme"]))
        if self.server:
            self.server.process = Process(self.clock, self.scheme.server(self.server, self.case["scheme"]))
        self.clock.run()
        if not self.clock.stopped:
            self.outcome = "stalled"
        for worker in self.workers:
            worker.account()
            worker.compute_s += sum(self.clock.now - since for since in worker.computing)
        self.bytes_lost += sum(message.size for message in self.flying if message.begun)
        if self.reductions:
            self.reductions.end()
        return self

    def _spawn(self, worker):
        worker.process = Process(self.clock, self.scheme.worker(worker, self.case["scheme"]))

    # Versions

    def publish(self, value, made):
        """A version is published: happens at once, with its weights, unless the run ends with it."""
        made = sorted(made, key=lambda each: each.worker)
        counted = self.latest.counted + sum(each.samples for each in made)
        self.latest = Weights(value, self.latest.version + 1, counted, participants=len(self.workers))
        points = [(worker.spec["point"], worker.spec["samples"]) for worker in self.workers]
        self.versions.append((self.clock.now, counted, self.bytes_sent, training.loss(value, points, self.curvature)))
        self.rows += [(self.latest.version, self.clock.now, *each.row()) for each in made]
        epochs = (self.case["schedule"] or {}).get("epochs", float("inf"))
        if self.latest.version == self.case["updates"] or counted >= epochs * self.epoch_samples:
            self._end()
        return Done(self.latest)

    def _end(self):
        """The last version is there. Where some workers do not have it yet, the run lasts until they do."""
        self.ended = True
        if self.reductions and self.reductions.finishing():
            self.reductions.over, self.reductions.when_done = True, self.clock.stop
        else:
            self.clock.stop()

    def bytes_at(self, update, sent):
        """What may have been sent when that version was published, at which so much had."""
        return self.own.may_have_sent(update, sent) if self.own else [sent]

    def drop(self, made):
        """Contributions that will be in no version: their computing was wasted."""
        self.dropped += 1
        for each in made:
            self.workers[each.worker].compute_s -= each.spent
            self.workers[each.worker].wasted_s += each.spent

    # Messages

    def node(self, rank):
        if is_worker(rank):
            return self.workers[rank]
        return self.server if rank == SERVER else self.aggregators[int(rank.split()[1])]

    def aggregator_of(self, rank):
        """Groups of equal sizes; the first ones have one worker more where the number does not divide."""
        size, more = divmod(len(self.workers), len(self.aggregators))
        first = more * (size + 1)
        return self.aggregators[rank // (size + 1) if rank < first else more + (rank - first) // size]

    def is_member(self, rank, life=None):
        return (self.workers[rank].state == "member" and life in (None, self.workers[rank].life)
                and (not self.attendance or self.attendance.is_present(rank)))

    def members(self):
        return [worker.rank for worker in self.workers if self.is_member(worker.rank)]

    def enrolled(self):
        """Workers that have joined and have not left, those that are down included."""
        return sum(worker.enrolled for worker in self.workers)

    def once(self, name, find):
        """find(), found at the first call of that name."""
        if name not in self.known:
            self.known[name] = find()
        return self.known[name]

    def awaits(self, rank):
        """Whether others wait for it: a member, or one that is down where they wait."""
        return self.is_member(rank) or (self.waits and self.workers[rank].state in ("down", "coming"))

    def dispatch(self, message):
        if is_worker(message.to) and not message.is_state and not self.is_member(message.to, message.to_life):
            return message.sent.happen()
        if self.attendance and is_worker(message.to):
            self.attendance.invited(message.to)
        self.flying.append(message)
        if self.node(message.sender).handles(message):
            message.planned = self.clock.at(self.node(message.sender).handle(message), lambda: self._transmit(message))
        else:
            self._transmit(message)

    def _transmit(self, message):
        message.planned, message.begun = None, True
        self._fly(message, 1)
        if self.own:
            self.own.sending(message.size)
        self.bytes_sent += message.size
        if is_worker(message.sender):
            self.workers[message.sender].bytes_sent += message.size
        if message.size == 0:
            return self._left(message)
        message.flow = self._flows(self.node(message.sender).up, self.node(message.to).down, message.size)
        message.flow.then(lambda _: self._left(message))

    def _flows(self, ups, downs, size):
        """Side by side to or from servers: a part for each, the first ones a byte longer than others."""
        parts = max(len(ups), len(downs))
        links = [[ups[k % len(ups)], downs[k % len(downs)]] for k in range(parts)]
        return Flows([Flow(self.network, links[k], (size + parts - 1 - k) // parts) for k in range(parts)])

    def _fly(self, message, more):
        for rank in (message.sender, message.to):
            if is_worker(rank):
                self.workers[rank].fly(more)

    def _left(self, message):
        message.flow = None
        if self.attendance and is_worker(message.sender):
            self.attendance.answered(message.sender)
        latency = self.node(message.sender).latency + self.node(message.to).latency
        message.planned = self.clock.after(latency, lambda: self._arrived(message))
        message.sent.happen()

    def _of_pair(self, message):
        """Those under way from one node to another, in the order in which they were sent."""
        return [each for each in self.flying if (each.sender, each.to) == (message.sender, message.to) and not each.is_state]

    def _arrived(self, message):
        """In order, as on one connection, where there are faults: one that has overtaken another waits for it."""
        in_order = self.case["faults"] or message.form
        message.waits = bool(in_order) and not message.is_state and self._of_pair(message)[0] is not message
        if message.waits:
            return
        self.flying.remove(message)
        self._let_follow(message)
        self._fly(message, -1)
        self.bytes_received += message.size
        if is_worker(message.to):
            self.workers[message.to].bytes_received += message.size
        if message.is_state:
            return self._ready(self.workers[message.to])
        self.put(message)

    def put(self, message):
        node = self.node(message.to)
        for receiver in list(node.receivers):
            if receiver.offer(message):
                return
        node.mail.append(message)

    def _let_follow(self, message):
        following = self._of_pair(message)
        if following and following[0].waits:
            following[0].planned = self.clock.after(0, lambda: self._arrived(following[0]))

    def _lose(self, message):
        self.flying.remove(message)
        if message.begun:
            self._fly(message, -1)
            self.bytes_lost += message.size
        if message.flow:
            message.flow.cancel()
        self.clock.cancel(message.planned)
        self.clock.at(self.clock.now, message.sent.happen)  # its sender goes on when all know what has happened
        self._let_follow(message)
        if message.is_state:
            self._fetch_state(self.workers[message.to])

    # Faults

    def _plan(self, fault):
        kind, worker, clock = fault["kind"], self.workers[fault["worker"]], self.clock
        if kind == "slow":
            worker.spells.append((fault["from"], fault["to"], fault["times_slower"]))
            clock.at(fault["from"], lambda: None)
            clock.at(fault["to"], lambda: None)  # a run that stalls ends with its last event
        elif kind == "link":
            links = worker.up + worker.down
            clock.at(fault["from"], lambda: self.network.change(links, fault["bandwidth_factor"], True))
            clock.at(fault["to"], lambda: self.network.change(links, fault["bandwidth_factor"], False))
        elif kind == "crash":
            clock.at(fault["at"], lambda: self._crash(worker, fault.get("restart_after")))
        elif kind == "leave":
            clock.at(fault["at"], lambda: self._leave(worker))
        elif kind == "join":
            worker.state, worker.enrolled = "absent", False
            self.to_come.add(worker.rank)
            clock.at(fault["at"], lambda: self._come(worker) if worker.state == "absent" else None)

    def _crash(self, worker, restart_after):
        if worker.state not in ("member", "coming"):
            return
        if self.case["on_failure"] == "abort":
            self.outcome = "aborted"
            self.clock.stop()
        if restart_after is not None:
            self.to_come.add(worker.rank)
            self.clock.after(restart_after, lambda: self._come(worker) if worker.state == "down" else None)
        self._take_out(worker, "down")

    def _leave(self, worker):
        if worker.state == "gone":
            return
        self.to_come.discard(worker.rank)
        if worker.state in ("member", "coming"):
            if hasattr(self.scheme, "farewell"):
                self.scheme.farewell(worker)
            worker.enrolled = False
        self._take_out(worker, "gone")

    def _take_out(self, worker, state):
        worker.account()
        was_member, worker.state = worker.state == "member", state
        if was_member:
            worker.process.kill()
        self._cut_off(worker, state == "down")
        if worker in self.to_admit:
            self.to_admit.remove(worker)
        for watcher in (self.reductions, self.own):
            if watcher:
                watcher.members_changed(worker.rank)
        if not self.clock.stopped and not self.members() and not self.to_come and not any(each.state == "coming" for each in self.workers):
            self.outcome = "all_workers_down"
            self.clock.stop()
        self._tell_of_members()
        self.admit_if_possible()

    def _cut_off(self, worker, crashed):
        """Messages to it are lost, and those of one that crashes, unless their last byte has left."""
        worker.mail, worker.receivers, worker.coding, worker.busy_until = [], [], 0, 0.0
        for message in list(self.flying):
            breaks_off = message.sender == worker.rank and crashed and (message.flow or not message.begun)
            if message.to == worker.rank or breaks_off:
                self._lose(message)
        if crashed:
            self._forget_mail_from(worker)

    def go_away(self, worker):
        """A client goes in a round; its next life waits to be invited."""
        worker.account()
        worker.process.kill()
        worker.state, worker.life, worker.optimizer = "away", worker.life + 1, self.new_optimizer()
        self._cut_off(worker, True)
        self._spawn(worker)
        self.tell_of_members()

    def come_back(self, worker):
        worker.account()
        worker.state = "member"

    def tell_of_members(self):
        self._tell_of_members()

    def _forget_mail_from(self, worker):
        for node in [self.server, *self.aggregators, *self.workers]:
            if node:
                node.mail = [message for message in node.mail if message.sender != worker.rank or isinstance(message.content, Notice)]

    def _tell_of_members(self):
        """Whoever counts on others learns that members have changed."""
        for node in [*self.aggregators, self.server] if self.server else [self.workers[rank] for rank in self.members()]:
            self.put(Message(None, None, node.rank, None, Notice(), 0))

    def _come(self, worker):
        worker.account()
        worker.state = "coming"
        self.to_come.discard(worker.rank)
        self._fetch_state(worker)

    def _fetch_state(self, worker):
        """Its state travels to it, from the server or from the first member; without either it has been saved."""
        if worker.state != "coming":
            return
        source = SERVER if self.server else next(iter(self.members()), None)
        if source is None or self.case["host"]:
            return self._ready(worker)
        vectors = self.latest.vectors if self.server else 1 + len(self.latest.attached) + len(self._optimizer_of(source).state())
        message = Message(source, 0, worker.rank, None, None, 4 * vectors * len(self.initial))
        message.is_state = True
        Send(self, message).begin()

    def _ready(self, worker):
        self.to_admit.append(worker)
        self.admit_if_possible()

    def admit_if_possible(self):
        if self.to_admit and not self.ended and (not self.reductions or self.reductions.admits()):
            self.admit()

    def _optimizer_of(self, rank):
        """Without a server: that of the worker that published the latest version; of workers with weights of their own, that of the first."""
        return self.workers[rank].optimizer if self.own and rank is not None else self.optimizer

    def admit(self):
        """Those whose state has arrived start from the latest version."""
        ready, self.to_admit = self.to_admit, []
        for worker in ready:
            self._start(worker)

    def _start(self, worker):
        for message in [each for each in self.flying if each.sender == worker.rank]:
            self._lose(message)
        self._forget_mail_from(worker)
        worker.account()
        worker.life += 1
        first = next(iter(self.members()), None)
        worker.state, worker.mail, worker.receivers, worker.enrolled = "member", [], [], True
        worker.first_weights = self.own.comes(worker, first) if self.own else self.latest
        worker.optimizer = self.new_optimizer() if self.server else self._optimizer_of(first).copy()
        if self.reductions:
            self.reductions.start(worker.rank)
        self._spawn(worker)
        self.clock.after(0, self._tell_of_members)  # it begins before the others go on
