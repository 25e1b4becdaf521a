"""Random programs over the module, for fuzz_programs: a Program follows from its seed."""
import gc
import random
import re
import threading
import traceback

import straggler

# What no message may have: words of C++, of pybind11 and of Straggler's own faults.
FAULT = re.compile(r"contradicts itself|please report|std::|vector::|map::|deque::|bad_|basic_string|Unable to cast|PYBIND11_DETAILED|"
                   r"pybind11::|incompatible \w+ arguments|empty handle|of the lineage|wrong index for variant|internal error", re.I)
SCENARIO = {
    "straggler": 1, "name": "fuzz", "seed": 1,
    "devices": {"node": {"compute": {"affine": {"overhead": "2ms", "per_sample": "0.1ms"}}, "jitter": {"kind": "exponential"},
        "update": "10MB/s"}},
    "cluster": {"workers": [{"count": 3, "device": "node"}], "servers": {"count": 1},
                "network": {"link": {"bandwidth": "1Gbps", "latency": "50us"}, "intra": {"bandwidth": "10Gbps", "latency": "2us"}}},
    "workload": {"model": {"kind": "mlp", "hidden": [4]}, "data": {"kind": "coordinates", "samples": 120, "test_samples": 20}},
    "training": {"scheme": "asgd", "batch": {"per_worker": 10}, "optimizer": {"kind": "sgd", "learning_rate": 0.1, "momentum": 0.9},
                 "stop": {"updates": 12, "simulated_time": "2s"}, "evaluate": {"every": {"updates": 6}}},
}


class Odd:
    """An object whose methods lie, and whose end uses what it holds."""
    def __init__(self, held):
        self.held = held

    def __len__(self):
        return 2

    def __getitem__(self, i):
        if i > 3:
            raise IndexError
        return self.held

    def __repr__(self):
        raise ValueError("no repr")

    def __del__(self):
        use(self.held)


def use(held):
    """Attributes and methods of whatever it is."""
    for name in ("rank", "version", "key", "value", "contributions", "weights", "amount", "next_batch", "reset", "half", "sender"):
        try:
            what = getattr(held, name, None)
            if name == "next_batch" and what:
                held.post(0, straggler.Token())
            elif name in ("reset", "half") and what:
                what()
        except Exception as error:
            note(error)


def note(error):
    """Fails where the message shows a fault."""
    text = f"{type(error).__name__}: {error}"
    if FAULT.search(text) or isinstance(error, (SystemError, MemoryError)) and not isinstance(error, straggler.Error):
        raise Fault(text[:600]) from error


class Fault(BaseException):
    """A message that no program may meet."""


class Lacking(Exception):
    """There is no value of that type yet."""


class Program:
    """Draws what is done next. `kept`: what lives on after the run, for later programs."""
    kept = []

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.values = []
        self.made = []  # (rank of their node, operations)
        self.nodes = []
        self.left = self.draw.choice([30, 120, 500])  # actions of all generators
        self.wrongs = self.draw.choice([0, 0, 0.02, 0.2])  # share of arguments of any kind

    def one(self, *types):
        """A value of one of these types, mostly; else anything."""
        draw = self.draw
        if types and draw.random() >= self.wrongs:
            fit = [each for each in self.values[-40:] if isinstance(each, types)]
            if fit:
                return draw.choice(fit)
            if draw.random() < 0.9:
                raise Lacking
        pool = self.values[-20:] + [each for _, each in self.made[-5:]] + self.nodes[-3:]
        if draw.random() < 0.1:
            pool = Program.kept[-20:]
        odd = [None, 0, 1, -1, 3, 2**31, 2**63, 2**70, 0.5, -0.5, float("nan"), float("inf"), "", "5ms", "x\0y", "\ud800", b"b", [], [1,
            1], {},
               (), True, len, straggler.Weights, straggler.Token, Odd(draw.choice(pool) if pool else None)]
        return draw.choice(pool if pool and draw.random() < 0.6 else odd)

    def number(self, low, high):
        return self.one() if self.draw.random() < self.wrongs else self.draw.randint(low, high)

    def share(self):
        return self.one() if self.draw.random() < self.wrongs else self.draw.choice([0, 0.5, 1, -2.0, 1e308])

    def several(self, *types):
        if self.draw.random() < self.wrongs:
            return self.one()
        return [self.one(*types) for _ in range(self.draw.randint(0 if self.wrongs else 1, 3))]

    def rank(self, node):
        return self.draw.choice([self.number(0, node.workers), self.one(straggler.Peer), (node.rank + 1) % (node.workers + 1)])

    def time(self):
        return self.one() if self.draw.random() < self.wrongs else self.draw.choice([0, 0.001, "3ms", 0.05, 5.0])

    def operation(self, node):
        """What is to be yielded."""
        draw, weights, gradient = self.draw, (straggler.Weights,), (straggler.Gradient,)
        kind = draw.choice([straggler.Weights, straggler.Gradient, straggler.Token, straggler.Samples, straggler.MembershipNotice])
        what = draw.randint(0, 23)
        if what <= 3:
            return node.gradient(self.one(*weights), node.next_batch(self.number(1, 12)))
        if what <= 6:
            return node.step(self.one(*weights), self.one(*gradient), *([self.one(straggler.Optimizer)] if draw.random() < 0.5 else []))
        if what == 7:
            return node.send(self.rank(node), self.one(straggler.Weights, straggler.Gradient, straggler.Token, straggler.Samples))
        if what == 8:
            return node.receive(kind, *([self.rank(node)] if draw.random() < 0.6 else []))
        if what in (9, 10):
            return node.timer(self.time())
        if what == 11:
            return node.publish(self.one(*weights))
        if what == 12:
            return node.proceed()
        if what == 13:
            return draw.choice([node.all_reduce_mean, node.all_gather, node.reduce_scatter])(
                self.one(*weights, *gradient), *([draw.choice([[0, 1], [0, 1, 2], self.several(int)])] if draw.random() < 0.4 else []))
        if what in (14, 15, 16):
            return self.both(straggler.first_of, self.operation(node), node)
        if what in (17, 18) and self.made:
            return self.both(straggler.first_of_in_flight, self.begun(node), node)
        if what == 19:
            return draw.choice([node.gather, node.gather_first])(kind, self.number(0, 3))
        if what == 20:
            return node.gather_first(kind, self.number(1, 3), self.number(0, 3), lambda late: self.keep(late) or self.act(node))
        if what == 21:
            return draw.choice([lambda: node.arrival(kind), lambda: node.arrival_or_change(kind), node.read_cell,
                                lambda: node.receive_version(self.number(0, 2), self.number(0, 5)), lambda: node.signal(self.number(0, 4)),
                                lambda: node.step_cell(self.one(*gradient)), lambda: node.host_work(self.time()),
                                lambda: node.averaged_gradient(self.one(*weights), self.one(straggler.Batch)),
                                lambda: node.load(self.one(straggler.Batch), self.number(1, 9))])()
        return self.begun(node) if self.made and what == 22 else node.gradient(self.one(*weights), self.one(straggler.Batch))

    def both(self, race, a, node):
        try:
            return race(a, self.operation(node))
        except Exception as error:
            note(error)
            return a  # which would be forgotten

    def begin(self, node):
        made = self.operation(node)
        self.made.append((node.rank, made))  # also where it cannot be in flight: it would be forgotten
        node.begin(made)

    def begun(self, node):
        """An operation that was kept: of this node, mostly, and not over, mostly."""
        own = [each for whose, each in self.made if whose == node.rank]
        if own and self.draw.random() >= self.wrongs:
            last = own[-1]
            if self.draw.random() < 0.7:
                self.made.remove((node.rank, last))
            return last
        if self.wrongs and self.made:
            return self.draw.choice(self.made)[1]
        raise Lacking

    def act(self, node):
        """Something that takes no time."""
        draw, one, weights, gradient = self.draw, self.one, straggler.Weights, straggler.Gradient
        vector = (straggler.Vector, weights, gradient)
        acts = [
            *[lambda: self.begin(node)] * 4, lambda: self.made.append((node.rank, self.operation(node))) if self.wrongs else None,
            lambda: self.made.clear() if self.wrongs else None, lambda: self.values.clear(), lambda: gc.collect(),
            lambda: use(draw.choice(self.values)),
            lambda: node.post(self.rank(node), one(weights, gradient, straggler.Token, straggler.Samples)),
            lambda: node.broadcast(one(weights, gradient, straggler.Token, straggler.Signal),
                *([self.several(int)] if draw.random() < 0.3 else [])),
            lambda: node.discard(one(weights, gradient)), lambda: node.initial_weights(), lambda: node.new_optimizer(),
            lambda: node.optimizer,
            lambda: node.outer_optimizer(), lambda: node.reset_optimizer(), lambda: node.attach_optimizer(one(weights)),
            lambda: node.adopt_optimizer(one(weights)), lambda: node.attach(one(weights), f"optimizer {self.number(0, 2)}", one(*vector)),
            lambda: node.attached(one(weights), one(str)), lambda: node.without_attached(one(weights)),
            lambda: node.no_gradient(one(weights)),
            lambda: node.next_batch(self.number(1, 30)), lambda: node.more_of_batch(self.number(1, 30)),
            lambda: node.next_batch_of(self.number(0, 2), one(straggler.Drawing), self.number(1, 9)),
            lambda: node.mean(self.several(draw.choice([weights, gradient]))), lambda: node.add(one(gradient), one(gradient)),
            lambda: node.weighted_mean(self.several(weights), [self.share() for _ in range(2)]),
            lambda: node.weighted_sum(self.several(gradient), [self.share() for _ in range(draw.randint(1, 2))]),
            lambda: node.blend(one(weights), self.several(weights), [self.share()]),
            lambda: node.blend(one(weights), one(weights), self.share(), *([one(straggler.Fragment)] if draw.random() < 0.5 else [])),
            lambda: node.difference(one(weights), one(weights), *([one(straggler.Fragment)] if draw.random() < 0.5 else [])),
            lambda: node.part(one(gradient), one(straggler.Fragment)), lambda: node.joined(self.several(gradient)),
            lambda: node.scaled(one(gradient), self.share()), lambda: node.corrected(one(gradient), [(one(*vector), self.share())]),
            lambda: node.replaced(one(gradient), one(*vector)), lambda: node.counted_as(one(gradient), self.number(0, 5)),
            lambda: node.combination([(one(*vector), self.share()) for _ in range(2)]), lambda: node.product(self.several(*vector)),
            lambda: node.move(one(*vector), one(*vector)), lambda: node.moved(one(*vector), one(*vector)),
            lambda: node.apply(one(straggler.Rule), self.several(*vector), [self.share()]),
            lambda: node.without_contributions(one(weights)),
            lambda: node.with_statistics(one(weights), one(gradient)), lambda: node.with_participants(one(weights), self.number(0, 9)),
            lambda: node.estimate(one(weights)), lambda: node.as_held_by(self.number(0, 3), one(weights)),
            lambda: setattr(node, "kept", one(*vector)),
            lambda: node.kept, lambda: node.vote(self.several(gradient)), lambda: node.leading_to(one(gradient), one(weights)),
            lambda: node.of_version(one(weights), one(gradient)), lambda: node.next_round(one(weights), self.number(0, 9)),
            lambda: node.contribution_of(one(weights), one(weights), self.several(weights)), lambda: node.push_weight(self.share()),
            lambda: node.with_push_weight(one(weights), one(straggler.PushWeight)), lambda: node.take_push_weight(one(weights)),
            lambda: one(straggler.PushWeight).half(), lambda: one(straggler.PushWeight).add(one(straggler.PushWeight)),
            lambda: node.sample_workers(self.number(1, 4), self.number(0, 9)), lambda: node.first_clients(self.number(1, 4)),
            lambda: node.draw_clients(self.number(0, 4), self.number(0, 9), lambda rank: draw.random() < 0.5 or self.act(node)),
            lambda: node.present(self.number(0, 2)), lambda: node.averaged_with(one(weights), one(weights)),
            lambda: node.averaged_at(self.number(0, 2), one(weights), one(weights)),
            lambda: node.takes_part(self.number(0, 2), self.number(0, 9)),
            lambda: node.is_in(self.number(0, 2), self.number(0, 9)),
            lambda: node.learning_rate(one(weights)), lambda: node.staleness(one(weights), one(gradient)), lambda: node.await_comers(),
            lambda: straggler.Token(self.number(0, 9), self.number(0, 10**6)),
            lambda: straggler.Fragment(self.number(0, 2), self.number(1, 4)),
            lambda: straggler.Samples(one(straggler.Batch), self.share()), lambda: straggler.Signal(self.number(0, 5)), straggler.Drawing,
            lambda: node.random("x", self.number(0, 5)).below(self.number(1, 9)), lambda: one(gradient).weights, lambda: one(*vector).value,
            lambda: one(weights, gradient, straggler.Token).sender, lambda: one(weights).contributions, lambda: repr(one(*vector)),
            lambda: straggler.Peer.__new__(one()), lambda: type(one(weights)).__new__(type(one(weights))),
            lambda: setattr(one(weights), "__class__", gradient),
            lambda: getattr(draw.choice(self.nodes), draw.choice(["rank", "kept", "group", "server", "aggregator_ranks", "part_samples"])),
            lambda: draw.choice(self.nodes).begin(self.operation(draw.choice(self.nodes))),
            lambda: draw.choice(self.nodes).step(one(weights), one(gradient)),
            lambda: self.elsewhere(lambda: use(one())), lambda: self.elsewhere(self.values.clear), lambda: self.elsewhere(self.made.clear),
            lambda: straggler.check(SCENARIO) if draw.random() < 0.02 else None,
            lambda: straggler.run(SCENARIO, timing_only=True, set={"training.stop.updates": 2}) if draw.random() < 0.02 else None,
        ]
        self.keep(draw.choice(acts)())

    def elsewhere(self, what):
        def run():
            try:
                what()
            except Exception as error:
                text.append(error)
        text = []
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        for error in text:
            note(error)

    def keep(self, what):
        if what is not None:
            self.values.append(what)
            if self.draw.random() < 0.05:
                Program.kept.append(what)

    def cycle(self, node, kind):
        """What a scheme does again and again."""
        weights = self.one(straggler.Weights)
        if node.is_worker:
            gradient = yield node.gradient(weights, node.next_batch(10))
            self.keep(gradient)
            if kind == "server":
                yield node.send(node.server, gradient)
                which, got = yield straggler.first_of(node.receive(straggler.Weights, node.server), node.timer(0.5))
                self.keep(got)
            else:
                mean = (yield node.all_reduce_mean(gradient)) if kind == "all_reduce" else gradient
                weights = yield node.step(weights, mean)
                if kind == "peers":
                    node.post((node.rank + 1) % node.workers, weights)
                self.keep((yield node.publish(weights)))
        elif node.is_server:
            which, gradient = yield straggler.first_of(node.receive(straggler.Gradient), node.timer(0.5))
            if which == 0:
                self.keep(gradient)
                weights = yield node.step(weights, gradient)
                weights = yield node.publish(weights)
                self.keep(weights)
                node.post(gradient.sender, weights)
        else:
            yield node.timer(0.1)

    def role(self, node, kind):
        """A generator of the scheme: what schemes do, with actions in between."""
        draw = self.draw
        self.nodes.append(node)
        try:
            self.values.append(node.initial_weights())
            while True:
                self.left -= 1
                try:
                    if self.left < 0:
                        made = None
                    elif draw.random() < 0.3:
                        yield from self.cycle(node, kind)
                        continue
                    elif draw.random() < 0.6:
                        self.act(node)
                        continue
                    else:
                        made = self.operation(node)
                except Exception as error:
                    note(error)
                    if not isinstance(error, Lacking) and ("awaited" in str(error) or "yield" in str(error) or draw.random() < 0.02):
                        raise  # of a `yield`, after which a generator cannot go on, or of the author's
                    continue
                if made is None:
                    self.made.clear()
                    yield node.timer(10.0)  # until the run stops
                    continue
                if self.wrongs and draw.random() < 0.1:
                    self.made.append((node.rank, made))
                got = yield made
                for each in got if isinstance(got, (tuple, list)) else [got]:
                    self.keep(each)
        finally:
            if draw.random() < 0.3:
                try:
                    self.act(draw.choice(self.nodes))
                except Exception as error:
                    note(error)

    def settings(self, invites):
        draw = self.draw
        sets = {"seed": draw.randint(0, 9), "training.optimizer": draw.choice([
            {"kind": "sgd", "learning_rate": 0.1, "momentum": 0.9}, {"kind": "sgd", "learning_rate": 0.1}, {"kind": "adam",
                "learning_rate": 0.01},
            {"kind": "fuzz_states", "learning_rate": 0.1}])}
        if draw.random() < 0.3:
            sets["cluster.faults"] = [draw.choice([{"kind": "crash", "worker": 1, "at": "20ms", "restart_after": "30ms"},
                                                   {"kind": "leave", "worker": 0, "at": "40ms"}, {"kind": "join", "worker": 2,
                                                       "at": "30ms"}])]
        if draw.random() < 0.2:
            sets["training.compression"] = draw.choice(["int8", {"kind": "signsgd", "error_feedback": True}, {"kind": "top_k",
                "fraction": 0.2},
                                                        "powersgd", "fp16", {"kind": "int8", "direction": "both"}])
        if draw.random() < 0.2:
            sets["cluster.network.collective"] = draw.choice([{"fidelity": "stepwise"}, {"fidelity": "stepwise",
                "start": "as_they_come"}, {"overlap": True}])
        if draw.random() < 0.2:
            sets["cluster.network.sharing"] = draw.choice(["packets", "lv08"])
            sets["cluster.network.collective"] = {"fidelity": "stepwise"}
        if invites and draw.random() < 0.5:
            sets["cluster.workers[0].availability"] = {"kind": "on_off", "on": "200ms", "off": "100ms"}
        if draw.random() < 0.2:
            sets["training.stop"] = {"updates": 200, "simulated_time": "20s"}
        return sets

    def run(self):
        """Defines a scheme and runs it."""
        draw, program = self.draw, self
        server = draw.random() < 0.6
        facts = {"needs_server": True} if server else {"exchange": draw.choice(["peers", "all_reduce"])}
        kind = facts.get("exchange", "server")
        methods = {"worker": lambda self, node: (yield from program.role(node, kind))}
        if server and draw.random() < 0.2:
            facts.update(invited=draw.choice([1, 2]), invites=True)
        if draw.random() < 0.1:
            facts["minibatch"] = 3
        if server:
            methods["server"] = methods["worker"]
            if draw.random() < 0.2:
                facts["aggregators"], methods["aggregator"] = draw.choice([1, 2]), methods["worker"]
        else:
            facts["versions"] = draw.choice(["shared", "lockstep", "free_running"])
            if draw.random() < 0.2:
                facts["cell_chunks"] = draw.choice([1, 3])
        if draw.random() < 0.3:
            facts["outer_optimizer"] = {"kind": "sgd", "learning_rate": 0.7}
        sets = {**self.settings("invites" in facts), **({} if server else {"cluster.servers.count": 0})}
        if "cell_chunks" in facts:
            sets.update({"cluster.workers": [{"count": 3, "device": "node", "per_host": 3}]})
            sets.pop("cluster.faults", None)
        straggler.scheme("fuzz", sends_gradients=draw.random() < 0.7, on_failure=("drop", "wait", "abort"),
            reduces=draw.random() < 0.5 and server,
                         **facts)(type("Fuzz", (), methods))
        sets["training.scheme"] = "fuzz"
        run = straggler.run(SCENARIO, set=sets, timing_only=draw.random() < 0.5, threads=1, trace=draw.random() < 0.1)
        if draw.random() < 0.1:
            straggler.run(SCENARIO, set=sets, replay=run)
        if draw.random() < 0.05:
            draw.choice([straggler.check, lambda *given: straggler.explain(*given, timing_only=True)])(SCENARIO, sets)

    def call(self):
        """Functions of the module with arguments of all kinds."""
        draw, one = self.draw, self.one
        self.wrongs = 1
        names = ["timing_only", "trace", "force", "resume", "threads", "seed", "kernels", "out", "replay", "memory", "checkpoint_every",
            "progress", "set"]
        calls = [
            lambda: straggler.run(one() if draw.random() < 0.2 else SCENARIO, **{each: one() for each in draw.sample(names,
                draw.randint(1, 2))}),
            lambda: straggler.run(SCENARIO, set={draw.choice(["training.batch.per_worker", "seed", "name", "training.scheme"]): one()},
                timing_only=True),
            lambda: straggler.race(SCENARIO, one(), **{draw.choice(["tune", "budget", "seeds", "paired", "entrants", "jobs",
                "out"]): one()}),
            lambda: straggler.sweep(one(), one()),
            lambda: straggler.explain(SCENARIO, **{draw.choice(["out", "seed", "threads"]): one(), "set": one()}),
            lambda: straggler.check(one(), one()), lambda: straggler.compare(one()), lambda: straggler.list(one()),
            lambda: straggler.Run(one()),
            lambda: straggler.scheme("fuzz_facts", **{"needs_server": True, "sends_gradients": True, **{draw.choice([
                "exchange", "parameters", "summary", "asynchronous", "versions", "unanswered", "on_failure", "invited", "selection",
                    "aggregators",
                "cell_chunks", "minibatch", "only_workers", "updates_per_epoch", "unfit", "workers_hold", "worker_vectors",
                    "outer_optimizer",
                "examples", "with_compression", "family"]): draw.choice([one(), lambda *given: one()])}})(
                    type("Facts", (), {"worker": lambda self, node: (yield 1), "server": lambda self, node: (yield 1),
                                       "aggregator": lambda self, node: (yield 1)})),
            lambda: straggler.run(SCENARIO, set={"training.scheme": "fuzz_facts"}, timing_only=True),
            lambda: straggler.rule(one(), one())(one()), lambda: straggler.optimizer(one(), one(), states=one(), parameters=one())(one()),
            lambda: straggler.optimizer("fuzz_odd", 1, states=1)(lambda *given: one()),
            lambda: straggler.Parameter(one(), one(), low=one()),
            lambda: straggler.first_of(one(), one()), lambda: straggler.first_of_in_flight(one(), one()),
            lambda: straggler.Token(one(), one()),
            lambda: straggler.Fragment(one(), one()), lambda: straggler.Samples(one(), one()), lambda: straggler.Signal(one()),
            lambda: straggler.Drawing(one()), lambda: getattr(straggler, draw.choice(dir(straggler)))(one()), lambda: self.unbound(),
        ]
        draw.choice(calls)()

    def unbound(self):
        types = [getattr(straggler, name) for name in dir(straggler) if isinstance(getattr(straggler, name), type)]
        kind = self.draw.choice([each for each in types if each.__module__ == "straggler._straggler"])
        name = self.draw.choice(dir(kind))
        what = getattr(kind, name)
        (what.fget if isinstance(what, property) else what)(*[self.one() for _ in range(self.draw.randint(0, 3))])


def play(seed, verbose=False):
    program = Program(seed)
    try:
        for _ in range(1 if program.draw.random() < 0.7 else 10):
            try:
                program.run() if program.draw.random() < 0.6 else program.call()
            except Exception as error:
                if verbose:
                    traceback.print_exc()
                note(error)
    finally:
        del Program.kept[:-60]
