"""Clients that are invited: their local training, and who is invited to a round. docs/model.md: Rounds of clients."""
import copy

import draws
from cluster import SERVER, Made, Notice, Weights
from events import First
from training import change, combination, mean

AVERAGES = {}  # kinds of scheme: what their `average` may be. Empty: the program does not have that parameter.
PLAIN = ("scaffold", "feddyn", "fedbuff")  # whose mean is plain unless `average` says otherwise


# Cases

def draw_settings(draw, p, rounds=True):
    """Parameters of all schemes with clients; some of them only with rounds."""
    chosen = {}
    size = draw.random()
    if size < 0.35:
        chosen["clients"] = draw.randint(1, p)
    elif size < 0.6:
        chosen["fraction"] = draw.choice([0.3, 0.5, 0.8])
    if draw.random() < 0.6:
        chosen["local_steps"] = draw.randint(1, 4)
    else:
        chosen["local_epochs"] = draw.randint(1, 2)
    selection = draw.random()
    if selection < 0.2:
        chosen["selection"] = {"kind": "by_samples"}
    elif selection < 0.4:
        chosen["selection"] = {"kind": "fastest_of", "d": draw.choice([1, 2, 3])}
    if rounds and draw.random() < 0.3:
        chosen["deadline"] = {"time": f"{draw.randint(15, 120)}ms", "late": draw.choice(["drop", "partial"])}
    if rounds and draw.random() < 0.3:
        chosen["over_select"] = draw.choice([1.3, 1.5, 2.0])
    return chosen


def facts(kind, **more):
    if kind in AVERAGES:
        more["average"] = AVERAGES[kind]
    return {"on_failure": ["drop", "drop", "wait", "wait", "abort"], "pace": 3, "availability": True, "smooth": True, **more}


def plain_sgd(optimizer):
    return optimizer["kind"] == "sgd" and not optimizer.get("nesterov")


def deadline_of(chosen):
    time = chosen.get("deadline", {}).get("time")
    return None if time is None else float(time[:-2]) / 1000


def is_partial(chosen):
    return chosen.get("deadline", {}).get("late") == "partial"


# Training on a client

def letter(weights, **more):
    """The same weights, with what travels beside them: `state`, the optimizer's vectors; `control`, a vector; `farewell`, instead of them."""
    other = weights.moved(weights.value)
    other.more, other.vectors = more, 1 + len(more.get("state") or []) + (more.get("control") is not None)
    return other


def of_round(weights, participants):
    """The same weights, for a client that takes part in a round with so many."""
    other = copy.copy(weights)
    other.participants = participants
    return other


def beside(weights, name):
    return getattr(weights, "more", {}).get(name)


def batches(me, chosen):
    if "local_steps" in chosen:
        for _ in range(chosen["local_steps"]):
            yield me.draw()
        return
    for _ in range(chosen.get("local_epochs", 1)):
        left = me.spec["samples"]
        while left:
            batch = me.draw(min(left, me.spec["batch"]))
            left -= batch.size
            yield batch


def train(me, chosen, start, direction=None):
    """Local steps from `start`; returns the weights after them, with one contribution, and the gradients.

    direction(y, gradient): along which a step goes. With `late: partial` the time may be over before."""
    weights, gradients, work = Weights(start.value, start.version, start.counted, [], start.participants), [], None
    timer = me.timer(deadline_of(chosen)) if is_partial(chosen) else None
    if timer:
        me.process.own(timer)
    for batch in batches(me, chosen):
        me.memory["position"] = batch.position
        if timer:
            index, _ = yield First(timer, me.compute(batch))
            if index == 0:
                break
        else:
            yield me.compute(batch)
        gradient = me.gradient(weights, batch).value
        gradients.append(gradient)
        value = me.step(weights, direction(weights.value, gradient) if direction else gradient)
        if not work:
            work = Made(me.rank, start.version, batch.position, 0, 0)
        work.steps, work.samples, work.spent = work.steps + 1, work.samples + batch.size, work.spent + batch.spent
        weights = Weights(value, start.version, start.counted, [work], start.participants)
    if not work:
        weights.made = [Made(me.rank, start.version, me.memory.get("position", 0), 0, 0)]
    return weights, gradients


def invitation(me, chosen, begins, sender=SERVER):
    """The weights that a client begins from: those that it has if it begins by itself, else those that it is sent."""
    if begins:
        if me.cluster.attendance:
            me.cluster.attendance.invited(me.rank)
        return me.first_weights
    return (yield me.receive(Weights, sender)).content


def steps_of_own(me, chosen, direction=None, to=SERVER, begins=None):
    """A client of averaged weights, whose optimizer state is kept, reset or averaged at the server. direction(start, y, gradient)."""
    mode = chosen.get("momentum_at_sync", "reset")
    begins = Rounds.begins(me, chosen) if begins is None else begins
    weights = yield from invitation(me, chosen, begins, to)
    new = begins and me.life == 0
    while True:
        if not new and mode != "keep":
            me.optimizer.adopt(beside(weights, "state") or [])
        start = weights
        mine, _ = yield from train(me, chosen, start, direction and (lambda y, g, x=start.value: direction(x, y, g)))
        state = me.optimizer.state() if mode == "average" else []
        yield me.send(to, letter(mine, state=state))
        weights = (yield me.receive(Weights, to)).content
        new = False


# Shares

def shares_of(me, chosen, parts):
    """Of each part, its share of the mean: of the samples of all, or the same where clients were drawn by their samples."""
    kind = me.cluster.case["scheme_name"]
    average = chosen.get("average", "plain" if kind in PLAIN else "by_samples")
    if average == "plain" or chosen.get("selection", {}).get("kind") == "by_samples":
        return [1 / len(parts)] * len(parts)
    return by_samples(me, parts)


def by_samples(me, parts):
    samples = [sum(me.cluster.workers[made.worker].spec["samples"] for made in part.made) for part in parts]
    return [n / sum(samples) for n in samples]


def averaged(me, chosen, parts, shares=None):
    """The mean of weights, and of the optimizers' vectors beside them."""
    shares = shares or shares_of(me, chosen, parts)
    states = [beside(part, "state") or [] for part in parts]
    return mean([part.value for part in parts], shares), [mean(vectors, shares) for vectors in zip(*states)]


def all_made(parts):
    return [made for part in parts for made in part.made]


# Who is invited

def clients_of(chosen, number):
    if "clients" in chosen:
        return min(chosen["clients"], number)
    return max(1, int(chosen.get("fraction", 1) * number + 0.5))


def participants(me, chosen, number):
    """Clients that train in a round: those of this group, and as many of others in proportion."""
    return clients_of(chosen, number) * me.p / number


def seconds_of(me, chosen, rank):
    """A client alone: its batches without jitter, and the weights there and back over its own link."""
    spec = me.cluster.workers[rank].spec
    full, rest = divmod(spec["samples"], spec["batch"])
    if "local_steps" in chosen:
        sizes = [spec["batch"]] * chosen["local_steps"]
    else:
        sizes = ([spec["batch"]] * full + [rest] * (rest > 0)) * chosen.get("local_epochs", 1)
    work = sum(spec["overhead"] + size * spec["per_sample"] for size in sizes) * spec["slowdown"]
    return work + 2 * (4 * len(me.cluster.initial) / spec["bandwidth"] + spec["latency"])


def draw_clients(me, chosen, pool, count, number, may=lambda rank: True):
    """Draw `number` of a pool, in ascending order."""
    if count >= len(pool):
        return [rank for rank in pool if may(rank)]
    name = "server" if len(pool) == me.p else f"aggregator/{pool[0]}"
    stream = draws.Stream(me.cluster.case["seed"], name + "/sampled workers", number)
    selection = chosen.get("selection", {"kind": "uniform"})
    if selection["kind"] == "by_samples":
        samples = [me.cluster.workers[rank].spec["samples"] for rank in pool]
        return sorted(pool[i] for i in draws.by_samples(samples, count, stream, lambda i: may(pool[i])))
    places = selection["d"] if selection["kind"] == "fastest_of" else 1
    drawn = [pool[i] for i in draws.shuffled(len(pool), stream) if may(pool[i])][:min(count * places, len(pool))]
    if places > 1:
        drawn.sort(key=lambda rank: seconds_of(me, chosen, rank))
    return sorted(drawn[:count])


class Busy:
    """Clients that were invited and have not answered, each in its life."""

    def __init__(self, me):
        self.me, self.lives = me, {}

    def add(self, rank):
        self.lives[rank] = self.me.cluster.workers[rank].life

    def remove(self, rank):
        self.lives.pop(rank, None)

    def may(self, rank):
        return rank not in self.lives and self.me.cluster.is_member(rank)

    def lost(self):
        """Those that will not answer."""
        cluster = self.me.cluster
        return [rank for rank, life in sorted(self.lives.items())
                if cluster.workers[rank].life != life or (not cluster.attendance and not cluster.is_member(rank))]


class Rounds:
    """Rounds of a server, or of an aggregator among its group."""

    def __init__(self, me, chosen, pool=None, some=False):
        self.me, self.chosen, self.cluster = me, chosen, me.cluster
        self.pool = pool or list(range(me.p))
        self.of_group = pool is not None
        self.keeps_account = some or self.accounts(me, chosen)
        self.busy, self.awaited, self.wanted, self.number = Busy(me), set(), 0, 0
        self.counted, self.left = {}, []  # where clients keep vectors: the version of a client's last contribution that counted
        self.enrolled = self.cluster.enrolled()

    # What clients know as well

    @staticmethod
    def may_miss(me, chosen):
        return bool(deadline_of(chosen) or chosen.get("over_select", 1) > 1 or me.cluster.attendance)

    @classmethod
    def accounts(cls, me, chosen):
        """Whether the server tracks who is busy; clients that come back then wait to be invited."""
        return cls.may_miss(me, chosen) or (me.cluster.keeps_vectors and me.cluster.members_change)

    @staticmethod
    def invited_of(chosen, number):
        return min(int(clients_of(chosen, number) * chosen.get("over_select", 1) + 0.5), number)

    @classmethod
    def first(cls, me, chosen, pool):
        may = me.cluster.is_member if me.cluster.attendance or len(pool) < me.p else lambda rank: True
        return me.cluster.once(("first", pool[0]), lambda: draw_clients(me, chosen, pool, cls.invited_of(chosen, len(pool)), 0, may))

    @classmethod
    def begins(cls, me, chosen):
        """Whether a new process of a client takes part by itself, in the present round."""
        pool = list(range(me.p))
        me.first_weights = of_round(me.first_weights, clients_of(chosen, me.p))
        if cls.accounts(me, chosen):
            return me.life == 0 and me.rank in cls.first(me, chosen, pool)
        return me.rank in draw_clients(me, chosen, pool, clients_of(chosen, me.p), me.first_weights.version)

    # Invitations

    def note(self, ranks):
        for rank in ranks:
            self.busy.add(rank)
        self.awaited, self.wanted = set(ranks), min(clients_of(self.chosen, len(self.pool)), len(ranks))

    def send(self, weights, ranks):
        for rank in ranks:
            invited = of_round(weights, participants(self.me, self.chosen, len(self.pool)))
            invited.counted_of = self.counted.get(rank)
            self.me.post(rank, invited)

    def may_invite(self, rank):
        """Where nobody can be late, clients that are down and awaited belong to the round."""
        waits_for = not self.may_miss(self.me, self.chosen) and self.cluster.keeps_vectors and self.cluster.members_change
        return self.busy.may(rank) or (waits_for and rank not in self.busy.lives and self.cluster.awaits(rank))

    def invite(self, weights):
        if not self.keeps_account:
            return self.send(weights, draw_clients(self.me, self.chosen, self.pool, clients_of(self.chosen, len(self.pool)), weights.version))
        for rank in self.busy.lost():
            self.busy.remove(rank)
        ranks = draw_clients(self.me, self.chosen, self.pool, self.invited_of(self.chosen, len(self.pool)), self.number, self.may_invite)
        self.number += 1
        self.note(ranks)
        self.send(weights, ranks)
        return ranks

    # Contributions

    def contributions(self, weights):
        """What counts of this round, in the order of ranks."""
        parts = yield from (self.of_invited(weights) if self.keeps_account else self.of_drawn(weights))
        return [parts[rank] for rank in sorted(parts)]

    def take(self, parts, message, weights, awaited=True):
        """Keeps the first contribution of a client to these weights, and drops others."""
        part, rank = message.content, message.sender
        if awaited and rank not in parts and (part.version, part.counted) == (weights.version, weights.counted) and part.made[0].steps:
            parts[rank] = part
        else:
            self.cluster.drop(part.made)

    def of_drawn(self, weights):
        """All drawn clients are awaited; those that fail are not, or until they are back. If none is left, all others are asked."""
        asked, parts = draw_clients(self.me, self.chosen, self.pool, clients_of(self.chosen, len(self.pool)), weights.version), {}
        while any(rank not in parts and self.cluster.awaits(rank) for rank in asked):
            index, value = yield self.me.arrival(Weights)
            if index == 0:
                self.take(parts, value, weights)
        while not parts:
            others = [rank for rank in self.cluster.members() if rank not in asked]
            self.send(weights, others)
            alive = {rank: self.cluster.workers[rank].life for rank in self.cluster.members()}
            while any(rank not in parts and self.cluster.is_member(rank, life) for rank, life in alive.items()):
                index, value = yield self.me.arrival(Weights)
                if index == 0:
                    self.take(parts, value, weights)
            if not parts and not self.cluster.members():
                yield self.me.receive(Notice)
        return parts

    def of_invited(self, weights):
        """The first that are wanted, of those invited; at the deadline those that have come."""
        parts, answered, timer = {}, False, None
        if deadline_of(self.chosen) and not is_partial(self.chosen):
            timer = self.me.timer(deadline_of(self.chosen)).begin()
        if self.number == 0:
            self.number = 1
            self.note(self.first(self.me, self.chosen, self.pool))
        self.forget_lost(weights)
        while not (self.wanted and len(parts) >= self.wanted):
            if not self.awaited:
                if answered:
                    break
                if not self.invite(weights):
                    if self.of_group and not timer and not self.busy.lives:
                        break
                    if self.cluster.attendance:
                        self.cluster.attendance.await_comers()
            if timer:
                index, value = yield First(self.me.arrival(Weights), timer)
                if index == 1:
                    break
                index, value = value
            else:
                index, value = yield self.me.arrival(Weights)
            if index == 1:
                self.forget_lost(weights)
            elif beside(value.content, "farewell"):
                self.farewell(value)
            else:
                self.busy.remove(value.sender)
                awaited = value.sender in self.awaited and (value.content.version, value.content.counted) == (weights.version, weights.counted)
                answered |= awaited
                self.awaited.discard(value.sender)
                self.take(parts, value, weights, awaited)
                if value.sender in parts:
                    self.counted[value.sender] = weights.version
        return parts

    def forget_lost(self, weights):
        waits = self.cluster.waits and not self.cluster.attendance
        for rank in self.busy.lost():
            if waits and rank in self.awaited and self.cluster.awaits(rank):
                if self.cluster.is_member(rank):  # it is back: asked again
                    self.busy.add(rank)
                    self.send(weights, [rank])
            else:
                self.busy.remove(rank)
                self.awaited.discard(rank)

    # Vectors that clients keep

    def farewell(self, message):
        vector = message.content.more["farewell"].after(self.counted.pop(message.sender, None))
        if vector:
            self.left.append(vector)

    def turnover(self):
        """How many clients were and are enrolled, at least 1, and the vectors of those that have left meanwhile."""
        before, left, self.enrolled, self.left = self.enrolled, self.left, self.cluster.enrolled(), []
        return max(before, 1), max(self.enrolled, 1), left


class Kept:
    """A client's vector, and the one that takes its place if the contribution that began from a version has counted."""

    def __init__(self, vector=None, following=None, version=None):
        self.vector, self.following, self.version = vector, following, version

    def after(self, counted):
        return self.following if self.following and self.version == counted else self.vector


def kept(me, weights):
    """The vector that a client has, now that it has this invitation; 0 at first."""
    if me.cluster.keeps_vectors and "kept" in me.memory and hasattr(weights, "counted_of"):
        me.memory["kept"] = Kept(me.memory["kept"].after(weights.counted_of))
    have = me.memory.setdefault("kept", Kept()).vector
    return have or [0.0] * len(weights.value)


def keep(me, chosen, vector, start):
    """Before a contribution is sent: at once if it cannot miss its round."""
    if Rounds.accounts(me, chosen):
        me.memory["kept"].following, me.memory["kept"].version = vector, start.version
    else:
        me.memory["kept"] = Kept(vector)


def farewell(me):
    """A client that leaves sends its vector, one for which bytes count: which one, the server knows."""
    have = me.memory.get("kept")
    if have and (have.vector or have.following):
        me.post(SERVER, letter(Weights(me.cluster.initial), farewell=have))


# Clients at any time

class Concurrent:
    """So many clients train at any time."""

    def __init__(self, me, chosen, count):
        self.me, self.chosen, self.count, self.number = me, chosen, count, 0
        self.busy = Busy(me)
        for rank in self.first(me, chosen, count):
            self.busy.add(rank)
        self.await_comers()

    @staticmethod
    def first(me, chosen, count):
        pool = list(range(me.p))
        may = me.cluster.is_member if me.cluster.attendance else lambda rank: True
        return me.cluster.once("first", lambda: draw_clients(me, chosen, pool, count, 0, may))

    @classmethod
    def begins(cls, me, chosen, count):
        return me.life == 0 and me.rank in cls.first(me, chosen, count)

    def fill(self):
        """Clients, each in its life, for the places that are free."""
        for rank in self.busy.lost():
            self.busy.remove(rank)
        invited = []
        while len(self.busy.lives) < self.count:
            rank = self.draw()
            if rank is None:
                break
            self.busy.add(rank)
            invited.append((rank, self.me.cluster.workers[rank].life))
        self.await_comers()
        return invited

    def answer(self, weights):
        """Invites clients for the places that are free, one after another or at once; others for those that have gone meanwhile."""
        invited = self.fill()
        while invited:
            for rank, life in invited:
                if not self.me.cluster.is_member(rank, life):
                    self.busy.remove(rank)
                sending = self.me.send(rank, weights, life=life)
                if self.chosen["answers"] == "in_turn":
                    yield sending
                else:
                    sending.begin()
            invited = self.fill() if any(rank not in self.busy.lives for rank, _ in invited) else []

    def draw(self):
        """Drawn anew until it is one that may train; after 64 tries among exactly those."""
        self.number += 1
        pool = list(range(self.me.p))
        for attempt in range(64):
            rank, = draw_clients(self.me, self.chosen, pool, 1, self.number + (attempt << 32))
            if self.busy.may(rank):
                return rank
        may = [rank for rank in pool if self.busy.may(rank)]
        if not may:
            return None
        drawn, = draw_clients(self.me, self.chosen, pool, 1, self.number + (64 << 32))
        return may[drawn % len(may)]

    def await_comers(self):
        if self.me.cluster.attendance and len(self.busy.lives) < self.count:
            self.me.cluster.attendance.await_comers()


def change_of(start, mine):
    return change(start.value, mine.value)


def pulled(weight, y, x, gradient):
    """A gradient, pulled from y back to x."""
    return combination((1, gradient), (weight, y), (-weight, x))
