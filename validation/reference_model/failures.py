"""Faults that happen again and again: each unit passes through its stages, drawn from its own stream. docs/model.md: Faults."""
import math

from draws import Stream

LIMIT = 100 * 86_400.0  # seconds that a run may last


def uniform(stream):
    """53 bits, in [0, 1)."""
    high, low = stream.word(), stream.word()
    return ((high << 32 | low) >> 11) / 2**53


def quantile(law, share):
    """Seconds that a duration exceeds with probability 1 - share."""
    kind = law if isinstance(law, str) else law["kind"]
    if kind == "never":
        return math.inf
    if kind == "constant":
        return law["mean"]
    unit = -math.log1p(-share)
    if kind == "exponential":
        return law["mean"] * unit
    return law["mean"] / math.gamma(1 + 1 / law["shape"]) * unit ** (1 / law["shape"])


def stages(fault):
    """(law of its duration, what happens at its end)."""
    if fault["kind"] == "fail_slow":
        return [(fault["every"], "impair"), (fault["lasts"], "restore")]
    if fault["kind"] == "preempt":
        return [(fault["every"], "notice"), ({"kind": "constant", "mean": fault["notice"]}, "fail"), (fault["back_after"], "repair")]
    return [(fault["every"], "fail"), (fault["repair"], "repair")]


class Unit:
    """Of one process; `name` names its stream."""

    def __init__(self, failures, fault, name, stream, workers, links):
        self.failures, self.fault, self.name, self.stream = failures, fault, name, stream
        self.workers, self.links, self.stage, self.stages = workers, links, 0, stages(fault) if fault["kind"] != "trace" else None

    def next_end(self, before, stage):
        """When the stage ends that follows the one that ended at `before`."""
        if self.fault["kind"] == "trace":
            spans = [time for _, begin, end in self.fault["spans"] for time in (begin, end)]
            return spans[stage] if stage < len(spans) else math.inf
        law, _ = self.stages[stage % len(self.stages)]
        seconds = quantile(law, uniform(Stream(self.failures.seed, f"{self.name}/{self.stream}", stage)))
        return before + seconds if seconds < LIMIT - before else math.inf

    def act(self, stage):
        return self.stages[stage % len(self.stages)][1] if self.stages else ("fail", "repair")[stage % 2]

    def spells(self, until):
        """Of a slow unit, known from the beginning: (from, to)."""
        at, stage, out = 0.0, 0, []
        while at < until:
            begin = self.next_end(at, stage)
            at = self.next_end(begin, stage + 1) if begin < until else math.inf
            if begin < until:
                out.append((begin, at))
            stage += 2
        return out


class Failures:
    """All processes of a cluster. A run in which only their clocks are left, and nobody is awaited, has stalled."""

    def __init__(self, cluster):
        self.cluster, self.clock, self.seed, self.out, self.planned, self.count = cluster, cluster.clock, cluster.case["seed"], 0, 0, 0
        self.units, alike = [], {}
        for fault in cluster.case.get("processes") or []:
            if fault["kind"] == "trace":
                self._add(fault, "worker", fault["spans"][0][0], None)
                continue
            number = alike[fault["kind"], fault["of"]] = alike.get((fault["kind"], fault["of"]), -1) + 1
            one = fault["of"] == "all" or (fault["of"] == "host" and cluster.case["host"])
            for unit in range(1 if one else len(cluster.workers) + (fault["of"] == "link" and bool(cluster.server))):
                self._add(fault, fault["of"], unit, f"{fault['kind']}/{number}")

    def _add(self, fault, of, number, stream):
        cluster = self.cluster
        ranks = range(len(cluster.workers)) if of == "all" or (of == "host" and cluster.case["host"]) else [number]
        nodes = [cluster.node(rank) if rank < len(cluster.workers) else cluster.server for rank in ranks]
        name = {"all": "all", "link": f"link/{'worker' if number < len(cluster.workers) else 'server'}/"
                f"{number if number < len(cluster.workers) else 0}"}.get(of, f"{of}/{number}")
        links = [link for node in nodes for link in node.up + node.down]
        self.units.append(Unit(self, fault, name, stream, [] if of == "link" else list(ranks), links))

    def begin(self):
        for unit in self.units:
            if unit.fault.get("times_slower"):
                for begin, end in unit.spells(until=100.0):
                    for rank in unit.workers:
                        self.cluster.workers[rank].spells.append((begin, end, unit.fault["times_slower"]))
            self._await(unit, 0.0, 0)

    def _await(self, unit, before, stage):
        at = unit.next_end(before, stage)
        if at < LIMIT:
            self.planned += 1
            self.clock.at(at, lambda: self._ends(unit, at, stage))

    def _ends(self, unit, at, stage):
        if self.out == 0 and self._only_clocks():
            return self.clock.give_up()
        self.planned -= 1
        self._await(unit, at, stage + 1)
        act = unit.act(stage)
        for_good = unit.next_end(at, stage + 1) >= LIMIT
        if act == "fail":
            self.out += 0 if for_good else 1
            if not unit.workers:
                self.cluster.network.change(unit.links, 0, True)
            self.cluster.fail(unit.workers, for_good)
        elif act == "repair":
            self.out -= 1
            if not unit.workers:
                self.cluster.network.change(unit.links, 0, False)
            self.cluster.repair(unit.workers)
        elif act in ("impair", "restore") and unit.fault.get("bandwidth_factor") is not None:
            self.cluster.network.change(unit.links, unit.fault["bandwidth_factor"], act == "impair")

    def _only_clocks(self):
        """The one that has just rung is no longer planned."""
        return self.clock.pending() <= self.planned - 1 and not self.cluster.network.flows
