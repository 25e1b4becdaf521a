"""Rounds of clients, as their server and they themselves know them, and clients at any time. docs/model.md: Rounds of clients."""
from clients import beside, clients_of, count_of, draw_clients, is_partial, letter, of_round, participants, train
from events import First
from payloads import SERVER, Weights
from training import combination
from windows import Deadline


# On a client

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


# On a server

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


def of_same(part, weights):
    """Whether a contribution began from the weights of this round."""
    return (part.version, part.counted) == (weights.version, weights.counted)


class Rounds:
    """Rounds of a server, or of an aggregator among its group."""

    def __init__(self, me, chosen, pool=None):
        self.me, self.chosen, self.cluster = me, chosen, me.cluster
        self.pool = pool or list(range(me.p))
        self.of_group = pool is not None
        self.busy, self.awaited, self.wanted, self.number = Busy(me), set(), 0, 0
        self.deadline = Deadline(me, chosen.get("deadline"), clients_of(chosen, len(self.pool)))
        self.counted, self.left = {}, []  # where clients keep vectors: the version of a client's last contribution that counted
        self.enrolled = self.count_enrolled()

    # What clients know as well

    @staticmethod
    def may_miss(me, chosen):
        return bool(chosen.get("deadline") or chosen.get("over_select", 1) > 1 or me.cluster.attendance)

    @classmethod
    def may_not_count(cls, me, chosen):
        """Whether a contribution that was sent may be dropped."""
        return cls.may_miss(me, chosen) or me.cluster.members_change

    @staticmethod
    def invited_of(chosen, number):
        return min(int(clients_of(chosen, number) * chosen.get("over_select", 1) + 0.5), number)

    @classmethod
    def first(cls, me, chosen, pool):
        may = me.cluster.is_member if me.cluster.attendance or len(pool) < me.p else lambda rank: True
        return me.cluster.once(("first", pool[0]), lambda: draw_clients(me, chosen, pool, cls.invited_of(chosen, len(pool)), 0, may))

    @classmethod
    def begins(cls, me, chosen):
        """Whether a new process of a client takes part by itself, in the first round."""
        me.first_weights = of_round(me.first_weights, clients_of(chosen, me.p))
        return me.life == 0 and me.rank in cls.first(me, chosen, list(range(me.p)))

    # Invitations

    def note(self, ranks):
        for rank in ranks:
            self.busy.add(rank)
            self.deadline.invited(rank, self.cluster.workers[rank].life)
        self.awaited, self.wanted = set(ranks), min(clients_of(self.chosen, len(self.pool)), len(ranks))

    def send(self, weights, ranks):
        for rank in ranks:
            invited = of_round(weights, participants(self.me, self.chosen))
            invited.counted_of = self.counted.get(rank)
            self.me.post(rank, invited)

    def may_invite(self, rank):
        """Where nobody can be late, clients that are down and awaited belong to the round."""
        may = self.cluster.is_member if self.may_miss(self.me, self.chosen) else self.cluster.awaits
        return rank not in self.busy.lives and may(rank)

    def invite(self, weights):
        for rank in self.busy.lost():
            self.busy.remove(rank)
        ranks = draw_clients(self.me, self.chosen, self.pool, self.invited_of(self.chosen, len(self.pool)), self.number, self.may_invite)
        self.number += 1
        self.note(ranks)
        self.send(weights, ranks)
        return ranks

    # Contributions

    def take(self, parts, message, awaited):
        """Keeps the contribution of a client that is awaited, and drops others."""
        part, rank = message.content, message.sender
        if awaited and part.made[0].steps:
            parts[rank] = part
        else:
            self.cluster.drop(part.made)

    def contributions(self, weights):
        """The first that are wanted, of those invited; at the deadline those that have come. In the order of ranks."""
        parts, answered, timer, seconds = {}, False, None, self.deadline.seconds()
        if seconds is not None and not is_partial(self.chosen):
            timer = self.me.timer(seconds).begin()
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
                self.deadline.arrived(value)
                self.busy.remove(value.sender)
                awaited = value.sender in self.awaited and of_same(value.content, weights)
                answered |= awaited
                self.awaited.discard(value.sender)
                self.take(parts, value, awaited)
                if value.sender in parts:
                    self.counted[value.sender] = weights.version
        return [parts[rank] for rank in sorted(parts)]

    def forget_lost(self, weights):
        waits = self.cluster.waits and not self.cluster.attendance
        for rank in self.busy.lost():
            if waits and rank in self.awaited and self.cluster.awaits(rank):
                if self.cluster.is_member(rank):  # it is back: asked again
                    self.busy.add(rank)
                    self.deadline.invited(rank, self.cluster.workers[rank].life)
                    self.send(weights, [rank])
            else:
                self.busy.remove(rank)
                self.awaited.discard(rank)

    # Vectors that clients keep

    def farewell(self, message):
        vector = message.content.more["farewell"].after(self.counted.pop(message.sender, None))
        if vector:
            self.left.append((count_of(self.me, self.chosen, message.sender), vector))

    def turnover(self):
        """What the clients count that were and are enrolled, at least 1, and the vectors of those that have left meanwhile."""
        before, left, self.enrolled, self.left = self.enrolled, self.left, self.count_enrolled(), []
        return max(before, 1), max(self.enrolled, 1), left

    def count_enrolled(self):
        return sum(count_of(self.me, self.chosen, rank) for rank in self.cluster.enrolled())

    def mean_of_kept(self, mean, changes):
        """The mean of the vectors of all enrolled clients, from the former one and the changes of these ranks; None: 0, and no change."""
        before, now, left = self.turnover()
        terms = [(before / now, mean)] if mean else []
        terms += [(count_of(self.me, self.chosen, rank) / now, vector) for rank, vector in changes]
        terms += [(-count / now, vector) for count, vector in left]
        return combination(*terms) if terms else None


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
    if Rounds.may_not_count(me, chosen):
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
        me.first_weights = of_round(me.first_weights, min(count, me.p))
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
        invited, weights = self.fill(), of_round(weights, min(self.count, self.me.p))
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
