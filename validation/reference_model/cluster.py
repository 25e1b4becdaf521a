"""A star of workers and one server, and its faults: who is a member, what is in flight, what is published.

docs/model.md: Network, Servers, Faults. A case (cases.py) describes it; a scheme (schemes/) says what its nodes do.
"""
import compression
import training
from availability import Attendance
from collective import reductions_of
from events import Clock, Process
from failures import Failures
from network import Flow, Flows, Network
from nodes import Aggregator, Done, Send, Server, Worker
from payloads import SERVER, Message, Notice, Weights, is_worker
from rollback import Rollback
from signals import Signals
from weighing import rebalance


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
        self.flying, self.outcome = [], "completed"
        self.holding, self.lost = {rank: 0 for rank in range(len(self.workers))}, set()  # units that hold a worker down; lost for good
        self.aggregators = [Aggregator(self, case, k) for k in range(case["scheme"].get("aggregators", 0))]
        self.attendance = Attendance(self, case["availability"]) if case.get("availability") else None
        self.members_change = bool(self.attendance) or any(fault["kind"] in ("crash", "leave", "join") for fault in case["faults"]) \
            or any(fault["kind"] != "fail_slow" and fault.get("of") != "link" for fault in case["processes"])
        self.keeps_vectors = getattr(scheme, "FACTS", {}).get("keeps_vectors", False)
        self.known = {}
        self.compression = compression.Compression(self) if case["compression"] else None
        self.signals = Signals(self)
        self.reductions = reductions_of(self) if case.get("collective") else None
        versions = getattr(scheme, "FACTS", {}).get("versions")
        self.own = versions(self) if versions else None  # of workers that have weights of their own
        self.ended, self.optimizer, self.to_admit = False, self.new_optimizer(), []
        self.batches = {rank: spec["batch"] for rank, spec in enumerate(case["workers"])}  # in force
        self.times, self.balanced = {}, 0  # of their batches in this period; the version up to which these are known
        self.took = {}  # when each worker took its latest version of an all-reduce
        self.rollback = Rollback(self) if case.get("recovery") else None
        self.members_change = self.members_change and not self.rollback

    # Running

    def coding_seconds(self, rank):
        """Of a message, that a node encodes or decodes; a server of several does it for its part."""
        rates = self.case["coding"] or {"worker": 0, "server": 0}
        rate = rates["server"] * self.case["server"]["count"] if rank == SERVER else rates["worker"]
        return 4 * len(self.initial) / rate if rate else 0.0

    def new_optimizer(self):
        return training.Optimizer(self.case["optimizer"], self.case["schedule"], self.clip_at("server"))

    def clip_at(self, place):
        """The norm to which gradients are clipped there; None: they are not."""
        clip = self.case["clip"]
        return clip["norm"] if clip and clip["at"] == place else None

    def run(self):
        for fault in self.case["faults"]:
            self._plan(fault)
        self.failures = Failures(self)
        self.failures.begin()
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
            worker.compute_s += self.clock.now - worker.booked if worker.computing else 0
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
        rebalance(self, self.latest.version + 1, made)
        counted = self.latest.counted + sum(each.samples for each in made)
        self.latest = Weights(value, self.latest.version + 1, counted, participants=len(self.workers))
        points = [(worker.spec["point"], worker.spec["samples"]) for worker in self.workers]
        self.versions.append((self.clock.now, counted, self.bytes_sent, training.loss(value, points, self.curvature)))
        self.rows += [(self.latest.version, self.clock.now, *each.row()) for each in made]
        epochs = (self.case["schedule"] or {}).get("epochs", float("inf"))
        if self.latest.version == self.case["updates"] or counted >= epochs * self.epoch_samples:
            self._end()
        if self.rollback and self.server and not self.ended:
            return self.rollback.hold(self.latest)
        return Done(self.latest)

    def _end(self):
        """The last version is there. Where some workers do not have it yet, the run lasts until they do."""
        self.ended = True
        if self.reductions and self.reductions.finishing():
            self.reductions.over, self.reductions.when_done = True, self.clock.stop
        else:
            self.clock.stop()

    def ends_in_a_tie(self):
        """Another worker took the last version just when it was published: it may have begun to compute, or not."""
        return sum(time == self.versions[-1][0] for time in self.took.values()) > 1 if self.versions else False

    def bytes_at(self, update, sent):
        """What may have been sent when that version was published, at which so much had."""
        return self.own.may_have_sent(update, sent) if self.own else [sent]

    def bytes_in_all(self, counted, rank=None):
        """What may have been counted at the end, of all workers or of one, where that many were."""
        sent, most = self.own.sent_at_end() if self.own else ({}, 0)
        before = counted - (sum(sent.values()) if rank is None else sent.get(rank, 0))
        return range(before, before + most * (len(self.workers) if rank is None else 1) + 1) if most else [counted]

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
        return [worker.rank for worker in self.workers if worker.enrolled]

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
            self.own.sending(message.sender, message.size)
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
        in_order = self.case["faults"] or self.case["processes"] or message.form
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
            clock.at(fault["at"], lambda: self._join(worker))

    def _crash(self, worker, restart_after):
        if restart_after is not None:
            self.clock.after(restart_after, lambda: self.repair([worker.rank]))
        self.fail([worker.rank], restart_after is None)

    def fail(self, ranks, for_good):
        """A unit fails, and these workers with it."""
        self.failures.count += 1
        if self.rollback:
            return self.rollback.fail(ranks, for_good)
        hit = []
        for worker in (self.workers[rank] for rank in ranks if self.workers[rank].state != "gone"):
            self.holding[worker.rank] += 1
            if for_good:
                self.lost.add(worker.rank)
            if self.holding[worker.rank] == 1 and worker.state in ("member", "coming"):
                hit.append(worker)
        if not hit:
            return
        if self.case["on_failure"] == "abort":
            self.outcome = "aborted"
            self.clock.stop()
        self._take_out(hit, "down")

    def repair(self, ranks):
        """The unit is there again; its workers come back, unless another one holds them."""
        if self.rollback:
            return self.rollback.repair(ranks)
        back = []
        for worker in (self.workers[rank] for rank in ranks if self.workers[rank].state != "gone"):
            self.holding[worker.rank] -= 1
            if self.holding[worker.rank] == 0 and worker.state == "down":
                back.append(worker)
        self._come(back)

    def _join(self, worker):
        if worker.state != "absent":
            return
        if self.holding[worker.rank]:
            worker.state = "down"
        else:
            self._come([worker])

    def _leave(self, worker):
        if worker.state == "gone":
            return
        if worker.state in ("member", "coming"):
            if hasattr(self.scheme, "farewell"):
                self.scheme.farewell(worker)
            worker.enrolled = False
        self._take_out([worker], "gone")

    def _take_out(self, workers, state):
        """All at once: none of them is counted on by what follows."""
        members = [worker for worker in workers if worker.state == "member"]
        for worker in workers:
            worker.account()
            worker.state = state
        for worker in members:
            worker.process.kill()
        for worker in workers:
            self._cut_off(worker, state == "down")
            if worker in self.to_admit:
                self.to_admit.remove(worker)
        for watcher in (self.reductions, self.own):
            for worker in workers:
                if watcher:
                    watcher.members_changed(worker.rank)
        if not self.clock.stopped and not self.members() and not any(self._comes(worker) for worker in self.workers):
            self.outcome = "all_workers_down"
            self.clock.stop()
        self._tell_of_members()
        self.admit_if_possible()

    def _comes(self, worker):
        return worker.state == "coming" or (worker.state in ("down", "absent") and worker.rank not in self.lost)

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

    def _come(self, workers):
        source = self._source()  # of all of them: none gets its state from another
        for worker in workers:
            worker.account()
            worker.state = "coming"
        for worker in workers:
            self._request_state(worker, source)

    def _source(self):
        return SERVER if self.server else next(iter(self.members()), None)

    def _fetch_state(self, worker):
        if worker.state == "coming":
            self._request_state(worker, self._source())

    def _request_state(self, worker, source):
        """Its state travels to it, from the server or from the first member; without either it has been saved."""
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
        """Without a server: that of who published the latest version; of workers with weights of their own, that of the first."""
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
