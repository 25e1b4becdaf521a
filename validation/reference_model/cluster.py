"""A star of workers and one server, its faults, and what a node of it can do. docs/model.md: Compute, Network, Faults, Accounts.

A case (cases.py) describes it; a scheme (schemes/) says what its nodes do.
"""
import training
from events import Clock, Event, First, Process, Timer
from network import Flow, Link, Network

SERVER = "server"


class Notice:
    """In the mailbox of the server, or of all members where there is none: who is a member has changed."""


class Message:
    def __init__(self, sender, life, to, to_life, content, size):
        self.sender, self.life, self.to, self.to_life, self.content, self.size = sender, life, to, to_life, content, size
        self.flow = self.planned = self.sent = None
        self.begun, self.is_state = False, False


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
        self.node, self.fits, self.planned, self.taken = node, fits, None, None

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
        clock, cost = self.node.clock, self.node.per_message
        if cost == 0 or isinstance(message.content, Notice):
            return self.happen(message)
        self.taken = message
        self.planned = clock.at(self.node.handle(), lambda: self.happen(message))

    def _cancel(self):
        if self in self.node.receivers:
            self.node.receivers.remove(self)
        self.node.clock.cancel(self.planned)
        if self.taken:
            self.node.mail.insert(0, self.taken)


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


class Done(Event):
    """Has happened."""

    def __init__(self, value=None):
        super().__init__()
        self.value = value

    def _begin(self):
        self.happen(self.value)


class Weights:
    """Weights as they travel: which version they derive from, the samples counted in it, and the steps made since."""

    def __init__(self, value, version=0, counted=0, made=(), participants=1):
        self.value, self.version, self.counted, self.made, self.participants = list(value), version, counted, list(made), participants

    def moved(self, value, *made):
        """With another value, and these contributions besides."""
        return Weights(value, self.version, self.counted, self.made + list(made), self.participants)


class Made:
    """A worker's contribution to a version: the version that it began from, its first batch, steps, samples, and seconds of computing."""

    def __init__(self, worker, read_version, position, steps, samples, spent=0.0):
        self.worker, self.read_version, self.position, self.steps, self.samples = worker, read_version, position, steps, samples
        self.spent = spent

    def row(self):
        return self.worker, self.read_version, self.position, self.steps, self.samples


class Gradient:
    """Of a batch, taken at weights of a version."""

    def __init__(self, value, version, made, at=None):
        self.value, self.version, self.made, self.at = value, version, list(made), at


class Batch:
    def __init__(self, size, position, factor):
        self.size, self.position, self.factor, self.spent = size, position, factor, 0.0


class Node:
    """What all nodes can do. Each call returns an Event to yield, but `post`, which goes on at once."""

    def __init__(self, cluster, rank, link):
        self.cluster, self.rank, self.clock = cluster, rank, cluster.clock
        self.mail, self.receivers, self.busy_until, self.per_message, self.life = [], [], 0.0, 0.0, 0
        self.up, self.down, self.latency = Link(link["bandwidth"]), Link(link["bandwidth"]), link["latency"]
        self.optimizer = cluster.new_optimizer()
        self.process, self.first_weights = None, Weights(cluster.initial, participants=len(cluster.case["workers"]))

    def handle(self):
        """The node's processor handles a message, after what it does already. When it is done."""
        self.busy_until = max(self.busy_until, self.clock.now) + self.per_message
        return self.busy_until

    @property
    def p(self):
        return len(self.cluster.workers)

    def timer(self, seconds):
        return Timer(self.clock, seconds)

    def send(self, to, content, vectors=1, size=None, life=None):
        """Until the last byte has left. `vectors` as long as the weights, or `size` bytes; to that life of a worker, or to whoever it is."""
        size = 4 * vectors * len(self.cluster.initial) if size is None else size
        return Send(self.cluster, Message(self.rank, self.life, to, life, content, size))

    def post(self, to, content, **how):
        self.send(to, content, **how).begin()

    def receive(self, kind=object, sender=None):
        """A Message whose content is of that kind, from anyone or from that rank."""
        return Receive(self, lambda m: isinstance(m.content, kind) and (kind is Notice or not isinstance(m.content, Notice))
                       and (sender is None or m.sender == sender))

    def arrival(self, kind=object):
        """A Message, or a Notice that members have changed: First gives (0, message) or (1, notice)."""
        return First(self.receive(kind), self.receive(Notice))

    def step(self, weights, direction, optimizer=None, epochs=None):
        """The value after a step of this node's optimizer along `direction`, at the schedule's time."""
        local = sum(made.samples for made in weights.made) * (weights.participants if self.rank != SERVER else 1)
        if epochs is None:
            epochs = (weights.counted + local) / self.cluster.epoch_samples
        return (optimizer or self.optimizer).step(weights.value, direction, epochs)


class Server(Node):
    def __init__(self, cluster, case):
        super().__init__(cluster, SERVER, case["server"])
        self.per_message, self.update_rate = case["server"]["per_message"], case["server"]["update"]

    def update(self):
        """The time of a step of the server."""
        if not self.update_rate:
            return Timer(self.clock, 0)
        self.busy_until = max(self.busy_until, self.clock.now) + 4 * len(self.cluster.initial) / self.update_rate
        return Timer(self.clock, self.busy_until - self.clock.now)


class Worker(Node):
    def __init__(self, cluster, rank, spec):
        super().__init__(cluster, rank, spec)
        self.spec, self.state, self.spells = spec, "member", []  # member, down, coming, absent, gone
        self.drawn, self.batches, self.computing, self.in_flight, self.accounted = 0, 0, [], 0, 0.0
        self.compute_s = self.wasted_s = self.down_s = self.communication_s = self.idle_s = 0.0
        self.bytes_sent = self.bytes_received = 0
        self.memory = {}  # what a scheme keeps on the worker beyond a life

    def account(self):
        """The time since the last change goes to what the worker did in it."""
        span, self.accounted = self.clock.now - self.accounted, self.clock.now
        if self.state in ("down", "absent", "gone"):
            self.down_s += span
        elif not self.computing:
            if self.in_flight:
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

    def gradient(self, weights, batch):
        """Its value, without the time."""
        value = training.gradient(weights.value, self.spec["point"], self.cluster.curvature)
        return Gradient(value, weights.version, [Made(self.rank, weights.version, batch.position, 1, batch.size, batch.spent)], weights)


class Cluster:
    """Runs a scheme: a module with worker(node, settings) and, with a server, server(node, settings), both generators of events."""

    def __init__(self, case, scheme):
        self.case, self.scheme, self.clock = case, scheme, Clock()
        self.network = Network(self.clock)
        self.initial = [case["start"]] * len(case["workers"][0]["point"])
        self.curvature = training.curvature(len(self.initial), case["condition"])
        self.epoch_samples = sum(spec["samples"] for spec in case["workers"])
        self.workers = [Worker(self, rank, spec) for rank, spec in enumerate(case["workers"])]
        self.server = Server(self, case) if case["server"] else None
        self.waits = case["on_failure"] == "wait"
        self.latest, self.versions, self.rows = self.workers[0].first_weights, [], []
        self.bytes_sent = self.bytes_received = self.bytes_lost = self.dropped = 0
        self.flying, self.to_come, self.outcome = [], set(), "completed"
        self.published_by = None

    # Running

    def new_optimizer(self):
        return training.Optimizer(self.case["optimizer"], self.case["schedule"])

    def run(self):
        for fault in self.case["faults"]:
            self._plan(fault)
        for worker in self.workers:
            if worker.state == "member":
                self._spawn(worker)
        if self.server:
            self.server.process = Process(self.clock, self.scheme.server(self.server, self.case["scheme"]))
        self.clock.run()
        for worker in self.workers:
            worker.account()
            worker.compute_s += sum(self.clock.now - since for since in worker.computing)
        self.bytes_lost += sum(message.size for message in self.flying if message.begun)
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
            self.clock.stop()
        return Done(self.latest)

    def drop(self, made):
        """Contributions that will be in no version: their computing was wasted."""
        self.dropped += 1
        for each in made:
            self.workers[each.worker].compute_s -= each.spent
            self.workers[each.worker].wasted_s += each.spent

    # Messages

    def node(self, rank):
        return self.server if rank == SERVER else self.workers[rank]

    def is_member(self, rank, life=None):
        return self.workers[rank].state == "member" and life in (None, self.workers[rank].life)

    def members(self):
        return [worker.rank for worker in self.workers if worker.state == "member"]

    def awaits(self, rank):
        """Whether others wait for it: a member, or one that is down where they wait."""
        return self.is_member(rank) or (self.waits and self.workers[rank].state in ("down", "coming"))

    def dispatch(self, message):
        if message.to != SERVER and not message.is_state and not self.is_member(message.to, message.to_life):
            return message.sent.happen()
        self.flying.append(message)
        if self.node(message.sender).per_message:
            message.planned = self.clock.at(self.node(message.sender).handle(), lambda: self._transmit(message))
        else:
            self._transmit(message)

    def _transmit(self, message):
        message.planned, message.begun = None, True
        self._fly(message, 1)
        self.bytes_sent += message.size
        if message.sender != SERVER:
            self.workers[message.sender].bytes_sent += message.size
        if message.size == 0:
            return self._left(message)
        message.flow = Flow(self.network, [self.node(message.sender).up, self.node(message.to).down], message.size)
        message.flow.then(lambda _: self._left(message))

    def _fly(self, message, more):
        for rank in (message.sender, message.to):
            if rank != SERVER:
                self.workers[rank].fly(more)

    def _left(self, message):
        message.flow = None
        latency = self.node(message.sender).latency + self.node(message.to).latency
        message.planned = self.clock.after(latency, lambda: self._arrived(message))
        message.sent.happen()

    def _arrived(self, message):
        self.flying.remove(message)
        self._fly(message, -1)
        self.bytes_received += message.size
        if message.to != SERVER:
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

    def _lose(self, message):
        self.flying.remove(message)
        if message.begun:
            self._fly(message, -1)
            self.bytes_lost += message.size
        if message.flow:
            message.flow.cancel()
        self.clock.cancel(message.planned)
        message.sent.happen()
        if message.is_state:
            self._fetch_state(self.workers[message.to])

    # Faults

    def _plan(self, fault):
        kind, worker, clock = fault["kind"], self.workers[fault["worker"]], self.clock
        if kind == "slow":
            worker.spells.append((fault["from"], fault["to"], fault["times_slower"]))
        elif kind == "link":
            links = [worker.up, worker.down]
            clock.at(fault["from"], lambda: self.network.change(links, fault["bandwidth_factor"], True))
            clock.at(fault["to"], lambda: self.network.change(links, fault["bandwidth_factor"], False))
        elif kind == "crash":
            clock.at(fault["at"], lambda: self._crash(worker, fault.get("restart_after")))
        elif kind == "leave":
            clock.at(fault["at"], lambda: self._leave(worker))
        elif kind == "join":
            worker.state = "absent"
            self.to_come.add(worker.rank)
            clock.at(fault["at"], lambda: self._come(worker) if worker.state == "absent" else None)

    def _crash(self, worker, restart_after):
        if worker.state not in ("member", "coming"):
            return
        if restart_after is not None:
            self.to_come.add(worker.rank)
            self.clock.after(restart_after, lambda: self._come(worker) if worker.state == "down" else None)
        self._take_out(worker, "down")

    def _leave(self, worker):
        if worker.state == "gone":
            return
        self.to_come.discard(worker.rank)
        self._take_out(worker, "gone")

    def _take_out(self, worker, state):
        worker.account()
        was_member, worker.state = worker.state == "member", state
        if was_member:
            worker.process.kill()
        worker.mail, worker.receivers = [], []
        for message in list(self.flying):
            breaks_off = message.sender == worker.rank and state == "down" and (message.flow or not message.begun)
            if message.to == worker.rank or breaks_off:
                self._lose(message)
        if state == "down":
            self._forget_mail_from(worker)
        self._tell_of_members()
        if not self.members() and not self.to_come and not any(each.state == "coming" for each in self.workers):
            self.outcome = "all_workers_down"
            self.clock.stop()

    def _forget_mail_from(self, worker):
        for node in [self.server, *self.workers]:
            if node:
                node.mail = [message for message in node.mail if message.sender != worker.rank or isinstance(message.content, Notice)]

    def _tell_of_members(self):
        """Whoever counts on others learns that members have changed."""
        for node in [self.server] if self.server else [self.workers[rank] for rank in self.members()]:
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
        if source is None:
            return self._ready(worker)
        message = Message(source, 0, worker.rank, None, None, 4 * len(self.initial))
        message.is_state = True
        Send(self, message).begin()

    def _ready(self, worker):
        for message in [each for each in self.flying if each.sender == worker.rank]:
            self._lose(message)
        self._forget_mail_from(worker)
        worker.account()
        worker.life += 1
        worker.state, worker.mail, worker.receivers = "member", [], []
        worker.first_weights = self.latest
        worker.optimizer = self.new_optimizer()
        self._spawn(worker)
        self._tell_of_members()
