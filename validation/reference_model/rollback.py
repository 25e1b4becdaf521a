"""Checkpoints, and the way back to the latest one, of synchronous SGD whose workers wait for each other. docs/model.md: Recovery.

All nodes are held at the end of an update while it is saved. A failure ends what all do; what is in flight is lost. When it is known, and
all are there, they start again from the version that was saved last. Places in the samples go back, jitter goes on.
"""
from collective import reductions_of
from events import Event, Process
from nodes import Done


def draw_recovery(draw, case):
    """Times are of the order of an update. Others neither leave nor join, and messages are whole."""
    every = {"updates": draw.randint(1, 5)} if draw.random() < 0.5 else round(draw.uniform(0.02, 0.3), 6)
    case["recovery"] = {"every": draw.choice([every, every, None]), "save": draw.choice([0, round(draw.uniform(0.001, 0.05), 6)]),
                        "detect": draw.choice([0, 0.0037]), "restart": draw.choice([0, 0.0113]), "spares": draw.choice([0, 0, 1])}
    case.update({"on_failure": "wait", "compression": None, "coding": None, "processes": []})
    case["faults"] = [fault for fault in case["faults"] if fault["kind"] in ("crash", "slow", "link")]
    if case.get("collective"):
        case["collective"].pop("start", None)
        case["collective"].pop("eager_up_to", None)


def recovery_of(case, seconds):
    """As a scenario has it."""
    given = case["recovery"]
    out = {"kind": "rollback", **{key: seconds(given[key]) for key in ("detect", "restart")}, "spares": given["spares"]}
    if given["every"] is not None:
        every = given["every"] if isinstance(given["every"], dict) else seconds(given["every"])
        out["checkpoint"] = {"every": every, "save": seconds(given["save"])}
    return out


class Rollback:
    def __init__(self, cluster):
        self.cluster, self.clock, self.settings = cluster, cluster.clock, cluster.case["recovery"]
        self.since, self.highest, self.at, self.held, self.saving, self.planned = 0.0, 0, None, [], None, None
        self.down, self.repairs, self.spares, self.stage = set(), 0, self.settings["spares"], "working"
        self.lost_rows, self.lost_versions, self.rollbacks = [], 0, 0
        self.kept = self._state()

    @property
    def nodes(self):
        return [*self.cluster.workers, *([self.cluster.server] if self.cluster.server else [])]

    def _state(self):
        cluster = self.cluster
        return {"weights": cluster.latest, "rows": len(cluster.rows), "versions": len(cluster.versions),
                "nodes": [(getattr(node, "drawn", 0), node.optimizer.copy()) for node in self.nodes],
                "computed": [worker.compute_s for worker in cluster.workers]}

    # Checkpoints

    def _due(self, version):
        every = self.settings["every"]
        if every is None:
            return False
        if isinstance(every, dict):
            return version >= self.kept["weights"].version + every["updates"]
        return round(self.clock.now - self.since, 12) >= every

    def hold(self, weights):
        """Of a node that has published that version: happens with it, at once or when it is saved."""
        if weights.version > self.highest:
            self.highest = weights.version
            if self.at is None and self._due(weights.version):
                self.at = weights.version
        if self.at != weights.version:
            return Done(weights)
        event = Event()
        self.held.append((event, weights))
        if len(self.held) == (1 if self.cluster.server else len(self.cluster.workers)):
            self.taken = self._state()
            self._mark("saving", True)
            self.saving = self.clock.after(self.settings["save"], self._saved)
        return event

    def _saved(self):
        self.kept, self.at, self.saving, self.since = self.taken, None, None, self.clock.now
        self._mark("saving", False)
        self._note_computed()
        held, self.held = self.held, []
        for event, weights in held:
            self.clock.after(0, lambda event=event, weights=weights: event.happen(weights))

    def _mark(self, what, on):
        for worker in self.cluster.workers:
            worker.account()
            setattr(worker, what, on)

    def _note_computed(self):
        self.kept["computed"] = [worker.compute_s for worker in self.cluster.workers]

    # Failures

    def fail(self, ranks, for_good):
        new = [rank for rank in ranks if rank not in self.down]
        if self.cluster.ended or not new:
            return
        if self.stage == "working":
            self._stop_all()
        self.stage = "detecting"
        for rank in new:
            self.repairs += not for_good
            if self.spares:
                self.spares -= 1
            else:
                self.down.add(rank)
                self.cluster.workers[rank].account()
                self.cluster.workers[rank].state = "down"
        self.clock.cancel(self.planned)
        self.planned = self.clock.after(self.settings["detect"], self._known)

    def repair(self, ranks):
        for rank in ranks:
            self.repairs -= 1
            place = rank if rank in self.down else min(self.down, default=None)
            if place is None:
                self.spares += 1
                continue
            self.down.remove(place)
            self.cluster.workers[place].account()
            self.cluster.workers[place].state = "member"
        if self.stage == "waiting":
            self._start_if_all_are_there()

    def _stop_all(self):
        cluster, self.rollbacks = self.cluster, self.rollbacks + 1
        self.clock.cancel(self.saving)
        self.saving, self.held, self.at = None, [], None
        self._mark("saving", False)
        for node in self.nodes:
            node.process.kill()
            node.mail, node.receivers, node.busy_until = [], [], min(node.busy_until, self.clock.now)
        self._lose_messages()
        for worker, (drawn, optimizer), computed in zip(cluster.workers, self.kept["nodes"], self.kept["computed"]):
            worker.account()
            worker.recovering, worker.drawn, worker.optimizer = True, drawn, optimizer.copy()
            worker.wasted_s += worker.compute_s - computed
            worker.compute_s = computed
        if cluster.server:
            cluster.server.optimizer = self.kept["nodes"][-1][1].copy()
        self.lost_rows += cluster.rows[self.kept["rows"]:]
        self.lost_versions += len(cluster.versions) - self.kept["versions"]
        del cluster.rows[self.kept["rows"]:], cluster.versions[self.kept["versions"]:]
        cluster.latest, self.highest = self.kept["weights"], self.kept["weights"].version

    def _lose_messages(self):
        cluster = self.cluster
        for message in cluster.flying:
            if message.begun:
                cluster._fly(message, -1)
                cluster.bytes_lost += message.size
            if message.flow:
                message.flow.cancel()
            self.clock.cancel(message.planned)
        cluster.flying = []
        if cluster.reductions:
            if cluster.reductions.moving:
                cluster.reductions.moving.break_off()
            cluster.reductions = reductions_of(cluster)
            cluster.reductions.begun = self.kept["weights"].version
            cluster.reductions.next = [self.kept["weights"].version] * len(cluster.workers)

    def _known(self):
        self.stage = "waiting"
        self._start_if_all_are_there()

    def _start_if_all_are_there(self):
        if not self.down:
            self.stage = "restarting"
            self.planned = self.clock.after(self.settings["restart"], self._start)
        elif not self.repairs:
            self.cluster.outcome = "stalled"
            self.clock.stop()

    def _start(self):
        cluster, self.stage, self.since = self.cluster, "working", self.clock.now
        self._mark("recovering", False)
        self._note_computed()
        for node in self.nodes:
            node.first_weights = cluster.latest
        if cluster.server:
            cluster.server.process = Process(self.clock, cluster.scheme.server(cluster.server, cluster.case["scheme"]))
        for worker in cluster.workers:
            worker.process = Process(self.clock, cluster.scheme.worker(worker, cluster.case["scheme"]))
